"""From a pilot's results to a plan: which rows and stories it rests on, what it takes, and when it cannot say."""

from __future__ import annotations

from datetime import date

import pytest

from harness.compare import planning, power
from harness.compare.cost_model import Condition, Cost, Spent
from harness.compare.rows import COLD, GOLD, Way
from harness.model.prices import Price, Prices
from harness.model.results import Results
from tests.support.made_results import HEADLINE, Said, play

COLD_SAID: list[Said] = [(2, 5), (1, 5), (3, 5), (2, 5), (2, 5), (1, 5), (2, 5), (4, 5)]
STEADY: list[Said] = [(3, 5), (2, 5), (4, 5), (3, 5), (3, 5), (2, 5), (3, 5), (5, 5)]
WILD: list[Said] = [(5, 5), (0, 5), (5, 5), (0, 5), (5, 5), (0, 5), (5, 5), (0, 5)]


def pilot(stories: int = 8, **rows: list[Said]) -> Results:
    measure = "decisions_right"
    ways = {name: {HEADLINE: {measure: own[:stories]}} for name, own in rows.items()}
    return play(ways, cold={measure: COLD_SAID[:stories]})


def test_a_pilot_is_compared_story_by_story_and_the_row_that_strays_most_is_taken() -> None:
    results = pilot(steady=STEADY, wild=WILD)
    side = planning.choose(results, "", "", "decisions_right")
    assert (side.left, side.right, side.compared, side.seeds) == (COLD, "wild", 1, 1)
    side = planning.choose(results, "steady", "", "decisions_right")
    assert [each.difference for each in side.stories] == pytest.approx([0.2] * 8)
    assert [each.open for each in side.stories] == pytest.approx([0.6, 0.8, 0.4, 0.6, 0.6, 0.8, 0.6, 0.2])
    assert planning.choose(results, "wild", "steady", "decisions_right").left == "steady"


def test_it_is_adjusted_as_the_verdict_of_the_pilot_is() -> None:
    ways = {way: {"decisions_right": STEADY} for way in (HEADLINE, Way("curated", "trusting"))}
    results = play({"steady": ways}, cold={"decisions_right": COLD_SAID})
    assert planning.choose(results, "steady", "", "decisions_right").compared == 2


@pytest.mark.parametrize("stories", [1, 3, 5])
def test_a_pilot_of_fewer_than_six_stories_cannot_say(stories: int) -> None:
    with pytest.raises(planning.PlanError, match=rf"^a pilot of {stories} stor(y|ies) cannot say .*6 at least"):
        planning.choose(pilot(stories, steady=STEADY), "steady", "", "decisions_right")


def test_a_row_that_is_not_there_is_named() -> None:
    results = pilot(steady=STEADY)
    for words in (("nobody", ""), ("steady", "nobody"), ("steady", "steady")):
        with pytest.raises(planning.UnknownRowError):
            planning.choose(results, *words, "decisions_right")


def test_more_than_there_is_room_for_cannot_be_gained() -> None:
    side = planning.choose(pilot(steady=STEADY), "steady", "", "decisions_right")
    with pytest.raises(planning.PlanError, match=r"cold leaves 57\.5 of 100 to be gained, so steady cannot gain 70"):
        planning.plan(side, 0.7, 0.8)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_plan_tells_stories_a_range_and_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "PILOTS", 3)
    found = planning.plan(planning.choose(pilot(wild=WILD), "", "", "decisions_right"), 0.3, 0.8)
    (need,) = found.needs
    assert found.best == need and need.seeds == 1 and need.stories and need.stories > 8
    assert list(found.table) == [0.05, 0.1, 0.2, 0.3]
    assert {8, 12, need.stories} <= found.table[0.3].keys() and found.table[0.3][need.stories] >= 0.8


def test_both_rows_are_paid_for_and_a_missing_price_is_no_zero() -> None:
    results = pilot(steady=STEADY)
    side = planning.choose(results, "steady", "", "decisions_right")
    spent = {("reader", "job", "m"): Spent("reader", "job", "m", 8, 8000, 0, 800)}
    rows = [
        Cost(Condition("chat@m", None, None, 0), working=8.0, spent=dict(spent)),  # type: ignore[arg-type]
        Cost(Condition("chat@m", "steady", "append", 0), working=16.0, spent=dict(spent)),  # type: ignore[arg-type]
        Cost(Condition("chat@m", "steady", "curated", 0), working=99.0, spent=dict(spent)),  # type: ignore[arg-type]
    ]
    table = Prices(date=date(2026, 1, 2), currency="USD", models={"m": Price(prompt=10, completion=100)})
    assert planning.spend(results, rows, side, table) == pytest.approx((2200, 2 * (0.01 + 0.01), 3.0))
    assert planning.spend(results, rows, side, None).money is None
    assert planning.spend(results, rows, side, table.model_copy(update={"models": {}})).money is None


@pytest.mark.parametrize("gold", GOLD)
def test_a_control_with_gold_is_paid_for_though_the_headline_has_noise(gold: str) -> None:
    ways = {name: {HEADLINE: {"decisions_right": own}} for name, own in (("steady", STEADY), (gold, WILD))}
    results = play(ways, cold={"decisions_right": COLD_SAID})
    noisy = {"noise": 25, "write_policy": "curated"}
    cells = [cell if cell.backend in (None, gold) else cell.model_copy(update=noisy) for cell in results.cells]
    headline = {"headline_noise": 25, "headline_write": "curated"}
    conditions = results.run.conditions.model_copy(update=headline)
    run = results.run.model_copy(update={"conditions": conditions})
    results = results.model_copy(update={"run": run, "cells": tuple(cells)})
    rows = [
        Cost(Condition("chat@m", "steady", "curated", 25), working=16.0),
        Cost(Condition("chat@m", gold, "append", 0), working=8.0),
    ]
    side = planning.choose(results, "steady", gold, "decisions_right")
    assert planning.spend(results, rows, side, None).seconds == 3.0
