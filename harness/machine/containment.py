"""How far children are contained on this machine, and what their sandboxes are made of."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

from harness import paths
from harness.machine import crowds, processes, sandbox, syscalls
from harness.machine.sandbox import Sandbox

Degree = Literal["module path only", "files", "files and TCP ports", "files and network"]
Ports = tuple[int, ...] | None
"""Those that a child may connect to; None: all of them."""


def make_sandbox(
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    ports: Ports,
    *,
    forks: bool = False,
    scratch: tuple[str, ...] = (),
) -> Sandbox:
    """Of a child; `forks`: of one from which others are forked. `scratch`: only where `has_namespaces`."""
    program = syscalls.compile_filter(datagrams=ports is None, forks=forks)
    return Sandbox(reads, writes, ports, _list_covers(), program, scratch)


@cache
def _list_covers() -> tuple[str, ...]:
    """Folders in which other programs keep their sockets."""
    found = ("/run", "/tmp", "/var/tmp", tempfile.gettempdir())  # noqa: S108  covered, not used
    places = [each for each in dict.fromkeys(map(os.path.realpath, found)) if Path(each).is_dir()]
    # a folder below another cover is not there any more once that is mounted
    return tuple(each for each in places if not any(each.startswith(f"{other}/") for other in places))


def find_degree() -> Degree:
    """What is held of a child for certain. Network: no way but TCP to its own ports."""
    if sandbox.find_abi() < sandbox.FILES:
        return "module path only"
    if sandbox.find_abi() < sandbox.PORTS:
        return "files"
    return "files and network" if syscalls.compile_filter(datagrams=False, forks=False) else "files and TCP ports"


def describe() -> str:
    """The degree, and what this machine lacks for more."""
    return "; ".join([find_degree(), *list_gaps()])


def list_gaps() -> list[str]:
    """What is not held here, and what to do about it."""
    gaps = []
    if not syscalls.compile_filter(datagrams=False, forks=False):
        gaps.append("not UDP, MPTCP, shared memory and keyrings: libseccomp2 is not installed")
    if not has_namespaces():
        gaps.append("not sockets in common folders, nor processes that hide: this user may make no namespaces")
    if sandbox.find_abi() < sandbox.SCOPED:
        gaps.append("not signals and abstract sockets: Linux 6.12 holds them")
    if not limits_processes():
        gaps.append("not how many processes: root has no limit where it may make no control group (pids)")
    return gaps


@cache
def has_namespaces() -> bool:
    """Whether children get namespaces of their own: tried in a process that ends at once."""
    if sys.platform != "linux":
        return False
    return _succeeds("from harness.machine import namespaces; raise SystemExit(not namespaces.isolate((), ()))")


@cache
def limits_processes() -> bool:
    """Whether a child can start so many processes only."""
    if sys.platform != "linux":
        return False
    held = _succeeds("from harness.machine import crowds; raise SystemExit(not crowds.enter())")
    # the group of the process that tried stays when that has ended
    crowds.sweep()
    return held


def _succeeds(code: str) -> bool:
    words = [sys.executable, "-c", code]
    return processes.succeeds(words, "a look at what contains children", paths.ROOT)
