"""What the drills showed: one table a drill, and the layers of a deletion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness.metrics import trust
from harness.metrics.trust.metric import Headline
from harness.model.backend import SOUND
from harness.model.drill import DrillName
from harness.model.results import LayerRow, LookStage, Results, TrustCell
from harness.model.trial import Definition, Measured
from harness.report import headline, tables, words
from harness.report.receipts import BadCase, sound
from harness.report.words import visible

BOUND = 40
"""Receipts shown in full; the rest is counted."""


@dataclass(frozen=True)
class TrustFigure:
    """A measure of one backend.

    Attributes:
        fault: It is below a perfect score.
        link: Its first receipt on the page.
    """

    text: str
    note: str
    measured: bool
    fault: bool
    link: str


@dataclass(frozen=True)
class DrillRow:
    measure: str
    better: str
    figures: tuple[TrustFigure, ...]


@dataclass(frozen=True)
class DrillTable:
    """One drill: backends side by side. `sizes`: memories in the store."""

    drill: DrillName
    title: str
    asks: str
    size: int
    backends: tuple[str, ...]
    rows: tuple[DrillRow, ...]


@dataclass(frozen=True)
class Layers:
    """Where one backend's deleted memories were found: stages side by side."""

    backend: str
    stages: tuple[str, ...]
    rows: tuple[LayerLine, ...]


@dataclass(frozen=True)
class LayerLine:
    """A route, a layer or a place in it. Of each stage a word with its count, and why it cannot be inspected."""

    layer: str
    place: str
    kind: str
    looks: tuple[tuple[str, str, str], ...]
    """Of each stage: the verdict or "" if there was no look, what is shown of it, the reason."""


@dataclass(frozen=True)
class DrillTables:
    """Everything that the page says of drills.

    Attributes:
        headline: Of each backend and column, where it leads and what it shows.
        total: Receipts that there are.
    """

    columns: tuple[Headline, ...]
    headline: tuple[tuple[str, tuple[tuple[str, headline.HeadlineFigure], ...]], ...]
    tables: tuple[DrillTable, ...]
    layers: tuple[Layers, ...]
    receipts: tuple[BadCase, ...]
    total: int
    links: Mapping[tuple[str, str], str]
    """Cell and measure -> the first of its receipts on the page."""


def collect(results: Results, receipts: Mapping[str, Sequence[BadCase]]) -> DrillTables:
    """The tables in the order of the drills; `receipts` of every backend and measure in turn, up to BOUND."""
    found = [receipts.get(cell.id, ()) for cell in results.trust]
    turns = [receipt for turn in zip_longest(*found) for receipt in turn if receipt is not None]
    shown = tuple(turns[:BOUND])
    links: dict[tuple[str, str], str] = {}
    for receipt in shown:
        links.setdefault((receipt.id.rpartition("--")[0], receipt.measure), receipt.id)
    columns, rows = headline.table(results)
    lines = [(name, tuple((_link(each, links), each) for each in figures)) for name, figures in rows]
    return DrillTables(
        columns, tuple(lines), tuple(_tables(results, links)), tuple(_layers(results)), shown, len(turns), links
    )


def _link(figure: headline.HeadlineFigure, links: Mapping[tuple[str, str], str]) -> str:
    """To the receipt of what is shown, else to what its measure is."""
    return links.get((figure.cell, figure.measure), f"d-{figure.measure}" if figure.measure else "trust")


def _tables(results: Results, links: Mapping[tuple[str, str], str]) -> Iterator[DrillTable]:
    for drill, asked in trust.DRILLS.items():
        cells = sorted(
            (cell for cell in results.trust if cell.drill == drill),
            key=lambda cell: (cell.backend == SOUND, cell.backend),  # the sound reference last
        )
        if cells:
            names = list(dict.fromkeys(name for cell in cells for name in cell.measures))
            rows = tuple(
                DrillRow(
                    name,
                    results.trust_definitions[name].better,
                    tuple(_figure(cell, name, results.trust_definitions[name], links) for cell in cells),
                )
                for name in names
            )
            backends = tuple(tables.show_name(results, cell.backend) for cell in cells)
            yield DrillTable(drill, asked.title, asked.asks, cells[0].size, backends, rows)


def _figure(cell: TrustCell, name: str, definition: Definition, links: Mapping[tuple[str, str], str]) -> TrustFigure:
    measure = cell.measures[name]
    link = links.get((cell.id, name), f"d-{name}")
    if not isinstance(measure, Measured):
        return TrustFigure(words.NOT_MEASURED[measure.status], visible(measure.reason, 120), False, False, link)
    counted = measure.hits is not None and measure.of
    text = words.count(measure.hits or 0, measure.of or 0) if counted else _amount(measure.value, definition.unit)
    note = words.interval(measure.interval) if measure.interval else ""
    return TrustFigure(text, note, True, sound(definition, measure) is False, link)


STAGES: tuple[LookStage, ...] = ("before", "after", "closed", "reopened", "killed", "churned", "compacted")
WORDS = {
    "gone": "gone",
    "present": "\u25b2 {} left",
    "not-computable": "cannot be inspected",
    "not-seen-before": "\u2013",
}
"""A place that did not show a target before says nothing by not showing it after."""


def _layers(results: Results) -> Iterator[Layers]:
    for cell in sorted(results.trust, key=lambda cell: (cell.backend == SOUND, cell.backend)):
        if cell.layers:
            stages = tuple(
                stage for stage in STAGES if any(look.stage == stage for r in cell.layers for look in r.looks)
            )
            yield Layers(
                tables.show_name(results, cell.backend), stages, tuple(_layer(row, stages) for row in cell.layers)
            )


def _layer(row: LayerRow, stages: Sequence[LookStage]) -> LayerLine:
    looks = {look.stage: look for look in row.looks}
    told = tuple(
        (look.verdict, f"{look.seen} of {row.targets}" if stage == "before" else WORDS[look.verdict].format(look.seen),
         visible(look.reason, 200))
        if (look := looks.get(stage)) else ("", "", "")
        for stage in stages
    )  # fmt: skip
    return LayerLine(visible(row.layer, 80), visible(row.place, 120), row.kind, told)


def _amount(value: float, unit: str) -> str:
    return f"{value * 1000:.2g} ms" if unit == "seconds" else words.number(value)
