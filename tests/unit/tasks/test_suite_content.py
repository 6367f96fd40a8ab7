"""What every story of the suite has, and that a changed suite is a new version."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from harness import paths
from harness.model.scenario import MINED, Kind, Scenario
from tasks import loader, suite

STORIES = [loader.read(path) for path in loader.find(paths.TASKS)]
CONTENT = {
    "1": "7babb22dd61a8ab5a7694e88ad5d2e2862580977a0c13c2e65eeca669a79698c",
    "2": "052d407c3ceaedde830c81b4aaff83e1b87da077e7d2458933f2027b38913858",
    "3": "fc4f4a0b8f2b29666c0a615c74b5da957be012909f3174fc48253004f7e4d7e5",
    "4": "70a7f39f090eb986cca3d1042d7dea88b44854050d608ef9c63162b51d9bb589",
}
"""Version -> digest of the scenarios as they are played. A changed story raises SUITE_VERSION and adds a line."""


def test_every_kind_has_stories() -> None:
    kinds = Counter(story.kind for story in STORIES)
    assert set(kinds) == set(get_args(Kind)) - {MINED} and min(kinds.values()) >= 2 and len(STORIES) >= 30


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.id)
def test_a_story_is_large_enough_to_tell_something(story: Scenario) -> None:
    assert 10 <= len(story.facts) <= 40
    assert 5 <= len(story.sessions) <= 12
    probes = [probe for _, probe in story.probes()]
    assert len(probes) >= 8 and any(not probe.gold for probe in probes) and any(probe.history for probe in probes)
    asked = [len(probe.ask.phrasings()) for probe in probes]
    assert min(asked) == 3
    assert {fact.source is None for fact in story.facts} == {True, False}
    assert any(len(story.predecessors(fact.id)) >= 1 for fact in story.facts)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.id)
def test_two_jobs_in_different_sessions_share_files(story: Scenario) -> None:
    (first, one), (second, other), *_ = story.jobs()
    assert first.id != second.id and set(one.relevant) & set(other.relevant)
    verdicts = {option.verdict for _, job in story.jobs() for each in job.decisions for option in each.options}
    assert verdicts == {"right", "stale", "lure"}


@pytest.mark.slow
def test_a_changed_suite_is_a_new_version() -> None:
    loaded = [scenario for scenario, _ in loader.load(loader.find(paths.TASKS), paths.FIXTURES, paths.cache_root())]
    assert suite.identity(loaded, paths.TASKS, "all").digest == CONTENT[suite.SUITE_VERSION]
