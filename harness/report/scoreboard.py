"""The scoreboard: a row for each backend, a cell for each question.

A cell of trust counts what went wrong, so that 0 is clean in every column; it shows the worst measure that its word
covers. No column is a grade, and nothing is added up over them.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.report import tables, words
from harness.report.questions import QUESTIONS
from harness.report.scores import DASH, Judge, Score, ScoreColumn, find_pooled, find_share


@dataclass(frozen=True)
class ScoreRow:
    """One backend, or no memory."""

    key: str
    name: str
    version: str
    scores: tuple[Score, ...]

    @property
    def cold(self) -> bool:
        return self.key == COLD


@dataclass(frozen=True)
class Scoreboard:
    """The rows, no memory first. cold: its share of right decisions, at which a line runs through all rows.

    Attributes:
        bounds: What the best and the worst possible memory reach here, a sentence.
    """

    columns: tuple[ScoreColumn, ...]
    rows: tuple[ScoreRow, ...]
    cold: float | None
    bounds: str

    @property
    def empty(self) -> bool:
        """Nothing was measured of any backend."""
        scores = [score for row in self.rows if not row.cold for score in row.scores]
        return not any(score.measure or score.shares for score in scores)

    def of(self, key: str, column: str) -> Score:
        """One cell. KeyError if there is none."""
        place = {each.name: at for at, each in enumerate(self.columns)}[column]
        return {row.key: row.scores for row in self.rows}[key][place]


def collect(results: Results) -> Scoreboard:
    """Columns without any cell that was tried are left out; a backend that could not run keeps its row."""
    tested = results.list_tested()
    keys = [*([COLD] if COLD in results.backends else []), *tested]
    found = {key: [_judge(results, key, column, judge) for column, judge in QUESTIONS] for key in keys}
    kept = [
        at for at, (column, _) in enumerate(QUESTIONS)
        if any(found[key][at] != DASH for key in tested) or column.name == "decisions"
    ]  # fmt: skip

    def version(key: str) -> str:
        return tables.show_version(results.backends[key]) if key in results.backends else ""

    rows = [
        ScoreRow(key, tables.name_row(results, key), version(key), tuple(found[key][at] for at in kept)) for key in keys
    ]
    known = {row.key for row in rows}
    rows += [
        ScoreRow(each.backend, words.visible(each.backend, 60), "", tuple(_absent(each.reason) for _ in kept))
        for each in results.run.unplayed
        if each.backend not in known
    ]
    cold = find_pooled(results, COLD, DECISIONS_RIGHT)
    return Scoreboard(
        tuple(QUESTIONS[at][0] for at in kept), tuple(rows), find_share(cold) if cold else None, _bounds(results)
    )


def _judge(results: Results, key: str, column: ScoreColumn, judge: Judge) -> Score:
    """Without a memory there is nothing to ask it; where calls failed, nothing is good because little went wrong."""
    if key == COLD and column.name not in ("decisions", "cost"):
        return DASH
    score = judge(results, key)
    failing = score.judgement in ("good", "middling") and key in results.beyond()
    return score.judge("open", "calls failed") if failing else score


def _absent(reason: str) -> Score:
    return Score(words.NOT_MEASURED["not-run"], why=words.visible(reason, 200))


def _bounds(results: Results) -> str:
    """A sentence, or nothing where no control played."""
    told = [
        f"{name} memory possible {words.number(pooled.hits)}"
        for control, name in (("oracle", "the best"), ("stale_oracle", "the worst"))
        if (pooled := find_pooled(results, control, DECISIONS_RIGHT)) is not None and pooled.hits is not None
    ]
    return f"Right decisions: {', '.join(told)}." if told else ""
