"""The controls with gold: they answer with what they were told and is wanted, and with nothing else."""

from __future__ import annotations

import pytest

from harness import paths
from harness.adapter import CAPABILITIES, Hit, Item, Scope, Source, Unsupported
from harness.backend.registry import ORACLES
from harness.model.scenario import Scenario
from harness.play import controls
from harness.play.controls import GoldMemory, list_wanted
from harness.text.classify import Classifier
from tasks import loader

STORIES = [loader.read(path) for path in loader.find(paths.TASKS)]
HOME = Scope(repo="storefront", org="lanternworks")


def memory(story: Scenario, name: str) -> GoldMemory:
    return GoldMemory(list_wanted(name, story), Classifier(story))


def told(story: Scenario, made: GoldMemory) -> None:
    for fact in story.facts:
        made.remember([Item(fact.plain.text, story.home(fact), fact.since.isoformat(), fact.type, Source(session="s"))])


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.id)
def test_the_oracle_answers_every_probe_with_its_gold_and_nothing_else(story: Scenario) -> None:
    made, reads = memory(story, "oracle"), Classifier(story)
    told(story, made)
    for session, probe in story.probes():
        for _, query in probe.ask.phrasings():
            hits = made.recall(query, HOME, 5, story.find_day(session, probe).isoformat())
            assert [reads.read(hit.text).asserted for hit in hits] == [{fact} for fact in probe.gold]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.id)
def test_the_stale_oracle_answers_only_with_what_was_superseded(story: Scenario) -> None:
    made, reads = memory(story, "stale_oracle"), Classifier(story)
    told(story, made)
    answered = 0
    for session, job in story.jobs():
        for decision in job.decisions:
            for hit in made.recall(decision.question, HOME, 5, session.at.isoformat()):
                (fact,) = reads.read(hit.text).asserted
                assert story.find_standing(fact, session.at, story.place(session)) == "superseded"
                answered += 1
    assert answered >= 3


def test_who_was_told_nothing_says_nothing() -> None:
    story = STORIES[0]
    session, probe = next((session, probe) for session, probe in story.probes() if probe.gold)
    made = memory(story, "oracle")
    query = probe.ask.phrasings()[0][1]
    assert made.recall(query, HOME, 5, session.at.isoformat()) == []
    told(story, made)
    assert made.recall(query, HOME, 5, session.at.isoformat())
    assert made.recall(query, HOME, 0, session.at.isoformat()) == []
    assert made.recall("something else", HOME, 5, session.at.isoformat()) == []
    assert made.recall(query, HOME, 5, "1999-01-01T00:00:00+00:00") == []
    made.close()
    assert made.recall(query, HOME, 5, session.at.isoformat()) == []


def test_what_was_told_last_is_what_comes_back() -> None:
    story = STORIES[0]
    session, probe = next((session, probe) for session, probe in story.probes() if len(probe.gold) == 1)
    fact = story.by_id[probe.gold[0]]
    made = memory(story, "oracle")
    acks = [
        made.remember([Item(fact.phrase(stratum).text, HOME, "2025-01-01", "project")])[0]
        for stratum in ("plain", "identifier")
    ]
    hits = made.recall(probe.ask.phrasings()[0][1], HOME, 5, session.at.isoformat())
    wanted_ = Hit(acks[1].ids[0], fact.identifier.text, 1.0, None, "2025-01-01", HOME)
    assert hits == [wanted_] and acks[0].ids != acks[1].ids


@pytest.mark.parametrize("name", ORACLES)
def test_they_declare_what_they_can_and_refuse_the_rest(name: str) -> None:
    backend = controls.describe(name)
    assert set(backend.support) == set(CAPABILITIES) and backend.control
    made = memory(STORIES[0], name)
    for call in (made.entries, made.forget_scope):
        with pytest.raises(Unsupported):
            call(HOME)
    assert {backend.support[word].level for word in ("entries", "forget", "supersede", "persistent")} == {"unsupported"}


def test_a_job_that_is_asked_for_in_other_words_gets_all_that_its_decisions_want() -> None:
    story = STORIES[0]
    session, job = story.jobs()[0]
    for name, verdict in (("oracle", "right"), ("stale_oracle", "stale")):
        made = memory(story, name)
        for fact in story.facts:
            made.remember([Item(fact.plain.text, HOME, "2025-01-01", "project")])
        hits = made.recall("in the words of a model", HOME, 9, session.at.isoformat())
        wanted_ = [o.fact for each in job.decisions for o in each.options if o.verdict == verdict]
        assert [hit.text for hit in hits] == [story.by_id[fact].plain.text for fact in wanted_]
