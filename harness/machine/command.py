"""Runs a command of somebody else's: its time, its output and what it starts have an end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Literal, NamedTuple

from harness.machine.patience import Patience

MOST = 20_000_000
"""Bytes of standard output, and as many of standard error, after which a command is ended."""
MEMORY, FILE, PROCESSES = 4 * 2**30, 64 * 2**20, 512
"""Bytes of memory of one process, bytes of one file, and processes of the user, for a command that is held short."""
LATE, LOUD = 124, 125
"""Exit codes of a command that was ended: for its time, for its output."""
_LOOK = 0.05  # seconds after which it is looked at whether a command is to be ended, or we stood still
_AFTER = 2.0  # seconds that what it left behind may hold its output open
_HOLD = f"""
import os, resource, sys
for name, most in ((sys.argv.pop(1), {MEMORY}), ("FSIZE", {FILE}), ("NPROC", {PROCESSES}), ("CORE", 0)):
    kind = getattr(resource, "RLIMIT_" + name, None)
    if kind is not None:
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    sys.exit(os.write(2, (sys.argv[1] + ": " + error.strerror).encode()) and 127)
"""


class Finished(NamedTuple):
    """How a command ended. `out` and `err` are cut where output has its end; a negative code is a signal."""

    code: int
    out: bytes
    err: bytes


def hold(memory: Literal["AS", "DATA"] = "AS") -> list[str]:
    """The words to put before a command so that memory, files and processes have limits.

    The system does not count the processes of root.

    Args:
        memory: Which of it counts: all that is reserved, or what may be written to, for a program that reserves much
            more than it uses, as JavaScript engines do.
    """
    # isolated, as it runs in the work tree: no module there is imported in the place of Python's own
    return [sys.executable, "-I", "-S", "-c", _HOLD, memory]


def run(
    words: Sequence[str],
    tree: Path,
    env: Mapping[str, str],
    seconds: float,
    most: int | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stop: threading.Event | None = None,
) -> Finished:
    """Runs it in a session of its own, which ends with it. OSError if it cannot be started.

    Args:
        most: Bytes of output, if they are not MOST.
        stop: Once it is set, the command is ended.
    """
    process = subprocess.Popen(
        words, cwd=tree, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout and process.stderr
    most = MOST if most is None else most
    out, err = (_Reader(each, process, most) for each in (process.stdout, process.stderr))
    late = False
    try:
        _wait(process, seconds, stop)
    except TimeoutError:
        late = True
    finally:
        _kill(process)
    until = time.monotonic() + _AFTER
    for each in (out, err):
        each.join(max(0.0, until - time.monotonic()))
    if late:
        return Finished(LATE, bytes(out.bytes), f"no end within {seconds:g} s".encode())
    if out.cut or err.cut:
        return Finished(LOUD, bytes(out.bytes), f"more than {most:,} bytes of output".encode())
    return Finished(process.returncode, bytes(out.bytes), bytes(err.bytes))


class _Reader(threading.Thread):
    """Takes what comes out of a pipe, up to so many bytes; then it ends who writes."""

    def __init__(self, pipe: IO[bytes], process: subprocess.Popen[bytes], most: int) -> None:
        super().__init__(daemon=True)
        self.bytes, self.cut = bytearray(), False
        self._pipe, self._process, self._most = pipe, process, most
        self.start()

    def run(self) -> None:
        with self._pipe, suppress(OSError, ValueError):
            # not the pipe's own `read`, which waits until it has all that it was asked for
            while part := os.read(self._pipe.fileno(), 65536):
                self.bytes += part
                if len(self.bytes) > self._most:
                    self.cut = True
                    del self.bytes[self._most :]
                    if self._process.returncode is None:  # else its id may be another's by now
                        _kill(self._process)
                    return


def _wait(process: subprocess.Popen[bytes], seconds: float, stop: threading.Event | None) -> None:
    """For its end, or until it is to be ended. Raises TimeoutError."""
    patience = Patience(seconds)
    with _watch(process) as has_ended:
        while not patience.wait(has_ended, _LOOK):
            if stop and stop.is_set():
                return


@contextmanager
def _watch(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], bool]]:
    """What waits so many seconds for its end, and says whether it came. It is seen at once where the system can tell:
    `Popen.wait` with a timeout sleeps between its looks, up to 50 ms, of some 100 that a check takes."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on this system, or not in the sandbox that we run in
        yield partial(_wait_now_and_then, process)
        return
    try:
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        yield lambda seconds: bool(end.poll(max(0.0, seconds) * 1000))
    finally:
        os.close(descriptor)


def _wait_now_and_then(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, seconds))
    return process.returncode is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """It and all of its session that did not leave it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
