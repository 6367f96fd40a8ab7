"""What a selection means: which trials, in which order, and when two of them are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.backend import client, registry
from harness.log.parts import Written
from harness.model.scenario import Scenario
from harness.model.trial import Selection, Spec, Trial, digest
from harness.play import drills, noise, plan
from harness.play.controls import describe
from harness.play.session import Part
from harness.play.story import Story
from harness.repo.checkout import Repo
from tasks import loader
from tests.support.faulty_backends import lend

STORIES = [loader.read(path) for path in loader.find(paths.TASKS)]


def planned(*backends: str, **more: object) -> list[Trial]:
    specs = tuple(registry.parse(text) for text in backends)
    return plan.list_trials(Selection.model_validate({"backends": specs, **more}), STORIES[:1])


def rows(trials: list[Trial]) -> list[tuple[str | None, str | None, int]]:
    return [(trial.backend, trial.write_policy, trial.noise) for trial in trials]


def test_cold_and_bounds_come_first_then_backend_by_backend() -> None:
    assert rows(planned("none", "chroma", noise=(0, 100))) == [
        (None, None, 0),
        ("oracle", "append", 0),
        ("stale_oracle", "append", 0),
        ("none", "append", 100),
        ("none", "append", 0),
        ("none", "curated", 100),
        ("chroma", "append", 100),
        ("chroma", "append", 0),
        ("chroma", "curated", 100),
    ]


def test_every_scenario_and_every_seed_is_played() -> None:
    selection = Selection(backends=(Spec(adapter="none"),), writes=("append",), noise=(0,), seeds=(1, 2))
    trials = plan.list_trials(selection, STORIES)
    assert [(trial.scenario, trial.seed) for trial in trials[::4]] == [
        (story.id, seed) for story in STORIES for seed in (1, 2)
    ]
    assert len({trial.id for trial in trials}) == len(trials) == 8 * len(STORIES)


def test_the_clock_of_the_story_is_for_whose_memories_live_in_our_processes() -> None:
    selection = Selection(backends=(Spec(adapter="notes"), Spec(adapter="letta")), noise=(0,), clock="story")
    by_wall = plan.list_trials(selection.model_copy(update={"clock": "wall"}), STORIES[:1])
    trials = plan.list_trials(selection, STORIES[:1], {"letta"})
    assert {trial.backend for trial in trials if trial.clock == "story"} == {"notes"}
    same = [trial.id for trial in trials if trial.backend != "notes"]
    assert same == [trial.id for trial in by_wall if trial.backend != "notes"], "what has the wall clock is reused"
    assert not {trial.id for trial in by_wall} & {trial.id for trial in trials if trial.backend == "notes"}
    assert all("clock" not in trial.model_dump(mode="json") for trial in by_wall)


def test_asking_for_a_control_with_gold_plays_it_once() -> None:
    assert rows(planned("oracle", "none", noise=(0,), writes=("append",))).count(("oracle", "append", 0)) == 1


@pytest.mark.parametrize("name", plan.PLACEBOS)
def test_who_says_the_same_whatever_it_is_told_plays_once_and_in_the_headline(name: str) -> None:
    found = [row for row in rows(planned("chroma", name, noise=(0, 100))) if row[0] == name]
    assert found == [(name, "append", 100)]
    assert (name, "curated", 20) in rows(planned(name, noise=(20,), writes=("curated",)))


@pytest.mark.parametrize("twice", [{"noise": (0, 0)}, {"seeds": (1, 1)}, {"writes": ("append", "append")}])
def test_what_was_asked_for_twice_is_played_once(twice: dict[str, object]) -> None:
    trials = planned("none", **{"noise": (0,), "writes": ("append",), **twice})
    assert len({trial.id for trial in trials}) == len(trials)


def test_a_backend_that_was_named_twice_is_played_once() -> None:
    trials = planned("none", "none", noise=(0,))
    assert len({trial.id for trial in trials}) == len(trials)


# --- identity --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Repo]:
    return loader.load(loader.find(paths.TASKS)[:1], paths.FIXTURES, tmp_path_factory.mktemp("cache"))[0]


def part(
    story: tuple[Scenario, Repo], version: str = "1", embedder: str = "e", source: str = "s", **changes: object
) -> Part:
    scenario, repo = story
    backend = describe("none").model_copy(update={"version": version})
    base = {"backend": "none", "scenario": scenario.id, "write_policy": "append", "noise": 3, "seed": 1}
    trial = Trial.model_validate({**base, "reader": "scripted", "k": 5, "budget": 800, **changes})
    return plan.make_part(trial, Story(scenario, repo), backend, source, embedder)


def identity(made: Part) -> str:
    return plan.compute_identity(made.trial, made.digests)


def test_equal_plans_are_the_same_trial_and_any_change_is_another(story: tuple[Scenario, Repo]) -> None:
    scenario, repo = story
    same, again = part(story), part(story)
    assert identity(same) == identity(again)
    assert same.canaries == again.canaries and same.noise == again.noise
    retold = scenario.model_copy(update={"version": scenario.version + 1}), repo
    others = [
        part(story, version="2"),
        part(story, embedder="f"),
        part(story, source="t"),
        part(story, k=6),
        part(story, budget=801),
        part(story, seed=2),
        part(story, noise=4),
        part(retold),
    ]
    assert len({identity(each) for each in [same, *others]}) == len(others) + 1


@pytest.mark.slow
def test_the_digests_name_everything_that_an_outcome_depends_on(story: tuple[Scenario, Repo]) -> None:
    scenario, repo = story
    wanted = {"protocol", "scenario", "fixture", "noise", "reader", "adapter", "backend", "settings", "embedder"}
    assert set(part(story).digests) == wanted
    cold = plan.make_part(part(story).trial, Story(scenario, repo), None, "", "e")
    assert set(cold.digests) == {"protocol", "scenario", "fixture", "noise", "reader"}


@pytest.mark.slow
def test_an_edited_adapter_is_another_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it lies outside of the checkout, and where only a module beside it was edited."""
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path / "own"))
    package = tmp_path / "own" / "own_store"
    package.mkdir(parents=True)
    lend(tmp_path / "own")
    (package / "__init__.py").touch()
    (package / "helper.py").write_text("SIZE = 1\n")
    (package / "main.py").write_text(
        "from own_store import helper\nfrom tests.support.faulty_backends import Sound\nclass Own(Sound): ...\n"
    )

    def source() -> str:
        return client.describe("own_store.main:Own", tmp_path / "home").source

    seen = [source(), source()]
    for name, text in (("main.py", "# edited\n"), ("helper.py", "SIZE = 2\n")):
        (package / name).write_text((package / name).read_text() + text)
        seen.append(source())
    assert seen[0] == seen[1] and len(set(seen)) == 3 and len(seen[0]) == 64


@pytest.mark.slow
def test_the_noise_of_a_story_is_made_once_for_all_of_its_trials(
    story: tuple[Scenario, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, repo = story
    made: list[int] = []
    generate = noise.generate

    def counted(*args: Any) -> list[Written]:
        made.append(args[3])
        return generate(*args)

    monkeypatch.setattr(noise, "generate", counted)
    shared, trial = Story(scenario, repo), part(story, noise=4).trial
    made.clear()
    parts = [plan.make_part(trial, shared, None, "", "e") for _ in range(3)]
    assert made == [4] and len({id(each.noise) for each in parts}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(drills.ALL))
def test_the_digest_of_what_a_drill_writes_is_that_of_its_canonical_json(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drill = drills.ALL[name]
    told = plan.digest_drill(drill, drill.least, 1)
    assert told == digest(drill.plan(drill.least, 1))
    assert plan.write_drill(drill, drill.least, 1) is plan.write_drill(drill, drill.least, 1)
    monkeypatch.setattr(plan, "MANY", drill.least)
    large = plan.write_drill(drill, drill.least, 1)
    assert large is not plan.write_drill(drill, drill.least, 1) and large.digest == told
