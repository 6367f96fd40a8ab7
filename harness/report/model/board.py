"""The scoreboard, which every output shows: a row for each backend, a cell for each question, one direction a column.

A cell of the agent's work shows the write policy under which its row decides best, as a range over the read policies; a
cell of trust shows the gravest measure that went wrong, with its own cases. No column is a grade, and nothing is added
up over columns. What a row says depends on that row alone. With it stands what it cannot tell: what has no number, and
what no gate demands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from harness.compare.rows import COLD, is_headline
from harness.metrics.columns import COLUMNS, Column
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.cells import Cell
from harness.model.results import Results
from harness.model.trial import NotMeasured
from harness.report import words
from harness.report.model import judges, table, ways
from harness.report.model.judges import Member, list_members
from harness.report.model.table import DASH, Case, Number, ScoreboardCell

JUDGES = {**judges.WORK_JUDGES, **judges.TRUST_JUDGES}


FAILED = (
    "In the columns of trust a number counts the cases that failed, of all that were tried: 0 is best. Promises counts "
    "the operations that were tried. Drill speed is the time of one recall in the drill keeping."
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
        return self.id not in judges.WORK_JUDGES


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
    scores: tuple[ScoreboardCell, ...]
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
    def counts(self) -> str:
        """What the numbers of the agent's work count, for outputs whose heads do not say it."""
        return f"{words.join_words([f'{each.head} counts {each.beside}' for each in self.work])}."

    @property
    def empty(self) -> bool:
        """Nothing was measured of any backend."""
        return not any(score.measured for row in self.rows if not row.cold for score in row.scores)

    def find(self, key: str, column: str) -> ScoreboardCell:
        """One cell; a dash where the column is left out."""
        place = next((at for at, each in enumerate(self.columns) if each.id == column), None)
        row = next(row for row in self.rows if row.key == key)
        return DASH if place is None else row.scores[place]

    def list_scores(self, column: str) -> list[tuple[BoardRow, ScoreboardCell]]:
        """The cells of a column, without that of no memory."""
        return [(row, self.find(row.key, column)) for row in self.rows if not row.cold]


def collect(results: Results) -> Board:
    """Columns without any cell that was tried are left out; a backend that could not run keeps its row."""
    tested = results.list_tested()
    keys = [*([COLD] if COLD in results.backends else []), *tested]
    found = {key: {name: _judge(results, key, column) for name, column in COLUMNS.items()} for key in keys}
    columns = [
        name for name in COLUMNS if name == judges.DECISIONS or any(found[key][name] != DASH for key in tested)
    ]  # fmt: skip
    rows = [
        BoardRow(
            key, table.name_row(results, key), _find_version(results, key), tuple(found[key][name] for name in columns),
            tuple(_list_notes(results, key)), tuple(_list_marks(results, key)),
        )
        for key in keys
    ]  # fmt: skip
    rows += [
        BoardRow(
            each.backend, words.make_visible(each.backend, 60), "", tuple(_make_absent(each.reason) for _ in columns)
        )
        for each in results.run.unplayed
        if each.backend not in keys
    ]
    cold = ways.spread(results, COLD, DECISIONS_RIGHT, results.run.conditions.headline_write)
    heads = tuple(_make_head(results, COLUMNS[name]) for name in columns)
    return Board(
        heads, tuple(rows), cold.shares[0] if cold else None, _tell_bounds(results),
        tuple(_tell_equals(results)),
    )  # fmt: skip


def _judge(results: Results, key: str, column: Column) -> ScoreboardCell:
    """Without a memory there is nothing to ask it; where many calls failed, nothing is good as little went wrong."""
    if key == COLD and column.id not in (judges.DECISIONS, judges.COST):
        return DASH
    score = JUDGES.get(column.id, judges.judge_trust)(results, key, column)
    failing = score.judgement in ("good", "middling") and key in results.doubted()
    return replace(score, judgement="open", word="calls failed") if failing else score


def _make_head(results: Results, column: Column) -> Head:
    beside = "cases failed" if column.order and column.id not in judges.TRUST_JUDGES else column.shows or column.counts
    shown = f" Shown: {column.shows}." if column.shows else ""
    return Head(column.id, column.head, f"{column.asks} Counted: {column.counts}.{shown}", beside,
                TOPICS.get(column.id) or _find_topic(results, column), column.clean)  # fmt: skip


def _find_topic(results: Results, column: Column) -> str:
    """The part of the drills, or without any that of the stories' measures of this column."""
    own = (words.find_topic(name) for name, each in results.definitions.items() if each.column == column.id)
    return "trust" if results.trust else next(own, "cells")


def _find_version(results: Results, key: str) -> str:
    return table.show_version(results.backends[key]) if key in results.backends else ""


def _make_absent(reason: str) -> ScoreboardCell:
    return ScoreboardCell((Number(words.NOT_MEASURED["not-run"]),), why=words.make_visible(reason, 200))


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
    if judges.tell_inspected(results, key):
        yield "bytes not inspected"
    if not own.backend.supports("forget_scope"):
        yield "cannot be emptied in one call"
    if own.backend.supports("extracts") and results.run.conditions.chat:
        yield f"model inside: {words.make_visible(results.run.conditions.chat, 80)}"


def _tell_equals(results: Results) -> Iterator[str]:
    for group in results.twins:
        names = words.join_words([table.name_row(results, name) for name in group.rows])
        why = f", as {group.reason}" if group.reason else ""
        yield f"{names} lead to the same decisions{why}."


def _tell_bounds(results: Results) -> str:
    """A sentence, or nothing where no control played."""
    sentences = [
        f"{words.format_number(pooled.hits)} with {name} memory possible"
        for control, name in (("oracle", "the best"), ("stale_oracle", "the worst"))
        if (pooled := table.find_pooled(results, control, DECISIONS_RIGHT)) is not None and pooled.hits is not None
    ]
    return f"Right decisions: {', '.join(sentences)}." if sentences else ""


# --- what has no number, and why: one line for each word and reason, with the measures and the rows -------------------


@dataclass(frozen=True)
class Missing:
    """What was not measured under one word for one reason."""

    word: str
    reason: str
    measures: tuple[str, ...]
    backends: tuple[str, ...]
    cells: int


def list_missing(results: Results) -> list[Missing]:
    """Everything that has no number under the primary conditions, grouped by word, reason and backends."""
    reasons: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    for cell in results.cells:
        if is_headline(cell, results.run.conditions):
            for name, measure in sorted(cell.measures.items()):
                if isinstance(measure, NotMeasured):
                    key = words.NOT_MEASURED[measure.status], measure.reason
                    reasons.setdefault(key, {}).setdefault(name, []).append(cell)
    by_reason: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, int]]] = {}
    for (word, reason), by_measure in reasons.items():
        for name, cells in by_measure.items():
            backends = tuple(sorted({words.make_visible(cell.backend or COLD, 60) for cell in cells}))
            by_reason.setdefault((word, reason, backends), []).append((name, len(cells)))
    order = list(words.NOT_MEASURED.values())
    rows = [
        Missing(
            word, words.make_visible(reason, 300), tuple(name for name, _ in held), backends, sum(n for _, n in held)
        )
        for (word, reason, backends), held in by_reason.items()
    ]
    absent = [
        Missing("not run", words.make_visible(each.reason, 300), ("all",), (words.make_visible(each.backend, 60),), 0)
        for each in results.run.unplayed
    ]
    return sorted(absent + rows, key=lambda each: (order.index(each.word), each.reason, each.backends))


def explain_cells(board: Board) -> list[str]:
    """The cells of the scoreboard without a number: `Sources of notes: unsupported (written in the line)`."""
    measures_by_reason: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    for column in board.columns:
        reasons: dict[tuple[str, str], list[str]] = {}
        for row, score in board.list_scores(column.id):
            if not score.measured and score.why:
                reasons.setdefault((score.text, score.why), []).append(row.name)
        for key, names in reasons.items():
            measures_by_reason.setdefault(key, {}).setdefault(tuple(names), []).append(column.head)
    # Some reasons begin with the word itself, which would then be said twice.
    return [
        f"{words.join_words(heads)} of {words.join_words(list(names))}: "
        + (why if why.startswith(text) else f"{text} ({why})")
        for (text, why), groups in measures_by_reason.items()
        for names, heads in groups.items()
    ]


# --- what gates do not demand -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ungated:
    """A column in which something is wrong that no gate demands.

    Attributes:
        shown: The gravest such case of each backend.
    """

    head: str
    shown: tuple[tuple[str, Case], ...]

    def __str__(self) -> str:
        return f"{self.head}: {'; '.join(f'{name}, {case.told}' for name, case in self.shown)}"


@dataclass(frozen=True)
class Demanded:
    """What the gates demand, and what none of them does.

    Attributes:
        controls: How many of the verdicts are of controls.
        never: Columns of which no gate demands anything.
        free: Backends of which none demands anything.
    """

    controls: int
    gates: int
    bad: tuple[Ungated, ...]
    never: tuple[str, ...]
    free: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The failing first; empty if there are no gates."""
        return list(self._list_lines()) if self.gates else []

    def _list_lines(self) -> Iterator[str]:
        for each in self.bad:
            yield f"\u25b2 {each}"
        if self.controls:
            yield f"{self.controls} of {words.format_count(self.gates, 'gate')} judge controls, and no backend."
        if self.free:
            yield f"No gate covers {words.join_words(self.free)}."
        if self.never:
            yield f"No gate covers, of any backend: {', '.join(self.never)}."


def collect_demands(results: Results, board: Board) -> Demanded:
    """A gate that holds says nothing of what nobody asked for. One that only compares with a baseline demands nothing
    of the number itself: what was bad may stay so.
    """
    controls = {name for name in results.backends if table.group(results, name) == "control"}
    gated = {(gate.backend, gate.measure) for gate in results.gates if not gate.relative}
    tested = results.list_tested()
    covered = {_find_column(results, measure) for _, measure in gated}
    return Demanded(
        controls=sum(each.backend in controls for each in results.gates),
        gates=len(results.gates),
        bad=tuple(_list_bad(results, board, gated)),
        never=tuple(each.head for each in board.columns if each.id not in covered),
        free=tuple(table.show_name(results, name) for name in tested if name not in {name for name, _ in gated}),
    )


def _find_column(results: Results, measure: str) -> str | None:
    definition = results.definitions.get(measure) or results.trust_definitions.get(measure)
    return definition.column if definition else None


def _list_bad(results: Results, board: Board, gated: set[tuple[str, str]]) -> Iterator[Ungated]:
    for column in COLUMNS.values():
        # Where more or less is the answer, nothing can be wrong.
        if not column.order:
            continue
        shown = []
        for row in board.rows:
            members = list_members(results, row.key, column.id)
            free = [each for each in members if (row.key, each.definition.name) not in gated]
            wrong = (each.case for each in free if each.wrong)
            broken = (_describe_failed(each) for each in free if each.pooled.failed)
            if (case := next(chain(wrong, broken), None)) is not None:
                shown.append((row.name, case))
        if shown:
            yield Ungated(column.head, tuple(shown))


def _describe_failed(member: Member) -> Case:
    """What was tried and broke, which is bad and has no number."""
    sentence = f"{words.label(member.definition.name)}: failed"
    return Case(member.definition.name, sentence, 0, 0)
