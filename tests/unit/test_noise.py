"""Noise: distinct, by seed, in story order, and silent about everything that is asked."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import noise, paths
from harness.classify import Classifier, holds
from harness.events import Written
from harness.scenario import Scenario
from tasks import loader

STORIES = [loader.read(path) for path in loader.find(paths.TASKS)]


def made(scenario: Scenario, amount: int, seed: int) -> list[Written]:
    return noise.generate(scenario, Classifier(scenario), amount, seed)


@pytest.mark.parametrize("scenario", STORIES, ids=lambda scenario: scenario.id)
def test_noise_says_nothing_of_any_fact(scenario: Scenario) -> None:
    classifier = Classifier(scenario)
    for each in made(scenario, 1000, 3):
        reading = classifier.read(each.item.text)
        assert not (reading.asserted or reading.denied or reading.mentioned or reading.partial), each.item.text
        assert not any(holds(each.item.text, fact.forms[:1]) for fact in scenario.facts), each.item.text


@settings(max_examples=40, deadline=None)
@given(amount=st.integers(0, 300), seed=st.integers())
def test_the_amount_is_exact_and_the_texts_distinct_and_in_story_order(amount: int, seed: int) -> None:
    scenario = STORIES[0]
    found = made(scenario, amount, seed)
    assert len(found) == len({each.item.text for each in found}) == len({each.name for each in found}) == amount
    moments = [datetime.fromisoformat(each.item.at) for each in found]
    assert moments == sorted(moments)
    assert all(moment <= scenario.sessions[-1].at for moment in moments)


def test_noise_depends_on_story_and_seed_and_on_nothing_else() -> None:
    first, second = STORIES[0], STORIES[1]
    assert made(first, 50, 1) == made(first, 50, 1)
    assert made(first, 50, 1) != made(first, 50, 2)
    assert {each.item.text for each in made(first, 50, 1)} != {each.item.text for each in made(second, 50, 1)}


def test_every_kind_of_noise_is_there_and_stays_what_it_is() -> None:
    scenario = STORIES[0]
    found = made(scenario, 1000, 1)
    elsewhere = [each for each in found if each.item.scope != scenario.scope]
    assert 100 < len(elsewhere) < 300
    for each in elsewhere:
        assert each.item.scope.org == scenario.scope.org
        assert str(each.item.scope.repo).startswith(f"{scenario.scope.repo}-")
        assert each.item.text.startswith(f"In {each.item.scope.repo}: ")
    alike = ("release", "rolled out", "rollback", "Deploying", "freeze")
    assert any(word in each.item.text for each in found for word in alike)


def test_ten_thousand_are_still_distinct() -> None:
    found = made(STORIES[0], 10_000, 1)
    assert len({each.item.text for each in found}) == 10_000
