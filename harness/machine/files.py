"""Files that somebody else may have put in the place of ours: never through a link, never waiting for a pipe."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def open_regular(path: Path) -> Iterator[int]:
    """A descriptor of a regular file. Raises OSError for anything else."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket
            raise OSError(error.errno, "not a regular file") from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield file
    finally:
        os.close(file)


def weigh(folder: Path) -> int:
    """Bytes of the regular files below a folder; 0 if it is not there. What goes meanwhile does not count."""
    return sum(_sizes(folder))


def find_largest(folder: Path) -> int:
    """Bytes of the largest regular file below a folder; 0 if there is none."""
    return max(_sizes(folder), default=0)


def _sizes(folder: Path) -> Iterator[int]:
    for below, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = Path(below, name).lstat()
                if stat.S_ISREG(found.st_mode):
                    yield found.st_size


def whole(path: Path) -> bytes:
    with open_regular(path) as file, os.fdopen(file, "rb", closefd=False) as stream:
        return stream.read()


def pieces(path: Path) -> Iterator[bytes]:
    """Its bytes, a million at a time."""
    with open_regular(path) as file, os.fdopen(file, "rb", closefd=False) as stream:
        while piece := stream.read(1_000_000):
            yield piece


def tail(path: Path, limit: int) -> bytes:
    """The last `limit` bytes, whatever the size."""
    with open_regular(path) as file:
        return os.pread(file, limit, max(0, os.fstat(file).st_size - limit))
