"""A memory in a child process, spawned or forked, and what tests ask of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Scope, Source, Space
from harness.backend import client
from harness.backend.client import Deadlines, MemoryFault, RemoteMemory
from harness.backend.forkserver import ForkServers, Launcher, spawn

HOME = Scope(repo="shop", org="lantern")
AT = "2025-04-01T10:00:00+00:00"
SHORT = Deadlines(open=30, call=1.0, item=0, exit=1.0)
PATIENT = Deadlines(open=60, call=30, item=0, exit=5)
LAUNCH: list[Launcher] = [spawn]


@contextmanager
def launching(way: str, folder: Path) -> Iterator[None]:
    with ForkServers(folder / "forkservers") as fork_servers:
        LAUNCH.append(fork_servers.launch if way == "forked" else spawn)
        yield
        LAUNCH.pop()


@contextmanager
def opened(name: str, space: Space, deadlines: Deadlines = PATIENT, **settings: str) -> Iterator[RemoteMemory]:
    reference = name if ":" in name else f"tests.support.faulty_backends:{name}"
    space = Space(space.root, space.gateway, space.key, space.dims, space.seed, settings)
    memory = client.open_memory(reference, space, Path(space.root).parent / "home", deadlines, LAUNCH[-1])
    try:
        yield memory
    finally:
        memory.kill()


def item(text: str = "Deploys go to kestrelway") -> Item:
    return Item(text, HOME, AT, "project", Source("c" * 40, "docs/a.md", 3, "monday"), 0.9, AT)


def asked(memory: RemoteMemory) -> list[Hit]:
    return memory.recall("Where do deploys go?", HOME, 5, AT)


def fault(memory: RemoteMemory) -> MemoryFault:
    with pytest.raises(MemoryFault) as caught:
        asked(memory)
    return caught.value


def gone(pid: int, seconds: float = 10) -> bool:
    """Whether a process ends; a zombie whose parent has not looked yet counts as ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False
