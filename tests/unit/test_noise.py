"""Noise: distinct, by seed, in story order, and silent about everything that holds where a session asks."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import noise, paths
from harness.classify import Classifier, holds
from harness.events import Written
from harness.scenario import Scenario, Text
from tasks import loader

STORIES = [loader.read(path) for path in loader.find(paths.TASKS)]
RUNBOOK = next(each for each in STORIES if each.id == "stale-deploy-rule/forgotten-runbook")


def made(scenario: Scenario, amount: int, seed: int) -> list[Written]:
    return noise.generate(scenario, Classifier(scenario), amount, seed)


def in_scope(scenario: Scenario) -> set[str]:
    """The facts that hold, held or will hold where some probe or job asks."""
    return {
        fact.id
        for session, _ in (*scenario.probes(), *scenario.jobs())
        for fact in scenario.facts
        if scenario.standing(fact.id, session.at, scenario.place(session)) != "out-of-scope"
    }


@pytest.mark.parametrize("scenario", STORIES, ids=lambda scenario: scenario.id)
def test_noise_tells_nothing_but_lures_there_and_then_where_they_hold(scenario: Scenario) -> None:
    classifier = Classifier(scenario)
    heard = in_scope(scenario)
    elsewhere = {fact.id for fact in scenario.facts if fact.id not in heard and not fact.erasable}
    assert elsewhere == {fact.id for fact in noise.lures(scenario)}
    told: set[str] = set()
    for each in made(scenario, 1000, 3):
        reading = classifier.read(each.item.text)
        assert reading.named <= elsewhere and not reading.unclear, each.item.text
        assert bool(reading.asserted) == bool(reading.named), each.item.text
        assert not any(holds(each.item.text, scenario.by_id[name].forms[:1]) for name in heard), each.item.text
        for name in reading.asserted:
            told.add(name)
            assert scenario.home(scenario.by_id[name]) == each.item.scope
            assert scenario.by_id[name].since <= datetime.fromisoformat(each.item.at)
    assert told >= {name for name in elsewhere if scenario.by_id[name].since <= scenario.sessions[0].at}


def test_about_one_in_ten_is_a_lure_in_the_words_of_its_fact() -> None:
    classifier, found = Classifier(RUNBOOK), made(RUNBOOK, 2000, 1)
    lures = [each for each in found if classifier.read(each.item.text).asserted]
    assert 140 < len(lures) < 260
    words = [text.text.removesuffix(".") for fact in noise.lures(RUNBOOK) for text in fact.own_texts()]
    assert all(any(said in each.item.text for said in words) for each in lures)


def test_a_lure_is_told_under_its_branch() -> None:
    story = next(each for each in STORIES if any(fact.scope.branch for fact in noise.lures(each)))
    branches = {fact.scope.branch for fact in noise.lures(story) if fact.scope.branch}
    assert {each.item.scope.branch for each in made(story, 1000, 1)} == {None, *branches}


def test_a_text_that_says_more_than_its_lure_is_dropped() -> None:
    lure, *_ = noise.lures(RUNBOOK)
    heard = next(fact for fact in RUNBOOK.facts if fact.id in in_scope(RUNBOOK))
    said = {"text": f"{lure.plain.text}, {heard.plain.text}"}
    wordy = lure.model_copy(update=dict.fromkeys(("identifier", "plain", "paraphrase"), Text.model_validate(said)))
    wordy = wordy.model_copy(update={"rewrites": (lure.plain, lure.plain, wordy.plain)})
    story = RUNBOOK.model_copy(update={"facts": tuple(wordy if fact is lure else fact for fact in RUNBOOK.facts)})
    texts = [each.item.text for each in made(story, 1000, 1)]
    assert any(lure.plain.text in text for text in texts)
    assert not any(heard.plain.text in text for text in texts)


def test_a_story_of_one_place_has_more_noise_of_siblings_instead() -> None:
    story = next(each for each in STORIES if not noise.lures(each))
    found = made(story, 1000, 1)
    assert 140 < sum(str(each.item.scope.repo).startswith(f"{story.scope.repo}-") for each in found) < 260


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
    classifier = Classifier(RUNBOOK)
    found = [each for each in made(RUNBOOK, 1000, 1) if not classifier.read(each.item.text).asserted]
    siblings = [each for each in found if each.item.scope != RUNBOOK.scope]
    assert 60 < len(siblings) < 150
    for each in siblings:
        assert each.item.scope.org == RUNBOOK.scope.org
        assert str(each.item.scope.repo).startswith(f"{RUNBOOK.scope.repo}-")
        assert each.item.text.startswith(f"In {each.item.scope.repo}: ")
    alike = ("release", "rolled out", "rollback", "Deploying", "freeze")
    assert any(word in each.item.text for each in found for word in alike)


def test_ten_thousand_are_still_distinct() -> None:
    found = made(RUNBOOK, 10_000, 1)
    assert len({each.item.text for each in found}) == 10_000
