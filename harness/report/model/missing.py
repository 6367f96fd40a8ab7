"""What has no number, and why: one line for each word and reason, with the measures and the rows."""

from __future__ import annotations

from dataclasses import dataclass

from harness.compare.rows import COLD, is_headline
from harness.model.cells import Cell
from harness.model.results import Results
from harness.model.trial import NotMeasured
from harness.report import words
from harness.report.model.board import Board


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
    merged: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, int]]] = {}
    for (word, reason), by_measure in reasons.items():
        for name, cells in by_measure.items():
            backends = tuple(sorted({words.make_visible(cell.backend or COLD, 60) for cell in cells}))
            merged.setdefault((word, reason, backends), []).append((name, len(cells)))
    order = list(words.NOT_MEASURED.values())
    found = [
        Missing(
            word, words.make_visible(reason, 300), tuple(name for name, _ in held), backends, sum(n for _, n in held)
        )
        for (word, reason, backends), held in merged.items()
    ]
    absent = [
        Missing("not run", words.make_visible(each.reason, 300), ("all",), (words.make_visible(each.backend, 60),), 0)
        for each in results.run.unplayed
    ]
    return sorted(absent + found, key=lambda each: (order.index(each.word), each.reason, each.backends))


def explain_cells(board: Board) -> list[str]:
    """The cells of the scoreboard without a number: `Sources of notes: unsupported (written in the line)`."""
    measures_by_reason: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    for column in board.columns:
        reasons: dict[tuple[str, str], list[str]] = {}
        for row, score in board.list_scores(column.id):
            if not score.measured and score.why:
                reasons.setdefault((score.text, score.why), []).append(row.name)
        for key, held in reasons.items():
            measures_by_reason.setdefault(key, {}).setdefault(tuple(held), []).append(column.head)
    return [
        f"{words.join_words(heads)} of {words.join_words(list(held))}: "
        + (why if why.startswith(text) else f"{text} ({why})")
        for (text, why), groups in measures_by_reason.items()
        for held, heads in groups.items()
    ]
