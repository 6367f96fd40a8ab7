"""Processes: one function over many parts, in some of their own; and what the system tells of one."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import current_process, get_context, parent_process
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from harness.machine import leftovers

P = TypeVar("P")
R = TypeVar("R")
ADDRESS = 107
"""Bytes that the path of a socket may have: `sun_path` of unix(7), without its end."""
SOCKET = len("/listener-12345678")
"""Bytes of a name as the library draws it for a socket."""


class Killed(Exception):  # noqa: N818  what was done to it, and no error of its own
    """A process that was to work for this one was ended from outside, or the machine lacked what it needs. One line."""


def map_parts(function: Callable[[P], R], parts: Sequence[P], processes: int, *, apart: bool = False) -> Iterator[R]:
    """What the function makes of each part, in their order. With one process it is this one, part by part as asked for,
    or, `apart`, one whose memory is given back.

    The processes come from a server that has no threads, so that this one may have any. The function, the parts and
    what is made of them are sent to and fro. Raises Killed.

    Few parts wait at a time, and none is cancelled: where a signal meets all processes at once, the executor's thread
    would stumble over what was cancelled, and nobody read what is on its way to the others.
    """
    if min(processes, len(parts)) < (1 if apart else 2):
        yield from map(function, parts)
        return
    context = _choose_context()
    context.set_forkserver_preload([getattr(function, "func", function).__module__])  # imported once for all
    with ProcessPoolExecutor(min(processes, len(parts)), context, _begin, gc.get_threshold()) as pool:
        waiting = deque[Future[R]]()
        try:
            for part in parts:
                waiting.append(pool.submit(function, part))
                if len(waiting) > processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            several = f"one of {processes} processes was killed; with little memory, try --jobs 1"
            raise Killed(several if processes > 1 else "its process was killed, perhaps for lack of memory") from None


def _choose_context() -> BaseContext:
    """How processes are started: by a server, or anew where no path to its socket is short enough for the system.

    The library makes its sockets where the next process clears them, if this one is killed: it has no call for that,
    and a folder of its own would stay for ever.
    """
    settings: dict[str, Any] = getattr(current_process(), "_config", {})
    folder = settings.setdefault("tempdir", str(leftovers.process_folder()))
    return get_context("forkserver" if len(os.fsencode(folder)) + SOCKET <= ADDRESS else "spawn")


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
                ran, delayed, _ = map(int, file.read_text().split())
                got, waited = got + ran, waited + delayed
    return Share(got / 1e9, waited / 1e9)


def _read_family(leader: int) -> dict[int, int]:
    """The processes of a session and all that they have started -> ticks that each, and its children that have ended,
    took of a processor."""
    spent, parents, ours = dict[int, int](), dict[int, int](), {leader}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):  # it may end at any moment
            told = file.read_text(errors="replace").rpartition(")")[2].split()
            pid = int(file.parent.name)
            spent[pid], parents[pid] = sum(map(int, told[11:15])), int(told[1])
            if int(told[3]) == leader:
                ours.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {pid: spent[pid] for pid in ours if pid in spent}


def _begin(*thresholds: int) -> None:
    """An interrupt from the terminal meets all processes: ours is to end this one, without its traceback. If ours was
    killed, this one ends by itself: it would wait for ever, and keep the server from ending, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(*thresholds)


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)
