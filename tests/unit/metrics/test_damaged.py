"""Measures of what is damaged: they say what they said, and no damage makes one that broke look measured."""

from __future__ import annotations

from random import Random

import pytest

from harness.model.cells import AnyCell
from harness.model.trial import Measured
from tests.support import golden_damaged, golden_shown
from tests.support.damage import damage

DRILLS = [each for each in golden_damaged.known() if each.startswith("drills-")]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRILLS)
def test_a_damaged_drill_says_what_it_said(name: str) -> None:
    """If this fails, mend the code, or raise the measure's version, and: make golden."""
    cells = golden_damaged.score_drill(name)
    check_counts(cells)
    assert golden_damaged.entries(cells) == golden_damaged.known()[name]


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(golden_damaged.TURNS))
def test_damaged_stories_say_what_they_said(turn: int) -> None:
    cells = golden_damaged.score_sample(turn)
    check_counts(cells)
    assert golden_damaged.entries(cells) == golden_damaged.known()[f"sample {turn}"]


def check_counts(cells: list[AnyCell]) -> None:
    """No count is beyond what it is of, and what failed is among those that nobody knows, never among the good."""
    for cell in cells:
        for name, measure in cell.measures.items():
            if isinstance(measure, Measured) and measure.of is not None and measure.interval is not None:
                assert 0 <= (measure.hits or 0) <= measure.of, (cell.id, name)
                assert (measure.unanswered or 0) < measure.of, (cell.id, name)
                assert measure.interval.low <= measure.value <= measure.interval.high, (cell.id, name)


@pytest.mark.slow
def test_damage_is_drawn_and_spares_the_whole() -> None:
    assert [*golden_damaged.drills()] == DRILLS
    name = next(each for each in DRILLS if "reference-sharing" in each)
    whole = golden_damaged.drills()[name]
    before = [event.model_dump_json() for event in whole.events]
    one, same, other = (damage(whole, Random(seed)).events for seed in (1, 1, 2))
    assert one == same != other and [event.model_dump_json() for event in whole.events] == before


def test_a_measure_that_moved_is_named_unless_its_version_was_raised() -> None:
    old = {"sample": {"sha256": "a"}, "drill": {"kept": "v1 a", "lost": "v1 b"}, "sample 0": {"recall": "v1 c"}}
    new = {**old, "drill": {"kept": "v1 x", "lost": "v2 y"}, "sample 0": {}}
    assert [*golden_damaged.moved(old, new)] == ["drill: kept", "sample 0: recall"]
    assert [*golden_damaged.moved(old, {**new, "sample": {"sha256": "b"}})] == ["drill: kept"]


def test_every_measure_is_asked_and_shown_as_it_was() -> None:
    """After a change that was meant: make golden."""
    assert golden_shown.table() == golden_shown.known()
