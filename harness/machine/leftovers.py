"""Nothing outlives a run: its temporary folders, and the helper processes that an adapter started.

A folder belongs to whoever holds its lock. The system frees a lock when its holder dies, however it died, so the next
process can tell what a kill has left and what is still in use.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from harness.machine import crowds

LOCK = ".lock"
PREFIX = "coldwarm-"
PROCESSES = Path("/proc")
MOMENT = 0.2
"""Seconds after which a lock is somebody's own: who only asks whether a folder is claimed holds it for an instant."""
KEPT = 32
"""Namespaces that are held before it is looked which of them are still lived in."""


@dataclass(frozen=True)
class _Mark:
    """The namespace of a child, and of all that it started.

    Attributes:
        folder: What they belong to.
        held: A descriptor: while it is open, the system gives the number to no other namespace.
    """

    folder: Path
    held: int


_MARKS: dict[int, _Mark] = {}
"""Number of a namespace -> whose it is."""
_LOCK = threading.Lock()


ENDING = 10.0
"""Seconds for which those that outlive a trial are killed again."""


class InUse(Exception):  # noqa: N818  somebody else's right, not an error of the folder
    """Another process holds the lock of this folder."""


@contextmanager
def claim(folder: Path) -> Iterator[None]:
    """Holds the folder's lock. Raises InUse, after a moment, if another process does."""
    lock = _lock(folder, MOMENT)
    try:
        yield
    finally:
        lock.release()


def is_claimed(folder: Path) -> bool:
    """Whether another process holds the folder's lock now; leaves it to whoever wants it."""
    try:
        with (folder / LOCK).open("rb") as file:
            # shared, so that two processes that only ask do not take each other for the owner
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lock(folder: Path, seconds: float = 0) -> BaseFileLock:
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise InUse(str(folder)) from None
    return lock


@contextmanager
def make_temporary() -> Iterator[Path]:
    """An empty folder that is removed at the end of the block; after a kill, by the next process that needs one."""
    folder = Path(tempfile.mkdtemp(dir=process_folder()))
    try:
        yield folder
    finally:
        remove(folder)


@cache
def process_folder() -> Path:
    """This process's folder for all temporary ones, and for what stays until it ends."""
    sweep_temporary()
    (root, lock), owner = _make_folder(), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked copy of this process does not own it
            lock.release()
            clear(root)

    atexit.register(remove)
    return root


def explain_removal() -> str:
    """Who took this process's folder away, and what to do; empty: it is there, or was never needed. One without its
    lock is another, made anew at its place."""
    if not process_folder.cache_info().currsize or (process_folder() / LOCK).exists():
        return ""
    return f"the temporary folder {process_folder()} was removed during the run: set TMPDIR to one that nobody cleans"


def _make_folder() -> tuple[Path, BaseFileLock]:
    """A new folder with its lock. Another process that sweeps may hold the lock for the moment in which nobody does,
    and clears the folder then: it is made anew."""
    while True:
        root = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(InUse):
            lock = _lock(root)
            if (root / LOCK).exists():
                return root, lock


def sweep_temporary() -> None:
    """Clears the temporary folders of processes that have died."""
    sweep(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))


def sweep(folders: Iterable[Path], below: str = ".") -> None:
    """Clears `below` in each of these folders whose owner has died. A folder without a lock was never anybody's."""
    for folder in folders:
        with suppress(InUse, OSError):  # what is not ours to touch stays
            if _is_ours(folder) and (folder / LOCK).exists():
                with claim(folder):
                    clear(folder / below)


def _is_ours(folder: Path) -> bool:
    """In a folder that everybody writes to, a name proves nothing."""
    return not folder.is_symlink() and folder.stat().st_uid == os.geteuid()


def clear(folder: Path) -> None:
    end_processes(folder)
    remove(folder)


def remove(folder: Path) -> None:
    """However deep it is: a backend may nest folders beyond what Python itself can walk."""
    with suppress(RecursionError):
        if folder.is_dir():  # it would wait for a pipe
            shutil.rmtree(folder, ignore_errors=True)
    for words in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):  # an ordinary user may have shut itself out
        if os.path.lexists(folder):
            subprocess.run([*words, "--", folder], capture_output=True, check=False)


def remove_channels(folder: Path) -> None:
    """Removes sockets and pipes, which nobody serves any more: whoever copies or searches the folder would wait."""
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                if stat.S_IFMT((file := Path(place, name)).lstat().st_mode) in (stat.S_IFSOCK, stat.S_IFIFO):
                    file.unlink()


def note(folder: Path, pid: int) -> None:
    """Takes note of a process in a namespace of its own, not its parent's: whatever it starts belongs to the folder."""
    with suppress(OSError, ValueError), _LOCK:
        told = (PROCESSES / str(pid) / "status").read_text(errors="replace")
        parent = next(line.split()[1] for line in told.splitlines() if line.startswith("PPid:"))
        # ipc is the kind that `namespaces` makes anew for each child
        held = os.open(PROCESSES / str(pid) / "ns" / "ipc", os.O_RDONLY | os.O_CLOEXEC)
        mark = os.fstat(held).st_ino
        if mark in _MARKS or mark == _read_mark(parent):
            os.close(held)
            return
        _MARKS[mark] = _Mark(folder, held)
        # each namespace that is held takes a descriptor
        if len(_MARKS) > KEPT:
            _forget(_MARKS.keys() - {_read_mark(place.name) for place in PROCESSES.glob("[0-9]*")})


def end_processes(folder: Path) -> Sequence[int]:
    """Kills every process that lives below the folder, or was started by one that did, until none is left, as one may
    have been starting others. Those that could not be ended in time."""
    with _LOCK:
        marks = {mark for mark, known in _MARKS.items() if folder == known.folder or folder in known.folder.parents}
        until, pause = time.monotonic() + ENDING, 0.001
        while (living := [*_find_living(folder, marks)]) and time.monotonic() < until:
            for pid in living:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(pause := min(pause * 2, 0.1))
        _forget(marks)
    crowds.sweep()
    return living


def _forget(marks: Iterable[int]) -> None:
    for mark in marks:
        os.close(_MARKS.pop(mark).held)


def _find_living(folder: Path, marks: Container[int]) -> Iterator[int]:
    """Processes of these namespaces, or whose HOME or working folder lies below: what a helper inherits."""
    top = os.fsencode(folder.resolve())
    for place in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            if int(place.name) != os.getpid() and (_read_mark(place.name) in marks or _is_alive(place, top)):
                yield int(place.name)


def _is_alive(process: Path, top: bytes) -> bool:
    homes = [entry[5:] for entry in (process / "environ").read_bytes().split(b"\0") if entry.startswith(b"HOME=")]
    return any(_lies_within(each, top) for each in (*homes, os.fsencode((process / "cwd").readlink())))


def _read_mark(pid: str) -> int:
    """The number of its namespace; 0: it cannot be seen."""
    try:
        return (PROCESSES / pid / "ns" / "ipc").stat().st_ino
    except OSError:
        return 0


def _lies_within(path: bytes, top: bytes) -> bool:
    return path == top or path.startswith(top + b"/")
