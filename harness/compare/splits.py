"""Dev and held stories side by side: whether a row gains as much over no memory in the stories that are kept back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from statistics import fmean
from typing import NamedTuple

from harness.compare.rows import COLD, tabulate
from harness.compare.stats import ALPHA, holm, label_swap
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.model.trial import Measured, ReadPolicy, WritePolicy


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
    """Each row in one way of writing, at the headline's noise; only if its stories can show a difference at all.

    Args:
        writes: The way of writing of each row.
    """
    held = frozenset(results.run.suite.held if results.run.suite else ())
    tables = tabulate(results.cells, results.run.conditions)
    rows, values = list[tuple[str, Side, Side]](), list[float]()
    for row in sorted(writes):
        shares = [table[DECISIONS_RIGHT] for way, table in tables.items() if way.write == writes[row]]
        # the cold arm is the same under every way, so that the first table will do
        gains = _find_gains([each[row] for each in shares if row in each], shares[0].get(COLD, {}) if shares else {})
        sides = [sorted(story for story in gains if (story in held) == back) for back in (False, True)]
        # the smallest two-sided p that so few relabellings can give
        if 2 / comb(len(gains), len(sides[0])) > ALPHA:
            continue
        dev, back = (_make_side(results, row, writes[row], {story: gains[story] for story in own}) for own in sides)
        rows.append((row, dev, back))
        values.append(label_swap(*([gains[story] for story in own] for own in sides)))
    return [SplitRow(*row, p) for row, p in zip(rows, holm(values), strict=True)]


def _find_gains(shares: Sequence[Mapping[str, float]], cold: Mapping[str, float]) -> dict[str, float]:
    """Of the stories that both have played, under every way of reading."""
    stories = [story for story in cold if shares and all(story in each for each in shares)]
    return {story: fmean(each[story] for each in shares) - cold[story] for story in stories}


def _make_side(results: Results, row: str, write: WritePolicy, gains: Mapping[str, float]) -> Side:
    right, of = Counter[ReadPolicy | None](), Counter[ReadPolicy | None]()
    for cell in results.cells:
        own = (cell.backend, cell.write_policy, cell.noise) == (row, write, results.run.conditions.headline_noise)
        measure = cell.measures.get(DECISIONS_RIGHT)
        if own and cell.scenario in gains and isinstance(measure, Measured):
            right[cell.read_policy] += int(measure.hits or 0)
            of[cell.read_policy] += measure.of or 0
    return Side(len(gains), (min(right.values()), max(right.values())), max(of.values()), fmean(gains.values()))
