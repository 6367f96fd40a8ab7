"""What the page shows below its first screen: a part a question, layers of storage, pools of cells, declarations."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness import metrics
from harness.adapter import CAPABILITIES
from harness.compare.rows import COLD
from harness.metrics import deletion
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.recall import RECALL
from harness.metrics.words import PROVEN, Topic
from harness.model.cells import Cell
from harness.model.results import Results
from harness.model.trial import Measured
from harness.report import words
from harness.report.model import contrasts, table
from harness.report.model.table import Figure

ARROW = {"higher": "\u2191", "lower": "\u2193", "neither": ""}


@dataclass(frozen=True)
class MeasureRow:
    """One measure over all rows of the run."""

    measure: str
    arrow: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Section:
    topic: Topic
    says: tuple[str, ...]
    rows: tuple[MeasureRow, ...]
    links: tuple[str, ...]


@dataclass(frozen=True)
class LayerSummary:
    """A layer of a backend's storage, over the scenarios: targets seen in it before and after the deletion."""

    backend: str
    layer: str
    before: int
    after: int
    moved: int
    problem: str


@dataclass(frozen=True)
class CellPool:
    """Cells that one figure pools: the target of its link."""

    anchor: str
    title: str
    cells: tuple[Cell, ...]


def figure_of(cell: Cell, measure: str) -> Figure:
    """A measure of one cell."""
    known = cell.measures.get(measure)
    if not isinstance(known, Measured):
        word = words.NOT_MEASURED[known.status if known else "not-run"]
        return Figure(word, measured=False, why=words.make_visible(known.reason, 200) if known else "")
    shown = (
        words.count(known.hits, known.of) if known.hits is not None and known.of else words.format_number(known.value)
    )
    return Figure(f"\u2265 {shown}" if known.known == "at-least" else shown)


def sections(results: Results, links: Sequence[str]) -> Iterator[Section]:
    by_topic: dict[Topic, list[str]] = {}
    for name in sorted(results.definitions, key=lambda name: (metrics.words_of(name).place, name)):
        by_topic.setdefault(metrics.words_of(name).topic, []).append(name)
    for topic, chosen in sorted(by_topic.items(), key=lambda known: (known[0].place, known[0].id)):
        if topic.seldom and not any(_applies(results, name) for name in chosen):
            continue
        rows = tuple(_make_row(results, name) for name in chosen)
        says = contrasts.describe_verified(results) if topic == PROVEN else ()
        yield Section(topic, tuple(says), rows, tuple(links))


def _applies(results: Results, name: str) -> bool:
    """Whether a measure has a number in some row, or lacks it for another reason than that it is not applicable."""
    found = [row.measures[name] for row in results.backends.values() if name in row.measures]
    return any(each.value is not None or each.unsupported or each.failed or each.not_run for each in found)


def list_told_in_cells(results: Results) -> list[tuple[str, str]]:
    """The measures that stand beside each cell, with their heads, in the order of the first screen."""
    cells = [(name, metrics.words_of(name).cells) for name in metrics.FIRST if name in results.definitions]
    return [(name, head) for name, head in cells if head]


def _make_row(results: Results, name: str) -> MeasureRow:
    rows = [results.backends[each].measures for each in table.list_rows(results)]
    figures = tuple(table.figure(name, row.get(name), row.get(RECALL)) for row in rows)
    return MeasureRow(name, ARROW[results.definitions[name].better], figures)


def layers(found: Mapping[str, Iterable[deletion.LayerVerdict]]) -> Iterator[LayerSummary]:
    """Counts of what was found in the layers of each backend."""
    grouped: dict[tuple[str, str], list[deletion.LayerVerdict]] = {}
    for backend, verdicts in found.items():
        for verdict in verdicts:
            kind = f"{words.make_visible(verdict.layer, 80)} ({verdict.format})"
            grouped.setdefault((words.make_visible(backend, 60), kind), []).append(verdict)
    for (backend, layer), own in sorted(grouped.items()):
        yield LayerSummary(
            backend,
            layer,
            sum(len(each.before) for each in own),
            sum(len(each.after) for each in own),
            sum(len(each.moved) for each in own),
            "; ".join(dict.fromkeys(words.make_visible(each.problem, 200) for each in own if each.problem)),
        )


def pools(results: Results) -> Iterator[CellPool]:
    """What each row pools, then what is left, by backend, policies and noise; each cell stands in one of them."""
    taken: set[str] = set()
    for name in table.list_rows(results):
        cells = [cell for cell in table.list_cells(results, name) if cell.id not in taken]
        taken.update(cell.id for cell in cells)
        if cells:
            what = "without memory" if name == COLD else "under the primary conditions"
            yield CellPool(
                _anchor(name, "primary"), f"{table.show_name(results, name)} {what}", tuple(sorted(cells, key=_worst))
            )
    grouped: dict[tuple[str, str, str, int], list[Cell]] = {}
    for cell in results.cells:
        if cell.id not in taken:
            key = cell.backend or COLD, cell.write_policy or "", cell.read_policy or "", cell.noise
            grouped.setdefault(key, []).append(cell)
    for (name, write, read, noise), cells in sorted(grouped.items()):
        title = f"{table.show_name(results, name)}, {write} and {read}, noise {noise}"
        yield CellPool(_anchor(name, f"{write}-{read}-n{noise}"), title, tuple(sorted(cells, key=_worst)))


def _worst(cell: Cell) -> tuple[bool, float, str]:
    """What did not end well first, then by the share of decisions that were wrong."""
    right = cell.measures.get(DECISIONS_RIGHT)
    return cell.status == "complete", right.value if isinstance(right, Measured) else 1.0, cell.scenario


def _anchor(name: str, rest: str) -> str:
    """Unique also for names that differ only in what an id cannot hold."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"cells-{slug}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}-{rest}"


def supports(results: Results) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """What each backend declares: level -> capabilities with their notes."""
    for name in table.list_rows(results):
        row = results.backends[name]
        backend = row.backend
        if backend is not None and name != COLD:
            told: dict[str, list[str]] = {"native": [], "emulated": [], "unsupported": [], "adapter's code": []}
            told["adapter's code"] = [f"sha256 {words.make_visible(each, 64)}" for each in row.code]
            for capability in CAPABILITIES:
                if (declared := backend.support.get(capability)) is not None:
                    note = f" ({words.make_visible(declared.note, 200)})" if declared.note else ""
                    told[declared.level].append(f"{capability}{note}")
            settings = ", ".join(f"{key}={value}" for key, value in sorted(backend.settings.items()))
            title = words.make_visible(f"{name}: {settings}" if settings else name, 200)
            yield title, [(level, held) for level, held in told.items() if held]
