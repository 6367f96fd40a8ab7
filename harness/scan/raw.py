"""The bytes of files: every regular file of a folder, each read once in pieces that overlap.

Read, not mapped: a store at work may cut a file short, and a page of a mapping that is gone kills the process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from harness.scan.needles import Match, Needles

PIECE = 4 << 20
"""Bytes of a file that are searched at once."""
THREADS = 2
"""Pieces searched side by side; the search holds no lock."""
Report = Callable[[str], None]
"""Told of what cannot be looked at."""


def files(top: Path, report: Report) -> Iterator[Path]:
    """Every regular file at or below `top`, in order. Links are not followed; what they point to inside is met anyway.

    What is not there any more when it is its turn was not there.
    """
    inside = top.resolve()

    def below(path: Path) -> Iterator[Path]:
        try:
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                names = sorted(os.listdir(path))  # noqa: PTH208  names only: the paths are made as they are met
        except FileNotFoundError:
            return
        except OSError as error:
            report(f"{_name(top, path)} cannot be read: {error.strerror}")
            return
        if stat.S_ISDIR(mode):
            for name in names:
                yield from below(path / name)
        elif stat.S_ISREG(mode):
            yield path
        elif not (stat.S_ISLNK(mode) and path != top and _leads_inside(path, inside)):
            report(f"{_name(top, path)} is not a regular file and was not followed")

    yield from below(top)


def _leads_inside(link: Path, folder: Path) -> bool:
    """Whether what the link points to is met on the way through the folder itself."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # to nowhere, or in a circle
        return False
    return target.is_relative_to(folder) and target != folder


def _name(top: Path, path: Path) -> str:
    return shown(Path(path.name) if path == top else path.relative_to(top))


def shown(path: Path) -> str:
    """A path as text that can be written to a log; names need not be text."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor of a regular file. Raises OSError; never waits for a pipe that took the file's place."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "not a regular file")
        yield file
    finally:
        os.close(file)


def search(file: int, size: int, needles: Needles) -> Iterator[Match]:
    """Every needle in the first `size` bytes, by offset in the file; a file that got shorter ends earlier."""

    def piece(at: int) -> list[Match]:
        data = os.pread(file, min(PIECE + needles.longest, size - at), at)
        return [match._replace(start=at + match.start) for match in needles.find(data) if match.start < PIECE]

    starts = iter(range(0, size, PIECE))
    if size <= PIECE:
        yield from (match for at in starts for match in piece(at))
        return
    with ThreadPoolExecutor(THREADS) as pool:
        while batch := list(islice(starts, THREADS)):  # by batches, so that what was found does not pile up
            for matches in pool.map(piece, batch):
                yield from matches
