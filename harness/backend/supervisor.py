"""The process that keeps a server's programs: it starts them, and ends them when it is told or nobody is left to tell.

`python -m harness.backend.supervisor FD`: reads one request a line from FD, answers one line. When the line is cut,
because its parent has closed it or was killed, it ends every program in good order, the last first, and exits. If it
is killed itself, Linux kills its programs. Standard library only; one thread, so that forking is safe.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

# PR_SET_PDEATHSIG of linux/prctl.h
PDEATHSIG = 1
NOBODY = 65534
"""User and group of programs that refuse to run as root."""
GRACE = 10.0
"""Seconds that a program has to end in good order; then its process group is killed."""
_LIBRARY = ctypes.CDLL(None)


class ServerProgram:
    """One program, the leader of a process group of its own."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: str, stop: str, unprivileged: bool) -> None:
        """Everything that it prints goes to the end of `log`. OSError: it cannot be started."""
        self._stop = signal.Signals[stop]
        self._code: int | None = None
        with Path(log).open("ab") as output:
            self._process = subprocess.Popen(
                [*(_list_dropped_rights() if unprivileged else ()), *argv],
                env=env,
                cwd=env["HOME"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_die_with_supervisor,  # there is no other thread
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def code(self, seconds: float = 0.0) -> int | None:
        """The program's exit code, None while it runs. What it leaves in its group is killed at once, while the id is
        its own.
        """
        if self._code is None:
            try:
                self._code = self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            self._sweep()
        return self._code

    def end(self) -> int:
        """Ends the program, in good order if it does so in time."""
        if self.code() is None:
            self._process.send_signal(self._stop)
            if self.code(GRACE) is None:
                self._sweep()
        code = self.code(GRACE)
        return -signal.SIGKILL if code is None else code

    def _sweep(self) -> None:
        # The whole group: what the program has started goes with it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Supervisor:
    """The programs by name, in the order of starting."""

    def __init__(self) -> None:
        self._kept: dict[str, ServerProgram] = {}

    def start(self, name: str, *how: Any) -> None:
        self._kept[name] = ServerProgram(*how)

    def codes(self) -> dict[str, int | None]:
        """Exit codes of the programs that nobody ended; None: it runs."""
        return {name: kept.code() for name, kept in self._kept.items()}

    def look(self) -> dict[str, Any]:
        """The ids of those that run, and the most bytes that one of those that have ended held."""
        running = [kept.pid for kept in self._kept.values() if kept.code() is None]
        # on Linux ru_maxrss is in kilobytes
        return {"pids": running, "held": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}

    def end(self, name: str) -> int | None:
        """The exit code; None if there is no such program, or no longer."""
        kept = self._kept.pop(name, None)
        return kept.end() if kept else None

    def end_all(self) -> None:
        # a copy, as `end` takes each out
        for name in reversed(list(self._kept)):
            self.end(name)

    def answer(self, op: str, args: Sequence[Any]) -> Any:
        operations: dict[str, Callable[..., Any]] = {
            "start": self.start, "codes": self.codes, "look": self.look, "end": self.end
        }  # fmt: skip
        return operations[op](*args)


def _list_dropped_rights() -> list[str]:
    """What takes root's rights away, if we have them, but for reading and writing: a store may lie in root's folder.

    no_setuid_fixup: else access(2), by which PostgreSQL finds its programs, would leave that right out.
    """
    if os.geteuid() != 0:
        return []
    # A change of user clears the death signal set before it, so this sets it again.
    user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--pdeathsig=KILL"]
    rights = ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return ["setpriv", *user, *rights, "--"]


def _die_with_supervisor() -> None:
    # A supervisor that is killed cannot end anything itself.
    if sys.platform == "linux":
        _LIBRARY.prctl(PDEATHSIG, signal.SIGKILL)


def main(descriptor: int) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda *_: None)  # the line says when it is over; what is started gets the defaults again
    supervisor = Supervisor()
    try:
        # the parent may be gone when an answer is written
        with suppress(OSError), socket.socket(fileno=descriptor).makefile("rwb") as link:
            for line in link:
                request = json.loads(line)
                try:
                    reply = {"ok": supervisor.answer(request["op"], request["args"])}
                except OSError as error:
                    reply = {"error": str(error)}
                link.write(json.dumps(reply).encode() + b"\n")
                link.flush()
    finally:
        supervisor.end_all()


if __name__ == "__main__":
    main(int(sys.argv[1]))
