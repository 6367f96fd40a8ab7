"""Asking uv, which resolves, downloads and installs: found beside our interpreter, else on PATH."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from harness.machine import extras, leftovers
from harness.machine.installers import Refused, run

_CAUSE = re.compile(r"^\s*cause:\s*", re.MULTILINE)


def ask(*command: str, told: str = "") -> str:
    """What uv printed. Raises Refused, also where there is no uv."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    program = shutil.which("uv", path=beside)
    if program is None:
        raise Refused(f"it takes uv, which is not installed: {extras.install('env')}")
    aloof = leftovers.process_folder()  # so that no project of the user's changes what is resolved
    code, printed, complaint = run(program, *command, "--quiet", "--no-progress", "--color=never", cwd=aloof, told=told)
    if code:
        raise Refused(_shorten(complaint) or f"uv ended with {code}")
    return printed


def _shorten(complaint: str) -> str:
    """From the error on, without the words that only lead to its cause."""
    error = complaint[max(complaint.find("error: "), 0) :].removeprefix("error: ")
    parts = [" ".join(part.split()) for part in _CAUSE.split(error)]
    told = parts[1:] if parts[0].startswith("No solution found") else parts
    return ": ".join(filter(None, told))[:800]
