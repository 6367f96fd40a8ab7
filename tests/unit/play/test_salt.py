"""Stories with names of their own for a seed: nobody can know them, and all that was proven of a story still holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import paths
from harness.model.scenario import Scenario
from harness.play.salt import salt, unsalt, unsalt_text
from harness.play.story import Story
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees
from harness.selftest import job_checks, text_checks
from harness.selftest.proof import ScenarioProof
from tasks import loader, proofs


@pytest.fixture(scope="module")
def told_on_a_call() -> tuple[Scenario, Repo]:
    file = paths.TASKS / "stale-deploy-rule" / "told-on-a-call.toml"
    ((scenario, repo),) = loader.load([file], paths.FIXTURES, paths.cache_root())
    return scenario, repo


def test_told_only_names_are_other_ones_for_each_seed_everywhere_in_the_story(
    told_on_a_call: tuple[Scenario, Repo],
) -> None:
    scenario, repo = told_on_a_call
    first, second = salt(scenario, repo, 1), salt(scenario, repo, 2)
    assert first == salt(scenario, repo, 1) and first != second
    values = [option.value for _, job in first.jobs() for each in job.decisions for option in each.options]
    (name,) = {value for value in values if value.startswith("shop-oncall-")}
    assert "shop-oncall" not in values and "release-council" in values, "what the repository says stays"
    fact = next(each for each in first.facts if each.forms == ((name,),))
    assert all(name in text.text for text in fact.own_texts() if fact.id in text.asserts)
    assert name not in second.model_dump_json()
    assert [each.id for each in first.facts] == [each.id for each in scenario.facts]
    assert (first.id, first.kind, first.scope, first.sessions[0].commit) == (
        scenario.id, scenario.kind, scenario.scope, scenario.sessions[0].commit,
    )  # fmt: skip


def test_what_was_salted_is_found_again_without_its_salt(told_on_a_call: tuple[Scenario, Repo]) -> None:
    scenario, repo = told_on_a_call
    salted = salt(scenario, repo, 1)
    assert unsalt(salted, 1) == scenario == unsalt(scenario, 1)
    assert unsalt(salted, 2) == salted, "another seed draws other letters"
    (name,) = {
        option.value
        for _, job in salted.jobs()
        for each in job.decisions
        for option in each.options
        if option.value.startswith("shop-oncall-")
    }
    assert unsalt_text(f"ask Shop{name[4:]}, or x-{name}", scenario.id, 1) == f"ask Shop-oncall, or x-{name}"


@pytest.mark.slow
def test_a_story_without_such_names_is_the_same_story(told_on_a_call: tuple[Scenario, Repo]) -> None:
    file = paths.TASKS / "branch-scope" / "kiosk-answers.toml"
    ((plain, repo),) = loader.load([file], paths.FIXTURES, paths.cache_root())
    assert salt(plain, repo, 1) is plain and Story(plain, repo).salt(1).scenario is plain
    story = Story(*told_on_a_call)
    assert story.salt(1) is story.salt(1) and story.salt(1).explorer is story.explorer


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_every_kind_texts_checks_and_proofs_hold_as_before() -> None:
    firsts = {file.parent: file for file in sorted(paths.TASKS.glob("*/*.toml"), reverse=True)}.values()
    for scenario, repo in loader.load(firsts, paths.FIXTURES, paths.cache_root()):
        told = ScenarioProof(Path("a-story"), salt(scenario, repo, 7), repo)
        assert unsalt(told.scenario, 7) == scenario
        for found in (job_checks.try_out(told, WorkTrees()), text_checks.check_texts(told)):
            assert found.hits == found.of, (scenario.id, told.breaches)
        assert not [*proofs.problems(told.scenario, repo)]
