"""The bytes of files: every regular file of a folder, each read once in pieces that overlap.

Read, not mapped: a store at work may cut a file short, and a page of a mapping that is gone kills the process.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from harness.scan.needles import Match, Needles
from harness.scan.packed import Unpacking

PIECE = 4 << 20
"""Bytes of a file that are searched at once."""
_LIGHT = bytes([0, *b"\t\n\r", *range(0x20, 0x7F)])
_ZERO = b"\0"
THREADS = 2
"""Pieces searched side by side; the search holds no lock."""
ReportSighting = Callable[[Path, str], None]
"""Told of what cannot be looked at, and why."""


def list_files(top: Path, report: ReportSighting, skip: Collection[Path] = ()) -> Iterator[Path]:
    """Every regular file at or below `top`, in order. Links are not followed; what they point to inside is met anyway.

    What is not there any more when it is its turn was not there.

    Args:
        skip: Folders of ours, which are not entered.
    """
    inside, waiting = top.resolve(), [top]
    while waiting:
        path = waiting.pop()
        if path in skip:
            continue
        try:
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                # reversed, as the last one is taken first
                waiting += [path / name for name in sorted(os.listdir(path), reverse=True)]  # noqa: PTH208  names only
        except FileNotFoundError:
            continue
        except OSError as error:
            report(path, f"cannot be read: {error.strerror}")
            continue
        if stat.S_ISREG(mode):
            yield path
        elif not stat.S_ISDIR(mode) and not (stat.S_ISLNK(mode) and path != top and _leads_inside(path, inside)):
            report(path, "is not a regular file and was not followed")


def _leads_inside(link: Path, folder: Path) -> bool:
    """Whether what the link points to is met on the way through the folder itself."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # to nowhere, or in a circle
        return False
    return target.is_relative_to(folder) and target != folder


def show_path(path: Path) -> str:
    """A path as text that can be written to a log; names need not be text."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def find_written(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where in the first `size` bytes something was written, as (start, end): the holes of a sparse file hold nothing.

    All of them, where the file system cannot tell.
    """
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = min(os.lseek(file, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            start, end = end, size
        if start < end:
            yield start, end


def weigh(data: bytes) -> tuple[int, int]:
    """Bytes that are not zero, and those of them that are no plain text: what a cipher, a compression or numbers are
    made of."""
    return len(data) - data.count(_ZERO), len(data.translate(None, _LIGHT))


def weigh_file(file: int, size: int) -> tuple[int, int]:
    """Weighs a file as `weigh` does. A file that was laid out beforehand has its size from the start, and fills with
    these.
    """
    total = dark = 0
    for start, end in find_written(file, size):
        for at in range(start, end, PIECE):
            more = weigh(os.pread(file, min(PIECE, end - at), at))
            total, dark = total + more[0], dark + more[1]
    return total, dark


def search(file: int, size: int, needles: Needles) -> Iterator[Match]:
    """Every needle in the first `size` bytes, by offset in the file; a file that got shorter ends earlier."""

    def piece(at: int) -> list[Match]:
        data = os.pread(file, min(PIECE + needles.longest, size - at), at)
        return [match._replace(start=at + match.start) for match in needles.find(data) if match.start < PIECE]

    starts = _find_pieces(file, size)
    if size <= PIECE:
        yield from (match for at in starts for match in piece(at))
        return
    with ThreadPoolExecutor(THREADS) as pool:
        while batch := list(islice(starts, THREADS)):  # by batches, so that what was found does not pile up
            for matches in pool.map(piece, batch):
                yield from matches


def find_unpacked(file: int, size: int, unpacking: Unpacking) -> Iterator[Match]:
    """Every needle in the compressed streams of the first `size` bytes, by the offset of the stream."""
    yield from unpacking.file(
        lambda at, most: os.pread(file, max(0, min(most, size - at)), at), _find_pieces(file, size), PIECE
    )


def _find_pieces(file: int, size: int) -> Iterator[int]:
    """Where the pieces begin in which something was written."""
    # at multiples of PIECE, each once: several written parts may lie in one piece
    return iter(dict.fromkeys(at for a, b in find_written(file, size) for at in range(a - a % PIECE, b, PIECE)))
