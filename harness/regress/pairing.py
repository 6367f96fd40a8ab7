"""Two runs side by side: every measure of every backend, paired on scenarios, and what has no number any more.

Nothing is compared that was played under other conditions, told by another story or counted by another formula.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

from harness.compare import stats
from harness.compare.comparisons import describe_reach, find_reach
from harness.compare.rows import ENOUGH
from harness.compare.stats import ALPHA
from harness.model.regression import Change
from harness.model.results import Against
from harness.model.trial import SCRIPTED, Interval
from harness.regress import drills
from harness.regress.baseline import ABSENT, Baseline, StoredValue, StoryRow, compare_formulas, sign, value


def judge_comparability(old: Baseline, new: Baseline, *, across: bool = False) -> Against:
    """What `new` is compared with, and whether it can be; `across`: whichever readers did the jobs."""
    versions = [{each.backend: each.version or "" for each in side.entrants} for side in (old, new)]
    return Against(
        run=old.run,
        version=old.version,
        commit=old.commit,
        protocol=old.protocol,
        suite=old.suite,
        digest=old.digest,
        versions={
            name: (versions[0].get(name), versions[1].get(name)) for name in sorted({*versions[0], *versions[1]})
        },
        programs=(old.programs, new.programs),
        differs=tuple(_list_differences(old, new, across)),
        retold=tuple(sorted(_find_changed_stories(old, new))),
    )


def _list_differences(old: Baseline, new: Baseline, across: bool) -> Iterator[str]:
    if old.protocol != new.protocol:
        yield f"protocol {old.protocol} then, {new.protocol} now"
    for name, (then, now) in _compare_conditions(old, new, across).items():
        yield f"{name.replace('_', ' ')} {_describe(then)} then, {_describe(now)} now"
    if _are_strangers(old, new):
        then, now = (side.suite.version if side.suite else "unknown" for side in (old, new))
        yield f"suite {then} then, {now} now: they have no story in common, so that none is compared"


_USUAL = {"undated": False, "writer": SCRIPTED, "feed": "facts", "clock": "wall", "rounds": 1}
"""What conditions leave out where it is so."""
OF_STORIES = {
    "budget", "clock", "feed", "reader", "rounds", "undated", "writer", "headline_noise", "headline_write",
    "headline_read",
}  # fmt: skip
"""Conditions of which drills know nothing."""


def _compare_conditions(old: Baseline, new: Baseline, across: bool) -> dict[str, tuple[object, object]]:
    """Conditions that are not the same, then and now."""
    then, now = (
        {**_USUAL, **side.conditions.model_dump(mode="json", exclude={"noise"})}
        for side in (old, new)
    )  # fmt: skip  # the levels beside the headline's are no part of a row
    if across or not (old.stories and new.stories):
        then["reader"] = now["reader"]  # drills have none
    return {name: (then[name], now[name]) for name in now if then[name] != now[name]}


def _find_changed_stories(old: Baseline, new: Baseline) -> set[str]:
    """Scenarios of both that tell another story now. One without a digest was not played."""
    then = {story.id: story.digest for story in old.stories}
    return {story.id for story in new.stories if story.digest and then.get(story.id, "") not in ("", story.digest)}


def _are_strangers(old: Baseline, new: Baseline) -> bool:
    """Whether both play stories, and none in common: other suites, or other parts of one."""
    then, now = ({story.id for story in side.stories} for side in (old, new))
    return bool(then and now and then.isdisjoint(now))


def _describe(condition: object) -> str:
    return ", ".join(map(str, condition)) if isinstance(condition, list) else str(condition) or "nobody"


def list_changes(old: Baseline, new: Baseline, *, across: bool = False) -> tuple[Change, ...]:
    """All measures of all backends of either side, of which one direction is better.

    None of what other conditions measured; drills have no reader, no noise and no token budget.
    """
    differ = set(_compare_conditions(old, new, across))
    if old.protocol != new.protocol or differ - OF_STORIES:
        return ()
    return (*(() if differ or _are_strangers(old, new) else _compare_stories(old, new)), *drills.list_changes(old, new))


# --- stories ------------------------------------------------------------------------------------------------------


class Tested(NamedTuple):
    """The test of one backend among all of a measure.

    Attributes:
        level: At which an interval agrees with the adjusted p.
    """

    p: float
    adjusted: float
    level: float

    @property
    def shown(self) -> bool:
        return self.adjusted <= ALPHA


@dataclass
class Paired:
    """One measure of one backend: scenarios that both measured, and those that only one of the two did."""

    backend: str
    measure: str
    pairs: dict[str, tuple[StoredValue, StoredValue]] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    gained: list[str] = field(default_factory=list)
    retold: bool = False
    absent: bool = False
    bound: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def differences(self) -> list[float]:
        return [_read_number(new) - _read_number(old) for old, new in self.pairs.values()]

    @property
    def says_something(self) -> bool:
        return bool(self.pairs or self.lost or self.gained or self.retold)


def _read_number(point: StoredValue) -> float:
    number = value(point)
    assert number is not None
    return number


def _compare_stories(old: Baseline, new: Baseline) -> Iterator[Change]:
    # where both runs have cells of a story, those of the new one: a change is looked at there
    cells = _digest_cells(old) | _digest_cells(new)
    rows = [{(row.backend, row.measure): row for row in side.rows} for side in (old, new)]
    families = defaultdict[str, list[Paired]](list)
    for backend, measure in sorted({*rows[0], *rows[1]}):
        then, now = rows[0].get((backend, measure)), rows[1].get((backend, measure))
        families[measure].append(_pair(backend, measure, (old, then), (new, now)))
    for measure in sorted(families):
        formula_change = compare_formulas(measure, old, new)
        family = [each for each in families[measure] if each.says_something]
        # what cannot be compared counts in no adjustment of p
        tested = [each for each in family if each.pairs and not each.bound and not formula_change]
        # a whole family at once, which is much faster than row by row
        raw = stats.sign_flips(each.differences for each in tested)
        outcomes = map(Tested, raw, stats.holm(raw), stats.holm_levels(raw))
        by_backend = {each.backend: own for each, own in zip(tested, outcomes, strict=True)}
        for each in family:
            if formula_change or (each.bound and each.pairs):
                yield _make_incomparable(each, formula_change or each.bound)
            else:
                yield _change(each, by_backend.get(each.backend), len(tested), cells)


def _digest_cells(side: Baseline) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (each.backend, story.id): own
        for each in side.entrants
        # not strict: an entrant under other policies than the primary ones has no cells
        for story, own in zip(side.stories, each.cells, strict=False)
        if own
    }


def _pair(
    backend: str, measure: str, then: tuple[Baseline, StoryRow | None], now: tuple[Baseline, StoryRow | None]
) -> Paired:
    paired = Paired(backend, measure)
    (old, old_row), (new, new_row) = then, now
    points = [
        dict(zip((story.id for story in side.stories), row.points, strict=True)) if row else {}
        for side, row in (then, now)
    ]
    retold = _find_changed_stories(old, new)
    for story in sorted({*points[0], *points[1]}):
        before, after = points[0].get(story), points[1].get(story)
        measured = value(before) is not None, value(after) is not None
        if story in retold:
            paired.retold |= any(measured)
        elif all(measured):
            paired.pairs[story] = before, after
        elif measured[0]:
            paired.lost[story] = after if isinstance(after, str) else "not-run"
        elif measured[1]:
            paired.gained.append(story)
    paired.reasons = new_row.reasons if new_row else {}
    paired.absent = new_row is None
    if new_row and old_row and (new_row.at_least or old_row.at_least):
        paired.bound = "a part of it is unknown, so that its numbers are lower bounds"
        if not old_row.at_least:  # it was exact: an unknown number must not look like a smaller one
            paired.lost |= dict.fromkeys(paired.pairs, "unknown")
            paired.reasons = {**paired.reasons, "unknown": paired.bound}
            paired.pairs.clear()
    return paired


def _make_incomparable(paired: Paired, why: str) -> Change:
    return Change(backend=paired.backend, measure=paired.measure, verdict="not-comparable", reason=why)


def _change(
    paired: Paired,
    tested: Tested | None,
    family: int,
    cells: Mapping[tuple[str, str], tuple[str, ...]],
) -> Change:
    def of(stories: Iterable[str]) -> tuple[str, ...]:
        return tuple(cell for story in stories for cell in cells.get((paired.backend, story), ()))

    # zip() of no pairs gives no sides
    sides = list(zip(*paired.pairs.values(), strict=True)) or [(), ()]
    old, new = ([_read_number(point) for point in side] for side in sides)
    differences = dict(zip(paired.pairs, paired.differences, strict=True))
    better = sign(paired.measure)
    mean = fmean(differences.values()) if differences else None
    return Change(
        backend=paired.backend,
        measure=paired.measure,
        scenarios=len(differences),
        old=fmean(old) if old else None,
        new=fmean(new) if new else None,
        old_count=_count(sides[0]),
        new_count=_count(sides[1]),
        difference=mean,
        interval=_find_interval(list(differences.values()), tested),
        p=tested.p if tested else None,
        adjusted_p=tested.adjusted if tested else None,
        detectable=describe_reach(find_reach(len(differences), family), "change") if differences else "",
        verdict=_judge_pair(paired, better * mean if mean is not None else None, tested),
        reason=_reason(paired),
        broken=of(story for story, each in differences.items() if better * each < 0),
        mended=of(story for story, each in differences.items() if better * each > 0),
        vanished=of(paired.lost),
    )


def _count(points: Sequence[StoredValue]) -> tuple[float, int] | None:
    counted = [point for point in points if isinstance(point, tuple)]
    if not counted or len(counted) < len(points):
        return None
    return sum(hits for hits, _ in counted), sum(cases for _, cases in counted)


def _find_interval(differences: Sequence[float], tested: Tested | None) -> Interval | None:
    """None below ten scenarios, and where nothing moved: that nothing ever can is more than was seen."""
    if tested is None or len(differences) < ENOUGH or not any(differences):
        return None
    bounds = stats.bound_mean(differences, tested.level, tested.shown)
    method = "sign-flip-95 of the paired difference, over scenarios, adjusted as p is"
    return Interval(low=bounds[0], high=bounds[1], method=method) if bounds else None


PairVerdict = Literal["better", "worse", "no-difference-shown", "vanished", "appeared", "not-comparable"]


def _judge_pair(paired: Paired, gain: float | None, tested: Tested | None) -> PairVerdict:
    """A regression stands before everything else.

    Where a measure found nothing to measure in some scenarios, as `not-applicable` says, these leave the pairs; where
    it finds nothing in any, or where a scenario failed or was not played, it has vanished.
    """
    shown = tested is not None and tested.shown
    if shown and gain is not None and gain < 0:
        return "worse"
    if paired.lost and (not paired.pairs or {*paired.lost.values()} - {"not-applicable"}):
        return "vanished"
    if paired.pairs:
        return "better" if shown else "no-difference-shown"
    return "appeared" if paired.gained else "not-comparable"


def _reason(paired: Paired) -> str:
    if paired.absent and paired.lost:
        return ABSENT
    parts = []
    if paired.pairs and not any(paired.differences):
        parts.append(f"the same in every {'other ' if paired.lost else ''}scenario")
    for word, n in sorted(Counter(paired.lost.values()).items()):
        why = paired.reasons.get(word)
        parts.append(f"had a number in {_count_scenarios(n)} where it has none now: {word}{f' ({why})' if why else ''}")
    if paired.retold and not (paired.pairs or paired.lost or paired.gained):
        parts.append("every scenario that measured it tells another story now")
    if paired.gained:
        parts.append(f"measured in {_count_scenarios(len(paired.gained))} more")
    return "; ".join(parts)


def _count_scenarios(n: int) -> str:
    return "1 scenario" if n == 1 else f"{n} scenarios"
