"""What the drills showed: one table a drill, and the layers of a deletion."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness.metrics import trust
from harness.model.backend import SOUND
from harness.model.cells import LayerRow, LookStage, TrustCell
from harness.model.drill import DrillName
from harness.model.results import Results
from harness.model.trial import Definition, Measured
from harness.report import words
from harness.report.model import table
from harness.report.model.evidence import BadCase, sound
from harness.report.words import make_visible

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
    sound: bool = False


@dataclass(frozen=True)
class DrillRow:
    measure: str
    better: str
    figures: tuple[TrustFigure, ...]

    @property
    def perfect(self) -> bool:
        """Nothing to look at: no fault, and of what has no best value no number."""
        return all(each.sound or not each.measured for each in self.figures) and any(
            each.sound for each in self.figures
        )


@dataclass(frozen=True)
class DrillTable:
    """One drill: backends side by side.

    Attributes:
        size: Memories in the store.
        rows: With something to see; perfect: of which every backend that was measured has a perfect score.
    """

    drill: DrillName
    title: str
    asks: str
    size: int
    backends: tuple[str, ...]
    rows: tuple[DrillRow, ...]
    perfect: tuple[DrillRow, ...]


@dataclass(frozen=True)
class Layers:
    """Where one backend's deleted memories were found: stages side by side."""

    backend: str
    stages: tuple[str, ...]
    rows: tuple[LayerLine, ...]


@dataclass(frozen=True)
class LayerLine:
    """A route, a layer or a place in it."""

    layer: str
    place: str
    kind: str
    looks: tuple[tuple[str, str], ...]
    """Of each stage: what is shown of it, and why it cannot be inspected; both empty if there was no look."""


@dataclass(frozen=True)
class DrillTables:
    """Everything that the page says of drills.

    Attributes:
        total: Receipts that there are.
    """

    tables: tuple[DrillTable, ...]
    layers: tuple[Layers, ...]
    receipts: tuple[BadCase, ...]
    total: int
    links: Mapping[tuple[str, str], str]
    """Cell and measure -> the first of its receipts on the page."""


def collect(
    results: Results, receipts: Mapping[str, Sequence[BadCase]], wanted: Collection[tuple[str, str]] = ()
) -> DrillTables:
    """The tables in the order of the drills; `receipts` of every backend and measure in turn, up to BOUND.

    Args:
        wanted: Cells and measures that stand on the scoreboard; one receipt of each is shown whatever the bound.
    """
    cases = [receipts.get(cell.id, ()) for cell in results.trust]
    turns = [receipt for turn in zip_longest(*cases) for receipt in turn if receipt is not None]
    first: dict[tuple[str, str], BadCase] = {}
    # A receipt is named CELL--MEASURE-LINE (`describe_cases`): its cell stands before the last --.
    for receipt in turns:
        first.setdefault((receipt.id.rpartition("--")[0], receipt.measure), receipt)
    shown_ids = {receipt.id for place, receipt in first.items() if place in wanted}
    shown_ids |= {
        receipt.id for receipt in [each for each in turns if each.id not in shown_ids][: max(0, BOUND - len(shown_ids))]
    }
    # From `turns` again, so that wanted receipts stand among the others in one order.
    shown = tuple(receipt for receipt in turns if receipt.id in shown_ids)
    links: dict[tuple[str, str], str] = {}
    for receipt in shown:
        links.setdefault((receipt.id.rpartition("--")[0], receipt.measure), receipt.id)
    return DrillTables(tuple(_tables(results, links)), tuple(_layers(results)), shown, len(turns), links)


def _tables(results: Results, links: Mapping[tuple[str, str], str]) -> Iterator[DrillTable]:
    for drill, drill_words in trust.DRILLS.items():
        cells = sorted(
            (cell for cell in results.trust if cell.drill == drill),
            key=lambda cell: (cell.backend == SOUND, cell.backend),  # the sound reference last
        )
        if cells:
            names = list(dict.fromkeys(name for cell in cells for name in cell.measures))
            measured = tuple(
                DrillRow(
                    name,
                    results.trust_definitions[name].better,
                    tuple(_figure(cell, name, results.trust_definitions[name], links) for cell in cells),
                )
                for name in names
            )
            backends = tuple(_name(results, cell) for cell in cells)
            perfect = tuple(row for row in measured if row.perfect)
            rest = tuple(row for row in measured if not row.perfect)
            yield DrillTable(drill, drill_words.title, drill_words.asks, cells[0].size, backends, rest, perfect)


def _name(results: Results, cell: TrustCell) -> str:
    """And the release whose store it took over, in a drill of that."""
    name = table.show_name(results, cell.backend)
    return f"{name} after {make_visible(cell.older, 40)}" if cell.older else name


def _figure(cell: TrustCell, name: str, definition: Definition, links: Mapping[tuple[str, str], str]) -> TrustFigure:
    measure = cell.measures[name]
    # Without a receipt, to what the measure counts.
    link = links.get((cell.id, name), f"d-{name}")
    if not isinstance(measure, Measured):
        return TrustFigure(words.NOT_MEASURED[measure.status], make_visible(measure.reason, 120), False, False, link)
    counted = measure.hits is not None and measure.of
    text = words.count(measure.hits or 0, measure.of or 0) if counted else _amount(measure.value, definition.unit)
    note = words.format_interval(measure.interval) if measure.interval else ""
    # None where there is no best value: then it is neither a fault nor sound.
    good = sound(definition, measure)
    return TrustFigure(text, note, True, good is False, link, good is True)


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
                table.show_name(results, cell.backend), stages, tuple(_layer(row, stages) for row in cell.layers)
            )


def _layer(row: LayerRow, stages: Sequence[LookStage]) -> LayerLine:
    looks = {look.stage: look for look in row.looks}
    verdicts = tuple(
        (f"{look.seen} of {row.targets}" if stage == "before" else WORDS[look.verdict].format(look.seen),
         make_visible(look.reason, 200))
        if (look := looks.get(stage)) else ("", "")
        for stage in stages
    )  # fmt: skip
    return LayerLine(make_visible(row.layer, 80), make_visible(row.place, 120), row.kind, verdicts)


def _amount(value: float, unit: str) -> str:
    return words.format_amount(value, unit)
