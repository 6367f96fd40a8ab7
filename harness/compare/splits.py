"""Dev and held stories side by side: whether a row gains as much over no memory in the stories that are kept back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import comb
from statistics import fmean
from typing import NamedTuple, TypeAlias

from harness.compare.rows import COLD, list_ranked
from harness.compare.stats import ALPHA, holm, label_swap
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.model.trial import Measured, ReadPolicy, WritePolicy

Counted: TypeAlias = Mapping[ReadPolicy | None, Mapping[str, tuple[float, int]]]
"""Read policy -> story -> right decisions, and of how many."""


class Side(NamedTuple):
    """One split as a row played it.

    Attributes:
        right: The lowest and the highest count over the ways of reading.
        gain: Mean over stories of the share right minus that of no memory, as a mean over the ways of reading.
    """

    stories: int
    right: tuple[float, float]
    of: int
    gain: float


class SplitRow(NamedTuple):
    """`adjusted_p`: of the difference of both gains, among all rows."""

    row: str
    dev: Side
    held: Side
    adjusted_p: float


def compare_splits(results: Results, writes: Mapping[str, WritePolicy]) -> list[SplitRow]:
    """Each ranked row in one way of writing, at the headline's noise; only if its stories can show a difference at all.

    Args:
        writes: The way of writing of each row.
    """
    held = frozenset(results.run.suite.held if results.run.suite else ())
    cold = _count(results, COLD, None).get(None, {})
    rows, values = list[tuple[str, Side, Side]](), list[float]()
    for row in list_ranked(results.backends):
        if row == COLD or row not in writes:
            continue
        counted = _count(results, row, writes[row])
        gains = dict(_list_gains(counted, cold))
        sides = [{story for story in gains if (story in held) == back} for back in (False, True)]
        if 2 / comb(len(gains), len(sides[0])) > ALPHA:
            continue
        dev, back = (_make_side(counted, gains, own) for own in sides)
        rows.append((row, dev, back))
        values.append(label_swap(*([gains[story] for story in sorted(own)] for own in sides)))
    return [SplitRow(*row, p) for row, p in zip(rows, holm(values), strict=True)]


def _count(results: Results, row: str, write: WritePolicy | None) -> Counted:
    found = defaultdict[ReadPolicy | None, dict[str, tuple[float, int]]](dict)
    for cell in results.cells:
        way = (cell.backend, cell.write_policy, cell.noise)
        own = cell.arm == "cold" if row == COLD else way == (row, write, results.run.conditions.headline_noise)
        measure = cell.measures.get(DECISIONS_RIGHT)
        if own and isinstance(measure, Measured) and measure.of:
            hits, of = found[cell.read_policy].get(cell.scenario, (0.0, 0))
            found[cell.read_policy][cell.scenario] = hits + (measure.hits or 0.0), of + measure.of
    return found


def _list_gains(counted: Counted, cold: Mapping[str, tuple[float, int]]) -> Iterator[tuple[str, float]]:
    """Of the stories that both have played, under every way of reading."""
    for story in sorted(cold):
        if counted and all(story in own for own in counted.values()):
            shares = (own[story][0] / own[story][1] for own in counted.values())
            yield story, fmean(shares) - cold[story][0] / cold[story][1]


def _make_side(counted: Counted, gains: Mapping[str, float], stories: Iterable[str]) -> Side:
    names = sorted(stories)
    right = [sum(own[story][0] for story in names) for own in counted.values()]
    of = max(sum(own[story][1] for story in names) for own in counted.values())
    return Side(len(names), (min(right), max(right)), of, fmean(gains[story] for story in names))
