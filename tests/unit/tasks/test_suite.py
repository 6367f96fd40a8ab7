"""Splits that stay what they are, what names a suite, and the scenario that a new one begins with."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import paths
from harness.model.scenario import Kind
from harness.repo.checks import WorkTrees
from harness.selftest.proof import ScenarioProof
from harness.selftest.suite import prove_scenario
from tasks import loader, skeleton, suite
from tests.unit.conftest import House

IDS = st.sets(st.builds("{}/{}".format, st.sampled_from(get_args(Kind)), st.from_regex(r"[a-z]{1,8}", fullmatch=True)))


def kind(each: str) -> str:
    return each.partition("/")[0]


@pytest.mark.slow
@given(IDS, st.integers(0, 9))
def test_about_a_third_of_each_kind_is_held_and_of_kinds_of_one_together(ids: set[str], seed: int) -> None:
    held = suite.held(ids, seed)
    assert held <= ids
    sizes = Counter(map(kind, ids))
    for own in (name for name in sizes if sizes[name] > 1):
        assert sum(kind(each) == own for each in held) == max(1, sizes[own] // 3)
    alone = {each for each in ids if sizes[kind(each)] == 1}
    assert len(held & alone) == (max(1, len(alone) // 3) if alone else 0)


def test_another_seed_holds_others_back() -> None:
    drawn = [suite.held(map(suite.name, loader.find(paths.DEEP)), seed) for seed in range(4)]
    assert [len(each) for each in drawn] == [4] * 4 and len(set(drawn)) > 1


@pytest.mark.slow
@given(IDS, IDS, st.randoms())
def test_a_split_depends_on_the_ids_of_its_own_kind_alone(ids: set[str], more: set[str], random: Any) -> None:
    shuffled = random.sample(sorted(ids), len(ids))
    others = {each for each in more if kind(each) not in {kind(own) for own in ids}}
    several = {each for each in ids if sum(kind(own) == kind(each) for own in ids) > 1}
    assert suite.held(shuffled) == suite.held(ids)
    assert suite.held(ids) & several == suite.held(ids | others) & several


def test_the_split_of_a_known_kind_stays_as_it_was() -> None:
    """A change here moves scenarios that somebody has tuned on into the held split."""
    assert suite.held(f"rename/{letter}" for letter in "abcdef") == {"rename/c", "rename/d"}


def test_dev_and_held_part_the_files_of_a_suite(tmp_path: Path) -> None:
    files = [tmp_path / own / f"{letter}.toml" for own in ("rename", "refactor") for letter in "abcdef"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    dev, held = (suite.of_split(files, tmp_path, split) for split in ("dev", "held"))
    assert sorted([*dev, *held]) == sorted(files) == sorted(suite.of_split(files, tmp_path, "all")) and len(held) == 4
    part = [file for file in files if file.stem in "ab"]
    assert suite.of_split(part, tmp_path, "held") == [file for file in held if file in part]
    elsewhere = [tmp_path / "own" / "preference" / "mine.toml"]
    assert suite.of_split(elsewhere, tmp_path, "held") == elsewhere
    with pytest.raises(loader.ScenarioError, match="no scenario of the split 'dev'"):
        suite.of_split(elsewhere, tmp_path, "dev")


def test_a_suite_is_named_by_the_content_of_its_scenarios(house: House) -> None:
    stories = [loader.load([house.write(house.story)], house.fixtures, house.cache)[0][0]]
    one = suite.identity(stories, house.file.parent.parent, "all")
    assert (one.version, one.held, one.split) == ("private", ("stale-deploy-rule/move",), "all")
    assert suite.identity(stories, paths.TASKS, "all").version == suite.SUITE_VERSION
    assert suite.identity(stories, paths.TASKS, "all").digest == one.digest
    changed = loader.load([house.write(house.changed("Told in a test", "Retold"))], house.fixtures, house.cache)[0][0]
    assert suite.identity([changed], paths.TASKS, "all").digest != one.digest
    assert suite.identity([], paths.TASKS, "all").digest != one.digest


# --- a new scenario --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("spoken", [False, True])
def test_a_new_scenario_holds_and_is_proven(tmp_path: Path, spoken: bool) -> None:
    place = tmp_path / "own", paths.FIXTURES, "storefront", tmp_path / "cache"
    file = skeleton.write("rename/first-try", *place, spoken=spoken)
    assert file == tmp_path / "own" / "rename" / "first-try.toml"
    assert loader.validate(file, paths.FIXTURES, tmp_path / "cache") == []
    ((scenario, repo),) = loader.load([file], paths.FIXTURES, tmp_path / "cache")
    assert (scenario.kind, scenario.title, scenario.fixture) == ("rename", "First try", "storefront")
    assert scenario.sessions[-1].commit == repo.commits[-1]
    story = ScenarioProof(file, scenario, repo)
    assert prove_scenario(story, WorkTrees()).checks == (1, 1) and story.breaches == []


def test_a_new_scenario_of_the_deep_suite_is_spoken_and_judged_by_a_hidden_test(house: House) -> None:
    file = skeleton.write("rename/x", house.file.parent.parent, house.fixtures, "shop", house.cache, spoken=True)
    assert loader.validate(file, house.fixtures, house.cache) == []
    scenario = loader.read(file)
    assert all(session.transcript for session in scenario.sessions)
    ((_, job),) = scenario.jobs()
    (decision,) = job.decisions
    assert job.visible and [*job.hidden] == ["request.py"] and decision.in_code and decision.naive


@pytest.mark.parametrize("there", ["x.toml", "x"])
def test_a_new_scenario_takes_no_name_of_a_file_or_folder(house: House, there: str) -> None:
    (house.file.parent / there).mkdir()
    with pytest.raises(loader.ScenarioError, match=rf"{there}: file: is there already"):
        skeleton.write("stale-deploy-rule/x", house.file.parent.parent, house.fixtures, "shop", house.cache)


@pytest.mark.parametrize("name", get_args(Kind))
def test_a_new_scenario_may_be_of_any_kind_and_fixture(house: House, name: str) -> None:
    file = skeleton.write(f"{name}/x", house.file.parent.parent, house.fixtures, "shop", house.cache)
    assert loader.validate(file, house.fixtures, house.cache) == []


@pytest.mark.parametrize(
    ("name", "fixture", "says"),
    [
        ("renam/x", "shop", "renam/x: scenario: must be KIND/NAME, of lower-case words; kinds are refactor, rename, "),
        ("rename", "shop", "must be KIND/NAME"),
        ("rename/../x", "shop", "must be KIND/NAME"),
        ("rename/X", "shop", "must be KIND/NAME"),
        ("rename/x", "shoppe", "rename/x.toml: fixture: unknown 'shoppe'; there are shop in "),
        ("stale-deploy-rule/move", "shop", "move.toml: file: is there already; choose another name"),
    ],
)
def test_what_cannot_be_written_is_one_line(house: House, name: str, fixture: str, says: str) -> None:
    house.write(house.story)
    with pytest.raises(loader.ScenarioError) as caught:
        skeleton.write(name, house.file.parent.parent, house.fixtures, fixture, house.cache)
    assert says in str(caught.value) and len(str(caught.value).splitlines()) == 1
    assert house.file.read_text() == house.story and len(list(house.file.parent.parent.glob("*/*"))) == 1
