"""Faults of a capture, told apart by the stage at which they lose right decisions.

They capture in this process and know what a transcript tells, so that nothing else is lost: a sound capture loses
nothing, and each fault at its own stage alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.adapter import CAPABILITIES, Ack, Hit, Message, Scope, Source, applies
from harness.backend.registry import AdapterEntry
from harness.gateway.meter import Meter
from harness.log.reader import read
from harness.machine import leftovers
from harness.metrics import losses
from harness.metrics.view import Record
from harness.model.backend import Backend, Declared
from harness.model.facts import CANARY
from harness.model.scenario import Scenario, Session
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, SCRIPTED, ReadPolicy, Spec, Trial
from harness.play.backends import Playable
from harness.play.controls import GoldMemory, GoldStore
from harness.play.environment import Environment, Settings
from harness.play.trial import play_trial
from harness.selftest.control_plays import TAKEN_AT_WORD
from harness.selftest.local import LocalStores, PaperWorkTrees, require_whole
from harness.selftest.proof import SEED, ScenarioProof

CAN = ("ranked", "observe", "entries", "source", "created", "usage", "scope_org", "scope_repo", "scope_branch",
       "scope_user")  # fmt: skip
Lost = Mapping[tuple[ReadPolicy, str], int]
"""Way of reading and stage -> decisions that were lost there."""


class Capture(GoldMemory):
    """A sound capture: a memory for each fact that a session tells, where it holds; what it corrects is taken away.

    Attributes:
        stages: Where it loses decisions, by the way of reading.
    """

    stages: ClassVar[Mapping[ReadPolicy, str]] = {}

    def __init__(self, scenario: Scenario, canaries: Mapping[str, str]) -> None:
        self._scenario, self._canaries = scenario, canaries
        self._sessions = {session.id: session for session in scenario.sessions}
        self._held: dict[str, Hit] = {}
        self._heard = 0

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        self._heard += 1
        if not self.takes(self._heard):
            return Ack(())
        own = self._sessions[session]
        told = own.list_told()
        kept = [name for name, holds in told.items() if holds]
        for name in [name for name, holds in told.items() if not holds]:
            self.correct(name)
        for name in kept:
            for old in self._scenario.predecessors(name):
                self.correct(old)
            # told again, it comes last: a recall brings what is held in the order of telling
            self._held.pop(name, None)
            self._held[name] = self._write(name, own, at)
        return Ack(tuple(kept))

    def _write(self, name: str, session: Session, at: str) -> Hit:
        text = self._scenario.by_id[name].plain.text.replace(CANARY, self._canaries.get(name, ""))
        source = Source(session=session.id)
        return Hit(name, text, source=source, created=self.date(at), scope=self.place(name, session))

    def takes(self, number: int) -> bool:
        return True

    def correct(self, name: str) -> None:
        self._held.pop(name, None)

    def place(self, name: str, session: Session) -> Scope:
        return self._scenario.home(self._scenario.by_id[name])

    def date(self, at: str) -> str:
        return at

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        wanted = self._list_wanted(query)
        return [hit for name, hit in self._held.items() if name in wanted and applies(hit.scope or Scope(), scope)][:k]

    def _list_wanted(self, query: str) -> set[str]:
        """All that a question could be about, right or wrong."""
        found = set[str]()
        for _, job in self._scenario.jobs():
            for decision in job.decisions:
                if decision.question == query:
                    found |= {option.fact for option in decision.options}
        return found

    def entries(self, scope: Scope) -> list[Hit]:
        return [hit for hit in self._held.values() if hit.scope == scope]

    def close(self) -> None:
        self._held.clear()

    kill = close


class DropsEveryThirdSession(Capture):
    """A queue that is full, or an answer that is no JSON: nothing of the session is kept, and no call fails."""

    stages: ClassVar = {"trusting": "uncaptured", "newest": "uncaptured"}

    def takes(self, number: int) -> bool:
        return number % 3 != 0


class MergesScopes(Capture):
    """Files all that was said under the session's repository: other branches and repositories are forgotten."""

    stages: ClassVar = {"trusting": "unscoped", "newest": "unscoped"}

    def place(self, name: str, session: Session) -> Scope:
        held = self._scenario.place(session)
        return Scope(repo=held.repo, org=held.org)


class KeepsTheRetracted(Capture):
    """Only adds: what a session takes back or replaces stays, and comes first."""

    stages: ClassVar = {"trusting": "unused", "newest": "unused"}

    def correct(self, name: str) -> None:
        """Nothing is taken away."""


class InventsADate(KeepsTheRetracted):
    """Dates what it keeps as it likes: each session before the one that was held before it."""

    stages: ClassVar = {"trusting": "unused", "newest": "undated"}

    def date(self, at: str) -> str:
        return f"{2000 - self._heard}-01-01T00:00:00+00:00"


CAPTURES: tuple[type[Capture], ...] = (
    Capture, DropsEveryThirdSession, MergesScopes, KeepsTheRetracted, InventsADate
)  # fmt: skip


@dataclass(frozen=True)
class _Capturing(LocalStores):
    make: type[Capture] = Capture
    proof: ScenarioProof | None = None

    @contextmanager
    def lend(  # type: ignore[override]  # a store of another kind
        self, playable: Playable, seed: int, folder: Path, older: Playable | None = None
    ) -> Iterator[tuple[GoldStore, Meter]]:
        assert self.proof is not None
        scenario, canaries = self.proof.scenario, self.proof.canaries
        yield GoldStore(playable.backend, lambda: self.make(scenario, canaries)), Meter()


def list_all_lost(proof: ScenarioProof) -> dict[str, Lost]:
    """Of each capture, by its name."""
    return {each.__name__: list_lost(proof, each) for each in CAPTURES}


def judge(stories: Sequence[Mapping[str, Lost]], many: bool) -> Iterator[tuple[str, str]]:
    """What a capture lost at another stage than its own, and, over many stories, where it should have lost some.

    What nobody told, and what was lost by no memory, is no capture's doing.
    """
    for each in CAPTURES:
        lost = _add(stories, each)
        own = set(each.stages.items())
        for policy, stage in sorted({*lost} - own):
            if stage not in (losses.UNTOLD.name, losses.ELSEWHERE.name):
                yield each.__name__, f"{policy}: {lost[policy, stage]} decisions are lost as {stage}"
        for policy, stage in sorted(own - {*lost}) if many else ():
            yield each.__name__, f"{policy}: no decision is lost as {stage}"


def _add(stories: Sequence[Mapping[str, Lost]], capture: type[Capture]) -> Counter[tuple[ReadPolicy, str]]:
    return sum((Counter(story[capture.__name__]) for story in stories), Counter())


def describe(stories: Sequence[Mapping[str, Lost]]) -> Iterator[str]:
    """A line for each capture: where it loses decisions."""
    for each in CAPTURES if stories else ():
        lost = [f"{n} {stage} ({policy})" for (policy, stage), n in sorted(_add(stories, each).items())]
        yield f"capture {each.__name__}: decisions lost: {', '.join(lost) or 'none'}"


def list_lost(proof: ScenarioProof, make: type[Capture]) -> Lost:
    """Plays a story that is handed over as it was spoken to one of the captures."""
    name = make.__name__
    support = {word: Declared(level="native" if word in CAN else "unsupported") for word in CAPABILITIES}
    playable = Playable(
        AdapterEntry(name, f"{__name__}:{name}", control=True), Spec(adapter=name),
        Backend(name=name, version="1", support=support, control=True),
    )  # fmt: skip
    trial = Trial(
        backend=name, scenario=proof.scenario.id, write_policy="append", noise=0, seed=SEED, reader=SCRIPTED,
        k=DEFAULT_K, budget=DEFAULT_BUDGET, feed="native",
    )  # fmt: skip
    with leftovers.make_temporary() as folder:
        settings = Settings(folder, {name: playable}, {proof.scenario.id: proof.story}, embedder=None)
        stores = _Capturing(make=make, proof=proof)
        with Environment(settings, stores=stores, work_trees=PaperWorkTrees()) as environment:
            record = Record(require_whole(read(play_trial(trial, environment), environment.blobs)))
            return Counter(
                (policy, loss.stage.name)
                for policy in TAKEN_AT_WORD
                for loss in losses.find_losses(record, policy).values()
            )
