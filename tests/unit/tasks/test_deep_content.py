"""What every story of the suite deep has, and that a changed suite is a new version."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from harness import paths
from harness.model.scenario import MINED, Kind, Scenario
from harness.repo.checkout import build
from harness.repo.programs import find_missing
from harness.repo.several import join
from tasks import loader, suite
from tests.support.nights import leave_to_night

STORIES = [loader.read(path) for path in loader.find(paths.DEEP)]
CONTENT = {
    "deep-1": "5e1a6860f8b69d150a9c2889df0df9006e53869054f9720c3f6d1691eae44146",
    "deep-2": "4fa49c929a537363e0ff3d3233cd8fc9a29a7ad00cd1baccf357646ef6089e84",
    "deep-3": "316b1269cee1428186d909b6a85fe55cc270d30be9522e7c4c24ec0c1783d52a",
    "deep-4": "227527e3e84ae046acf7ac79edc26c78042cca8eda6797f290db421c12d37170",
}
"""Version -> digest of the scenarios as they are played. A changed story raises DEEP_VERSION and adds a line."""
ALIKE = 0.5
"""The largest share of words that an old rule and the one that replaces it may have in common."""
each_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.id)


def test_there_is_one_story_of_each_kind_and_enough_to_decide() -> None:
    kinds = Counter(story.kind for story in STORIES)
    assert set(kinds) == set(get_args(Kind)) - {MINED} and set(kinds.values()) == {1}
    assert sum(len(job.decisions) for story in STORIES for _, job in story.jobs()) >= 90
    assert len({str(story.fixture) for story in STORIES}) == len(STORIES)


@each_story
def test_a_story_goes_on_for_weeks_and_is_spoken(story: Scenario) -> None:
    assert 6 <= len(story.sessions) <= 10 and 10 <= len(story.facts) <= 18
    assert (story.sessions[-1].at - story.sessions[0].at).days >= 14
    for session in story.sessions:
        assert 15 <= len(session.transcript) <= 60, session.id
        assert {message.role for message in session.transcript} >= {"user", "assistant"}
    asked = Counter(message.role for session in story.sessions for message in session.transcript)
    assert asked["tool"] >= 10 and len({session.by for session in story.sessions}) >= 2


@each_story
def test_a_story_asks_decides_and_forgets(story: Scenario) -> None:
    probes = [probe for _, probe in story.probes()]
    assert len(probes) >= 12 and any(not probe.gold for probe in probes) and any(probe.history for probe in probes)
    decisions = [decision for _, job in story.jobs() for decision in job.decisions]
    assert len(decisions) >= 8 and all(decision.in_code for decision in decisions)
    assert {option.verdict for decision in decisions for option in decision.options} >= {"right", "stale"}
    assert [decision.id for decision in decisions if decision.naive is None] == []
    assert len(story.jobs()) >= 3 and all(job.visible and job.hidden for _, job in story.jobs())
    assert story.forgotten


@each_story
def test_an_old_rule_and_its_successor_share_no_template(story: Scenario) -> None:
    for fact in story.facts:
        if fact.supersedes:
            old, new = (_words(story.by_id[name].plain.text) for name in (fact.supersedes, fact.id))
            assert len(old & new) <= ALIKE * len(old | new), (fact.id, sorted(old & new))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.casefold()))


@pytest.mark.slow
def test_a_changed_suite_is_a_new_version() -> None:
    loaded = [scenario for scenario, _ in loader.load(loader.find(paths.DEEP), paths.FIXTURES, paths.cache_root())]
    assert suite.identity(loaded, paths.DEEP, "all").digest == CONTENT[suite.DEEP_VERSION]


@pytest.mark.slow
@pytest.mark.parametrize("story", leave_to_night(STORIES, 3), ids=lambda story: story.id)
def test_the_visible_tests_of_a_fixture_pass_at_every_commit(story: Scenario, tmp_path: Path) -> None:
    if missing := find_missing(story):
        pytest.skip(f"{story.id} needs {missing[0]}")
    names = (str(story.fixture), *story.beside)
    repo = join(*(build(paths.FIXTURES / name, tmp_path / "cache") for name in names))
    (command,) = {command for _, job in story.jobs() for command in job.visible}
    for commit in repo.commits:
        with repo.worktree(commit) as tree:
            words = [sys.executable if word == "python3" else word for word in command]
            done = subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0 or "NO TESTS RAN" in done.stderr, (commit, done.stderr[-400:])


def test_stories_are_in_the_languages_that_the_faq_names() -> None:
    def find_languages(story: Scenario) -> frozenset[str]:
        patches = (paths.FIXTURES / str(story.fixture)).rglob("*.patch")
        return frozenset(
            found
            for file in patches
            for found in re.findall(r"^\+\+\+ b/.*\.(py|js|ts|go|rs|rb|java)$", file.read_text(), re.MULTILINE)
        )

    assert Counter(map(find_languages, STORIES)) == {frozenset({"py"}): 11, frozenset({"js"}): 1}
    assert (
        "eleven in Python, one in JavaScript, none in TypeScript or Go" in (paths.ROOT / "docs" / "faq.md").read_text()
    )
