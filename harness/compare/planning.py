"""From a finished run to a plan: what a run has to be to find a difference that somebody cares about, and its cost."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness import metrics
from harness.compare import power, stats
from harness.compare.cost_model import Cost
from harness.compare.power import Pilot, PilotStory
from harness.compare.rows import AGAINST_COLD, COLD, is_headline, is_headline_trial
from harness.model.prices import Prices
from harness.model.results import Comparison, Results
from harness.model.trial import Measured

LEAST = stats.sweep(1, stats.ALPHA)
"""Stories below which a pilot says nothing: no run of so few could show any difference."""
STEPS = (0.05, 0.1, 0.2, 0.3)
"""Differences of the table."""
SEEDS = (1, 2, 3, 5)
"""Seeds that are tried, where the pilot tells what another seed changes."""


class PlanError(ValueError):
    """A run from which nothing can be planned: why. One line."""


class UnknownRowError(PlanError):
    """A row that the run does not have."""


class Side(NamedTuple):
    """The pilot that a plan rests on: two rows and a measure."""

    left: str
    right: str
    measure: str
    stories: Pilot
    compared: int

    @property
    def seeds(self) -> int:
        return max(len(each.differences) for each in self.stories)


class Spending(NamedTuple):
    """What chat calls take; money is None where a price is not known."""

    tokens: float
    money: float | None
    seconds: float


@dataclass(frozen=True)
class Need:
    """How many stories are needed with so many seeds; None: more than were tried."""

    seeds: int
    stories: int | None


@dataclass(frozen=True)
class Plan:
    """Attributes:
    needs: By number of seeds.
    best: That of the fewest stories times seeds; None: no number that was tried is enough.
    range: Stories that other pilots of this size would name, with the seeds of `best`.
    table: Difference -> stories -> share of runs that find it, with the seeds of `best`.
    """

    side: Side
    difference: float
    power: float
    needs: Sequence[Need]
    best: Need | None
    range: tuple[int | None, int | None]
    table: Mapping[float, Mapping[int, float]]


def list_measures() -> list[str]:
    """Measures that can be planned for: shares that the cold arm has, too."""
    return [
        name for name in AGAINST_COLD if metrics.DEFINITIONS[name].better == "higher" and name not in metrics.RATIOS
    ]


def choose(results: Results, right: str, left: str, measure: str) -> Side:
    """The two rows of a pilot. Raises PlanError."""
    tested = [name for name in results.list_tested() if name in results.backends]
    known = {each.backend or COLD for each in results.cells}
    for name in filter(None, (right, left)):
        if name not in known:
            raise UnknownRowError(f"no row is called '{name}': known are {', '.join(sorted(known))}")
    if not right and not tested:
        raise UnknownRowError("no backend was under test: name a row with --row")
    sides = [_pair(results, left or COLD, each, measure) for each in ([right] if right else tested) if each != left]
    if not sides:
        raise UnknownRowError("a row is compared with another one: name two")
    # of equal ones by name, so that the same pilot chooses the same row
    return max(sides, key=lambda side: (_spread(side.stories), side.right))


def _spread(stories: Pilot) -> float:
    return statistics.pstdev(each.difference for each in stories)


def _pair(results: Results, left: str, right: str, measure: str) -> Side:
    values: dict[str, dict[str, dict[int, Measured]]] = {left: defaultdict(dict), right: defaultdict(dict)}
    for cell in results.cells:
        own = cell.measures.get(measure)
        if (
            (name := cell.backend or COLD) in values
            and is_headline(cell, results.run.conditions)
            and isinstance(own, Measured)
            and own.of
        ):
            values[name][cell.scenario][cell.seed] = own
    stories = [
        _make_story(values[left][name], values[right][name])
        for name in sorted(values[left].keys() & values[right].keys())
        if values[left][name].keys() & values[right][name].keys()
    ]
    if len(stories) < LEAST:
        raise PlanError(
            f"a pilot of {len(stories)} {'story' if len(stories) == 1 else 'stories'} cannot say how much stories "
            f"differ: {right} and {left} have to share {LEAST} at least, {2 * LEAST} are better"
        )
    return Side(left, right, measure, stories, _count_compared(results, left, right, measure))


def _make_story(left: Mapping[int, Measured], right: Mapping[int, Measured]) -> PilotStory:
    seeds = sorted(left.keys() & right.keys())
    return PilotStory(
        tuple(right[seed].value - left[seed].value for seed in seeds),
        left[seeds[0]].of or 1,
        1 - statistics.fmean(left[seed].value for seed in seeds),
    )


def _count_compared(results: Results, left: str, right: str, measure: str) -> int:
    """How many comparisons the verdict of the pilot adjusted together."""

    def fits(each: Comparison) -> bool:
        return each.measure == measure and {each.left, each.right} == {left, right}

    return max((each.compared for each in results.list_comparisons() if fits(each)), default=1)


def plan(side: Side, difference: float, wanted: float) -> Plan:
    """Raises PlanError where these stories have no room for the difference."""
    room = power.find_room(side.stories)
    if difference > room:
        raise PlanError(
            f"{side.left} leaves {100 * room:.3g} of 100 to be gained, so {side.right} cannot gain "
            f"{100 * difference:g}: ask for less, or play harder stories"
        )
    needs = [
        Need(seeds, power.find_stories(side.stories, seeds, difference, wanted, compared=side.compared))
        for seeds in (SEEDS if side.seeds > 1 else (1,))
    ]
    best = min(
        (each for each in needs if each.stories), key=lambda each: (each.stories or 0) * each.seeds, default=None
    )
    seeds = best.seeds if best else 1
    steps = sorted({*(each for each in STEPS if each <= room), difference})
    table = {step: _find_row(side, seeds, step, len(side.stories), best) for step in steps}
    span = power.find_range(side.stories, seeds, difference, wanted, compared=side.compared)
    return Plan(side, difference, wanted, needs, best, span, table)


def _find_row(side: Side, seeds: int, step: float, own: int, best: Need | None) -> Mapping[int, float]:
    # 12 and 31 are the numbers of stories in coldwarm's suites
    columns = sorted({own, 12, 31, 62, 125, *([best.stories] if best and best.stories else [])})
    return {
        stories: power.count_found(side.stories, stories, seeds, step, compared=side.compared) for stories in columns
    }


def spend(results: Results, rows: Sequence[Cost], side: Side, prices: Prices | None) -> Spending:
    """What one story takes with one seed on both sides, as the pilot was written and read."""
    conditions = results.run.conditions
    tokens = money = seconds = 0.0
    priced = prices is not None
    for name in (side.left, side.right):
        own = [
            each
            for each in rows
            # the slice is backend, write policy and noise
            if (each.condition.backend or COLD) == name and is_headline_trial(*each.condition[1:4], conditions)
        ]
        played = {
            cell.trial for cell in results.cells if (cell.backend or COLD) == name and is_headline(cell, conditions)
        }
        for each in own:
            paid = each.money(prices) if prices else None
            priced = priced and paid is not None
            # for one trial, as a row has the sum of all of its trials
            tokens += each.tokens / len(played)
            seconds += (each.working + each.writing) / len(played)
            money += (paid or 0.0) / len(played)
    return Spending(tokens, money if priced else None, seconds)
