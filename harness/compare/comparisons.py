"""Paired comparisons of rows in four families, none of which depends on who else is shown where it need not.

Two rows are compared on the scenarios that both measured, by a sign-flip test of the mean difference. The interval
beside an adjusted p is adjusted as much, so that it holds 0 exactly where no difference is shown. Which p are adjusted
together, and why, stands in docs/decisions/0012-families-of-comparisons.md.
"""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from harness import metrics
from harness.compare import stats
from harness.compare.rows import (
    AGAINST_COLD,
    BETWEEN,
    COLD,
    DOMINANCE,
    DUMP,
    ENOUGH,
    LOOKED_UP,
    METHOD,
    Tables,
    Values,
    Way,
)
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Comparison, Family, Reach, TwinGroup
from harness.model.trial import Interval, ReadPolicy

PRIMARY = Way("append", "trusting")


class Pair(NamedTuple):
    """Two rows to compare, and their values scenario by scenario."""

    way: Way
    left: str
    right: str
    values: Sequence[tuple[float, float]]


def compare_rows(tables: Tables, ranked: Sequence[str], twins: Sequence[TwinGroup]) -> Iterator[Comparison]:
    """All comparisons of a run, by family.

    Args:
        ranked: The rows that are no control.
    """
    yield from _compare_with_cold(tables, ranked)
    yield from _compare_writes(tables, ranked)
    for at, (way, table) in enumerate(tables.items()):
        # the first way is the primary one, in which all of these measures are compared
        for measure in LOOKED_UP if at else BETWEEN:
            apart = _drop_twins(table.get(measure, {}), ranked, twins)
            yield from compare_pairs("pairs", measure, itertools.combinations(apart, 2), table.get(measure, {}), way)
        for measure in () if at else DOMINANCE:
            pairs = [(DUMP, name) for name in ranked]
            yield from compare_pairs("dump", measure, pairs, table.get(measure, {}), way)


def _compare_with_cold(tables: Tables, ranked: Sequence[str]) -> Iterator[Comparison]:
    """Each row against no memory. What is adjusted together is of this row alone: the write policies under which one
    read policy was played, as a verdict may choose between these."""
    for measure in AGAINST_COLD:
        for name in ranked:
            own = defaultdict[ReadPolicy, list[Pair]](list)
            for way, table in tables.items():
                own[way.read] += _pair(table.get(measure, {}), [(COLD, name)], way)
            for family in own.values():
                yield from _compare("cold", measure, family)


def _compare_writes(tables: Tables, ranked: Sequence[str]) -> Iterator[Comparison]:
    """Each row with old notes looked up and replaced against itself with memory that is only added to, on right
    decisions. What is adjusted together is of this row alone: the read policies, as a verdict may choose between these.
    """
    for name in ranked:
        own = list[Pair]()
        for way, table in tables.items():
            before = tables.get(way._replace(write="append"), {}).get(DECISIONS_RIGHT, {}).get(name, {})
            after = table.get(DECISIONS_RIGHT, {}).get(name, {})
            common = sorted(before.keys() & after.keys())
            if way.write != "append" and common:
                own.append(Pair(way, name, name, [(before[each], after[each]) for each in common]))
        yield from _compare("writes", DECISIONS_RIGHT, own)


def _drop_twins(values: Values, ranked: Sequence[str], twins: Sequence[TwinGroup]) -> list[str]:
    """The rows without those that have the values of a twin before them: to compare both with a third says it twice."""
    dropped = set[str]()
    for group in twins:
        distinct = list[str]()
        for name in group.rows:
            same = any(values.get(name) == values.get(other) for other in distinct)
            (dropped.add if same else distinct.append)(name)
    return [name for name in ranked if name not in dropped]


def compare_pairs(
    family: Family,
    measure: str,
    pairs: Iterable[tuple[str, str]],
    values: Values,
    way: Way = PRIMARY,
) -> list[Comparison]:
    """All pairs of one measure, adjusted together. A pair without a common scenario is left out."""
    return _compare(family, measure, _pair(values, pairs, way))


def _pair(values: Values, pairs: Iterable[tuple[str, str]], way: Way) -> list[Pair]:
    common_pairs = []
    for left, right in pairs:
        first, second = values.get(left, {}), values.get(right, {})
        if common := sorted(first.keys() & second.keys()):
            common_pairs.append(Pair(way, left, right, [(first[each], second[each]) for each in common]))
    return common_pairs


def _compare(family: Family, measure: str, pairs: Sequence[Pair]) -> list[Comparison]:
    differences = [tuple(b - a for a, b in pair.values) for pair in pairs]
    raw = stats.sign_flips(differences)
    adjusted = stats.holm(raw)
    intervals = _find_intervals(differences, stats.holm_levels(raw), [p <= stats.ALPHA for p in adjusted])
    outcomes = zip(pairs, differences, raw, adjusted, intervals, strict=True)
    significant = sum(p <= stats.ALPHA for p in adjusted)
    return [_make(family, measure, *each, len(pairs), significant) for each in outcomes]


def _make(
    family: Family, measure: str, pair: Pair, differences: Sequence[float], p: float, adjusted: float,
    interval: Interval | None, compared: int, all_significant: int,
) -> Comparison:  # fmt: skip
    sign = -1 if metrics.DEFINITIONS[measure].better == "lower" else 1
    significant = adjusted <= stats.ALPHA
    right = sign * statistics.fmean(differences) > 0
    # Holm steps down: what others of the family have shown no longer counts among what this one is adjusted for.
    reach = find_reach(len(differences), compared - (all_significant - significant))
    return Comparison(
        family=family,
        measure=measure,
        write_policy=pair.way.write,
        read_policy=pair.way.read,
        left=pair.left,
        right=pair.right,
        scenarios=len(differences),
        left_value=statistics.fmean(a for a, _ in pair.values),
        right_value=statistics.fmean(b for _, b in pair.values),
        left_better=sum(sign * each < 0 for each in differences),
        right_better=sum(sign * each > 0 for each in differences),
        p=p,
        adjusted_p=adjusted,
        compared=compared,
        verdict="no-difference-shown" if not significant else "right-better" if right else "left-better",
        detectable=describe_reach(reach),
        reach=reach,
        able=reach.able,
        interval=interval,
    )


def _find_intervals(
    many: Sequence[tuple[float, ...]], levels: Sequence[float], shown: Sequence[bool]
) -> list[Interval | None]:
    """None of few scenarios, and where nothing moved: that nothing ever can is more than was seen."""
    adjusted = f", adjusted for {len(many)} comparisons" if len(many) > 1 else ""
    known = [at for at, each in enumerate(many) if len(each) >= ENOUGH and any(each)]
    ends = stats.bootstrap_bounds([(many[at], levels[at], shown[at]) for at in known])
    bounds = dict(zip(known, ends, strict=True))
    return [
        Interval(low=own[0], high=own[1], method=METHOD + adjusted) if (own := bounds.get(at)) else None
        for at in range(len(many))
    ]


def find_dominated(comparisons: Iterable[Comparison]) -> list[str]:
    """The backends that `full_context` dominates, by name: on every measure of `DOMINANCE` its mean is as good over
    the scenarios that both measured, and on one it is better. Where one of these was not compared, nothing is said.
    """
    leads: dict[str, list[float]] = defaultdict(list)
    for each in comparisons:
        if each.measure in DOMINANCE and DUMP in (each.left, each.right):
            lead = each.left_value - each.right_value if each.left == DUMP else each.right_value - each.left_value
            better = metrics.DEFINITIONS[each.measure].better
            leads[each.right if each.left == DUMP else each.left].append(-lead if better == "lower" else lead)
    return sorted(name for name, own in leads.items() if len(own) == len(DOMINANCE) and min(own) >= 0 < max(own))


# --- what a run of this size can find ---------------------------------------------------------------------------------


def find_reach(stories: int, compared: int = 1) -> Reach:
    """What the sign-flip test can show in so many stories, in a family of so many comparisons."""
    return Reach(
        stories=stories,
        compared=compared,
        least=stats.sweep(1, stats.ALPHA),
        enough=stats.sweep(compared, stats.ALPHA),
        evenly=stats.find_majority(stories, compared, stats.ALPHA),
        able=compared * stats.find_smallest_p(stories) <= stats.ALPHA,
    )


def describe_reach(reach: Reach, thing: str = "difference") -> str:
    """What a run can surely show, to stand behind `could have shown`."""
    if not reach.able:
        least = min(1.0, reach.compared * stats.find_smallest_p(reach.stories))
        many = "1 scenario" if reach.stories == 1 else f"{reach.stories} scenarios"
        return f"nothing: with {many} the adjusted p cannot fall below {least:.2g}"
    return f"any {thing} in one direction in {reach.enough} of {reach.stories} scenarios, with none in the other"
