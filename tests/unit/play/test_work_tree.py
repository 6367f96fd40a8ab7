"""A backend that reads a work tree gets the story's repository at each session's commit, and nobody else gets one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backend import client
from harness.backend.registry import AdapterEntry
from harness.log.events import Closed, Recalled
from harness.log.reader import Log, read
from harness.model.backend import Backend
from harness.model.drill import DrillTrial
from harness.model.trial import Spec, Trial
from harness.play.backends import Playable
from harness.play.environment import Environment, Settings
from harness.play.story import Story
from harness.play.trial import play_trial
from tasks import loader
from tests.support.fakes import FakeEmbedder
from tests.unit.conftest import House

FAKE = "tests.support.tree_reading_backend:FakeTreeReader"


@pytest.fixture
def settings(house: House, tmp_path: Path) -> Settings:
    ((scenario, repo),) = loader.load([house.write(house.story)], house.fixtures, house.cache)
    said = client.describe(FAKE, tmp_path / "described")
    backend = Backend(name=said.name, version=said.version, support=said.support)
    fake = Playable(AdapterEntry("fake", FAKE, control=False), Spec(adapter="fake"), backend, said.source)
    return Settings(tmp_path / "run", {"fake": fake}, {scenario.id: Story(scenario, repo)}, FakeEmbedder)


def play(settings: Settings, trial: Trial | DrillTrial) -> Path:
    with Environment(settings) as environment:
        path = play_trial(trial, environment)
    assert not [*Path(settings.root, "work").glob("*-tree")], "a checkout outlived its trial"
    return path


def play_story(settings: Settings) -> Log:
    (story,) = settings.stories
    trial = Trial.model_validate(
        {"backend": "fake", "scenario": story, "write_policy": "append", "noise": 0, "seed": 1, "reader": "scripted",
         "k": 5, "budget": 800}
    )  # fmt: skip
    return read(play(settings, trial), Environment(settings).blobs)


def status(log: Log) -> str:
    (closed,) = log.list_events(Closed)
    return closed.status


@pytest.mark.slow
def test_the_tree_goes_on_with_the_story(settings: Settings) -> None:
    log = play_story(settings)
    assert status(log) == "complete", log.events[-1]
    (story,) = settings.stories.values()
    seen = {
        (event.session, hit.source.commit, hit.verdict and hit.verdict.reason)
        for event in log.list_events(Recalled)
        for hit in log.find_answer(event).hits
        if hit.source and hit.source.path
    }
    first, second, *_ = story.repo.commits
    assert ("tuesday", first, "now: ['The platform is kestrelway.']") in seen, "the line that changed is not warned of"
    assert ("tuesday", second, None) in seen, "the line that is as it was cited is warned of"


@pytest.mark.slow
def test_a_drill_has_no_repository_and_is_played_without_one(settings: Settings) -> None:
    trial = DrillTrial(backend="fake", drill="isolation", size=20, seed=1, k=5)
    assert b'"ended"' in play(settings, trial).read_bytes()


@pytest.mark.slow
def test_who_declares_none_is_lent_none(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = settings.playables["fake"]
    support = {**fake.backend.support, "work_tree": fake.backend.find_support("history")}
    monkeypatch.setitem(fake.backend.__dict__, "support", support)
    log = play_story(settings)
    assert status(log) == "complete", log.events[-1]
    assert not [hit for event in log.list_events(Recalled) for hit in log.find_answer(event).hits if hit.verdict]
