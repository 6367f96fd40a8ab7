"""What a measure says, where it must have said a number."""

from __future__ import annotations

from harness.model.trial import Measure, Measured


def value(measure: Measure) -> float:
    assert isinstance(measure, Measured), measure
    return measure.value


def counts(measure: Measure) -> tuple[float | None, int | None]:
    """(hits, of)"""
    assert isinstance(measure, Measured), measure
    return measure.hits, measure.of


def unanswered(measure: Measure) -> tuple[float | None, int | None, int | None]:
    """(hits, of, of these: those of which the calls that could have told failed)"""
    assert isinstance(measure, Measured), measure
    return measure.hits, measure.of, measure.unanswered
