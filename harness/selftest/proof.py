"""What the proofs of the suite share: a story with its tools, and the ways to say what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from harness.model.scenario import Scenario
from harness.play.engine import make_canaries
from harness.play.story import Story
from harness.repo.checkout import Repo
from harness.text.classify import Classifier

SEED = 1
"""Of canaries and drawn orders. A proof says the same each time."""


class Count(NamedTuple):
    """Cases for which something held, of all cases."""

    hits: int
    of: int

    def __str__(self) -> str:
        return f"{self.hits}/{self.of}"


class Tried(NamedTuple):
    """One way to take a decision, the others of its job taken right, and what the tests said of it.

    Attributes:
        way: `nothing`, `naive`, or the verdict of an option.
        visible: The tests that the repository has pass; None: there are none.
        seen: What its check printed.
    """

    job: str
    decision: str
    way: str
    visible: bool | None
    seen: str | None


@dataclass(frozen=True)
class Breach:
    """Something that a suite must not do: which file, which key of it, and why."""

    file: Path | str
    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: {self.reason}"


@dataclass
class ScenarioProof:
    """One resolved scenario with what its proofs share, and what they found."""

    file: Path
    scenario: Scenario
    repo: Repo
    breaches: list[Breach] = field(default_factory=list)
    notes: list[Breach] = field(default_factory=list)
    """What a reader of the table should know, and no author must change."""
    tried: list[Tried] = field(default_factory=list)
    """The ways in which the jobs were done."""

    @cached_property
    def canaries(self) -> dict[str, str]:
        return make_canaries(self.scenario, SEED)

    @cached_property
    def classifier(self) -> Classifier:
        return Classifier(self.scenario, self.canaries)

    @cached_property
    def story(self) -> Story:
        return Story(self.scenario, self.repo)

    def breach(self, key: str, reason: str) -> None:
        self.breaches.append(Breach(self.file, key, reason))

    def note(self, key: str, reason: str) -> None:
        self.notes.append(Breach(self.file, key, reason))
