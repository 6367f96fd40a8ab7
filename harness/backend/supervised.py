"""The line to the process that starts and ends a server's programs (harness/backend/supervisor.py)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness import paths
from harness.machine import shortage
from harness.model.backend import FaultKind

_ASK_SECONDS = 60.0


class ServiceError(Exception):
    """A server that cannot be had, or no longer: one line with the program, what it last printed and what to do.

    Attributes:
        lack: What the machine did to it; empty: nothing that is known.
    """

    def __init__(self, told: str, lack: str = "") -> None:
        super().__init__(f"{told}: {lack}" if lack and lack not in told else told)
        self.lack = lack

    @property
    def kind(self) -> FaultKind:
        return "machine" if self.lack else "crashed"


class PortTakenError(ServiceError):
    """A program cannot be started where it was to listen: others listen there, and another port may do."""

    def __init__(self, program: str, port: int) -> None:
        super().__init__(f"{program} cannot be started", f"another program has taken port {port}")


class Supervised:
    """A supervisor of its own, in `root`; its programs end with it, and it ends with the line."""

    def __init__(self, root: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs, (root / "supervisor.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "harness.backend.supervisor", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                # it works in the run's folder, from which no module of ours is found
                env={**os.environ, "PYTHONPATH": str(paths.ROOT)},
                cwd=root,
                # Ctrl-C at the terminal is not for it: it ends with the line
                start_new_session=True,
            )
        ours.settimeout(_ASK_SECONDS)
        self._link = ours
        self._lines = ours.makefile("rb")

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, op: str, *args: Any) -> Any:
        """Raises ServiceError."""
        try:
            self._link.sendall(json.dumps({"op": op, "args": args}).encode() + b"\n")
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            sent = -(self._process.poll() or 0)
            lack = shortage.tell_kill(sent) if sent in shortage.KILLS else ""
            raise ServiceError("the supervisor of the server has ended, and the server with it", lack)
        reply = json.loads(line)
        if "error" in reply:
            raise ServiceError(f"{args[0]} cannot be started: {reply['error']}")
        return reply["ok"]

    def end(self) -> None:
        """Cuts the line; the supervisor ends the programs and itself. What they printed stays."""
        self._lines.close()
        self._link.close()
        try:
            self._process.wait(_ASK_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its programs go with it
            self._process.wait()
