"""The clock of a story, for a child and all that it starts: libfaketime, preloaded, adds what a file says.

It is an installed tool of the system. Clocks that only count stay real, as deadlines go by them, and so do the times
of files, by which Python knows what it has compiled. A program that is linked statically, or written in Go, asks the
kernel itself and has the wall clock.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from math import ceil
from pathlib import Path

from harness.machine import containment

PRELOAD = "COLDWARM_PRELOAD"
"""Names the library to a child, which loads it once it is in its sandbox."""
SHARED = "/dev/shm"  # noqa: S108  covered in the child's namespace, as libfaketime puts shared memory there
_NAME = "libfaketimeMT.so.1"
"""The build for programs with threads."""
_CLOSE = 60.0
"""Seconds by which what a child shows may differ: it is told in whole ones, and answers when it can."""


@cache
def find_library() -> str | None:
    """Where distributions and its own `make install` put it."""
    places = (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
    return next((str(each) for place in places if (each := Path(place, "faketime", _NAME)).exists()), None)


@cache
def explain_missing() -> str:
    """Why no child can have it here, and what to do; empty if it can."""
    if sys.platform != "linux":
        return "only Linux can preload libfaketime"
    if find_library() is None:
        return "libfaketime is not installed: apt-get install faketime (dnf install libfaketime)"
    if not containment.has_namespaces():
        return f"libfaketime shares {SHARED}, and this user may make no namespaces to keep it apart: run as root"
    return ""


class StoryClock:
    """What the processes of one trial are shown; it goes on from each time that it is set to.

    Attributes:
        folder: They may read it, and nobody but us writes there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._ahead = folder, 0
        self._known: dict[datetime, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def set(self, at: datetime) -> None:
        """To this time; when it was set to it before, to where it has gone from there, so that it repeats nothing."""
        # up, so that no process is shown a time before the one that is set
        self._ahead = self._known.setdefault(at, ceil(at.timestamp() - time.time()))
        draft = self.folder / "draft"
        # an offset knows no time zone, and a file that is replaced is never read half written
        draft.write_text(f"{self._ahead:+d}\n")
        draft.replace(self._file)

    def shows(self, seconds: float) -> bool:
        """Whether it shows about this time, in seconds of the epoch."""
        return abs(time.time() + self._ahead - seconds) < _CLOSE

    @property
    def environment(self) -> Mapping[str, str]:
        """Of a process that is to have it."""
        return {
            PRELOAD: find_library() or "",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    @property
    def _file(self) -> Path:
        return self.folder / "now"
