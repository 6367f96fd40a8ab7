"""What the page shows below its first screen: a part a question, layers, pools of cells, declarations, costs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness import metrics
from harness.adapter import CAPABILITIES, FILTERS
from harness.compare.cost_model import Condition, Cost, ReportedUsage, Spent
from harness.compare.rows import COLD
from harness.metrics import deletion
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.recall import RECALL
from harness.metrics.words import PROVEN, Topic
from harness.model.backend import Backend, Declared
from harness.model.cells import Cell
from harness.model.prices import Prices
from harness.model.results import Results
from harness.model.trial import NEEDS, Clock, Measured, WritePolicy
from harness.report import words
from harness.report.model import contrasts, table, ways
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
        sentences = contrasts.describe_verified(results) if topic == PROVEN else ()
        yield Section(topic, tuple(sentences), rows, tuple(links))


def _applies(results: Results, name: str) -> bool:
    """Whether a measure has a number in some row, or lacks it for another reason than that it is not applicable."""
    measures = [row.measures[name] for row in results.backends.values() if name in row.measures]
    return any(each.value is not None or each.unsupported or each.failed or each.not_run for each in measures)


def list_told_in_cells(results: Results) -> list[tuple[str, str]]:
    """The measures that stand beside each cell, with their heads, in the order of the first screen."""
    cells = [(name, metrics.words_of(name).cells) for name in metrics.FIRST if name in results.definitions]
    return [(name, head) for name, head in cells if head]


def _make_row(results: Results, name: str) -> MeasureRow:
    rows = [results.backends[each].measures for each in table.list_rows(results)]
    figures = tuple(table.figure(name, row.get(name), row.get(RECALL)) for row in rows)
    return MeasureRow(name, ARROW[results.definitions[name].better], figures)


def layers(verdicts_by_backend: Mapping[str, Iterable[deletion.LayerVerdict]]) -> Iterator[LayerSummary]:
    """Counts of what was found in the layers of each backend."""
    grouped: dict[tuple[str, str], list[deletion.LayerVerdict]] = {}
    for backend, verdicts in verdicts_by_backend.items():
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
    # A name may hold lone surrogates, which UTF-8 refuses.
    return f"cells-{slug}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}-{rest}"


def supports(results: Results) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """What each backend declares: level -> capabilities with their notes."""
    for name in table.list_rows(results):
        row = results.backends[name]
        backend = row.backend
        if backend is not None and name != COLD:
            by_level: dict[str, list[str]] = {"native": [], "emulated": [], "unsupported": [], "adapter's code": []}
            by_level["adapter's code"] = [f"sha256 {words.make_visible(each, 64)}" for each in row.code]
            for capability in CAPABILITIES:
                if (declared := backend.support.get(capability)) is not None:
                    note = f" ({words.make_visible(declared.note, 200)})" if declared.note else ""
                    by_level[declared.level].append(f"{capability}{note}")
            settings = ", ".join(f"{key}={value}" for key, value in sorted(backend.settings.items()))
            title = words.make_visible(f"{name}: {settings}" if settings else name, 200)
            yield title, [(level, held) for level, held in by_level.items() if held]


# --- which ways of working a backend supports: by itself, by what an adapter or the agent adds, or not at all ---------

Level = Literal["native", "emulated", "unsupported"]
WAYS: Sequence[WritePolicy] = [way for way, needs in NEEDS.items() if needs]
"""Ways of writing that take more of a backend than to store and to find."""
SUPPORT_HEADS = (*(ways.WRITE_LABELS[way] for way in WAYS), "filtered")
BY_THE_CLOCK: Mapping[Clock, str] = {
    "wall": "its own lifetime is told once it is over: it runs by the wall clock, and a story lies in the past",
    "story": "its own lifetime is told at the write, and runs by the clock of the story",
}


class Supported(NamedTuple):
    """How far one way of working goes with one backend."""

    level: Level
    why: str


def list_supported(results: Results) -> Iterator[tuple[str, list[Supported]]]:
    """Each ranked row with its ways, in the order of HEADS."""
    for name in table.list_ranked(results):
        if backend := results.backends[name].backend:
            yield (
                table.show_name(results, name),
                [*(judge_write(backend, way, results.backends[name].clock) for way in WAYS), _judge_filter(backend)],
            )


def judge_write(backend: Backend, way: WritePolicy, clock: Clock) -> Supported:
    if not NEEDS[way]:
        return Supported("native", "")
    support = _join([(need, backend.find_support(need)) for need in NEEDS[way]])
    if way != "expire" or support.level == "unsupported":
        return support
    own = backend.find_support("expiry")
    # By the wall clock its own lifetime is set by an update once it is over, so both are needed.
    if own.supported and (clock == "story" or backend.supports("update")):
        return Supported("native", BY_THE_CLOCK[clock])
    return Supported("emulated", words.make_visible(f"the agent deletes; of its own lifetime: {own.note}", 200))


def _judge_filter(backend: Backend) -> Supported:
    """One part of a filter is enough to ask with; what is not there of the others is told."""
    parts = [(name.removeprefix("filter_"), backend.find_support(name)) for name in FILTERS]
    there = [each for each in parts if each[1].supported]
    if not there:
        return Supported("unsupported", words.make_visible(parts[0][1].note, 200))
    lacking = [f"{name}: {declared.note}" for name, declared in parts if not declared.supported]
    level, why = _join(there)
    return Supported(level, words.make_visible("; ".join(dict.fromkeys([*filter(None, [why]), *lacking])), 200))


def _join(parts: Sequence[tuple[str, Declared]]) -> Supported:
    """As far as the least of what it takes."""
    levels: tuple[Level, ...] = "unsupported", "emulated", "native"
    level = next(level for level in levels if any(declared.level == level for _, declared in parts))
    notes = [f"{name}: {declared.note}" for name, declared in parts if declared.level == level and declared.note]
    return Supported(level, words.make_visible("; ".join(dict.fromkeys(notes)), 200))


# --- what the chat calls of a run cost, as tables of text -------------------------------------------------------------


class JobRow(NamedTuple):
    """What each job done cost under one condition, as text."""

    condition: Condition
    done: str
    tokens: str
    money: str
    working: str
    writing: str


class SpentRow(NamedTuple):
    """What one payer spent in one phase with one model, as text."""

    condition: Condition
    payer: str
    phase: str
    model: str
    calls: str
    prompt: str
    cached: str
    completion: str
    money: str


class Costing(NamedTuple):
    """Two tables, and what has to be said of them.

    Attributes:
        unpriced: Models that the table of prices does not know; an empty name: several under one count.
        notes: What is missing, and what agent programs count of their own.
    """

    says: str
    unpriced: Sequence[str]
    notes: Sequence[str]
    jobs: Sequence[JobRow]
    spent: Sequence[SpentRow]


def collect_costs(costs: Sequence[Cost], prices: Prices | None) -> Costing:
    """Of all rows, whether a chat call was made or not."""
    note = f"Money by {prices}." if prices else "No prices were given (--prices FILE), so there is no money."
    return Costing(
        f"Tokens as the model's endpoint counted them, and no less than our own count. {note} "
        "Seconds are those of the machine that played.",
        sorted({name for each in costs for name in each.list_unpriced(prices)}) if prices else (),
        list(_note(costs)),
        [_share_row(each, prices) for each in costs],
        [_show_spent(each.condition, spent, prices) for each in costs for spent in each.spent.values() if spent.calls],
    )


def show_costs(costs: Sequence[Cost], prices: Prices | None) -> Costing | None:
    """None: no chat model was called."""
    return collect_costs(costs, prices) if any(each.calls for each in costs) else None


def _note(costs: Sequence[Cost]) -> Iterator[str]:
    if untimed := sum(each.untimed for each in costs):
        yield f"Seconds are missing of {words.format_count(untimed, 'job')}, played by an older coldwarm."
    if short := sum(spent.short for each in costs for spent in each.spent.values()):
        calls = sum(each.calls for each in costs)
        yield (
            f"Of {short:,} of {words.format_count(calls, 'call')} the endpoint counted far fewer tokens "
            "than were sent: the "
            "model did not read all of the prompt, or its endpoint miscounts. Our own count is charged."
        )
    reported = ReportedUsage()
    for each in costs:
        reported.absorb(each.told)
    if reported.rounds:
        (own_prompt, own_answers), (prompt, completion) = reported.own, reported.counted
        yield (
            f"The agent program counts {own_prompt:,} + {own_answers:,} tokens of its own (prompt + answers) in "
            f"{words.format_count(reported.rounds, 'round of a job', 'rounds of jobs')}; "
            f"its endpoint counted {prompt:,} + {completion:,} in the same ones, "
            f"{_compare(reported)}. Tables and budgets hold what the endpoint counted."
        )
    if reported.silent:
        many = words.format_count(reported.silent, "round of a job", "rounds of jobs")
        yield f"The agent program told no count of its own in {many}: there only the endpoint's is known."


def _compare(reported: ReportedUsage) -> str:
    return (
        f"and another number in {reported.differing} of {reported.rounds}"
        if reported.differing
        else "and the same in each"
    )


def _share_row(each: Cost, prices: Prices | None) -> JobRow:
    return JobRow(
        each.condition,
        f"{each.done} of {each.jobs}",
        _share(each.tokens, each.done, ",.0f"),
        _share(each.money(prices) if prices else None, each.done, ",.4f"),
        _share(each.working, each.done, ",.2f"),
        _share(each.writing, each.done, ",.2f"),
    )


def _share(total: float | None, done: int, form: str) -> str:
    """Of each job done; without one, all of it was for nothing."""
    if total is None:
        return "-"
    return format(total / done, form) if done else f"none ({format(total, form)} spent)"


def _show_spent(condition: Condition, spent: Spent, prices: Prices | None) -> SpentRow:
    money = spent.money(prices) if prices else None
    return SpentRow(
        condition, spent.payer, spent.phase, spent.model, f"{spent.calls:,}", f"{spent.prompt:,}",
        f"{spent.cached:,}", f"{spent.completion:,}", "-" if money is None else f"{money:,.4f}",
    )  # fmt: skip
