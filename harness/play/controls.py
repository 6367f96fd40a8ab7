"""Controls that know the gold: `oracle` returns only what is right, `stale_oracle` only what was superseded.

They live in the harness, in this process, so that gold never reaches an adapter. They bound every other row: where
the oracle fails or the stale oracle does not act stale, a task cannot tell anything about staleness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.adapter import CAPABILITIES, Ack, BaseMemory, Hit, Item, Layer, Scope, Usage
from harness.model.backend import Backend, Declared
from harness.model.scenario import Scenario
from harness.play.store import InOnePage, InThisProcess
from harness.text.classify import Classifier

KEPT = ("ranked", "abstains", "usage", "source", "created", "scope_org", "scope_repo", "scope_branch", "scope_user")

JOB = ""
"""Stands for any question that the story does not ask itself."""


class GoldMemory(InOnePage, BaseMemory):
    """Remembers everything, and answers a question of the story with the wanted facts that it was told."""

    took = 0.0

    def __init__(self, wanted: Mapping[tuple[str, str], Sequence[str]], classifier: Classifier) -> None:
        self._wanted, self._classifier = wanted, classifier
        self._told: dict[str, Hit] = {}
        self._written = 0

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = []
        for item in items:
            self._written += 1
            hit = Hit(str(self._written), item.text, 1.0, item.source, item.at, item.scope, None, item.confidence)
            for fact in self._classifier.read(item.text).asserted:
                self._told[fact] = hit
            acks.append(Ack((hit.memory_id,)))
        return acks

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        # a reader in words of its own is answered by what its job needs
        facts = self._wanted.get((query, at), self._wanted.get((JOB, at), ()))
        return [self._told[fact] for fact in facts if fact in self._told][:k]

    def usage(self) -> Usage:
        return Usage()

    def close(self) -> None:
        self._told.clear()

    def kill(self) -> None:
        self._told.clear()


@dataclass
class GoldStore(InThisProcess):
    """A control with gold: lives in this process, keeps nothing."""

    backend: Backend
    make: Callable[[], GoldMemory]
    root: Path = Path()

    folder: None = None

    def open(self) -> GoldMemory:
        return self.make()

    def flush(self) -> None:
        """Nothing is held back."""

    def layers(self) -> list[Layer]:
        return []


def list_wanted(name: str, scenario: Scenario) -> dict[tuple[str, str], list[str]]:
    """(query, story time) -> the facts that this control answers with; a reader may ask for its job in other words."""
    table: dict[tuple[str, str], list[str]] = {}
    for session, probe in scenario.probes():
        stale = [before for fact in probe.gold for before in scenario.predecessors(fact)]
        for _, text in probe.ask.phrasings():
            # the same words may be asked again on a day on which another fact holds
            table[text, scenario.find_day(session, probe).isoformat()] = list(probe.gold) if name == "oracle" else stale
    verdict = "right" if name == "oracle" else "stale"
    for session, job in scenario.jobs():
        for decision in job.decisions:
            facts = [option.fact for option in decision.options if option.verdict == verdict]
            table[decision.question, session.at.isoformat()] = facts
            table.setdefault((JOB, session.at.isoformat()), []).extend(facts)
    return table


def describe(name: str) -> Backend:
    """How a control with gold appears in the log."""
    support = {word: Declared(level="native" if word in KEPT else "unsupported") for word in CAPABILITIES}
    return Backend(name=name, version="1", support=support, control=True)
