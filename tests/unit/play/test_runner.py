"""What a run holds while it plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from harness.log.folder import Folder
from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Trial
from harness.play.backends import Backends, describe_all
from harness.play.environment import Control, Settings
from harness.play.executor import Submit
from harness.play.runner import Runner
from tasks import loader
from tests.unit.conftest import House

DRAWN = 5


class FakeExecutor:
    """Draws noise for each trial and plays none."""

    slots, here = 2, True

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
