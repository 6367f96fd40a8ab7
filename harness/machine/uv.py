"""Asking uv, which resolves, downloads and installs: found beside our interpreter, else on PATH."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness.machine import extras, leftovers

_CAUSE = re.compile(r"^\s*cause:\s*", re.MULTILINE)
_RUNNING: set[subprocess.Popen[str]] = set()


class Refused(Exception):  # noqa: N818  whoever asked says what it means
    """What uv said when it could not do what it was asked for, in one line."""


def ask(*command: str, told: str = "") -> str:
    """What uv printed. Raises Refused, also where there is no uv."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    program = shutil.which("uv", path=beside)
    if program is None:
        raise Refused(f"it takes uv, which is not installed: {extras.install('env')}")
    with subprocess.Popen(
        [program, *command, "--quiet", "--no-progress", "--color=never"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=leftovers.process_folder(),  # so that no project of the user's changes what is resolved
    ) as running:
        _RUNNING.add(running)
        try:
            said, complaint = running.communicate(told)
        finally:
            _RUNNING.discard(running)
    if running.returncode:
        raise Refused(_shorten(complaint) or f"uv ended with {running.returncode}")
    return said


@atexit.register
def _end() -> None:
    """A run that ends early leaves nothing behind that still installs."""
    for running in tuple(_RUNNING):
        running.kill()


def _shorten(complaint: str) -> str:
    """From the error on, without the words that only lead to its cause."""
    error = complaint[max(complaint.find("error: "), 0) :].removeprefix("error: ")
    parts = [" ".join(part.split()) for part in _CAUSE.split(error)]
    told = parts[1:] if parts[0].startswith("No solution found") else parts
    return ": ".join(filter(None, told))[:800]
