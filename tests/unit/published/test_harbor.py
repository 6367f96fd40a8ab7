"""Jobs as tasks of Harbor: what an agent sees, what it does not, and that the exported checks judge as ours do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.model.job import Edit, Job
from harness.model.scenario import Learn, Remember
from harness.play.engine import make_canaries
from harness.play.story import Story
from harness.published import harbor
from harness.repo import checks
from tasks import loader
from tests.support.logs import NEW, OLD, STORY

STORIES = ("stale-deploy-rule/told-on-a-call", "secret-erasure/customers-card")
DEEP = ("migration/ledger-of-seeds", "preference/two-hands-one-press", "cross-repo/harbour-and-ferry")
"""With hidden tests: in Python with names that are salted, in JavaScript, and in two repositories."""


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> list[Story]:
    found = [*loader.find(paths.TASKS, STORIES), *loader.find(paths.DEEP, DEEP)]
    return [Story(*each) for each in loader.load(found, paths.FIXTURES, tmp_path_factory.mktemp("cache"))]


@pytest.fixture(scope="module")
def exported(stories: list[Story], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("harbor") / "tasks"
    written = harbor.export(root, stories)
    jobs = sum(len(story.scenario.jobs()) for story in stories)
    assert written == (2 * jobs, jobs) and len(list(root.iterdir())) == 2 * jobs
    return root


def judged(
    task: Path, room: Path, edits: Sequence[Edit] | None, then: Callable[[Path], object] = bool
) -> dict[str, Any]:
    """The reward of a work tree as it stands (None), with the right edits (an empty list) or with others."""
    tree, logs = room / "app", room / "logs"
    shutil.rmtree(room, ignore_errors=True)
    shutil.copytree(task / "environment" / "repo", tree, symlinks=True)
    env = {**os.environ, "COLDWARM_TREE": str(tree), "COLDWARM_LOGS": str(logs)}
    if edits is not None:
        solution = room / "solution"
        shutil.copytree(task / "solution", solution)
        if edits:
            (solution / "edits.json").write_text(json.dumps([each.model_dump() for each in edits]), "utf-8")
        subprocess.run([sys.executable, solution / "solve.py"], env=env, check=True)
    then(tree)
    subprocess.run([sys.executable, task / "tests" / "judge.py"], env=env, check=True, capture_output=True)
    found: dict[str, Any] = json.loads((logs / "reward.json").read_text("utf-8"))
    return found


def edits_of(job: Job, chosen: Mapping[str, str]) -> list[Edit]:
    """Of all decisions of a job: right, but for those that are chosen otherwise."""
    return [edit for each in job.decisions for edit in each.list_edits(chosen.get(each.id, each.right.value))]


def list_jobs(stories: list[Story], exported: Path) -> Iterator[tuple[Job, Path]]:
    for story in (each.salt(harbor.SEED) for each in stories):
        for _, job in story.scenario.jobs():
            yield job, exported / f"{story.scenario.id.replace('/', '-')}-{job.id}-cold"


@pytest.mark.slow
def test_the_solution_is_right_and_the_tree_as_it_stands_is_not(exported: Path, tmp_path: Path) -> None:
    for task in sorted(exported.glob("*-cold")):
        many = len(json.loads((task / "tests" / "job.json").read_text("utf-8"))["decisions"])
        right = judged(task, tmp_path / "right", [])
        assert right["reward"] == 1 and right["right"] == many
        bare = judged(task, tmp_path / "bare", None)
        assert bare["reward"] == 0 and bare["right"] < many
        assert sum(bare[name] for name in ("right", "stale", "lure", "other", "unresolved", "failed")) == many


@pytest.mark.slow
def test_a_stale_value_is_seen_as_stale(stories: list[Story], exported: Path, tmp_path: Path) -> None:
    for job, task in list_jobs(stories, exported):
        stale = {
            each.id: option.value for each in job.decisions for option in each.options if option.verdict == "stale"
        }
        found = judged(task, tmp_path / "stale", edits_of(job, stale))
        assert found["reward"] == 0 and found["stale"] == len(stale) > 0, found


@pytest.mark.slow
def test_the_naive_way_passes_what_is_visible_and_is_not_right(
    stories: list[Story], exported: Path, tmp_path: Path
) -> None:
    def pass_what_is_visible(tree: Path) -> None:
        for words in job.visible:
            assert checks.run(tree, checks.RAN, words, ()).exit == 0, words

    hidden = [(job, task) for job, task in list_jobs(stories, exported) if job.hidden]
    assert len(hidden) == 10
    for job, task in hidden:
        naive = {each.id: each.naive.value for each in job.decisions if each.naive}
        found = judged(task, tmp_path / "naive", edits_of(job, naive), pass_what_is_visible)
        assert found["reward"] == 0 and found["other"] + found["stale"] == len(naive) > 0, found


@pytest.mark.slow
def test_hidden_tests_stand_in_the_place_of_what_an_agent_left_there(
    stories: list[Story], exported: Path, tmp_path: Path
) -> None:
    job, task = next((job, task) for job, task in list_jobs(stories, exported) if job.hidden)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def lay_in_a_folder(tree: Path) -> None:
        for name in job.hidden:
            inside = tree / "hidden" / name
            inside.parent.mkdir(exist_ok=True)
            inside.write_text(f"print({job.decisions[0].right.value!r})")

    def lay_in_a_link(tree: Path) -> None:
        (tree / "hidden").symlink_to(elsewhere)

    for then in (lay_in_a_folder, lay_in_a_link):
        assert judged(task, tmp_path / "bare", None, then)["right"] == 0
    assert not [*elsewhere.iterdir()]


@pytest.mark.slow
def test_the_agent_sees_no_answer_and_cold_no_memory(stories: list[Story], exported: Path) -> None:
    for story in (each.salt(harbor.SEED) for each in stories):
        for session, job in story.scenario.jobs():
            for arm in ("cold", "warm"):
                task = exported / f"{story.scenario.id.replace('/', '-')}-{job.id}-{arm}"
                said = (task / "instruction.md").read_text("utf-8")
                assert all(each.question in said for each in job.decisions) and f"{session.at:%Y-%m-%d}" in said
                assert not any(f"{option.verdict}" in said for each in job.decisions for option in each.options)
                seen = sorted(each.name for each in (task / "environment").iterdir())
                assert seen == ["Dockerfile", "memory", "repo"] if arm == "warm" else ["Dockerfile", "repo"]
                assert ("/memory/NOTES.md" in said) == (arm == "warm")
                assert not (task / "environment" / "repo" / ".git").exists()
                files = [each for each in (task / "environment").rglob("*") if each.is_file()]
                texts = {each.read_text("utf-8") for each in files}
                assert not texts & {*job.hidden.values()} and not any("hidden/" in each for each in (said, *texts))
                laid = {each.name: each.read_text("utf-8") for each in (task / "tests").glob("hidden/*")}
                assert laid == job.hidden
                needs = "/usr/local/bin/node" in (task / "environment" / "Dockerfile").read_text("utf-8")
                assert needs is ("node" in story.scenario.needs)
                config = tomllib.loads((task / "task.toml").read_text("utf-8"))
                assert config["metadata"]["arm"] == arm and config["task"]["name"] == f"coldwarm/{task.name}"


@pytest.mark.slow
def test_the_notes_end_with_the_job_and_hold_nothing_forgotten(stories: list[Story], exported: Path) -> None:
    for story in (each.salt(harbor.SEED) for each in stories):
        marks = make_canaries(story.scenario, harbor.SEED)
        for session, job in story.scenario.jobs():
            task = exported / f"{story.scenario.id.replace('/', '-')}-{job.id}-warm"
            notes = (task / "environment" / "memory" / "NOTES.md").read_text("utf-8")
            assert (
                all(line[2:12] <= f"{session.at:%Y-%m-%d}" for line in notes.splitlines()) and "{canary}" not in notes
            )
            for name, mark in marks.items():
                forgotten = any(
                    name in getattr(step, "facts", ()) and step.do == "forget"
                    for each in story.scenario.sessions
                    if each.at < session.at
                    for step in each.steps
                )
                assert not (forgotten and mark in notes)
    texts = [path.read_text("utf-8") for path in exported.glob("secret-*/environment/memory/NOTES.md")]
    known = [mark for story in stories for mark in make_canaries(story.scenario, harbor.SEED).values()]
    assert any(mark in text for text in texts for mark in known), "what was not forgotten is there"


@pytest.mark.slow
def test_a_program_that_no_image_has_is_named(stories: list[Story], tmp_path: Path) -> None:
    told = stories[0].scenario.model_copy(update={"needs": ("no-such-compiler",)})
    with pytest.raises(harbor.HarborError, match=f"{told.id}: its tests need no-such-compiler, which no image"):
        harbor.export(tmp_path / "tasks", [Story(told, stories[0].repo)])
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_a_folder_that_holds_something_is_left_alone(stories: list[Story], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(harbor.HarborError, match="not an empty folder"):
            harbor.export(place, stories)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_what_was_forgotten_before_the_job_is_not_in_its_notes() -> None:
    *before, third = STORY.sessions
    job, forget = third.steps
    turned = third.model_copy(update={"steps": (forget, job)})
    marks = make_canaries(STORY, harbor.SEED)
    for session, kept in ((third, True), (turned, False)):
        told = STORY.model_copy(update={"sessions": (*before, session)})
        notes = "".join(harbor.list_notes(told, session, told.jobs()[-1][1]))
        assert (marks["pin"] in notes) is kept and OLD in notes and NEW in notes
        assert notes.index(OLD) < notes.index(NEW), "in the order of telling"


def test_what_is_told_after_a_deletion_replaces_no_other_note() -> None:
    """Three remarks and a fact, of which the fact goes before the last remark."""
    *before, third = STORY.sessions
    job, forget = third.steps
    marks = make_canaries(STORY, harbor.SEED)
    remarks = [Remember.model_validate({"do": "remember", "texts": [{"text": f"Remark {at}"}]}) for at in range(3)]
    (learn,) = [step for each in before for step in each.steps if isinstance(step, Learn) and "pin" in step.facts][:1]
    session = third.model_copy(update={"steps": (remarks[0], learn, remarks[1], forget, remarks[2], job)})
    told = STORY.model_copy(update={"sessions": (session,)})
    notes = "".join(harbor.list_notes(told, session, told.jobs()[-1][1]))
    assert [f"Remark {at}" in notes for at in range(3)] == [True] * 3 and marks["pin"] not in notes


@pytest.mark.slow
def test_an_export_that_is_interrupted_leaves_nothing_in_the_way_of_the_next(
    stories: list[Story], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(harbor, "_write_instruction", interrupted)
        harbor.export(tmp_path / "tasks", stories[:1])
    assert not [*tmp_path.iterdir()]
    assert harbor.export(tmp_path / "tasks", stories[:1]).jobs
