"""The table of the drills: a column a question of trust, which shows the worst measure of its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.backend import SOUND
from harness.model.results import Pooled, Results, TrustCell
from harness.model.trial import Family
from harness.report import tables, words
from harness.report.worst import Worst, worst


@dataclass(frozen=True)
class HeadlineColumn:
    """head: in two lines, for where there is no room. lead: what is shown if all of the family are equally good."""

    family: Family
    head: tuple[str, str]
    lead: str


COLUMNS = (
    HeadlineColumn("kept", ("kept as", "written"), "writes_kept"),
    HeadlineColumn("found", ("found", "again"), "self_reachability"),
    HeadlineColumn("deleted", ("deleted", "as told"), "forgotten_by_every_route"),
    HeadlineColumn("text", ("text", "gone"), "text_gone_after_closing"),
    HeadlineColumn("vectors", ("vectors", "gone"), "vector_gone_after_closing"),
    HeadlineColumn("scopes", ("crossed", "scopes"), "leaks_by_listing"),
    HeadlineColumn("restored", ("restored", ""), "restored_exactly"),
    HeadlineColumn("poison", ("harmed", "by poison"), "attacks_acted_on"),
    HeadlineColumn("kills", ("harmed", "by a kill"), "lost_by_kill"),
    HeadlineColumn("shared", ("shared", ""), "handed_over"),
)
"""The questions of trust that drills answer."""


@dataclass(frozen=True)
class HeadlineFigure:
    """One family of one backend. measure, cell: what is shown and where it was taken. why: why there is no number.

    lacking: how many other measures of the family have none although they were tried or planned.
    """

    text: str
    measured: bool
    fault: bool
    name: str = ""
    why: str = ""
    lacking: tuple[str, ...] = ()
    measure: str = ""
    cell: str = ""


def table(results: Results) -> tuple[tuple[HeadlineColumn, ...], list[tuple[str, tuple[HeadlineFigure, ...]]]]:
    """The columns that were played, and backend by backend, the sound reference last, their figures."""
    cells: dict[str, list[TrustCell]] = {}
    for cell in results.trust:
        cells.setdefault(cell.backend, []).append(cell)
    columns = tuple(
        column for column in COLUMNS if any(drilled(results, own, column) is not None for own in cells.values())
    )
    order = sorted(cells, key=lambda backend: (backend == SOUND, backend))
    return columns, [
        (tables.shown(results, backend), tuple(_figure(results, cells[backend], column) for column in columns))
        for backend in order
    ]


def drilled(results: Results, cells: Sequence[TrustCell], column: HeadlineColumn) -> tuple[Worst, str] | None:
    """The worst of one backend's drills for a column, and the cell that it is of."""
    taken = {name: cell.id for cell in cells for name in cell.measures}
    measures = {name: Pooled.of_one(measure) for cell in cells for name, measure in cell.measures.items()}
    found = worst(results.trust_definitions, measures, column.family, column.lead)
    return (found, taken[found.measure]) if found else None


def _figure(results: Results, cells: Sequence[TrustCell], column: HeadlineColumn) -> HeadlineFigure:
    told = drilled(results, cells, column)
    if told is None:
        return HeadlineFigure(words.NOT_MEASURED["not-run"], measured=False, fault=False)
    found, cell = told
    why = "; ".join(words.visible(reason, 120) for reason in found.pooled.reasons)
    return HeadlineFigure(
        text=found.text,
        measured=found.pooled.value is not None,
        fault=found.bad,
        name=found.name,
        why=why,
        lacking=found.lacking,
        measure=found.measure,
        cell=cell,
    )
