"""One way to play: the same log wherever a trial is played, an identity without playing, and what a store leaves."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Server
from harness.backend import client
from harness.backend.registry import ORACLES, AdapterEntry
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Budget
from harness.log.events import Closed, Worked
from harness.log.reader import read
from harness.log.transcript import read as read_transcript
from harness.model.backend import Backend
from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Spec, Trial
from harness.play import controls, noise, plan
from harness.play.backends import Backends, Playable, describe_all
from harness.play.environment import Control, Environment, Settings
from harness.play.executor import Threads
from harness.play.plan import compute_identity as of_digests
from harness.play.runner import AnyTrial
from harness.play.story import Story
from harness.play.trial import compute_identity, play_trial
from tasks import loader
from tests.support.fakes import FakeEmbedder
from tests.support.logs import canonical
from tests.unit.conftest import House

NOTES = "adapters.notes:Notes"
DRILL = DrillTrial(backend="notes", drill="isolation", size=20, seed=1, k=5)


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    return Story(scenario, repo)


@pytest.fixture(scope="module")
def playables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Playable]:
    said = client.describe(NOTES, tmp_path_factory.mktemp("notes") / "home")
    backend = Backend(name="notes", version=said.version, support=said.support)
    notes = Playable(AdapterEntry("notes", NOTES, control=False), Spec(adapter="notes"), backend, said.source)
    gold = {
        name: Playable(AdapterEntry(name, None, control=True), Spec(adapter=name), controls.describe(name))
        for name in ORACLES
    }
    return {"notes": notes, **gold}


def trial(story: Story, backend: str | None, **more: Any) -> Trial:
    asked = {"write_policy": "append" if backend else None, "noise": 5 if backend else 0, "seed": 1, "k": 5, **more}
    return Trial.model_validate(
        {"backend": backend, "scenario": story.scenario.id, "reader": "scripted", "budget": 800, **asked}
    )


def played_elsewhere(sent: bytes) -> list[Path]:
    """What a worker of another process does."""
    settings, trials = pickle.loads(sent)
    with Environment(settings) as environment:
        return [play_trial(each, environment) for each in trials]


@pytest.mark.slow
def test_another_process_plays_the_same_from_settings_that_were_sent_to_it(
    story: Story, playables: dict[str, Playable], tmp_path: Path
) -> None:
    trials = [trial(story, None), trial(story, "oracle"), trial(story, "notes")]
    here, there = (Settings(tmp_path / each, playables, {story.scenario.id: story}, FakeEmbedder) for each in "ab")
    with Environment(here) as environment:
        ours = [read(play_trial(each, environment), environment.blobs) for each in trials]
        drilled = read_transcript(play_trial(DRILL, environment), environment.blobs)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        *paths, last = pool.submit(played_elsewhere, pickle.dumps((there, [*trials, DRILL]))).result()
    blobs = Environment(there).blobs
    theirs = [read(path, blobs) for path in paths]
    assert [canonical(each.events) for each in theirs] == [canonical(each.events) for each in ours]
    assert all(each.final and each.list_events(Worked) for each in theirs)
    again = read_transcript(last, blobs)
    assert again.final and [type(event) for event in again.events] == [type(event) for event in drilled.events]
    assert not [*(tmp_path / "a/work").glob("[!f]*")] and not [*(tmp_path / "b/work").glob("[!f]*")]


@pytest.mark.slow
def test_the_identity_of_a_trial_is_known_without_playing_it(
    story: Story, playables: dict[str, Playable], tmp_path: Path
) -> None:
    settings = Settings(tmp_path, playables, {story.scenario.id: story}, FakeEmbedder)
    trials = [trial(story, None), trial(story, "oracle"), trial(story, "notes")]
    both: list[AnyTrial] = [*trials, DRILL]
    told = [compute_identity(each, settings) for each in both]
    assert not [*tmp_path.iterdir()]
    with Environment(settings) as environment:
        logs = [read(play_trial(each, environment), environment.blobs) for each in trials]
        drilled = read_transcript(play_trial(DRILL, environment), environment.blobs)
    assert told == [
        *(of_digests(log.trial, log.opened.digests) for log in logs),
        of_digests(drilled.trial, drilled.drilled.digests),
    ]
    edited = {**playables, "notes": replace(playables["notes"], source="another")}
    others = [compute_identity(each, replace(settings, playables=edited)) for each in both]
    assert [same == other for same, other in zip(told, others, strict=True)] == [True, True, False, False]


@pytest.mark.slow
def test_a_trial_at_whose_end_nobody_reaches_the_gateway_is_played_again(
    story: Story, playables: dict[str, Playable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gateway, "find_cut", lambda _: "")  # as it was when the trials began
    settings = Settings(tmp_path, playables, {story.scenario.id: story}, FakeEmbedder)
    with Environment(settings) as environment:
        monkeypatch.setattr(Gateway, "find_cut", lambda _: "the gateway is cut off")
        told = read(play_trial(trial(story, "notes", noise=0), environment), environment.blobs)
        drilled = read_transcript(play_trial(DRILL, environment), environment.blobs)
    for ending in (told.closed, drilled.ended):
        assert ending and ending.fault and (ending.status, ending.fault.kind) == ("failed", "machine")
        assert ending.fault.message == "the gateway is cut off; --resume plays it again"
    assert not told.final and not drilled.final


@pytest.mark.slow
def test_a_kept_store_gets_the_name_of_its_trial(story: Story, playables: dict[str, Playable], tmp_path: Path) -> None:
    asked = trial(story, "notes", noise=0)
    settings = Settings(tmp_path, playables, {story.scenario.id: story}, FakeEmbedder, keep=True)
    with Environment(settings) as environment:
        play_trial(asked, environment)
    assert (tmp_path / "work" / asked.id / "store").is_dir()


def test_an_executor_that_is_told_to_stop_brings_no_trial_to_its_end(
    story: Story, playables: dict[str, Playable], tmp_path: Path
) -> None:
    settings, control = Settings(tmp_path, playables, {story.scenario.id: story}, FakeEmbedder), Control()
    futures = []
    with pytest.raises(KeyboardInterrupt), Threads(1).opened(settings, control) as submit:
        control.stop.set()
        futures = [submit(trial(story, None)), submit(DRILL)]
        raise KeyboardInterrupt
    assert control.stopping and len(futures) == 2
    assert all(b'"closed"' not in path.read_bytes() and b'"ended"' not in path.read_bytes()
               for path in tmp_path.glob("*/*.jsonl"))  # fmt: skip


def test_whose_memories_lie_in_a_server_is_apart(playables: dict[str, Playable]) -> None:
    server = Server((), "", "SERVER_URL", "key", "get it")
    ours = playables["notes"]
    cast = {"notes": ours, "served": replace(ours, server=server), "hosted": replace(ours, hosted=True)}
    assert Backends(cast).apart == {"served", "hosted"}


def test_a_budget_that_is_used_up_stops_every_trial() -> None:
    control = Control(Budget(tokens=10))
    assert not control.stopping
    control.ledger.add(6, 4, "model", "model")
    assert control.stopping


def test_the_trials_of_a_story_share_its_noise(story: Story) -> None:
    assert story.noise(5, 1) is story.noise(5, 1) is not story.noise(5, 2)


@pytest.mark.slow
def test_the_second_trial_of_a_story_draws_no_noise(
    story: Story, playables: dict[str, Playable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Any, ...]] = []
    generate = noise.generate

    def draw(*args: Any) -> Any:
        drawn.append(args)
        return generate(*args)

    monkeypatch.setattr(noise, "generate", draw)
    fresh = Story(story.scenario, story.repo)
    settings = Settings(tmp_path, playables, {story.scenario.id: fresh}, embedder=FakeEmbedder)
    with Environment(settings) as environment:
        for write in ("append", "append", "curated"):
            play_trial(trial(fresh, "notes", write_policy=write), environment)
    assert len(drawn) == 1


def test_trials_with_the_same_canaries_share_a_classifier_until_the_story_has_ended(story: Story) -> None:
    fresh = Story(story.scenario, story.repo)
    one = fresh.find_classifier({"a-fact": "a-canary"})
    assert fresh.find_classifier({"a-fact": "a-canary"}) is one
    assert fresh.find_classifier({"a-fact": "another"}) is not one
    fresh.let_go()
    assert fresh.find_classifier({"a-fact": "a-canary"}) is not one


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "asks"), [("notes", False), ("vector_file", True)])
def test_many_memories_are_embedded_for_who_asks_only(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, asks: bool
) -> None:
    embedder = FakeEmbedder()
    monkeypatch.setattr(plan, "MANY", 5)
    found = describe_all(Selection(backends=(Spec(adapter=backend),))).playables
    settings = Settings(tmp_path, found, {story.scenario.id: story}, lambda: embedder)
    with Environment(settings) as environment:
        log = read(play_trial(trial(story, backend), environment), environment.blobs)
    closed = log.events[-1]
    assert isinstance(closed, Closed) and closed.status == "complete"
    assert (len(embedder.seen) > 5) == asks
    assert not [*(tmp_path / "work").glob("[!f]*")]


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "asks"), [("notes", False), ("vector_file", True)])
def test_so_are_those_of_a_drill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, asks: bool) -> None:
    embedder = FakeEmbedder()
    monkeypatch.setattr(plan, "MANY", 20)
    found = describe_all(Selection(backends=(Spec(adapter=backend),), drills=("rollback",))).playables
    settings = Settings(tmp_path, found, embedder=lambda: embedder)
    drill = DRILL.model_copy(update={"backend": backend, "drill": "rollback"})
    with Environment(settings) as environment:
        ended = read_transcript(play_trial(drill, environment), environment.blobs).ended
    assert ended is not None and ended.status in ("complete", "unsupported")
    assert (len(embedder.seen) > 5) == asks
    assert not [*(tmp_path / "work").glob("[!f]*")]
