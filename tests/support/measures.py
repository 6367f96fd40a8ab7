"""What measures say of logs made by hand, and a number where one must have said a number."""

from __future__ import annotations

from harness.log.reader import Log
from harness.metrics import score
from harness.model.trial import Measure, Measured
from tests.support.logs import Tape


def measures(first: Log | Tape, *others: Log) -> dict[str, Measure]:
    """Of a log, or of a tape that ends here."""
    log = first.log() if isinstance(first, Tape) else first
    return dict(score([log, *others])[0].measures)


def value(measure: Measure) -> float:
    assert isinstance(measure, Measured), measure
    return measure.value


def number(measure: Measure) -> float | None:
    return measure.value if isinstance(measure, Measured) else None


def counts(measure: Measure) -> tuple[float | None, int | None]:
    """(hits, of)"""
    assert isinstance(measure, Measured), measure
    return measure.hits, measure.of


def unanswered(measure: Measure) -> tuple[float | None, int | None, int | None]:
    """(hits, of, of these: those of which the calls that could have told failed)"""
    assert isinstance(measure, Measured), measure
    return measure.hits, measure.of, measure.unanswered
