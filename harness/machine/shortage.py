"""What this machine lacks: whether a call that failed is the machine's doing, or that of the program which failed.

What a program says is believed only if the machine is in that state at that moment. A limit that a process reaches by
itself is the machine's doing only if it is lower than on a usual machine; memory that ran out, only if the process
itself did not hold most of it. docs/concepts.md has these rules for users.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from harness.machine import files, leftovers
from harness.machine.processes import Killed

ROOM = 64 * 2**20
"""Free bytes below which a write may have failed, although some are free again when we look."""
PAGE = 4096
"""Bytes by which a file stays below the limit of its size if it only grows by whole pages."""
PROBE = 2**20
"""Bytes that are written to see whether a quota lets them be."""
FEW_FILES = 64
"""Files that may still be made, below which one may have failed to be, although some were removed since."""
FILES, ADDRESSES, PROCESSES, FILE = 1024, 4 * 2**30, 4096, 2**30
"""What a usual machine gives at least: open files, bytes of address space, processes and threads of a user, bytes of a
file."""
NEEDED_FILES, NEEDED_ADDRESSES, NEEDED_FILE = 64, 768 * 2**20, 2**18
"""Those without which no command gets to its end."""
OUT_OF_MEMORY = (signal.SIGKILL, signal.SIGTERM)
"""What ends a process where memory runs out: the system's own means, and what keeps it from having to."""
KILLS = (*OUT_OF_MEMORY, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""What ends a process only if somebody sends it: no fault of a program does."""
_FEW = 0.05
"""The share of memory, files or processes below which there is next to nothing left."""
_PROCESS_SIGNS = r"can't start new thread|Resource temporarily unavailable|pthread_create"
_ROOM_SIGNS = (
    r"No space left|unable to write|quota exceeded|disk is full|disk I/O error|unable to open database file|"
    r"Out of diskspace"
)
_FILE_SIGNS = r"File too large|disk I/O error"
_OPEN_SIGNS = r"Too many open files|unable to open database file"
_MEMORY_SIGNS = r"\bMemoryError\b|bad_alloc|Cannot allocate memory|out of memory|memory allocation of \d+ bytes failed"


class Lacking(Exception):  # noqa: N818  what is not there, not whose error it is
    """Something that everything here needs is not there, or was taken away: what, and what to do, in one line."""


class _Shortage(NamedTuple):
    """Something that may run out.

    Attributes:
        numbers: The errors of the system that say so.
        look: (folder, bytes of memory that the process held) -> what is lacking, in words; empty if nothing is.
    """

    numbers: tuple[int, ...]
    signs: re.Pattern[str]
    look: Callable[[Path, int], str]


def find(told: str, folder: Path, held: int = 0) -> str:
    """What the machine lacks of that which these words of a failed program name; empty if it lacks nothing of it.

    Args:
        folder: Where the program writes.
        held: Bytes of memory that it held at most; 0: not known.
    """
    # looked at one after the other until one is lacking: a look may write a probe, or walk a store
    looks = (each.look(folder, held) for each in _ALL if each.signs.search(told))
    return next(filter(None, looks), "")


def explain_error(error: BaseException, folder: Path | None = None) -> str:
    """What the machine lacked when something of our own failed; empty if the error does not say so."""
    for each in _list_causes(error):
        if isinstance(each, MemoryError):
            return _MEMORY
        if isinstance(each, Killed | Lacking):
            return str(each)
        if isinstance(each, FileNotFoundError) and (lack := leftovers.explain_removal()):
            return lack
        if isinstance(each, OSError) and each.errno in _OURS:
            return _OURS[each.errno]
        if isinstance(each, RuntimeError) and "can't start new thread" in str(each):
            return _OURS[errno.EAGAIN]
    return find(" ".join(map(_spell, _list_causes(error))), folder or Path(tempfile.gettempdir()))


def tell(error: OSError) -> str:
    """What the machine lacked when we could not write, with what to do; else what the system says."""
    return _OURS.get(error.errno or 0) or error.strerror or str(error)


def is_short_of_room(folder: Path) -> str:
    """What is lacking where this folder lies; empty: something can be written there."""
    return _explain_room(folder, 0)


def explain_full_file(folder: Path) -> str:
    """Whether a file of a store has come to the limit of its size, whatever the words of who failed: a database keeps
    the system's error to itself. To a low limit half of it is enough, as a database takes back what it could not write.
    """
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most == resource.RLIM_INFINITY:  # the folder, which may be large, is not read
        return ""
    full = most // 2 if _is_below(most, FILE) else most - PAGE
    return _file(folder, 0) if files.find_largest(folder) > full else ""


def explain_memory(held: int) -> str:
    """Whether there is next to no memory left, most of it not held by who holds so many bytes."""
    return _explain_memory(Path(), held)


def explain_processor() -> str:
    """Whether there is a limit of processor time, which ends a process that comes to it. It is ours: a program that
    gave itself another one did so in its own process."""
    most = resource.getrlimit(resource.RLIMIT_CPU)[0]
    return "" if most == resource.RLIM_INFINITY else f"a process may compute for {most:,} s only: ulimit -t unlimited"


def tell_kill(sent: int) -> str:
    """What is inferred of who was ended by this signal, and by nobody that is known."""
    perhaps = ": perhaps memory ran out" if sent in OUT_OF_MEMORY else ""
    return f"killed by signal {sent}, not by coldwarm{perhaps}"


def holds_most(held: int) -> bool:
    """Whether a process of so many bytes filled the memory of this machine by itself."""
    # where the total is not known (0), a process of any size did, and a kill is not laid to the machine
    return bool(held) and held * 2 >= _read_memory()[0]


def explain_limits() -> str:
    """Why nothing can be done under the limits of this shell; empty if it can. Takes as many files as it is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _is_below(soft, FILES):
        soft = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if _is_below(soft, NEEDED_FILES):
        return f"only {soft} files may be open at a time, and {NEEDED_FILES} are needed: ulimit -n {FILES}"
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if _is_below(most, NEEDED_ADDRESSES):
        given, needed = (f"{each / 2**20:.0f} MiB" for each in (most, NEEDED_ADDRESSES))
        return f"a process gets {given} of address space, and {needed} are needed: ulimit -v unlimited"
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if _is_below(most, NEEDED_FILE):
        return f"a file may have {most:,} bytes only, and {NEEDED_FILE:,} are needed: ulimit -f unlimited"
    return ""


def explain_crowd(jobs: int) -> str:
    """Why so many trials cannot be played side by side under the limits of this shell; empty if they can.

    A thread that gets no memory as it begins is waited for by who began it, for ever.
    """
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if jobs == 1 or not _is_below(most, ADDRESSES):
        return ""
    given, needed = (f"{each / 2**20:.0f} MiB" for each in (most, ADDRESSES))
    return f"{jobs} trials side by side need {needed} of address space, and get {given}: ulimit -v unlimited"


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _spell(error: BaseException) -> str:
    # the error may be of somebody else's class, and fail as it is shown
    with suppress(Exception):
        return f"{type(error).__name__}: {error}"
    return type(error).__name__


# --- what may run out -------------------------------------------------------------------------------------------------


def _explain_room(folder: Path, _: int) -> str:
    try:
        found = os.statvfs(folder)
        free = found.f_bavail * found.f_frsize
        # some file systems, as Btrfs, do not count files and say 0
        if found.f_files and found.f_favail < FEW_FILES:
            return f"the disk takes {found.f_favail:,} files more, of {found.f_files:,}: make room"
        if free < ROOM:
            return f"no room is left on the disk ({free / 2**20:.1f} MiB are free): make room"
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE))
            probe.flush()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"no room is left on the disk ({os.strerror(error.errno)}): make room"
    return ""


def _file(folder: Path, _: int) -> str:
    """The limit is ours, not one that the program has given itself. A low one is enough: a database takes back what it
    could not write. To a usual one a file of the store has come close."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if _is_below(most, FILE) or (most != resource.RLIM_INFINITY and files.find_largest(folder) * 2 >= most):
        return f"a file may have {most:,} bytes only: ulimit -f unlimited"
    return ""


def _explain_files(_: Path, held: int) -> str:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if _is_below(soft, FILES):
        return f"a process may have {soft} files open only: ulimit -n {FILES}"
    with suppress(OSError, ValueError):
        used, _free, most = map(int, Path("/proc/sys/fs/file-nr").read_text().split())
        if used > most * (1 - _FEW):
            return f"{used:,} of {most:,} files of this machine are open: end what holds them"
    return ""


def _explain_processes(_: Path, held: int) -> str:
    """Of a user; the system counts none of root."""
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    return _OURS[errno.EAGAIN] if os.geteuid() and _is_below(most, PROCESSES) else ""


def _explain_memory(_: Path, held: int) -> str:
    if _is_below(resource.getrlimit(resource.RLIMIT_AS)[0], ADDRESSES):
        return "the limit of address space (ulimit -v) is low: ulimit -v unlimited"
    total, free = _read_memory()
    if total and free < total * _FEW and not holds_most(held):
        return f"{_MEMORY} ({free / 2**20:.0f} of {total / 2**20:.0f} MiB are free)"
    return ""


_MEMORY = "this machine is out of memory: give it more, or play fewer trials side by side"
_OURS = {
    errno.ENOSPC: "no room is left on a disk of this machine: make room",
    errno.EDQUOT: "the disk quota is used up: make room",
    errno.EROFS: "the file system is read-only: mount it for writing",
    errno.EFBIG: "a file has come to the limit of its size: ulimit -f unlimited",
    errno.EMFILE: f"too many files are open: ulimit -n {FILES}",
    errno.ENFILE: "too many files of this machine are open: end what holds them",
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: "no more processes can be started (ulimit -u): end some",
}
"""What an error of our own means: nobody else has made it."""


def _make_shortage(numbers: tuple[int, ...], words: str, look: Callable[[Path, int], str]) -> _Shortage:
    # as Python spells an error's number, and as Rust does
    either = "|".join(map(str, numbers))
    return _Shortage(numbers, re.compile(rf"{words}|\[Errno ({either})\]|os error ({either})\b"), look)


_ALL = (
    _make_shortage((errno.ENOSPC, errno.EDQUOT), _ROOM_SIGNS, _explain_room),
    _make_shortage((errno.EFBIG,), _FILE_SIGNS, _file),
    _make_shortage((errno.EMFILE, errno.ENFILE), _OPEN_SIGNS, _explain_files),
    _make_shortage((errno.ENOMEM,), _MEMORY_SIGNS, _explain_memory),
    _make_shortage((errno.EAGAIN,), _PROCESS_SIGNS, _explain_processes),
)


def _is_below(limit: int, usual: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < usual


def _read_memory() -> tuple[int, int]:
    """Bytes of memory, and those that are available, of this machine or of what a container gets; 0, 0: not known."""
    told: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            told[name] = int(rest.split()[0]) * 1024
    total, free = told.get("MemTotal", 0), told.get("MemAvailable", 0)
    with suppress(OSError, ValueError):  # "max": no limit of its own
        group = Path("/sys/fs/cgroup")
        most, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        # cached pages of files that were not used lately count as free: the system gives them back on demand
        total, free = min(total or most, most), min(free, most - used + int(counts.get("inactive_file", 0)))
    return total, free
