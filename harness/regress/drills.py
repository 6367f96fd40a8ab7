"""The drills of two runs side by side. Their inputs are fixed: one new failure is a change, not a draw, and has no p.

Only what a measure declares to vary between equal runs (`varies`) is tested: Fisher's exact test on the counts,
adjusted by Holm within the measure. There, too, a failure where there was none is a change: no draw of a sound store
brings one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

from harness.compare import stats
from harness.compare.stats import ALPHA
from harness.metrics import trust
from harness.model.regression import Change
from harness.regress.baseline import ABSENT, DEFINITIONS, Baseline, TrustRow, compare_formulas, sign, value

SLACK = 1e-9
"""So that a mean that is off by a rounding is none that moved."""
Sides = tuple[TrustRow | None, TrustRow | None]
DrillVerdict = Literal["better", "worse", "no-difference-shown", "vanished"]


class Counts(NamedTuple):
    """Hits and cases of both runs."""

    old: int
    old_of: int
    new: int
    new_of: int


class Tested(NamedTuple):
    """What is known of a measure that varies by itself.

    Attributes:
        family: Backends that were tested together.
    """

    counts: Counts
    p: float
    adjusted: float
    family: int


def list_changes(old: Baseline, new: Baseline) -> Iterator[Change]:
    # one row of each: a run plays a drill with one size and with the first of its seeds
    rows = [{(row.measure, row.backend): row for row in side.trust} for side in (old, new)]
    families = defaultdict[str, list[Sides]](list)
    for measure, backend in sorted({*rows[0], *rows[1]}):
        families[measure].append((rows[0].get((measure, backend)), rows[1].get((measure, backend))))
    for measure, family in families.items():
        formula_change = compare_formulas(measure, old, new)
        tested = _test(family) if not formula_change and DEFINITIONS[measure].varies else {}
        for at, sides in enumerate(family):
            if change := _change(sides, formula_change, tested.get(at)):
                yield change


def _test(family: list[Sides]) -> dict[int, Tested]:
    """What was tested, by the place in the family."""
    counts = {at: found for at, sides in enumerate(family) if (found := _read_counts(*sides))}
    raw = [stats.fisher(*each) for each in counts.values()]
    outcomes = zip(counts.items(), raw, stats.holm(raw), strict=True)
    return {at: Tested(each, p, adjusted, len(raw)) for (at, each), p, adjusted in outcomes}


def _read_counts(then: TrustRow | None, now: TrustRow | None) -> Counts | None:
    """If they are whole numbers from drills that were played alike."""
    if not then or not now or then.cell != now.cell:
        return None
    if not isinstance(then.point, tuple) or not isinstance(now.point, tuple):
        return None
    (hits, of), (other, other_of) = then.point, now.point
    return Counts(int(hits), of, int(other), other_of) if hits == int(hits) and other == int(other) else None


def _change(sides: Sides, formula_change: str, tested: Tested | None) -> Change | None:
    """One cell of each side; None where neither has a number."""
    then, now = sides
    row = now or then
    assert row is not None
    change = Change(backend=row.backend, measure=row.measure, drill=row.drill, verdict="not-comparable")
    old, new = (value(each.point) if each else None for each in sides)
    if old is None and new is None:
        return None
    if formula_change:
        return change.model_copy(update={"reason": formula_change})
    if then and now and then.cell != now.cell:
        why = f"played with another size, seed, k or older release: {then.cell}, {now.cell}"
        return change.model_copy(update={"reason": why})
    both = {
        "old": old,
        "new": new,
        "old_count": then.point if then and isinstance(then.point, tuple) else None,
        "new_count": now.point if now and isinstance(now.point, tuple) else None,
    }
    if old is None:
        return change.model_copy(update={**both, "verdict": "appeared"})
    if new is None:
        return change.model_copy(update={**both, **_find_lost(row, now)})
    assert then is not None and now is not None
    if then.at_least or now.at_least:
        return change.model_copy(update={**both, "reason": "a part of it is unknown: a lower bound"})
    verdict, reason = _judge_drawn(then, now, tested) if DEFINITIONS[row.measure].varies else _judge_fixed(then, now)
    gain, counted = _measure_gain(then, now), bool(both["old_count"] and both["new_count"])
    return change.model_copy(
        update={
            **both,
            "difference": new - old,
            "p": tested.p if tested else None,
            "adjusted_p": tested.adjusted if tested else None,
            "detectable": _find_fewest(tested, row.measure) if tested else "",
            "verdict": verdict,
            "reason": reason,
            "broken": (row.cell,) if verdict == "worse" or (counted and gain < 0) else (),
            "mended": (row.cell,) if verdict != "worse" and counted and gain > 0 else (),
            "vanished": (row.cell,) if verdict == "vanished" else (),
        }
    )


def _find_lost(row: TrustRow, now: TrustRow | None) -> dict[str, object]:
    if now is None:
        return {"verdict": "vanished", "vanished": (row.cell,), "reason": ABSENT}
    word = now.point if isinstance(now.point, str) else "not-run"
    why = now.reasons.get(word, "")
    update = {"reason": f"had a number and has none now: {word}{f' ({why})' if why else ''}"}
    if word == "not-applicable" and row.measure in trust.BY_CHANCE:
        return {**update, "verdict": "not-comparable"}
    return {**update, "verdict": "vanished", "vanished": (row.cell,)}


# --- verdicts -----------------------------------------------------------------------------------------------------


def _measure_gain(then: TrustRow, now: TrustRow) -> float:
    """The gain of a measure; 0 if it is off by a rounding."""
    gain = sign(now.measure) * ((value(now.point) or 0.0) - (value(then.point) or 0.0))
    return gain if abs(gain) > SLACK else 0.0


def _count_failures(row: TrustRow) -> float | None:
    """The cases that went wrong; None of what is no count."""
    if not isinstance(row.point, tuple):
        return None
    hits, of = row.point
    return hits if sign(row.measure) < 0 else of - hits


def _judge_fixed(then: TrustRow, now: TrustRow) -> tuple[DrillVerdict, str]:
    """Judges a measure that cannot vary: every difference is a change, and so is a case that does
    not count any more.
    """
    before, after, gain = _count_failures(then), _count_failures(now), _measure_gain(then, now)
    if before is not None and after is not None and after > before + SLACK:
        return "worse", f"{after:g} failures where there were {before:g}, with the same inputs"
    if gain < 0:
        return "worse", "the inputs are the same"
    if isinstance(then.point, tuple) and isinstance(now.point, tuple) and now.point[1] < then.point[1]:
        return "vanished", f"{now.point[1]} cases count where {then.point[1]} did"
    return ("better", "") if gain else ("no-difference-shown", "the same")


def _judge_drawn(then: TrustRow, now: TrustRow, tested: Tested | None) -> tuple[DrillVerdict, str]:
    """Judges a measure that varies between equal runs."""
    gain, again = (
        _measure_gain(then, now),
        f"varies by run ({DEFINITIONS[now.measure].varies}): play both again to tell",
    )
    if not gain:
        return "no-difference-shown", "the same"
    if tested and tested.adjusted <= ALPHA:
        return ("better" if gain > 0 else "worse"), ""
    if _count_failures(then) == 0 and _count_failures(now):
        return "worse", f"had no failure and has one now; how many {again}"
    return "no-difference-shown", again


def _find_fewest(tested: Tested, measure: str) -> str:
    """The smallest change for the worse that could have been shown from the old count on."""
    hits, of, _, now_of = tested.counts
    # the worst that the new run could show, and what would be no change
    ends = (0, round(hits / of * now_of)) if sign(measure) > 0 else (now_of, round(hits / of * now_of))
    far, near = ends
    # times the family, as Holm multiplies its smallest p
    if min(1.0, tested.family * stats.fisher(hits, of, far, now_of)) > ALPHA:
        return f"nothing: not even {far}/{now_of} after {hits}/{of}"
    while abs(far - near) > 1:  # p falls steadily with the distance
        middle = (far + near) // 2
        shown = tested.family * stats.fisher(hits, of, middle, now_of) <= ALPHA
        far, near = (middle, near) if shown else (far, middle)
    return f"{far}/{now_of} after {hits}/{of}"
