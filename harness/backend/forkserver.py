"""How a child process is started: spawned, or forked from a process that has imported the adapter's SDK already.

Both ways give a fresh process in a session and process group of its own, with its own HOME and TMPDIR, speaking on
the descriptor that it is given. What an adapter names in `imports` is imported once for many opens; where that left a
thread behind, or the platform cannot, the fork server steps aside and every open is spawned.
"""

from __future__ import annotations

import json
import os
import select
import signal
import site
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self
from weakref import WeakSet

from harness import paths
from harness.backend import staging
from harness.machine import leftovers
from harness.machine.containment import Ports, make_sandbox
from harness.machine.sandbox import Sandbox
from harness.machine.story_clock import SHARED, StoryClock

NO_TELEMETRY = {"ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1", "ORT_DISABLE_TELEMETRY": "1"}
"""Variables that keep libraries and servers from reporting to their makers: of Chroma, of several, of ONNX Runtime."""
READY_SECONDS = 120.0
"""How long the imports of an adapter may take before its opens are spawned instead."""


class Running(Protocol):
    """A started process, as `subprocess.Popen` shows it."""

    returncode: int | None
    """None as long as nobody has waited for its end."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal; subprocess.TimeoutExpired."""


class Launcher(Protocol):
    """Starts the worker of an adapter, which can change nothing but the folder that holds its home, and reads the work
    tree that lies beside that.

    The caller keeps and closes its own copies of both descriptors.
    """

    def __call__(
        self, adapter: str, descriptor: int, home: Path, output: int, ports: Ports, python: str = sys.executable
    ) -> Running: ...


def spawn(
    adapter: str,
    descriptor: int,
    home: Path,
    output: int,
    ports: Ports,
    python: str = sys.executable,
    clock: StoryClock | None = None,
) -> Running:
    """A new interpreter."""
    found = staging.find_modules(adapter, home.parent, python)
    command = [python, "-m", "harness.backend.worker", str(descriptor), adapter]
    return _start(command, home, output, found.path, _contain(found.reads, home, ports, clock), clock)


def locate_work_tree(folder: Path) -> Path:
    """Where the checkout lies for those whose homes are in this folder: beside it, as they cannot change it."""
    return folder.with_name(f"{folder.name}-tree")


def _contain(reads: tuple[str, ...], home: Path, ports: Ports, clock: StoryClock | None = None) -> Sandbox:
    shown, scratch = ((str(clock.folder),), (SHARED,)) if clock else ((), ())
    return make_sandbox(
        (*reads, str(locate_work_tree(home.parent)), *shown), (str(home.parent),), ports, scratch=scratch
    )


def _start(
    command: list[str],
    home: Path,
    output: int,
    path: tuple[str, ...],
    sandbox: Sandbox,
    clock: StoryClock | None = None,
) -> subprocess.Popen[bytes]:
    """The last two words of the command are the descriptor that it is given, and the adapter."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(int(command[-2]),),
        env={
            **make_environment(home),
            "PYTHONPATH": os.pathsep.join(path),
            "COLDWARM_SANDBOX": json.dumps(vars(sandbox)),
            **(clock.environment if clock else {}),
        },
        cwd=home,
        start_new_session=True,
    )


def make_environment(home: Path) -> dict[str, str]:
    """The environment of a child, equal for every backend: no key, no proxy, no telemetry, one thread for each library
    that asks.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        # HOME is another one there, and what the user has installed lies below the real one
        "PYTHONUSERBASE": site.getuserbase(),
        "COLDWARM_SERVERS": str(paths.SERVERS),
        # sets of texts have one order in every child
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        **NO_TELEMETRY,
    }


class ForkServers:
    """Launches by fork, with one importing process for each adapter and interpreter. Safe for several threads.

    Close it at the end. All children live below the folder that holds `home`.

    Attributes:
        ports: Those that any of them may connect to.
    """

    def __init__(self, home: Path, ports: Ports = ()) -> None:
        self._home, self._ports = home.absolute(), ports
        self._parents: dict[tuple[str, Ports, str], ForkServer | None] = {}
        self._lock = threading.Lock()
        self._running: WeakSet[Running] = WeakSet()
        self._killed = False

    def launch(
        self,
        adapter: str,
        descriptor: int,
        home: Path,
        output: int,
        ports: Ports,
        python: str = sys.executable,
        clock: StoryClock | None = None,
    ) -> Running:
        # a clock is loaded as a program starts, and what is imported may look at it: such a child is spawned
        forks = clock is None and self._home.parent in home.absolute().parents
        parent = self._parent(adapter, ports, python) if forks else None
        born = parent.fork(descriptor, home, output, ports) if parent else None
        running = born or spawn(adapter, descriptor, home, output, ports, python, clock)
        with self._lock:
            self._running.add(running)
            # it may have been started while `kill` went through the others: nobody else would end it
            if self._killed:
                _kill(running)
        return running

    def kill(self) -> None:
        """Ends every child at once, and whichever is still to come."""
        with self._lock:
            self._killed = True
            for running in self._running:
                _kill(running)

    def _parent(self, adapter: str, ports: Ports, python: str) -> ForkServer | None:
        """One that may connect to these ports, as nobody gives a child more than it has itself."""
        wide = None if ports is None or self._ports is None else tuple(sorted({*self._ports, *ports}))
        with self._lock:
            key = adapter, wide, python
            if key not in self._parents:
                home = self._home / str(len(self._parents))
                # None is kept, too: what cannot be imported is not tried at every opening
                self._parents[key] = ForkServer.ready(adapter, home, wide, python) if FORKS else None
            return self._parents[key]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for parent in self._parents.values():
            if parent is not None:
                parent.end()


def _kill(running: Running) -> None:
    if running.returncode is None:  # else its id may be another's by now
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)


FORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")


class ForkServer:
    """The process that imported one adapter's SDK and forks on request. One request at a time."""

    def __init__(self, process: subprocess.Popen[bytes], link: socket.socket, reads: tuple[str, ...]) -> None:
        self._process, self._link, self._reads = process, link, reads
        self._lock = threading.Lock()
        self._late = False

    @classmethod
    def ready(cls, adapter: str, home: Path, ports: Ports, python: str = sys.executable) -> ForkServer | None:
        """None if it cannot be used: an import failed, took too long, or left a thread."""
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        below = home.parent.parent  # where its children are to live
        found = staging.find_modules(adapter, below, python)
        ours, theirs = socket.socketpair()
        with theirs, (home / "output.txt").open("ab") as output:
            command = [python, "-m", "harness.backend.worker", "--fork", str(theirs.fileno()), adapter]
            sandbox = make_sandbox(found.reads, (str(below),), ports, forks=True)
            process = _start(command, home, output.fileno(), found.path, sandbox)
        parent = cls(process, ours, found.reads)
        # for good: an answer to a fork that does not come is late by the same time
        ours.settimeout(READY_SECONDS)
        if parent._answer().get("ready"):
            leftovers.note(home, process.pid)
            return parent
        parent.end()
        return None

    def fork(self, descriptor: int, home: Path, output: int, ports: Ports) -> Running | None:
        """A child on this descriptor; None if this parent can no longer fork.

        One that does not answer in time is ended, and its children with it: it might still fork, and the descriptor is
        another child's by then.
        """
        sandbox = vars(_contain(self._reads, home, ports))
        request = json.dumps({"env": make_environment(home), "cwd": str(home), "sandbox": sandbox}).encode()
        with self._lock:
            if self._late:
                return None
            try:
                socket.send_fds(self._link, [request], [descriptor, output])
                pid = self._answer().get("pid")
            except OSError:
                pid = None
            if self._late:
                self._process.kill()
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
        """Nothing any more once an answer was late, as after a stop: it would be taken for that of the next request."""
        if self._late:
            return {}
        try:
            data = self._link.recv(4096)
            answer: dict[str, int] = json.loads(data) if data else {}
        except TimeoutError:
            self._late = True
            return {}
        except (OSError, ValueError):
            return {}
        return answer

    def end(self) -> None:
        self._link.close()
        self._process.kill()
        self._process.wait()


class Forked:
    """A forked child: its end is seen on a pidfd, its exit code is asked of the parent that reaps it."""

    def __init__(self, parent: ForkServer, pid: int) -> None:
        self._parent, self._pid = parent, pid
        self.returncode: int | None = None
        # its id cannot be another's yet: the parent reaps it only when it is asked for the exit code
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
        if self.returncode is None:
            watch = select.poll()
            watch.register(self._fd, select.POLLIN)
            if not watch.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(f"forked child {self._pid}", timeout or 0)
            self.returncode = self._parent.status(self._pid)
            os.close(self._fd)
        return self.returncode
