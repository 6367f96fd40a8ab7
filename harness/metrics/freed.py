"""Bytes that a deletion did not free: places in which nothing is recognised, but which may hold the deleted text.

A transformed text (a cipher, token numbers, the vector of another wording) cannot be searched for. A place may hold it
if it grows during the deletion, or grew with the writes and does not shrink. Then it cannot be told whether the text is
gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from harness.log.parts import Sighting, Weight

SQUEEZED = 4
"""How many times smaller a text may be kept, compressed."""
COMPONENTS = 384
"""Of an embedding of the bundled model: as many bytes, where each is kept in one."""
MOST = 8192
"""Bytes that a deletion moves for one memory at most: what grows by more took in something else, too."""


class Spot(NamedTuple):
    """The rows of a column; of a file that is no database, `rows` is empty."""

    path: str
    rows: str


class Size(NamedTuple):
    """Bytes that are not zero, and those of them that look like no text."""

    bytes: int = 0
    dark: int = 0

    def __sub__(self, other: Size) -> Size:
        return Size(self.bytes - other.bytes, self.dark - other.dark)

    def share(self, part: float) -> Size:
        return Size(round(self.bytes * part), round(self.dark * part))

    def reaches(self, other: Size) -> bool:
        """In bytes that are no text, or in all of them; 0: these tell nothing."""
        return self.dark >= other.dark or 0 < other.bytes <= self.bytes


Held = Mapping[Spot, Size]
NOTHING = Size()


def sizes(weights: Iterable[Weight]) -> Held:
    return {Spot(each.path, each.place): Size(each.bytes, each.dark) for each in weights}


def list_read(sightings: Iterable[Sighting]) -> set[Spot]:
    """Places in which something was recognised."""
    return {Spot(each.path, each.place if each.place.startswith("rows ") else "") for each in sightings}


def of_texts(texts: Iterable[str]) -> Size:
    """Bytes that would do to keep them: as they are long in letters and digits, a quarter of that compressed."""
    total = sum(len(text.encode("utf-8", "replace")) for text in texts)
    # at least 1: every place would reach 0
    return Size(total, max(1, total // SQUEEZED))


def of_vectors(amount: int) -> Size:
    # no number of bytes: a vector shows in those alone that look like no text
    return Size(0, max(1, amount * COMPONENTS))


def taken_in(then: Held, now: Held, read: Collection[Spot], due: Size, amount: int, later: Held) -> Iterator[str]:
    """Places that grew with the deletion of `amount` memories by what would do for them.

    Args:
        later: What was written since may have added.
    """
    for spot, size in now.items():
        more = size - then.get(spot, NOTHING) - later.get(spot, NOTHING)
        if spot not in read and more.reaches(due) and more.bytes <= amount * MOST:
            yield f"{_name(spot)} took in {more.bytes:,} bytes when {amount} were deleted, and shows nothing of them"


def not_given_back(
    opened: Held, then: Held, now: Held, read: Collection[Spot], all_of: Size, part: float
) -> Iterator[str]:
    """Columns that took in with the writes what would do for all of them, and gave back less than half of the `part`
    that was deleted."""
    for spot, size in then.items():
        took, gone = size - opened.get(spot, NOTHING), size - now.get(spot, NOTHING)
        if spot.rows and spot not in read and took.reaches(all_of) and gone.bytes < took.share(part / 2).bytes:
            yield f"{_name(spot)} took in {took.bytes:,} bytes with the writes, and gave back {max(0, gone.bytes):,}"


def _name(spot: Spot) -> str:
    return f"{spot.path} ({spot.rows})" if spot.rows else spot.path
