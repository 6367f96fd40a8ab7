"""The words of a measure, which stand beside its formula, and the places where it is shown.

Code that compares or reports names no measure: it asks which measures have a word for what it shows. A number called
`place` orders such a list; measures with the same place are sorted by name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A question of the page.

    Attributes:
        place: Of its part on the page.
        first: Its place among the measures that stand beside each cell.
        seldom: Left out of a page of which it applies to no row.
    """

    id: str
    title: str
    asks: str
    place: int
    first: int = 100
    seldom: bool = False


RECALLED = Topic("recalled", "Recalled", "Asked for something it was told, does the memory bring it back?", 10, 30)
STALE = Topic(
    "stale", "Stale", "After a rule has changed, does the memory still serve the old one, and is it acted on?", 20,
    20,
)  # fmt: skip
COST = Topic("cost", "Cost", "What does it cost in tokens, and what are they spent on?", 30, 40)
PROVEN = Topic("proven", "Provenance", "Can a memory show the line of the repository that it comes from?", 40, 50)
DELETED = Topic("deleted", "Deletion", "Is deleted gone, however one asks, and in the stored bytes?", 50, 60)
WORK = Topic("work", "Cold against warm", "Is more of the work right with the memory than without?", 60, 10)
OTHER = Topic("other", "Other measures", "What else was measured?", 70)


@dataclass(frozen=True)
class Case:
    """What a bad case is called; every receipt of the measure is one."""

    place: int
    called: str


@dataclass(frozen=True)
class Between:
    """Backends are compared with each other on it.

    Attributes:
        cold: And with the cold arm, which has it, too.
        looked_up: And under every other write policy.
    """

    place: int
    cold: bool = False
    looked_up: bool = False


@dataclass(frozen=True)
class Progress:
    """What stands behind the count in the line of a trial that has ended."""

    place: int
    did: str


@dataclass(frozen=True)
class Words:
    """The words of a measure, and where it is shown.

    Attributes:
        thing: What a compared measure counts, so that `more` and `fewer` can stand before it.
        did: What a side did, with a place for `more` or `fewer`; without it a side `has more` of the thing.
        place: Of its row among those of its topic.
        answers: The answer to its topic is told by it.
        cells: Head of its column in the table of cells.
        clean_if_zero: 0 looks like a merit, and is none for a memory that brings nothing.
        contrasted: Its place among those that are shown for every policy.
        decisive: Its place among those on one of which knowing everything must lose against each backend.
    """

    topic: Topic = OTHER
    place: int = 50
    thing: str = ""
    did: str = ""
    answers: bool = False
    cells: str = ""
    case: Case | None = None
    clean_if_zero: bool = False
    between: Between | None = None
    contrasted: int | None = None
    decisive: int | None = None
    progress: Progress | None = None


WORDLESS = Words()
