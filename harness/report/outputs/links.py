"""From each claim of the first screen to the very case on which it rests: one for each backend and question.

A drill leads to its receipt, a story to the trial in which it went most wrong, told in full if there is one. What is
clean has no bad case: it leads to the cells that were counted, or to the row of its measure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model.cells import Cell
from harness.model.results import Results
from harness.model.trial import Measured
from harness.report.model.board import Board, Missing, list_missing
from harness.report.model.table import Number, Score
from harness.report.text.points import VerdictLine
from harness.report.timeline.timelines import Timelines, group_cases

Place = tuple[str, str, int]
"""Row, column and line of a cell of the scoreboard."""


@dataclass(frozen=True)
class Piece:
    """A part of a sentence, and where it leads, if it is a claim."""

    text: str
    link: str = ""


def list_wanted(board: Board) -> set[tuple[str, str]]:
    """Drill cells and measures that the scoreboard calls wrong: their receipts stand on the page first."""
    scores = [score for row in board.rows for score in row.scores if score.judgement != "good"]
    return {(score.drill, score.measure) for score in scores} | {
        (case.drill, case.measure) for score in scores for case in score.cases
    }


def places(
    results: Results,
    board: Board,
    anchors: Mapping[str, str],
    receipts: Mapping[tuple[str, str], str],
    told: Timelines,
) -> dict[Place, str]:
    """Row, column and line of the scoreboard -> what it leads to, of its own write policy.

    Args:
        anchors: Cell -> the head of the cells that are pooled with it.
        receipts: Drill cell and measure -> its first receipt on the page.
    """
    cells = {cell.id: cell for cell in results.cells}
    full = {each.id for each in told.shown}
    missing = list_missing(results)

    def link(row: str, score: Score, number: Number) -> str:
        if score.drill:
            return receipts.get((score.drill, score.measure)) or f"t-{score.measure}"
        own = [cells[name] for name in number.cells if name in cells]
        if score.judgement == "bad" and not score.measure:
            own = [cell for cell in own if cell.status != "complete"] or own
        elif not score.measure:
            return _reason(missing, row, score)
        bad = list(_rank(own, score.measure, full)) if score.judgement != "good" or score.bars else []
        if bad:
            return bad[0].trial if bad[0].trial in full else bad[0].id
        return next((anchors[cell.id] for cell in own if cell.id in anchors), "not-measured")

    return {
        (row.key, column.id, nth): link(row.name, score, number)
        for row in board.rows
        for column, score in zip(board.columns, row.scores, strict=True)
        for nth, number in enumerate(score.lines)
    }


def _rank(own: Sequence[Cell], measure: str, full: Collection[str]) -> Iterator[Cell]:
    """Those with a receipt that went wrong, or that did not end; told in full first, the worst first."""

    def share(cell: Cell) -> float:
        found = cell.measures.get(measure)
        return len(found.receipts) / (found.of or 1) if isinstance(found, Measured) else 1.0

    found = [cell for cell in own if share(cell) > 0]
    shows = {cell.trial for cell in found if any(case == measure for case, _ in group_cases([cell]))}
    yield from sorted(found, key=lambda cell: (cell.trial not in full, cell.trial not in shows, -share(cell), cell.id))


def _reason(missing: Sequence[Missing], row: str, score: Score) -> str:
    """The line that says why there is no number."""
    for at, each in enumerate(missing, 1):
        if each.word in score.text and each.reason[:60] in score.why and (row in each.backends or not each.backends):
            return f"missing-{at}"
    return "not-measured"


def split(line: VerdictLine, links: Mapping[Place, str]) -> list[Piece]:
    """A sentence of the verdict with its claims; each is found behind the one before it."""
    pieces, at = list[Piece](), 0
    for claim in line.claims:
        start, link = line.text.find(claim.phrase, at), links.get((claim.row, claim.column, 0), "")
        if start < 0 or not link:
            continue
        pieces += [Piece(line.text[at:start]), Piece(claim.phrase, link)]
        at = start + len(claim.phrase)
    return [each for each in (*pieces, Piece(line.text[at:])) if each.text]
