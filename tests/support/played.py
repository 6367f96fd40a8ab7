"""Plays trials in tests as a run does, without its folder: scenarios with their tools, and one call per trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.gateway import tokens
from harness.log.events import Event
from harness.log.lines import Writer
from harness.log.reader import Log, read
from harness.model.scenario import Scenario
from harness.model.trial import Trial
from harness.play import engine, noise
from harness.play.controls import GoldMemory, GoldStore, described, wanted
from harness.play.readers import Reader
from harness.play.readers.explore import Explorer
from harness.play.readers.scripted import Scripted
from harness.play.session import Host, Part, Tools
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees
from harness.text.classify import Classifier

from harness.log.blobs import Blobs  # isort: skip


@dataclass
class Stage:
    """One scenario with what its trials share. Work that was done once in a module is not done again."""

    scenario: Scenario
    repo: Repo
    explorer: Explorer
    work_trees: WorkTrees
    reader: Reader = field(default_factory=Scripted)

    @classmethod
    def of(cls, scenario: Scenario, repo: Repo) -> Stage:
        return cls(scenario, repo, Explorer(repo), WorkTrees())

    def part(self, backend: str | None, amount: int = 0, **changes: Any) -> Part:
        write = "append" if backend else None
        trial = Trial.model_validate(
            {
                "backend": backend, "scenario": self.scenario.id, "write_policy": write, "noise": amount, "seed": 1,
                "reader": "scripted", "k": 5, "budget": 800, **changes,
            }
        )  # fmt: skip
        memories = noise.generate(self.scenario, self.repo, Classifier(self.scenario), amount, trial.seed)
        return Part(trial, self.scenario, memories, engine.canaries(self.scenario, trial.seed), {"fake": "1"})

    def tools(self, part: Part, blobs: Blobs) -> Tools:
        read = Classifier(self.scenario, part.canaries)
        return Tools(self.repo, self.explorer, read, self.work_trees, blobs, tokens.count, reader=self.reader)

    def play(self, folder: Path, host: Host | None, backend: str | None = "fake", **changes: Any) -> Log:
        """Plays into a log below `folder` and reads it back."""
        part, blobs = self.part(backend if host else None, **changes), Blobs(folder / "blobs")
        path = folder / f"{part.trial.id}-{len(list(folder.glob('*.jsonl')))}.jsonl"
        with Writer(path) as writer:
            for event in engine.play(part, host, self.tools(part, blobs)):
                writer.append(event)
        return read(path, blobs)

    def gold(self, folder: Path, name: str) -> Log:
        """A control with gold."""
        part = self.part(name)
        classifier, facts = Classifier(self.scenario, part.canaries), wanted(name, self.scenario)
        return self.play(folder, GoldStore(described(name), lambda: GoldMemory(facts, classifier)), name)


def kinds(events: Sequence[Event]) -> list[str]:
    return [str(event.model_dump()["kind"]) for event in events]


def aliased(value: Any, names: Mapping[str, str]) -> Any:
    """Plain data with every memory id replaced by its alias: real backends draw them anew each time."""
    if isinstance(value, dict):
        return {names.get(key, key): aliased(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [aliased(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value
