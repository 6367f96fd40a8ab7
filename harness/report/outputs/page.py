"""`report.html`: one file, no network, complete without script.

Every figure leads to its cells, a cell to its timeline. Each claim of the first screen leads to the very case on which
it rests, one for each backend and question: a drill to its receipt, a story to the trial in which it went most wrong,
told in full if there is one. What is clean has no bad case: it leads to the cells that were counted, or to the row of
its measure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.compare.rows import COLD
from harness.model.cells import Cell
from harness.model.regression import GateVerdict
from harness.model.results import Results
from harness.model.trial import Measured
from harness.report import charts, words
from harness.report.model import board, contrasts, drills, evidence, needs, sections, table, ways
from harness.report.model.board import Board, Missing, list_missing
from harness.report.model.evidence import DrillEvidence, StoryEvidence
from harness.report.model.table import Number, ScoreboardCell
from harness.report.outputs.template import fill_template
from harness.report.text import points, verdict
from harness.report.text.points import VerdictLine
from harness.report.timeline.timelines import Timelines, group_cases

# --- where each claim leads -------------------------------------------------------------------------------------------

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


def find_links(
    results: Results,
    board: Board,
    anchors: Mapping[str, str],
    receipts: Mapping[tuple[str, str], str],
    shown_timelines: Timelines,
) -> dict[Place, str]:
    """Row, column and line of the scoreboard -> what it leads to, of its own write policy.

    Args:
        anchors: Cell -> the head of the cells that are pooled with it.
        receipts: Drill cell and measure -> its first receipt on the page.
    """
    cells = {cell.id: cell for cell in results.cells}
    full = {each.id for each in shown_timelines.shown}
    missing = list_missing(results)

    def link(row: str, score: ScoreboardCell, number: Number) -> str:
        if score.drill:
            return receipts.get((score.drill, score.measure)) or f"t-{score.measure}"
        own = [cells[name] for name in number.cells if name in cells]
        # What broke is bad without a number, and leads to a cell that did not end.
        if score.judgement == "bad" and not score.measure:
            own = [cell for cell in own if cell.status != "complete"] or own
        elif not score.measure:
            return _reason(missing, row, score)
        # A good number of stories has cells that went wrong all the same; what is good of trust has none.
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
        value = cell.measures.get(measure)
        return len(value.receipts) / (value.of or 1) if isinstance(value, Measured) else 1.0

    cells = [cell for cell in own if share(cell) > 0]
    shows = {cell.trial for cell in cells if any(case == measure for case, _ in group_cases([cell]))}
    yield from sorted(cells, key=lambda cell: (cell.trial not in full, cell.trial not in shows, -share(cell), cell.id))


def _reason(missing: Sequence[Missing], row: str, score: ScoreboardCell) -> str:
    """The line that says why there is no number."""
    for at, each in enumerate(missing, 1):
        # A cell's reasons are cut and joined, so only the beginning of this one is looked for.
        if each.word in score.text and each.reason[:60] in score.why and (row in each.backends or not each.backends):
            return f"missing-{at}"
    return "not-measured"


def split_claims(line: VerdictLine, links: Mapping[Place, str]) -> list[Piece]:
    """A sentence of the verdict with its claims; each is found behind the one before it."""
    pieces, at = list[Piece](), 0
    for claim in line.claims:
        start, link = line.text.find(claim.phrase, at), links.get((claim.row, claim.column, 0), "")
        if start < 0 or not link:
            continue
        pieces += [Piece(line.text[at:start]), Piece(claim.phrase, link)]
        at = start + len(claim.phrase)
    return [each for each in (*pieces, Piece(line.text[at:])) if each.text]


# --- the page ---------------------------------------------------------------------------------------------------------

STYLES = ("style.css", "first.css", "timeline.css")
SCRIPTS = ("fragment.js", "sorting.js", "board.js", "needs.js", "cells.js", "unpack.js", "search.js", "page.js")
GATES = ("broken", "not-measured", "held")
_STARTED = re.compile(r"(\d{4})(\d\d)(\d\d)-\d{6}-")


def write_page(results: Results, parts: Iterable[StoryEvidence | DrillEvidence] = ()) -> str:
    """The whole file, with what was made of each story and drill when it was scored."""
    return render(results, evidence.gather(results, parts))


def render(results: Results, seen: evidence.Evidence) -> str:
    pools = list(sections.pools(results))
    names = table.list_rows(results)
    anchors = {cell.id: pool.anchor for pool in pools for cell in pool.cells}
    scoreboard = board.collect(results)
    drilled = drills.collect(results, seen.receipts, list_wanted(scoreboard)) if results.trust else None
    leads = find_links(results, scoreboard, anchors, drilled.links if drilled else {}, seen.timelines)
    lines = verdict.judge(results, scoreboard)
    answers = needs.answer(results, scoreboard)
    held = [table.list_cells(results, name) for name in names]
    definitions = {**results.definitions, **results.trust_definitions}
    return fill_template(
        "report.html.j2",
        STYLES,
        SCRIPTS,
        results=results,
        started=_find_day(results),
        faults=table.state_faults(results),
        failing=results.beyond(),
        gates=_group_gates(results),
        demanded=board.collect_demands(results, scoreboard),
        names=names,
        shown={
            name: table.show_name(results, name) for name in {*names, *(cell.backend or COLD for cell in results.cells)}
        },
        model_inside=table.explain_model_inside(results),
        groups={name: table.group(results, name) for name in names},
        primary=ways.tell_primary(results),
        in_bold=ways.explain_bold(results),
        writes=ways.explain_writes(results),
        played_reads=ways.list_reads(results),
        explained_reads=ways.explain_reads(results),
        ways_heads=sections.SUPPORT_HEADS,
        supported=list(sections.list_supported(results)),
        reads=ways.explain_range(results),
        anchors=anchors,
        chance=table.explain_chance(results),
        cannot_say=points.explain_limits(results),
        conditions=words.describe_conditions(results),
        suite=table.describe_suite(results),
        told_in_cells=sections.list_told_in_cells(results),
        missing=board.list_missing(results),
        lacking=board.explain_cells(scoreboard),
        meaning=words.MEANING,
        charts=charts.draw_charts(results, seen.samples),
        levels=contrasts.list_levels(results, seen.samples),
        sections=list(sections.sections(results, [anchors[cells[0].id] if cells else "cells" for cells in held])),
        layers=list(sections.layers(seen.layers)),
        contrasted=list(results.contrasts[0].measures) if results.contrasts else [],
        contrasts=list(contrasts.list_contrasts(results)),
        comparisons=[contrasts.describe(results, each) for each in results.comparisons],
        claims=[
            (each, contrasts.describe(results, each.comparison) if each.comparison else None) for each in results.claims
        ],
        parted=contrasts.collect_splits(results),
        changes=list(contrasts.list_changes(results)),
        pools=pools,
        told=seen.timelines,
        supports=list(sections.supports(results)),
        trust=drilled,
        board=scoreboard,
        failed=board.FAILED,
        needs=answers,
        choices=needs.list_choices(results, scoreboard, answers),
        verdict=lines,
        pieces=[split_claims(line, leads) for line in lines],
        rests=[[contrasts.describe(results, each) for each in line.rests] for line in lines],
        links=leads,
        linked={*leads.values(), *(gate.cells[0] for gate in results.gates if gate.cells)},
        wrong={name: words.describe_fault(each) for name, each in results.trust_definitions.items()},
        units={name: each.unit for name, each in definitions.items()},
        cost=sections.show_costs(seen.costs, results.run.prices),
        glossary=words.GLOSSARY,
        arrow=sections.ARROW,
    )


def _find_day(results: Results) -> str:
    """The day on which the run began, as its id says it; results hold no clock."""
    found = _STARTED.match(results.run.id)
    return "-".join(found.groups()) if found else ""


def _group_gates(results: Results) -> list[tuple[str, list[GateVerdict]]]:
    """Verdict -> its gates, the broken first."""
    return [(verdict, [gate for gate in results.gates if gate.verdict == verdict]) for verdict in GATES]
