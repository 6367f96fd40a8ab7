"""A limit on how many processes and threads a child starts, those that it starts among them, so that what forks without
end ends nobody else.

Standard library only, as a child enters it before it imports the adapter. Linux does not count those of root; a control
group does, where one may be made.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MOST = 4096
"""Of one child, or of all that are forked from one that has imported an SDK."""
PREFIX = "coldwarm-"
GROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_TRIES = 20


def enter() -> bool:
    """For this process and all that it starts, for good; False where nothing holds them."""
    if os.geteuid() == 0:
        return any(map(_join, _list_places()))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = MOST + _count_all()  # as all of this user count, unless namespaces tell them apart
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return True


def sweep() -> None:
    """Removes groups in which nobody is any more."""
    for group in [each for place in _list_places() for each in place.glob(f"{PREFIX}*")]:
        for _ in range(_TRIES):
            with suppress(OSError):
                group.rmdir()
                break
            if _is_lived_in(group):
                break
            time.sleep(0.01)  # its last process is just ending


def _join(place: Path) -> bool:
    group = place / f"{PREFIX}{os.getpid()}"
    for _ in range(_TRIES):  # another process may sweep it before this one is in it
        with suppress(OSError):
            group.mkdir(exist_ok=True)
            # the limit stands before the process is in; 0 names the process that writes
            (group / "pids.max").write_text(str(MOST))
            (group / "cgroup.procs").write_text("0")
            return True
        with suppress(OSError):
            group.rmdir()
    return False


def _list_places() -> Iterator[Path]:
    """This process's own groups, of either version, in which another may be made: no limit on it is left behind."""
    with suppress(OSError):
        for line in OWN.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if "pids" in kinds.split(","):
                yield GROUPS / "pids" / path.lstrip("/")
            # version 2 has one line, which names no kinds
            elif not kinds:
                yield GROUPS / path.lstrip("/")


def _is_lived_in(group: Path) -> bool:
    try:
        return bool((group / "cgroup.procs").read_text())
    except OSError:
        return False


def _count_all() -> int:
    """Processes and threads of this machine; 0: not known."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0
