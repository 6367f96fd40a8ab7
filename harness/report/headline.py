"""The table of the drills: a column a question of trust, which shows the worst measure of its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.metrics import trust
from harness.metrics.columns import COLUMNS as ALL
from harness.metrics.columns import Column
from harness.model.backend import SOUND
from harness.model.results import Pooled, Results, TrustCell
from harness.report import tables, words
from harness.report.worst import Worst, worst

COLUMNS = tuple(
    column
    for column in ALL.values()
    if column.order and any(each.column == column.id for each in trust.DEFINITIONS.values())
)
"""The questions of trust that drills answer."""


def lead(column: Column) -> str:
    """The first of its leading measures that a drill measures."""
    return next(name for name in column.leads if name in trust.DEFINITIONS)


@dataclass(frozen=True)
class HeadlineFigure:
    """One family of one backend.

    Attributes:
        measure, cell: What is shown and where it was taken.
        why: Why there is no number.
        lacking: How many other measures of the family have none although they were tried or planned.
    """

    text: str
    measured: bool
    fault: bool
    name: str = ""
    why: str = ""
    lacking: tuple[str, ...] = ()
    measure: str = ""
    cell: str = ""


def table(results: Results) -> tuple[tuple[Column, ...], list[tuple[str, tuple[HeadlineFigure, ...]]]]:
    """The columns that were played, and backend by backend, the sound reference last, their figures."""
    cells: dict[str, list[TrustCell]] = {}
    for cell in results.trust:
        cells.setdefault(cell.backend, []).append(cell)
    columns = tuple(
        column for column in COLUMNS if any(find_worst(results, own, column) is not None for own in cells.values())
    )
    order = sorted(cells, key=lambda backend: (backend == SOUND, backend))
    return columns, [
        (tables.show_name(results, backend), tuple(_figure(results, cells[backend], column) for column in columns))
        for backend in order
    ]


def find_worst(results: Results, cells: Sequence[TrustCell], column: Column) -> tuple[Worst, str] | None:
    """The worst of one backend's drills for a column, and the cell that it is of."""
    taken = {name: cell.id for cell in cells for name in cell.measures}
    measures = {name: Pooled.of_one(measure) for cell in cells for name, measure in cell.measures.items()}
    found = worst(results.trust_definitions, measures, column.id, lead(column))
    return (found, taken[found.measure]) if found else None


def _figure(results: Results, cells: Sequence[TrustCell], column: Column) -> HeadlineFigure:
    told = find_worst(results, cells, column)
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
