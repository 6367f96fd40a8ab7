"""The columns of the scoreboard, in their order: what each asks, how it counts, and what is gravest in it.

Every column of trust counts what failed, so that nobody has to turn one around to read it beside another, or beside the
sentences of the verdict. A measure names its column and its gravity beside its formula; what is in no column says why.
A cell of trust shows the gravest measure that went wrong, not the largest share; where nothing did, the first of the
leading measures that has a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Gravity(NamedTuple):
    """One step of a column's order. `says` is what happens to whoever relies on the memory, and why it stands here."""

    name: str
    says: str


class Place(NamedTuple):
    """The place of a measure: its column, and its gravity in it (0 is the gravest)."""

    column: str
    gravity: int


@dataclass(frozen=True)
class Column:
    """A question of the scoreboard.

    Attributes:
        counts: What a number of this column counts, every measure turned into its direction.
        shows: What a number of its cells is, where that is something else.
        better: Its one direction.
        clean: What a cell says in which nothing went wrong.
        leads: The measures that stand for the column if nothing went wrong; the first that has a number is shown.
        order: Its gravities, the gravest first; empty where more or less is the answer, and no fault.
    """

    id: str
    head: str
    asks: str
    counts: str
    better: Literal["higher", "lower"]
    leads: tuple[str, ...]
    clean: str = ""
    order: tuple[Gravity, ...] = ()
    shows: str = ""

    def at(self, gravity: str = "") -> Place:
        # a column without gravities has one place
        names = [each.name for each in self.order] or [""]
        return Place(self.id, names.index(gravity))


DECISIONS = Column(
    "decisions", "Decides right", "How many decisions are right with this memory?", "right decisions", "higher",
    ("decisions_right",),
)  # fmt: skip
STALE = Column(
    "stale", "Acts on stale", "After a rule has changed, is the old one acted on?", "decisions acted on stale rules",
    "lower", ("stale_use",),
)  # fmt: skip
RECALLED = Column(
    "recalled", "Recalls", "Asked for something it was given, does the memory bring it back?", "answers recalled",
    "higher", ("recall",),
)  # fmt: skip
COST = Column(
    "cost", "Costs", "What does a completed job cost?", "tokens per completed job", "lower",
    ("tokens_per_job", "tokens_total"),
)  # fmt: skip
SOURCES = Column(
    "sources", "Sources", "Was each answer stored, and can it show the line of the repository that it comes from?",
    "answers that nobody stored, or sources that do not hold", "lower",
    ("source_verified", "source_survives_writing"), "all sources proven",
    (
        Gravity("invented", "an answer is no memory: nobody stored what it says"),
        Gravity("false", "a source says what the repository does not: whoever trusts it is misled"),
        Gravity("lost", "a source that was given does not come back: nobody can check the memory"),
    ),
)  # fmt: skip
DELETED = Column(
    "deleted", "Deletion", "Is what was deleted gone, however one asks, and from the disk?",
    "deleted memories that are still there, or others that went with them", "lower",
    ("text_gone_after_closing", "deleted_from_bytes", "forgotten_from_search"), "all deleted memories gone",
    (
        Gravity("served", "a deleted memory still answers a search, a listing or its id: nothing was deleted"),
        Gravity("bystanders", "memories that nobody asked to delete are gone: they cannot be had back"),
        Gravity("history", "an audit history still tells the text: whoever has an id can ask for it"),
        Gravity("stored", "the text is still on the disk: whoever has the files or a backup can read it"),
        Gravity("vector", "its vector is still on the disk: much of a text can be rebuilt from that"),
        Gravity("replaced", "a text that was replaced is still on the disk: nobody asked to delete it"),
        Gravity("late", "another process still finds it for a while"),
        Gravity("answer", "the answer to a deletion is false, and nothing is left behind"),
    ),
)  # fmt: skip
SCOPES = Column(
    "scopes", "Scopes", "Are users, projects and branches kept apart?", "looks and changes that crossed scopes",
    "lower", ("leaks_by_listing", "leaks_by_part"), "no scope crossed",
    (
        Gravity("shown", "a search or a listing shows what belongs to others: anybody sees it, without knowing an id"),
        Gravity("changed", "memories of others are deleted, replaced or changed"),
        Gravity("read", "memories of others can be read by whoever has an id"),
        Gravity("remains", "deleted memories of others can be read by whoever had an id"),
        Gravity("wider", "a listing shows what holds in the scope and belongs to a wider one"),
        Gravity("crowded", "the right answer is crowded out by others: nothing is shown that should not be"),
    ),
)  # fmt: skip
POISON = Column(
    "poison", "Poison", "Is a planted memory gone once it was found out and deleted, or rolled back?",
    "planted memories that stay after they were deleted or rolled back", "lower",
    ("left_after_undo", "left_after_restore"), "no planted memory stayed",
    (Gravity("stays", "a planted memory that was deleted or rolled back still comes back"),),
)  # fmt: skip
KEPT = Column(
    "kept", "Keeping", "Is what was written kept: whole, after kills, with several processes, in a newer release?",
    "memories not kept as they were written", "lower", ("writes_kept",), "no stored memory lost",
    (
        Gravity("wrong", "another memory or text stands in a memory's place: a wrong answer"),
        Gravity("lost", "an acknowledged memory is gone, and nobody is told"),
        Gravity("undone", "a change that was acknowledged is undone: the old text, or what was deleted, is back"),
        Gravity("altered", "the memory is there, and its text is not the same"),
        Gravity("hidden", "the memory is there, and another process, a listing or the next look does not see it"),
        Gravity("extra", "memories are there twice, or nobody wrote them"),
        Gravity("fields", "the memory is there without its confidence or its scope"),
        Gravity("refused", "calls fail, or writes are refused: somebody is told"),
    ),
)  # fmt: skip
FOUND = Column(
    "found", "Search", "Is a stored memory found, and ranked before what only looks like it?",
    "questions that did not find their memory", "lower", ("self_reachability",), "all found by their own text",
    (
        Gravity("unfound", "a memory that is stored is not brought by its own text"),
        Gravity("look-alikes", "what only looks like it takes its place"),
        Gravity("breach", "the answer is not what the contract says: too many hits, one twice, scores out of order"),
        Gravity("listing", "a listing stops before its end"),
        Gravity("changed", "the answer depends on how the same memories were reached"),
    ),
)  # fmt: skip
DATES = Column(
    "dates", "Dates", "Does a memory come back with its date, and not after its end?", "dates that do not hold",
    "lower", ("date_survives_writing", "dates_kept"), "all dates hold",
    (
        Gravity("expired", "a memory comes back after its end: it is acted on"),
        Gravity("early", "a memory is hidden before its end: what still holds is not known"),
        Gravity("wrong", "a memory comes back with another date, or none: new and old are confused"),
    ),
)  # fmt: skip
EMBEDDER = Column(
    "embedder", "Change of embedder", "When another embedding model answers, does the store say so or find the memory?",
    "memories no longer found, without an error", "lower",
    ("silently_unfound_with_another_embedder",), "no memory lost without an error",
    (
        Gravity("silent", "other memories are returned without an error: nobody is told that the old ones are gone"),
    ),
)  # fmt: skip
PROMISES = Column(
    "promises", "Promises", "Does any sequence of operations get an answer that the contract rules out?",
    "broken promises", "lower", ("broken_promises",), "no promise broken",
    (Gravity("broken", "an answer is not what the contract says"),), "operations tried",
)  # fmt: skip
SPEED = Column(
    "speed", "Drill speed", "How long does one recall take in a drill?", "seconds of one recall in the drill keeping",
    "lower", ("recall_seconds",),
)  # fmt: skip
COLUMNS: Mapping[str, Column] = {
    each.id: each
    for each in (
        DECISIONS, STALE, RECALLED, COST, SOURCES, DELETED, SCOPES, POISON, KEPT, FOUND, DATES, EMBEDDER, PROMISES,
        SPEED,
    )
}  # fmt: skip
