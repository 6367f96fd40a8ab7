"""Plays trials in tests as a run does: scenarios with their tools, and one call per trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from harness.backend.registry import AdapterEntry
from harness.gateway.meter import Meter
from harness.log.events import Event
from harness.log.reader import Log, read
from harness.model.scenario import Scenario
from harness.model.trial import Spec, Trial
from harness.play import controls, plan, readers
from harness.play.backends import Playable
from harness.play.environment import Control, Environment, Settings
from harness.play.readers import AskModel, Reader
from harness.play.readers.scripted import Scripted
from harness.play.session import Part
from harness.play.store import Handle, Store
from harness.play.story import Story
from harness.play.trial import play_trial
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees
from harness.selftest.local import LocalStores


@dataclass
class OneStore:
    """A store that is there already, instead of a new one for each trial."""

    store: Store[Handle]
    ask_model: AskModel | None = None

    def warm(self, texts: Iterable[str], backend: str) -> None: ...
    def played(self, backend: str, meter: Meter) -> None: ...
    def check(self) -> None: ...
    def find_cut(self) -> str:
        return ""

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes]:
        return ()

    @contextmanager
    def lend(
        self, playable: Playable, seed: int, folder: Path, older: Playable | None = None
    ) -> Iterator[tuple[Store[Handle], Meter]]:
        yield self.store, Meter()

    def lend_chat(self) -> AbstractContextManager[tuple[AskModel | None, Meter]]:
        return nullcontext((self.ask_model, Meter()))

    def kill(self) -> None: ...


@dataclass
class Stage:
    """One scenario with what its trials share. Work that was done once in a module is not done again."""

    story: Story
    work_trees: WorkTrees
    reader: Reader = field(default_factory=Scripted)
    ask_model: AskModel | None = None

    @classmethod
    def of(cls, scenario: Scenario, repo: Repo) -> Stage:
        return cls(Story(scenario, repo), WorkTrees())

    @property
    def scenario(self) -> Scenario:
        return self.story.scenario

    @property
    def repo(self) -> Repo:
        return self.story.repo

    def part(self, backend: str | None, amount: int = 0, **changes: Any) -> Part:
        write = "append" if backend else None
        trial = Trial.model_validate(
            {
                "backend": backend, "scenario": self.scenario.id, "write_policy": write, "noise": amount, "seed": 1,
                "reader": "scripted", "k": 5, "budget": 800, **changes,
            }
        )  # fmt: skip
        return plan.make_part(trial, self.story, None, "", "")

    def play(
        self, folder: Path, host: Store[Handle], backend: str = "fake", control: Control | None = None, **changes: Any
    ) -> Log:
        """Plays into a log below `folder` and reads it back."""
        trial = self.part(backend, **changes).trial
        playable = Playable(AdapterEntry(backend, "fake:Fake", control=False), Spec(adapter=backend), host.backend)
        return self._played(folder, trial, playable, OneStore(host, self.ask_model), control)

    def gold(self, folder: Path, name: str) -> Log:
        """A control with gold."""
        playable = Playable(AdapterEntry(name, None, control=True), Spec(adapter=name), controls.describe(name))
        return self._played(folder, self.part(name).trial, playable)

    def cold(self, folder: Path, **changes: Any) -> Log:
        store = OneStore(cast(Any, None), self.ask_model) if self.ask_model else None
        return self._played(folder, self.part(None, **changes).trial, store=store)

    def _played(
        self,
        folder: Path,
        trial: Trial,
        playable: Playable | None = None,
        store: OneStore | None = None,
        control: Control | None = None,
    ) -> Log:
        playables = {trial.backend or "": playable} if playable else {}
        settings = Settings(folder, playables, {self.scenario.id: self.story}, embedder=None)
        with (
            patch.object(readers, "find", lambda _: self.reader),
            Environment(settings, control, store or LocalStores(), self.work_trees) as environment,
        ):
            return read(play_trial(trial, environment), environment.blobs)


def kinds(events: Sequence[Event]) -> list[str]:
    return [str(event.model_dump()["kind"]) for event in events]


def aliased(value: Any, names: Mapping[str, str]) -> Any:
    """Plain data with every memory id replaced by its alias: real backends draw them anew each time."""
    if isinstance(value, dict):
        return {names.get(key, key): aliased(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [aliased(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value
