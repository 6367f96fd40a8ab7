"""Files that somebody else may have put in the place of ours, and files that a user names: never waiting for a pipe,
never more of them than was meant to be read. What we write is renamed into place whole."""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

DRAFT = ".part"
LONGEST = 200
"""Bytes that are taken into a name: it may have 255 of them on most file systems, and some are added."""


@contextmanager
def open_regular(path: Path, *, links: bool = False) -> Iterator[int]:
    """A descriptor of a regular file. Raises OSError for anything else.

    Args:
        links: Links are followed, as in a path that a user names.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW))
    except OSError as error:
        if error.errno == errno.ENXIO or (error.errno == errno.ELOOP and not links):  # a socket, a link
            raise OSError(error.errno, "not a regular file") from None
        raise
    try:
        if stat.S_ISDIR(kind := os.fstat(file).st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind) or _waits(file):
            raise OSError(errno.EINVAL, "not a regular file")
        yield file
    finally:
        os.close(file)


def _waits(file: int) -> bool:
    """Whether who reads it would wait, as for the next message in /proc/kmsg, which is a regular file to `stat`."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return not poll.poll(0)


def read(path: Path, most: int) -> bytes:
    """The bytes of a file that a user names, links followed. Raises OSError: also if it is no file, or a larger one."""
    with open_regular(path, links=True) as file, os.fdopen(file, "rb", closefd=False) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes, the most that is read", str(path))
    return data


@contextmanager
def open_draft(path: Path) -> Iterator[Path]:
    """Where to write a file that stands at `path` once this ends well; else nothing is left of it.

    Raises OSError, also where a device, a pipe or a folder stands, which a file must not take the place of.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "is there already, and no regular file", str(path))
    made = path.with_name(_name_draft(path))
    try:
        yield made
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


@contextmanager
def fill(folder: Path) -> Iterator[Path]:
    """Where to write what stands in a new or empty folder once this ends well; else nothing is left of it.

    Raises OSError, also for a folder that holds something; a draft that a kill left there does not count.
    """
    folder = Path(os.path.realpath(folder))
    there = folder.exists()
    if there and any(each.suffix != DRAFT for each in folder.iterdir()):
        raise OSError(errno.ENOTEMPTY, "is not empty", str(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = (folder if there else folder.parent) / _name_draft(folder)  # a folder that is there may be a mount
    made.mkdir()
    try:
        yield made
        if there:
            for each in made.iterdir():
                each.rename(folder / each.name)
        else:
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def make_folder(out: Path, name: str) -> Path:
    """A new folder below `out` that nobody else has: of this name, or with a number behind it. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        made = out / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            made.mkdir()
            return made
    raise AssertionError  # numbers do not end


def find_free(folder: Path, title: str, suffix: str) -> Path:
    """A path for what has this title: titles that differ only in what no path may hold are one name by then."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower())[:LONGEST]
    named = (folder / f"{name}{f'-{number}' if number > 1 else ''}{suffix}" for number in count(1))
    return next(path for path in named if not path.exists())


def _name_draft(path: Path) -> str:
    # cut by bytes, as a letter may have several
    name = os.fsencode(path.name)[:LONGEST].decode("utf-8", "ignore")
    return f".{name}.{secrets.token_hex(4)}{DRAFT}"


def write(path: Path, content: str | bytes) -> None:
    """Writes all of it or nothing, the folder made. Raises OSError."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_draft(path) as made:
        made.write_bytes(data)


def measure_size(folder: Path) -> int:
    """Bytes of the regular files below a folder; 0 if it is not there. What goes meanwhile does not count."""
    return sum(_list_sizes(folder))


def find_largest(folder: Path) -> int:
    """Bytes of the largest regular file below a folder; 0 if there is none."""
    return max(_list_sizes(folder), default=0)


def _list_sizes(folder: Path) -> Iterator[int]:
    for below, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = Path(below, name).lstat()
                if stat.S_ISREG(found.st_mode):
                    yield found.st_size


def read_whole(path: Path) -> bytes:
    with open_regular(path) as file, os.fdopen(file, "rb", closefd=False) as stream:
        return stream.read()


def read_pieces(path: Path) -> Iterator[bytes]:
    """Its bytes, a million at a time."""
    with open_regular(path) as file, os.fdopen(file, "rb", closefd=False) as stream:
        while piece := stream.read(1_000_000):
            yield piece


def read_tail(path: Path, limit: int) -> bytes:
    """The last `limit` bytes, whatever the size."""
    with open_regular(path) as file:
        return os.pread(file, limit, max(0, os.fstat(file).st_size - limit))
