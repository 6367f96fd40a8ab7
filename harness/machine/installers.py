"""Running a program that resolves, downloads and installs; one that a run has started ends with it."""

from __future__ import annotations

import atexit
import subprocess
from pathlib import Path

_RUNNING: set[subprocess.Popen[str]] = set()


class Refused(Exception):  # noqa: N818  whoever asked says what it means
    """What an installer said when it could not do what it was asked for, in one line."""


def run(*command: str, cwd: Path, told: str = "") -> tuple[int, str, str]:
    """Exit code, what was printed, and what was complained of.

    Args:
        told: What it reads.
    """
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    ) as running:
        _RUNNING.add(running)
        try:
            said, complaint = running.communicate(told)
        finally:
            _RUNNING.discard(running)
    return running.returncode, said, complaint


@atexit.register
def _end() -> None:
    """A run that ends early leaves nothing behind that still installs."""
    # a copy, as a thread that still waits for one takes it out of the set
    for running in tuple(_RUNNING):
        running.kill()
