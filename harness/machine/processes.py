"""Processes: what the system tells of one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

TRIES, PROBE_SECONDS = 3, 20.0


class Killed(Exception):  # noqa: N818  what was done to it, and no error of its own
    """A process that was to work for this one was ended from outside, or the machine lacked what it needs. One line."""


def succeeds(words: Sequence[str], who: str, folder: Path | None = None) -> bool:
    """Whether a short command ends well.

    Raises Killed if it is killed or stands still each time, as its answer is not known then, and OSError.
    """
    for _ in range(TRIES):
        with suppress(subprocess.TimeoutExpired):
            code = subprocess.run(words, cwd=folder, capture_output=True, timeout=PROBE_SECONDS).returncode
            # below 0 and above 128 a signal ended it, or what it had started
            if 0 <= code <= 128:
                return code == 0
    raise Killed(f"{who} was killed or stood still; try again on a quieter machine")


class Seen(NamedTuple):
    """A process as the system shows it.

    Attributes:
        held: Bytes of memory that it held at most; 0: not known.
        stopped: By a signal, until another one lets it go on.
    """

    held: int
    stopped: bool


def look(pid: int) -> Seen:
    told: dict[str, str] = {}
    with suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        told = {name: rest.strip() for name, _, rest in (line.partition(":") for line in lines)}
    # T: stopped by a signal, t: by a debugger
    return Seen(int(told.get("VmHWM", "0").split()[0]) * 1024, told.get("State", "").startswith(("T", "t")))


def measure_work(leader: int) -> float | None:
    """Processor seconds of a session's leader and of all that it has started, up to now; None: the system tells none.

    Of a process that has ended they count if its parent has waited for it. A daemon that has left the session and its
    parent is not seen.
    """
    spent = _read_family(leader)
    return sum(spent.values()) / os.sysconf("SC_CLK_TCK") if leader in spent else None


class Share(NamedTuple):
    """What some processes had of the processors up to now.

    Attributes:
        got: Seconds that their threads ran.
        waited: Seconds for which those could have run while others did.
    """

    got: float
    waited: float


def measure_share(leaders: Iterable[int]) -> Share:
    """That of sessions: their leaders and all that those have started. Both 0 where the system does not tell."""
    got = waited = 0
    for pid in {pid for leader in leaders for pid in _read_family(leader)}:
        for file in Path(f"/proc/{pid}/task").glob("[0-9]*/schedstat"):
            with suppress(OSError, ValueError):  # it may end at any moment
                # nanoseconds on a processor and in its queue, and how many turns
                ran, delayed, _ = map(int, file.read_text().split())
                got, waited = got + ran, waited + delayed
    return Share(got / 1e9, waited / 1e9)


def _read_family(leader: int) -> dict[int, int]:
    """The processes of a session and all that they have started -> ticks that each, and its children that have ended,
    took of a processor."""
    spent, parents, ours = dict[int, int](), dict[int, int](), {leader}
    with os.scandir("/proc") as entries:
        pids = [int(each.name) for each in entries if each.name.isdecimal()]
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):  # it may end at any moment
            # the name of a program stands in brackets, and may hold brackets and blanks itself
            told = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split(None, 15)
            # of proc(5), counted from the state on: 1 the parent, 3 the session, 11 to 14 its ticks and its children's
            spent[pid], parents[pid] = sum(map(int, told[11:15])), int(told[1])
            if int(told[3]) == leader:
                ours.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {pid: spent[pid] for pid in ours if pid in spent}
