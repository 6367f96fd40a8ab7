"""One measure over many runs, or over releases that one run played: of each backend a line.

It is broken where two runs were not played alike.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from harness.regress import pairing
from harness.regress.baseline import DEFINITIONS, Baseline, StoredValue, StoryRow, TrustRow, compare_formulas, value
from harness.report import words

BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
ABSENT, BREAK = "\u00b7", "|"
_DATED = re.compile(r"\d{8}-\d{6}")


@dataclass(frozen=True)
class TrendPoint:
    """One run's number of one backend.

    Attributes:
        value: None: it has none, and `shown` is the word for that.
        joined: It was played like the one before, so that a line may lead here.
    """

    run: str
    value: float | None
    shown: str
    joined: bool


@dataclass(frozen=True)
class TrendLine:
    """A backend's numbers.

    Attributes:
        verdict: What `compare` says of the last release beside the first; empty over runs.
    """

    backend: str
    points: tuple[TrendPoint, ...]
    verdict: Literal["", "better", "worse"] = ""

    @property
    def measured(self) -> list[TrendPoint]:
        return [point for point in self.points if point.value is not None]


@dataclass(frozen=True)
class Trend:
    """One measure over the runs or releases, the oldest first.

    Attributes:
        over: What the points are.
        gaps: Why two neighbours are not joined, a line each.
    """

    measure: str
    lines: tuple[TrendLine, ...]
    gaps: tuple[str, ...]
    over: Literal["run", "release"] = "run"

    @property
    def ends(self) -> tuple[float, float]:
        """The lower and the upper end of the scale, which always holds 0."""
        if DEFINITIONS[self.measure].unit == "proportion":
            return 0.0, 1.0
        values = [0.0, *(point.value or 0.0 for line in self.lines for point in line.points)]
        # else points would be divided by 0
        return (min(values), max(values)) if any(values) else (0.0, 1.0)


def order(runs: Sequence[Baseline]) -> list[Baseline]:
    """Orders runs by their date, with which the name of a run begins; runs without one stand first,
    as they were given.
    """
    # written so, dates are in order as texts
    return sorted(runs, key=lambda run: found[0] if (found := _DATED.match(run.run)) else "")


def collect(runs: Sequence[Baseline], measure: str) -> Trend:
    """What the runs, in this order, say of a measure."""
    lines, gaps = list[TrendLine](), dict[str, None]()
    for backend in sorted({row.backend for run in runs for row in _list_rows(run, measure)}):
        rows = [next((row for row in _list_rows(run, measure) if row.backend == backend), None) for run in runs]
        whys = ["", *(_explain_gap(measure, *pair) for pair in itertools.pairwise(zip(runs, rows, strict=True)))]
        points = [
            TrendPoint(run.run, *_read(row), joined=at > 0 and not why)
            for at, (run, row, why) in enumerate(zip(runs, rows, whys, strict=True))
        ]
        lines.append(TrendLine(backend, tuple(points)))
        # a dict, as several backends may have the same gap
        for (old, new), why in zip(itertools.pairwise(runs), whys[1:], strict=True):
            if why:
                gaps[f"{old.run} and {new.run}: {why}"] = None
    return Trend(measure, tuple(line for line in lines if line.measured), tuple(gaps))


def compare_ends(ladders: Sequence[Sequence[Baseline]]) -> dict[tuple[str, str], Literal["better", "worse"]]:
    """Backend and measure -> what became of it from the first to the last release, as far as a change was shown."""
    return {
        (change.backend, change.measure): change.verdict
        for steps in ladders
        for change in pairing.list_changes(steps[0], steps[-1])
        if change.verdict in ("better", "worse")
    }


def collect_releases(
    ladders: Sequence[Sequence[Baseline]],
    measure: str,
    verdicts: Mapping[tuple[str, str], Literal["better", "worse"]],
) -> Trend:
    """What releases say of a measure.

    Args:
        ladders: Those of each backend, the oldest first.
        verdicts: Of `compare_ends`.
    """
    found = [collect(steps, measure) for steps in ladders]
    lines = (line for each in found for line in each.lines)
    judged = (replace(line, verdict=verdicts.get((line.backend, measure), "")) for line in lines)
    return Trend(measure, tuple(judged), tuple(gap for each in found for gap in each.gaps), "release")


def _list_rows(run: Baseline, measure: str) -> Iterator[StoryRow | TrustRow]:
    yield from (row for row in run.rows if row.measure == measure)
    yield from (row for row in run.trust if row.measure == measure)


def _read(row: StoryRow | TrustRow | None) -> tuple[float | None, str]:
    """The mean over scenarios, as a count where that says it; a failure counts before a number."""
    if row is None:
        return None, words.NOT_MEASURED["not-run"]
    points: list[StoredValue] = [row.point] if isinstance(row, TrustRow) else list(row.points)
    if "failed" in points:
        return None, words.NOT_MEASURED["failed"]
    values = [found for point in points if (found := value(point)) is not None]
    if not values:
        return None, next((words.NOT_MEASURED[point] for point in points if isinstance(point, str)), "n/a")
    counts = [point for point in points if isinstance(point, tuple)]
    mean = fmean(values)
    if len(counts) == len(values):
        return mean, words.count(sum(hits for hits, _ in counts), sum(of for _, of in counts))
    return mean, words.format_number(mean)


Played = tuple[Baseline, "StoryRow | TrustRow | None"]


def _explain_gap(measure: str, then: Played, now: Played) -> str:
    """Why two runs are not joined; empty if they are, or if one of them has no number to join."""
    (old, old_row), (new, new_row) = then, now
    if old_row is None or new_row is None:
        return ""
    if formula_change := compare_formulas(measure, old, new):
        return formula_change
    if isinstance(old_row, TrustRow) and isinstance(new_row, TrustRow):
        return "" if old_row.cell == new_row.cell else "drilled with another size, seed, k or older release"
    if differs := pairing.judge_comparability(old, new).differs:
        return "; ".join(differs)
    stories = ({(story.id, story.digest) for story in side.stories} for side in (old, new))
    return "" if len({frozenset(each) for each in stories}) == 1 else "other stories, or stories that changed"


def describe(trend: Trend) -> Iterator[str]:
    """Lines for a terminal: of each backend a curve, its first and its last number."""
    better = {"higher": "more is better", "lower": "less is better", "neither": "no direction is better"}
    yield f"{words.label(trend.measure)} ({better[DEFINITIONS[trend.measure].better]})"
    for line in trend.lines:
        first, last = line.measured[0], line.measured[-1]
        ends = first.shown if first is last else f"{first.shown} -> {last.shown}"
        judged = f"  {line.verdict}" if line.verdict else ""
        yield f"  {words.make_visible(line.backend, 24):24}  {_draw_curve(line, *trend.ends)}  {ends}{judged}"
    yield from (f"  not joined: {gap}" for gap in trend.gaps)


def _draw_curve(line: TrendLine, low: float, top: float) -> str:
    def draw(value: float) -> str:
        return BARS[round(min((value - low) / (top - low), 1.0) * (len(BARS) - 1))]

    parts = []
    for at, point in enumerate(line.points):
        if at and not point.joined and point.value is not None and line.points[at - 1].value is not None:
            parts.append(BREAK)
        parts.append(ABSENT if point.value is None else draw(point.value))
    return "".join(parts)
