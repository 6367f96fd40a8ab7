"""What a run holds while it plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Server
from harness.compare.statements import score_run
from harness.log.folder import Folder
from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Trial
from harness.play.backends import Backends, describe_all
from harness.play.environment import Control, Settings
from harness.play.executor import Submit
from harness.play.runner import Runner
from harness.selftest import local
from tasks import loader
from tests.unit.conftest import House

DRAWN = 5


class FakeExecutor:
    """Draws noise for each trial and plays none."""

    slots, here, alone = 2, True, True

    def describe(self, selection: Selection, allowed: Iterable[str]) -> Backends:
        return describe_all(selection, allowed)

    @contextmanager
    def opened(self, settings: Settings, control: Control) -> Iterator[Submit]:
        self.stories = settings.stories

        def submit(trial: Trial | DrillTrial) -> Future[Path]:
            assert isinstance(trial, Trial)
            self.stories[trial.scenario].noise(DRAWN, 1)
            done = Future[Path]()
            done.set_exception(RuntimeError("nobody plays it"))
            return done

        yield submit


class Watching:
    """Notes after each trial how many memories of noise the run holds."""

    def __init__(self, executor: FakeExecutor) -> None:
        self.executor, self.held = executor, list[tuple[str, int]]()

    def broke(self, trial: Trial | DrillTrial, why: str) -> None:
        assert isinstance(trial, Trial) and "nobody plays it" in why
        noises = [noise for story in self.executor.stories.values() for noise in story._noises.values()]
        self.held.append((trial.scenario, sum(len(each.memories) for each in noises)))

    def planned(self, trials: int, reused: int) -> None: ...
    def started(self, trial: Trial | DrillTrial) -> None: ...
    def finished(self, log: object) -> None: ...
    def noted(self, line: str) -> None: ...


def test_a_story_lets_go_of_its_noise_when_its_last_trial_has_ended(lasting: House, tmp_path: Path) -> None:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    stories = [(scenario, repo), (scenario.model_copy(update={"id": "stale-deploy-rule/twin"}), repo)]
    executor = FakeExecutor()
    watching = Watching(executor)
    Runner(
        Folder(tmp_path / "run"), Selection(backends=()), Backends({}), "", stories, lasting.cache, watching, executor
    ).play()
    assert [held for _, held in watching.held] == [DRAWN, 0]


def test_why_a_trial_left_no_log_is_its_reason_in_the_results(lasting: House, tmp_path: Path) -> None:
    stories = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    executor, folder = FakeExecutor(), Folder(tmp_path / "run")
    Runner(
        folder, Selection(backends=()), Backends({}), "", stories, lasting.cache, Watching(executor), executor
    ).play()
    (cell,) = score_run(folder, lambda *_: None)[0].cells
    assert cell.status == "not-run" and cell.reason.startswith("RuntimeError: nobody plays it")


SERVERS = {"plain": None, "a1": "a", "a2": "a", "b": "b"}


@pytest.mark.parametrize(
    ("waiting", "under_way", "alone", "next_"),
    [
        (["a2", "plain"], ["a1"], True, 1),
        (["a2", "b", "plain"], ["a1"], True, 1),
        (["a2", "b"], ["plain"], True, 0),
        (["plain", "plain"], ["plain"], True, 0),
        (["a1", "a2"], ["a1"], True, 0),
        (["a2", "plain"], ["a1"], False, 0),
        (["a2"] * 100 + ["plain"], ["a1"], True, 0),
    ],
)
def test_who_would_wait_for_a_server_is_passed_over_while_there_are_others_near(
    lasting: House, tmp_path: Path, waiting: list[str], under_way: list[str], alone: bool, next_: int
) -> None:
    executor = FakeExecutor()
    executor.alone = alone
    playables = {
        label: replace(local.make_playable("bm25"), server=_serve(server)) for label, server in SERVERS.items()
    }
    runner = Runner(
        Folder(tmp_path / "run"),
        Selection(backends=()),
        Backends(playables),
        "",
        [],
        lasting.cache,
        Watching(executor),
        executor,
    )
    assert runner._find_next([_ask(each) for each in waiting], [_ask(each) for each in under_way]) == next_


def _serve(name: str | None) -> Server | None:
    return Server((), f"http://{name}", "URL", "key", "make it") if name else None


def _ask(label: str) -> DrillTrial:
    return DrillTrial(backend=label, drill="keeping", size=20, seed=1, k=5)
