"""The scoreboard, which every output shows: a row for each backend, a cell for each question, one direction a column.

A cell of the agent's work shows the write policy under which its row decides best, as a range over the read policies; a
cell of trust shows the gravest measure that went wrong, with its own cases. No column is a grade, and nothing is added
up over columns. What a row says depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.compare.rows import COLD
from harness.metrics.columns import COLUMNS, Column
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.report import words
from harness.report.model import table, trust, ways, work
from harness.report.model.score import DASH, Number, Score

JUDGES = {**work.JUDGES, **trust.JUDGES}


FAILED = (
    "In the columns of trust a number counts the cases that failed, of all that were tried: 0 is best. Promises counts "
    "the operations that were tried, Drill speed is a time, taken in the drill keeping."
)
"""How every column of trust counts, in all outputs."""
TOPICS = {"decisions": "work", "stale": "stale", "recalled": "recalled", "cost": "cost", "sources": "proven"}
"""Columns whose part of the page is one of stories, whatever else was played."""


@dataclass(frozen=True)
class Head:
    """A column as a table shows it.

    Attributes:
        beside: How to read its numbers.
        topic: The part of the page that goes on with it.
        clean: What a cell says in which nothing went wrong; empty where more or less is the answer.
    """

    id: str
    head: str
    asks: str
    beside: str
    topic: str
    clean: str

    @property
    def trusted(self) -> bool:
        """Whether it asks what the memory can be trusted with, not what the agent gets done."""
        return self.id not in work.JUDGES


@dataclass(frozen=True)
class BoardRow:
    """One backend, or no memory, with a cell for each column.

    Attributes:
        notes: What a reader has to know of the row before any cell.
        marks: What limits what it can say, and is no fault.
    """

    key: str
    name: str
    version: str
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def cold(self) -> bool:
        return self.key == COLD


@dataclass(frozen=True)
class Board:
    """The rows, no memory first.

    Attributes:
        cold: The share of decisions that are right without memory.
        bounds: What the best and the worst possible memory reach here, a sentence.
        equals: A sentence for each group of rows that are equal in every decision.
    """

    columns: tuple[Head, ...]
    rows: tuple[BoardRow, ...]
    cold: float | None
    bounds: str
    equals: tuple[str, ...]

    @property
    def work(self) -> tuple[Head, ...]:
        return tuple(each for each in self.columns if not each.trusted)

    @property
    def trust(self) -> tuple[Head, ...]:
        return tuple(each for each in self.columns if each.trusted)

    @property
    def empty(self) -> bool:
        """Nothing was measured of any backend."""
        return not any(score.measured for row in self.rows if not row.cold for score in row.scores)

    def find(self, key: str, column: str) -> Score:
        """One cell; a dash where the column is left out."""
        place = next((at for at, each in enumerate(self.columns) if each.id == column), None)
        row = next(row for row in self.rows if row.key == key)
        return DASH if place is None else row.scores[place]

    def list_scores(self, column: str) -> list[tuple[BoardRow, Score]]:
        """The cells of a column, without that of no memory."""
        return [(row, self.find(row.key, column)) for row in self.rows if not row.cold]


def collect(results: Results) -> Board:
    """Columns without any cell that was tried are left out; a backend that could not run keeps its row."""
    tested = results.list_tested()
    keys = [*([COLD] if COLD in results.backends else []), *tested]
    found = {key: {name: _judge(results, key, column) for name, column in COLUMNS.items()} for key in keys}
    kept = [
        name for name in COLUMNS if name == work.DECISIONS or any(found[key][name] != DASH for key in tested)
    ]  # fmt: skip
    made = [
        BoardRow(
            key, table.name_row(results, key), _find_version(results, key), tuple(found[key][name] for name in kept),
            tuple(_list_notes(results, key)), tuple(_list_marks(results, key)),
        )
        for key in keys
    ]  # fmt: skip
    made += [
        BoardRow(each.backend, words.make_visible(each.backend, 60), "", tuple(_make_absent(each.reason) for _ in kept))
        for each in results.run.unplayed
        if each.backend not in keys
    ]
    cold = ways.spread(results, COLD, DECISIONS_RIGHT, results.run.conditions.headline_write)
    heads = tuple(_make_head(results, COLUMNS[name]) for name in kept)
    return Board(
        heads, tuple(made), cold.shares[0] if cold else None, _tell_bounds(results),
        tuple(_tell_equals(results)),
    )  # fmt: skip


def _judge(results: Results, key: str, column: Column) -> Score:
    """Without a memory there is nothing to ask it; where many calls failed, nothing is good as little went wrong."""
    if key == COLD and column.id not in (work.DECISIONS, work.COST):
        return DASH
    score = JUDGES.get(column.id, trust.judge)(results, key, column)
    failing = score.judgement in ("good", "middling") and key in results.doubted()
    return replace(score, judgement="open", word="calls failed") if failing else score


def _make_head(results: Results, column: Column) -> Head:
    beside = "failed" if column.order and column.id not in trust.JUDGES else column.shows or column.counts
    shown = f" Shown: {column.shows}." if column.shows else ""
    return Head(column.id, column.head, f"{column.asks} Counted: {column.counts}.{shown}", beside,
                TOPICS.get(column.id) or _find_topic(results, column), column.clean)  # fmt: skip


def _find_topic(results: Results, column: Column) -> str:
    """The part of the drills, or without any that of the stories' measures of this column."""
    own = (words.find_topic(name) for name, each in results.definitions.items() if each.column == column.id)
    return "trust" if results.trust else next(own, "cells")


def _find_version(results: Results, key: str) -> str:
    return table.show_version(results.backends[key]) if key in results.backends else ""


def _make_absent(reason: str) -> Score:
    return Score((Number(words.NOT_MEASURED["not-run"]),), why=words.make_visible(reason, 200))


def _list_notes(results: Results, key: str) -> Iterator[str]:
    if key in results.beyond():
        failed = sum(each.count for each in results.beyond()[key])
        calls = results.calls.get(key)
        yield f"{failed:,} of {calls:,} calls failed" if calls else "calls failed"
    if key in results.like_oracle:
        yield "decides and recalls as the oracle, which is handed the answers"


def _list_marks(results: Results, key: str) -> Iterator[str]:
    """What was not looked at or could not be emptied, and who answered for a model inside."""
    own = results.backends.get(key)
    if own is None or own.control or own.backend is None:
        return
    if trust.tell_inspected(results, key):
        yield "bytes not inspected"
    if not own.backend.supports("forget_scope"):
        yield "cannot be emptied at once"
    if own.backend.supports("extracts") and results.run.conditions.chat:
        yield f"model inside: {words.make_visible(results.run.conditions.chat, 40)}"


def _tell_equals(results: Results) -> Iterator[str]:
    for group in results.twins:
        names = words.join_words([table.name_row(results, name) for name in group.rows])
        why = f", as {group.reason}" if group.reason else ""
        yield f"{names}: the same decisions{why}."


def _tell_bounds(results: Results) -> str:
    """A sentence, or nothing where no control played."""
    sentences = [
        f"{name} memory possible {words.format_number(pooled.hits)}"
        for control, name in (("oracle", "the best"), ("stale_oracle", "the worst"))
        if (pooled := table.find_pooled(results, control, DECISIONS_RIGHT)) is not None and pooled.hits is not None
    ]
    return f"Right decisions: {', '.join(sentences)}." if sentences else ""
