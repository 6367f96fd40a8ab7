"""What was set side by side: pairs of backends, ways to write and read, baselines, splits, levels of noise."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.compare.rows import list_ranked, pool_cells
from harness.compare.splits import Side, SplitRow, compare_splits
from harness.compare.stats import ALPHA
from harness.metrics.acting import STALE_USE
from harness.metrics.footprint import Sample, What
from harness.metrics.provenance import SOURCE_VERIFIED
from harness.metrics.recall import RECALL
from harness.metrics.staleness import STALE_EXPOSURE
from harness.metrics.tokens import TOKENS_TOTAL
from harness.model.cells import Cell
from harness.model.results import Comparison, Family, Pooled, Results
from harness.report import words
from harness.report.model import table, ways
from harness.report.model.table import Figure, figure, group, show_name


@dataclass(frozen=True)
class Changed:
    """One measure of one backend against the baseline, in words."""

    rank: int
    backend: str
    measure: str
    verdict: str
    old: str
    new: str
    difference: str
    p: str
    note: str
    cells: tuple[str, ...]


CHANGES = ("worse", "vanished", "not-comparable", "better", "appeared", "no-difference-shown")
"""Verdicts in the order in which they are read."""


def list_changes(results: Results) -> Iterator[Changed]:
    """What became of the baseline, the bad first. cells: those that went with it."""
    for each in sorted(results.changes, key=lambda change: CHANGES.index(change.verdict)):
        amounts = [
            words.count(*count) if count else words.format_number(value) if value is not None else "\u2013"
            for count, value in ((each.old_count, each.old), (each.new_count, each.new))
        ]
        span = f" ({words.format_interval(each.interval)})" if each.interval else ""
        moved = (
            f"{words.show_signed(each.difference, words.format_number)}{span}" if each.difference is not None else ""
        )
        yield Changed(
            rank=CHANGES.index(each.verdict),
            backend=words.make_visible(each.backend, 60),
            measure=each.measure if not each.drill else f"{each.measure} (drill {each.drill})",
            verdict=each.verdict.replace("-", " "),
            old=amounts[0],
            new=amounts[1],
            difference=moved,
            p=f"{each.adjusted_p:.2g}" if each.adjusted_p is not None else "",
            note=words.make_visible(each.reason, 300),
            cells=(*each.broken, *each.vanished, *each.mended),
        )


@dataclass(frozen=True)
class Contrasted:
    """One way to write and read at one noise level, for one backend."""

    name: str
    write: str
    read: str
    noise: int
    primary: bool
    cells: tuple[str, ...]
    figures: tuple[Figure, ...]


def list_contrasts(results: Results) -> Iterator[Contrasted]:
    """How each backend fares under each write and read policy and noise level; controls are not contrasted."""
    for each in results.contrasts:
        if each.backend in results.backends and group(results, each.backend) != "ranked":
            continue
        measures = each.measures
        # Every measure pools the same cells, so any of them names all.
        yield Contrasted(
            name=show_name(results, each.backend),
            write=each.write_policy,
            read=each.read_policy,
            noise=each.noise,
            primary=each.primary,
            cells=next(iter(measures.values())).cells,
            figures=tuple(figure(name, pooled, measures.get(RECALL)) for name, pooled in measures.items()),
        )


def describe_verified(results: Results) -> Iterator[str]:
    """Of each backend that returns sources: what a reader who checks them was spared, and what he paid for it."""
    conditions = results.run.conditions
    for name in table.list_ranked(results):
        if results.backends[name].measures[SOURCE_VERIFIED].value is None:
            continue
        by_policy = {
            each.read_policy: each.measures
            for each in results.contrasts
            if (each.backend, each.write_policy, each.noise)
            == (name, conditions.headline_write, conditions.headline_noise)
        }
        trusting, verifying = (
            [by_policy[policy][measure] for measure in (STALE_USE, TOKENS_TOTAL)] if policy in by_policy else []
            for policy in ("trusting", "verifying")
        )
        # `all` is true of nothing, so both lists have to hold something, too.
        if all(each.value is not None for each in (*trusting, *verifying)) and trusting and verifying:
            yield (
                f"{words.make_visible(name, 40)}: a reader who checks the cited line at HEAD acted on a stale rule in "
                f"{words.value(verifying[0])} decisions, one who takes the first entry in {words.value(trusting[0])}; "
                f"tokens a story {words.value(verifying[1])} against {words.value(trusting[1])}."
            )


FAMILIES: Mapping[Family, str] = {
    "cold": "with no memory", "writes": "append with look-up", "pairs": "between backends", "dump": "with full_context",
}  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """One pair on one measure, in words and figures that are ready to stand in a table."""

    family: str
    measure: str
    write: str
    read: str
    left: str
    right: str
    left_value: str
    right_value: str
    left_better: int
    right_better: int
    scenarios: int
    p: str
    adjusted_p: str
    compared: int
    verdict: str
    difference: str


def describe(results: Results, each: Comparison) -> Compared:
    """One comparison, shown or not."""
    left, right = (table.name_row(results, name) for name in (each.left, each.right))
    if each.family == "writes":
        left, right = f"{left}, {ways.WRITE_LABELS['append']}", f"{right}, {ways.WRITE_LABELS[each.write_policy]}"
    verdicts = {"left-better": f"{left} better", "right-better": f"{right} better"}
    show = words.share if results.definitions[each.measure].unit == "proportion" else words.format_number
    ends = (
        f"{words.show_signed(each.interval.low, show)} to {words.show_signed(each.interval.high, show)}"
        if each.interval
        else ""
    )
    return Compared(
        family=FAMILIES[each.family],
        measure=each.measure,
        write=each.write_policy,
        read=each.read_policy,
        left=left,
        right=right,
        left_value=show(each.left_value),
        right_value=show(each.right_value),
        left_better=each.left_better,
        right_better=each.right_better,
        scenarios=each.scenarios,
        p=f"{each.p:.2g}" if each.able else "",
        adjusted_p=f"{each.adjusted_p:.2g}" if each.able else "",
        compared=each.compared,
        verdict=verdicts.get(each.verdict, "could be chance" if each.able else "too few stories to tell"),
        difference=ends,
    )


# --- dev and held stories, and a sentence on whether they differ ------------------------------------------------------


class Parted(NamedTuple):
    """Each ranked row, as it is written best: its name, dev and held stories, and the adjusted p."""

    heads: tuple[str, str]
    rows: Sequence[tuple[str, str, str, str]]
    says: str


def collect_splits(results: Results) -> Parted | None:
    """None: a split was not played, or has too few stories to tell."""
    splits = compare_splits(results, {row: ways.best_write(results, row) for row in list_ranked(results.backends)})
    if not splits:
        return None
    dev, held = (words.format_count(side.stories, "story", "stories") for side in (splits[0].dev, splits[0].held))
    rows = [
        (table.show_name(results, each.row), _tell_side(each.dev), _tell_side(each.held), f"{each.adjusted_p:.2g}")
        for each in splits
    ]
    return Parted((f"Dev: {dev}", f"Held: {held}"), rows, _tell_difference(results, splits))


def _tell_difference(results: Results, rows: Sequence[SplitRow]) -> str:
    differ = [row.row for row in rows if row.adjusted_p <= ALPHA]
    if not differ:
        return "No row was shown to gain more in one part than in the other."
    names = words.join_words([table.name_row(results, row) for row in differ])
    return f"The gain differs between both parts with {names}."


def _tell_side(side: Side) -> str:
    """`28-35 of 40, +21 %`."""
    return f"{ways.show_range(*side.right)} of {side.of:,}, {words.show_signed(side.gain, words.share)}"


# --- what becomes of each backend as its memory grows: a row for each of its noise levels -----------------------------


class Level(NamedTuple):
    """One backend at one noise level, written and read as the headline is.

    Attributes:
        seconds: Median of one recall once all noise was written; None: no sample.
        bytes: Median of the store's files after a story; None: it has none, or no log tells.
    """

    backend: str
    noise: int
    recalled: Pooled
    exposed: Pooled
    seconds: float | None
    bytes: float | None

    @property
    def figures(self) -> tuple[Figure, Figure]:
        return table.figure(RECALL, self.recalled), table.figure(STALE_EXPOSURE, self.exposed, self.recalled)

    @property
    def cells(self) -> tuple[str, ...]:
        return self.recalled.cells


def list_levels(results: Results, samples: Iterable[Sample]) -> list[Level]:
    """Of ranked backends, the fewest memories first; empty if the run has one level only."""
    levels = list(_list_levels(results, list(samples)))
    return levels if len({each.noise for each in levels}) > 1 else []


def _list_levels(results: Results, samples: Sequence[Sample]) -> Iterator[Level]:
    conditions = results.run.conditions
    grouped: dict[tuple[str, int], list[Cell]] = {}
    for cell in results.cells:
        if cell.backend and (cell.write_policy, cell.read_policy) == (
            conditions.headline_write,
            conditions.headline_read,
        ):
            grouped.setdefault((cell.backend, cell.noise), []).append(cell)
    for name in table.list_ranked(results):
        for (_, noise), cells in sorted(item for item in grouped.items() if item[0][0] == name):
            mine = [each for each in samples if (each.backend, each.noise) == (name, noise)]
            yield Level(
                name, noise, pool_cells(RECALL, cells), pool_cells(STALE_EXPOSURE, cells),
                _find_median(mine, "recall", noise), _find_median(mine, "storage", noise),
            )  # fmt: skip


def _find_median(samples: Sequence[Sample], what: What, noise: int) -> float | None:
    # An empty store is no sample, also at noise 0.
    values = [each.value for each in samples if each.what == what and each.memories >= max(noise, 1)]
    return statistics.median(values) if values else None
