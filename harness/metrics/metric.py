"""What every metric is made of: a definition beside its function, and numbers that never lose their denominator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, sqrt
from statistics import NormalDist
from typing import Generic, Literal, NamedTuple, TypeVar

from harness.log.reader import Played
from harness.metrics.columns import Place
from harness.metrics.view import View
from harness.metrics.words import WORDLESS, Words
from harness.model.trial import CANNOT_TELL, Better, Definition, Interval, Measure, Measured, NotMeasured

RECEIPTS = 20
"""Receipts kept of one measure; the counts beside them are complete."""
UNANSWERED = "every call that could have told failed"
WILSON = "wilson-95"
"""Over one cell's own cases, which are not independent: a floor of the uncertainty."""
_Z = NormalDist().inv_cdf(0.975)
V = TypeVar("V")


@dataclass(frozen=True)
class Metric(Generic[V]):
    """A measure as a function of what it reads: the view of a cell, or a transcript.

    Attributes:
        whole: Says nothing of what did not reach its end.
    """

    definition: Definition
    measure: Callable[[V], Measure]
    whole: bool


@dataclass(frozen=True)
class StoryMetric(Metric[View]):
    """A measure as a function of one cell.

    Attributes:
        reads: Depends on the read policy, else one value holds for all cells of the trial.
        cold: Means something without a memory.
        ratio: The names of two measures; over several cells it is the sum of the first over the hits of the second,
            where there are any.
    """

    reads: bool = False
    cold: bool = False
    ratio: tuple[str, str] | None = None
    words: Words = WORDLESS


def metric(
    name: str,
    better: Better,
    unit: str,
    formula: str,
    measure: Callable[[View], Measure],
    *,
    source: str = "own",
    version: int = 1,
    label: str = "",
    otherwise: str = "",
    column: Place | None = None,
    aside: str = "",
    reads: bool = False,
    cold: bool = False,
    whole: bool = False,
    ratio: tuple[str, str] | None = None,
    words: Words = WORDLESS,
) -> StoryMetric:
    """A measure of stories, with its definition.

    Args:
        label: What its hits are; `otherwise`: what its other cases are, where a column counts these.
        column: Where it stands on the scoreboard.
        aside: Why it stands in no column.
        words: How and where it is shown.
    """
    definition = define(name, better, unit, formula, source, version, label, otherwise, column, aside)
    return StoryMetric(definition, measure, whole, reads, cold, ratio, words)


def define(
    name: str,
    better: Better,
    unit: str,
    formula: str,
    source: str,
    version: int,
    label: str,
    otherwise: str,
    column: Place | None,
    aside: str,
    varies: str = "",
) -> Definition:
    """A measure with a direction is in a column, or says why it is in none."""
    # equal if both are given, or neither is
    if better != "neither" and (column is None) == (not aside):
        raise ValueError(f"{name}: give column= or aside=")
    return Definition(
        name=name, better=better, unit=unit, version=version, formula=formula, source=source, label=label,
        otherwise=otherwise, column=column and column.column, gravity=column and column.gravity, aside=aside,
        varies=varies,
    )  # fmt: skip


def explain_unmeasured(played: Played) -> NotMeasured | None:
    """Why nothing can be measured of what was broken off, or ended by the machine, or is declared to be lacking."""
    if played.end is None:
        return failed(played.reason)
    if played.end.fault and played.end.fault.kind == "machine":
        return NotMeasured(status="not-run", reason=played.reason)
    return unsupported(played.reason) if played.end.status == "unsupported" else None


class Unscored(NamedTuple):
    """What the cell says of a trial or drill of which nothing could be computed."""

    status: Literal["failed", "not-run"]
    reason: str
    measures: dict[str, Measure]


def make_missing(metrics: Iterable[Metric[V]], reason: str, played: Played | None) -> Unscored:
    """A measure of what left a file that could not be scored, or nothing to read: `played` is None."""
    status: Literal["failed", "not-run"] = "failed" if played else "not-run"
    missing = NotMeasured(status=status, reason=reason)
    return Unscored(status, reason, {metric.definition.name: missing for metric in metrics})


def proportion(
    hits: int, of: int, receipts: Sequence[str] = (), *, none: str | NotMeasured, unanswered: int = 0
) -> Measure:
    """hits / of with its Wilson interval; `none` is the reason if there is nothing to count.

    Args:
        unanswered: Of these cases, those of which the calls that could have told failed. The caller counts them as the
            worst; if there are no others, nothing was measured.
    """
    if not of:
        return none if isinstance(none, NotMeasured) else not_applicable(none)
    shown = tuple(receipts[:RECEIPTS])
    if unanswered == of:
        return NotMeasured(status="failed", reason=UNANSWERED, receipts=shown)
    return Measured(
        value=hits / of, hits=hits, of=of, interval=wilson(hits, of), unanswered=unanswered or None, receipts=shown
    )


def mean(values: Sequence[float], receipts: Sequence[str] = (), *, none: str) -> Measure:
    """The mean of shares between 0 and 1; no interval, as a share is not a count."""
    if not values:
        return not_applicable(none)
    # fsum, as the last digits of a plain sum depend on the order
    total, of = fsum(values), len(values)
    return Measured(value=total / of, hits=total, of=of, receipts=tuple(receipts[:RECEIPTS]))


def amount(
    value: float,
    of: int | None = None,
    known: Literal["exact", "at-least"] = "exact",
    receipts: Sequence[str] = (),
) -> Measured:
    """A number that is no proportion, over `of` cases."""
    return Measured(value=value, of=of, known=known, receipts=tuple(receipts[:RECEIPTS]))


# A run's cells hold some hundred thousand of the following, and few that differ: equal ones are one object.


@lru_cache(maxsize=1024)
def not_applicable(reason: str) -> NotMeasured:
    return NotMeasured(status="not-applicable", reason=reason)


def cannot_tell(reason: str) -> NotMeasured:
    """A measure of a place where nobody could look: nothing is known to be gone."""
    return not_applicable(f"{CANNOT_TELL}: {reason}")


# Thousands of cells share a few reasons, and to validate a model is what costs.
@lru_cache(maxsize=1024)
def unsupported(reason: str) -> NotMeasured:
    return NotMeasured(status="unsupported", reason=reason)


@lru_cache(maxsize=1024)
def failed(reason: str) -> NotMeasured:
    return NotMeasured(status="failed", reason=reason)


@lru_cache(maxsize=16384)
def wilson(hits: int, of: int) -> Interval:
    """Wilson's score interval at 95 %, within 0 and 1."""
    p, z2 = hits / of, _Z * _Z
    centre = (p + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z / (1 + z2 / of) * sqrt(p * (1 - p) / of + z2 / (4 * of * of))
    # rounding may leave -0.0, which `max` turns into 0.0
    return Interval(low=max(0.0, round(centre - half, 6)), high=round(centre + half, 6), method=WILSON)
