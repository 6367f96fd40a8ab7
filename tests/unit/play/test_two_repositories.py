"""A story that plays in two repositories: who works in one of them can look nothing up in the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.events import Resolved, Retired, Worked
from harness.log.reader import Log
from harness.play.dask_worker import Sent
from harness.play.environment import Settings
from harness.play.story import Story
from tasks import loader
from tests.support.fakes import FakeHost
from tests.support.story_player import Stage
from tests.support.two_repositories import AT_THE_PIER, write_story
from tests.unit.conftest import House, Series


@pytest.fixture
def stage(house: House, series: Series) -> Stage:
    ((scenario, repo),) = loader.load([house.write(write_story(house, series))], house.fixtures, house.cache)
    return Stage.of(scenario, repo)


def find_work(log: Log, job: str) -> dict[str | None, Worked]:
    return {event.read_policy: event for event in log.list_events(Worked) if event.job == job}


def test_a_job_is_done_in_the_repository_of_its_session(stage: Stage, tmp_path: Path) -> None:
    log = stage.cold(tmp_path)
    assert {event.job: event.choices[0].origin for event in log.list_events(Worked)} == dict.fromkeys(
        ("moor", "ship"), "nowhere"
    )
    done = find_work(stage.gold(tmp_path / "gold", "oracle"), "moor")["trusting"]
    assert [check.value for check in done.checks] == ["kestrelway"]


@pytest.mark.parametrize("policy", ["verifying", "careful"])
def test_a_source_in_the_other_repository_is_worth_what_none_is(stage: Stage, tmp_path: Path, policy: str) -> None:
    log = stage.play(tmp_path, FakeHost(tmp_path / "store"))
    (choice,) = find_work(log, "moor")[policy].choices
    assert (choice.origin, choice.standing) == ("memory", "unverifiable")
    assert {read.tokens for read in find_work(log, "moor")[policy].reads} <= {0}, "it read what is not there"
    there = stage.scenario.sessions[2].commit
    states = {one.state for event in log.list_events(Resolved) if event.head == there for one in event.sources}
    assert states == {"elsewhere"}
    assert all(one.says for event in log.list_events(Resolved) for one in event.sources), "the line is there"


def test_a_hook_that_follows_commits_leaves_the_other_repository_alone(
    stage: Stage, house: House, series: Series, tmp_path: Path
) -> None:
    text = write_story(house, series)
    here = text.replace(AT_THE_PIER, AT_THE_PIER.replace("pier/0002", "0002").replace('"pier"', '"shop"'))
    here = here.replace('beside = ["pier"]\n', "")
    ((scenario, repo),) = loader.load([house.write(here)], house.fixtures, house.cache)
    retired = []
    for name, each in (("two", stage), ("one", Stage.of(scenario, repo))):
        log = each.play(tmp_path / name, FakeHost(tmp_path / name / "store"), write_policy="on-commit")
        retired.append([(event.session, event.rule) for event in log.list_events(Retired)])
    assert retired[0] == retired[1] and {session for session, _ in retired[0]} == {"friday"}


class FakeTreeHost(FakeHost):
    """Lends folders for work trees, and notes at which commits they are whenever one is lent."""

    seen: list[dict[str, str]]

    def lend_work_tree(self, repo: str) -> Path:
        trees = {place.name: place / ".git/refs/heads/main" for place in self.root.glob("trees/*")}
        self.seen.append({name: head.read_text().strip() for name, head in trees.items() if head.exists()})
        place = self.root / "trees" / repo
        place.mkdir(parents=True, exist_ok=True)
        return place


def test_a_backend_that_reads_work_trees_has_one_of_each_repository(stage: Stage, tmp_path: Path) -> None:
    host = FakeTreeHost(tmp_path / "store", filters=["work_tree"])
    host.seen = []
    stage.play(tmp_path, host)
    host.lend_work_tree("shop")
    shop, pier = (part.commits for part in stage.repo.parts)
    assert host.seen[2::2] == [
        {"shop": shop[0], "pier": pier[0]},  # of its day, as nobody works there yet
        {"shop": shop[1], "pier": pier[1]},
        {"shop": shop[1], "pier": pier[1]},
        {"shop": shop[2], "pier": pier[1]},
    ]
    assert "crane" in (tmp_path / "store/trees/pier/docs/deploy.md").read_text()


def test_a_worker_elsewhere_builds_all_fixtures(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    story = stage.story
    sent = Sent.make(Settings(tmp_path, {}, {stage.scenario.id: story}))
    there = sent.unpack(tmp_path / "worker").stories[stage.scenario.id]
    assert isinstance(there, Story) and there.digest == story.digest
    assert (there.repo.digest, there.repo.commits) == (story.repo.digest, story.repo.commits)
    assert [part.name for part in there.repo.parts] == ["shop", "pier"]
