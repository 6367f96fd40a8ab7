"""Noise: distinct, by seed, as facts are in all but meaning, and silent about what holds where a session asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import paths
from harness.adapter import Item
from harness.log.parts import Written
from harness.model.facts import Text
from harness.model.scenario import Learn, Scenario
from harness.play import donors, noise
from harness.repo.checkout import Repo
from harness.selftest.control_plays import list_batches
from harness.selftest.proof import ScenarioProof
from harness.text.classify import Classifier, holds
from tasks import loader
from tests.support.nights import leave_to_night

NAMES = [f"{file.parent.name}/{file.stem}" for file in loader.find(paths.TASKS)]
RUNBOOK = "stale-deploy-rule/forgotten-runbook"


@cache
def loaded() -> Mapping[str, tuple[Scenario, Repo]]:
    return {each[0].id: each for each in loader.load(loader.find(paths.TASKS), paths.FIXTURES, paths.cache_root())}


def story(name: str) -> Scenario:
    return loaded()[name][0]


def told(scenario: Scenario) -> ScenarioProof:
    return ScenarioProof(paths.TASKS / f"{scenario.id}.toml", scenario, loaded()[scenario.id][1])


def made(scenario: Scenario, amount: int, seed: int) -> list[Written]:
    return noise.generate(scenario, loaded()[scenario.id][1], Classifier(scenario), amount, seed)


def in_scope(scenario: Scenario) -> set[str]:
    """The facts that hold, held or will hold where some probe or job asks."""
    return {
        fact.id
        for session, _ in (*scenario.probes(), *scenario.jobs())
        for fact in scenario.facts
        if scenario.find_standing(fact.id, session.at, scenario.place(session)) != "out-of-scope"
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_noise_tells_nothing_but_lures_there_and_then_where_they_hold(name: str) -> None:
    scenario = story(name)
    classifier = Classifier(scenario)
    heard = in_scope(scenario)
    elsewhere = {fact.id for fact in scenario.facts if fact.id not in heard and not fact.erasable}
    assert elsewhere == {fact.id for fact in noise.list_lures(scenario)}
    for each in made(scenario, 300, 3):
        reading = classifier.read(each.item.text)
        assert reading.named <= elsewhere and not reading.unclear, each.item.text
        assert bool(reading.asserted) == bool(reading.named), each.item.text
        assert not any(holds(each.item.text, scenario.by_id[name].forms[:1]) for name in heard), each.item.text
        for name in reading.asserted:
            assert scenario.home(scenario.by_id[name]) == each.item.scope
            assert scenario.by_id[name].since <= datetime.fromisoformat(each.item.at)


@pytest.mark.slow
def test_a_text_that_says_more_than_its_lure_is_dropped() -> None:
    runbook = story(RUNBOOK)
    lure, *_ = noise.list_lures(runbook)
    heard = next(fact for fact in runbook.facts if fact.id in in_scope(runbook))
    said = {"text": f"{lure.plain.text}, {heard.plain.text}"}
    wordy = lure.model_copy(update=dict.fromkeys(("identifier", "plain", "paraphrase"), Text.model_validate(said)))
    wordy = wordy.model_copy(update={"rewrites": (*lure.rewrites[:2], wordy.plain)})
    changed = runbook.model_copy(update={"facts": tuple(wordy if fact is lure else fact for fact in runbook.facts)})
    texts = [each.item.text for each in made(changed, 500, 1)]
    assert any(said.text in texts for said in lure.rewrites[:2])
    assert not any(heard.plain.text in text for text in texts)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(amount=st.integers(0, 300), seed=st.integers())
def test_the_amount_is_exact_and_the_texts_distinct_and_in_story_order(amount: int, seed: int) -> None:
    scenario = story(NAMES[0])
    found = made(scenario, amount, seed)
    assert len(found) == len({each.item.text for each in found}) == len({each.name for each in found}) == amount
    moments = [datetime.fromisoformat(each.item.at) for each in found]
    assert moments == sorted(moments)
    assert all(moment <= scenario.sessions[-1].at for moment in moments)


@pytest.mark.slow
def test_noise_depends_on_story_and_seed_and_on_nothing_else() -> None:
    first, second = story(NAMES[0]), story(NAMES[1])
    assert made(first, 50, 1) == made(first, 50, 1)
    assert made(first, 50, 1) != made(first, 50, 2)
    assert {each.item.text for each in made(first, 50, 1)} != {each.item.text for each in made(second, 50, 1)}


@pytest.mark.slow
def test_a_tenth_are_lures_as_long_as_there_are_words_for_them() -> None:
    runbook = story(RUNBOOK)
    classifier = Classifier(runbook)
    said = [each for seed in range(5) for each in made(runbook, 100, seed)]
    found = [each.item.text for each in said if classifier.read(each.item.text).asserted]
    assert 25 < len(found) < 75
    assert set(found) <= {text.text for fact in noise.list_lures(runbook) for text in fact.own_texts()}
    learnt = {runbook.by_id[name].phrase(step.stratum).text for _, step in runbook.steps() if isinstance(step, Learn)
              for name in step.facts}  # fmt: skip
    assert not learnt & set(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", leave_to_night(NAMES, 3))
def test_noise_has_the_metadata_of_what_the_story_writes(name: str) -> None:
    """Each value that noise has, some item of the story has, and in a large sample the other way round."""

    def values(items: list[Item], what: str) -> set[object]:
        read: Callable[[Item], object] = {
            "scope": lambda item: item.scope,
            "kind": lambda item: item.kind,
            "at": lambda item: (item.at, item.source and item.source.session),
            "confidence": lambda item: item.confidence,
            "cites": lambda item: item.source is not None and item.source.path is not None,
        }[what]
        return {read(item) for item in items}

    scenario = story(name)
    told_of = [each.item for batch in list_batches(told(scenario), 0) for each in batch]
    noisy = [each.item for each in made(scenario, 600, 1)]
    for what in ("scope", "kind", "at", "cites"):
        assert values(noisy, what) == values(told_of, what), what
    assert values(noisy, "confidence") <= {fact.confidence for fact in scenario.facts} | values(told_of, "confidence")


@pytest.mark.slow
def test_a_source_of_noise_is_a_line_that_was_there_and_says_something() -> None:
    for scenario, repo in loaded().values():
        cited = {(fact.source.commit, fact.source.path, fact.source.line) for fact in scenario.facts if fact.source}
        heads = {session.id: session.commit for session in scenario.sessions}
        for each in made(scenario, 100, 1):
            source = each.item.source
            assert source is not None and source.session is not None
            if source.path is None or Classifier(scenario).read(each.item.text).asserted:
                continue
            assert source.commit is not None and repo.contains(heads[source.session], source.commit)
            assert (source.commit, source.path, source.line) not in cited
            assert repo.line(source.commit, source.path, source.line or 0) is not None


@pytest.mark.slow
def test_noise_is_about_another_topic_or_names_another_repository() -> None:
    for scenario, _ in loaded().values():
        topics, own = donors.list_topics(scenario), {fact.id for fact in noise.list_lures(scenario)}
        others = {str(each.home.repo) for each in donors.list_strangers(scenario)}
        for each in made(scenario, 100, 1):
            text = each.item.text
            if (
                donors.is_related(donors.split_words(text), topics)
                and not Classifier(scenario).read(text).asserted & own
            ):
                assert any(donors.mentions(text, name) for name in others), text


@pytest.mark.slow
@pytest.mark.parametrize("amount", [0, 20, 100])
def test_the_size_of_a_batch_does_not_depend_on_what_the_story_says_in_it(amount: int) -> None:
    alone, together = [], []
    for scenario, _ in loaded().values():
        for batch in list_batches(told(scenario), amount):
            own = sum(not each.noise for each in batch)
            alone += [len(batch)] * (own == 1)
            together += [len(batch)] * (own > 1)
    assert amount or (set(alone) == {1} and not together)
    assert not amount or abs(sum(alone) / len(alone) - sum(together) / len(together)) < 0.2 * amount**0.5


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_ten_thousand_are_still_distinct() -> None:
    assert len({each.item.text for each in made(story(RUNBOOK), 10_000, 1)}) == 10_000
