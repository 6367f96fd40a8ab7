"""How a child process comes to be: spawned, or forked from a process that has imported the adapter's SDK already.

Both ways give a fresh process in a session and process group of its own, with its own HOME and TMPDIR, speaking on
the descriptor that it is given. What an adapter names in `imports` is imported once for many opens; where that left a
thread behind, or the platform cannot, the nursery steps aside and every open is spawned.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Protocol, Self

from harness import paths

READY_SECONDS = 120.0
"""How long the imports of an adapter may take before its opens are spawned instead."""


class Running(Protocol):
    """A started process, as `subprocess.Popen` shows it."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal; subprocess.TimeoutExpired."""


class Launcher(Protocol):
    """Starts the worker of an adapter. The caller keeps and closes its own copies of both descriptors."""

    def __call__(self, adapter: str, descriptor: int, home: Path, output: int) -> Running: ...


def spawn(adapter: str, descriptor: int, home: Path, output: int, python: str = sys.executable) -> Running:
    """A new interpreter."""
    return subprocess.Popen(
        [python, "-m", "harness.worker", str(descriptor), adapter],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(descriptor,),
        env=environment(home),
        cwd=home,
        start_new_session=True,
    )


def environment(home: Path) -> dict[str, str]:
    """The same for every backend: no key, no proxy, no telemetry, one thread for each library that asks."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "PYTHONPATH": os.pathsep.join(paths.adapter_places()),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
    }


class Nursery:
    """Launches by fork, with one importing process for each adapter. Safe for several threads; close it at the end."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._parents: dict[str, Parent | None] = {}
        self._lock = threading.Lock()

    def launch(self, adapter: str, descriptor: int, home: Path, output: int) -> Running:
        parent = self._parent(adapter)
        born = parent.fork(descriptor, home, output) if parent else None
        return born or spawn(adapter, descriptor, home, output)

    def _parent(self, adapter: str) -> Parent | None:
        with self._lock:
            if adapter not in self._parents:
                number = len(self._parents)
                self._parents[adapter] = Parent.ready(adapter, self._home / str(number)) if FORKS else None
            return self._parents[adapter]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for parent in self._parents.values():
            if parent is not None:
                parent.end()


FORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")


class Parent:
    """The process that imported one adapter's SDK and forks on request. One request at a time."""

    def __init__(self, process: subprocess.Popen[bytes], link: socket.socket) -> None:
        self._process, self._link = process, link
        self._lock = threading.Lock()

    @classmethod
    def ready(cls, adapter: str, home: Path) -> Parent | None:
        """None if it cannot be used: an import failed, took too long, or left a thread."""
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        with theirs, (home / "output.txt").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "harness.worker", "--fork", str(theirs.fileno()), adapter],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(),),
                env=environment(home),
                cwd=home,
                start_new_session=True,
            )
        parent = cls(process, ours)
        ours.settimeout(READY_SECONDS)
        if parent._answer().get("ready"):
            return parent
        parent.end()
        return None

    def fork(self, descriptor: int, home: Path, output: int) -> Running | None:
        """A child on this descriptor; None if this parent can no longer fork."""
        request = json.dumps({"env": environment(home), "cwd": str(home)}).encode()
        with self._lock:
            try:
                socket.send_fds(self._link, [request], [descriptor, output])
                pid = self._answer().get("pid")
            except OSError:
                pid = None
        return Forked(self, pid) if pid else None

    def status(self, pid: int) -> int:
        """The exit code of a child that has ended."""
        with self._lock:
            try:
                self._link.sendall(json.dumps({"ended": pid}).encode())
                return int(self._answer().get("code", -9))
            except OSError:
                return -9  # the parent was killed, and its children with it

    def _answer(self) -> dict[str, int]:
        try:
            data = self._link.recv(4096)
            answer: dict[str, int] = json.loads(data) if data else {}
        except (OSError, ValueError):
            return {}
        return answer

    def end(self) -> None:
        self._link.close()
        self._process.kill()
        self._process.wait()


class Forked:
    """A forked child: its end is seen on a pidfd, its exit code is asked of the parent that reaps it."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self._parent, self._pid = parent, pid
        self._code: int | None = None
        self._fd = os.pidfd_open(pid)

    @property
    def pid(self) -> int:
        return self._pid

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            watch = select.poll()
            watch.register(self._fd, select.POLLIN)
            if not watch.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(f"forked child {self._pid}", timeout or 0)
            self._code = self._parent.status(self._pid)
            os.close(self._fd)
        return self._code
