"""Stories as the controls play them: the bounds bound, knowing nothing changes nothing, no policy solves it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness import metrics
from harness.backend.registry import ORACLES
from harness.gateway import tokens
from harness.log.blobs import Blobs
from harness.log.events import Check, Closed, Opened, Recalled, Worked, Written, Wrote
from harness.log.reader import Log
from harness.machine import leftovers
from harness.model.results import Cell
from harness.model.scenario import Decision, Job, Outcome, Session
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, READ_POLICIES, SCRIPTED, ReadPolicy, Trial
from harness.play import controls, engine, plan
from harness.play.controls import GoldStore
from harness.play.session import Host, Tools
from harness.repo.checkout import Repo
from harness.repo.checks import Work, WorkTrees
from harness.selftest.local import Keeps, LocalHost
from harness.selftest.proof import SEED, Count, Told
from harness.text.classify import Classifier

TAKEN_AT_WORD: tuple[ReadPolicy, ...] = ("trusting", "newest")
"""The policies that look nothing up: with them, a bound must bound."""


class PaperWorkTrees(WorkTrees):
    """Believes every decision: each check prints the value that was chosen. Sound where the checks are proven."""

    def do(self, repo: Repo, commit: str, job: Job, values: Mapping[str, str | None]) -> Work:
        seen = (
            Check(decision=each.id, command=each.check, exit=0, value=values.get(each.id), output="")
            for each in job.decisions
        )
        return Work("", (), tuple(seen))


class DecisionEnd(NamedTuple):
    """How one decision ended: what was chosen, where it came from, and what the check saw of it."""

    value: str | None
    origin: str
    outcome: Outcome


DecisionEnds = Mapping[tuple[str, str], DecisionEnd]
"""(job, decision) -> how it ended."""


@dataclass(frozen=True)
class Played:
    """One trial as it was played: what was decided under each read policy (None: cold), and every recall."""

    ends: Mapping[ReadPolicy | None, DecisionEnds]
    recalled: Sequence[Recalled]
    heard: frozenset[str]
    """Every fact that some hit asserted."""


def play(told: Told, backend: str | None, work_trees: WorkTrees, k: int = DEFAULT_K, seed: int = SEED) -> Played:
    """Plays a story without noise, by appending: a control with gold, an adapter in this process, or cold (None)."""
    with leftovers.temporary() as folder:
        return _seen(told, *_logged(told, backend, work_trees, folder, 0, k, seed))


def scored(told: Told, backend: str, work_trees: WorkTrees, noise: int, keeps: Keeps | None = None) -> list[Cell]:
    """What a run would report of a backend that appends, one cell a read policy. keeps: what it does not drop."""
    with leftovers.temporary() as folder:
        log, _ = _logged(told, backend, work_trees, folder, noise, DEFAULT_K, SEED, keeps)
        return metrics.score([log])


def batches(told: Told, noise: int) -> list[tuple[Written, ...]]:
    """What a backend that appends is handed in a story, call by call."""
    with leftovers.temporary() as folder:
        log, _ = _logged(told, "none", PaperWorkTrees(), folder, noise, DEFAULT_K, SEED)
        return [log.items(event) for event in log.of(Wrote)]


def _logged(
    told: Told,
    backend: str | None,
    work_trees: WorkTrees,
    folder: Path,
    noise: int,
    k: int,
    seed: int,
    keeps: Keeps | None = None,
) -> tuple[Log, Classifier]:
    """The log of a trial, never written down; its payloads are in `folder`. With it, what read its texts."""
    host = _host(told, backend, folder / "store", seed, keeps)
    trial = Trial(
        backend=backend, scenario=told.scenario.id, write_policy="append" if backend else None, noise=noise, seed=seed,
        reader=SCRIPTED, k=k, budget=DEFAULT_BUDGET,
    )  # fmt: skip
    part = plan.part(trial, told.scenario, told.repo, told.classifier, host.backend if host else None, "", "")
    blobs = Blobs(folder / "blobs")
    classifier = Classifier(told.scenario, part.canaries)
    tools = Tools(told.repo, told.explorer, classifier, work_trees, blobs, tokens.count)
    events = tuple(engine.play(part, host, tools))
    opened, closed = events[0], events[-1]
    assert isinstance(opened, Opened) and isinstance(closed, Closed)
    return Log(folder / trial.id, "", opened, events, closed, told.scenario, blobs), classifier


def _host(told: Told, backend: str | None, root: Path, seed: int, keeps: Keeps | None) -> Host | None:
    if backend is None:
        return None
    if backend in ORACLES:
        gold, classifier = controls.wanted(backend, told.scenario), told.classifier
        return GoldStore(controls.described(backend), lambda: controls.GoldMemory(gold, classifier))
    return LocalHost(backend, root, seed, keeps)


def _seen(told: Told, log: Log, classifier: Classifier) -> Played:
    jobs = {job.id: job for _, job in told.scenario.jobs()}
    ends: dict[ReadPolicy | None, dict[tuple[str, str], DecisionEnd]] = {
        policy: {} for policy in (None, *READ_POLICIES)
    }
    for event in log.of(Worked):
        checks = {check.decision: check for check in event.checks}
        decisions = {decision.id: decision for decision in jobs[event.job].decisions}
        for choice in event.choices:
            check = checks[choice.decision]
            outcome = decisions[choice.decision].seen(check.exit, check.value)
            taken = DecisionEnd(choice.value, choice.origin, outcome)
            ends[event.read_policy][event.job, choice.decision] = taken
    recalled = list(log.of(Recalled))
    hits = (hit for event in recalled for hit in log.found(event).hits)
    return Played(ends, recalled, frozenset(name for hit in hits for name in classifier.read(hit.text).asserted))


def decisions(told: Told) -> Iterator[tuple[Session, Job, Decision]]:
    for session, job in told.scenario.jobs():
        for decision in job.decisions:
            yield session, job, decision


# --- the bounds ------------------------------------------------------------------------------------------------------


def oracle(told: Told, work_trees: WorkTrees) -> Count:
    """Decisions that are right with only the gold in memory. A verifying reader may be misled: that is noted."""
    return _bound(told, play(told, "oracle", work_trees), "oracle", "right", list(decisions(told)))


def stale_oracle(told: Told, work_trees: WorkTrees) -> Count:
    """Decisions with a stale option that are stale with only superseded facts in memory."""
    able = [each for each in decisions(told) if any(option.verdict == "stale" for option in each[2].options)]
    return _bound(told, play(told, "stale_oracle", work_trees), "stale_oracle", "stale", able)


def _bound(
    told: Told, played: Played, name: str, wanted: Outcome, cases: Sequence[tuple[Session, Job, Decision]]
) -> Count:
    good = 0
    for _, job, decision in cases:
        seen = {policy: played.ends[policy][job.id, decision.id] for policy in READ_POLICIES}
        key = f"jobs.{job.id}.{decision.id}"
        wrong = [policy for policy in TAKEN_AT_WORD if seen[policy].outcome != wanted]
        if wrong:
            end = seen[wrong[0]]
            told.breach(key, f"{name}, {' and '.join(wrong)}: {_ended(end)}, not {wanted}")
        elif seen["verifying"].outcome != wanted:
            told.note(key, f"{name}, verifying: {_ended(seen['verifying'])}")
        good += not wrong
    return Count(good, len(cases))


def _ended(taken: DecisionEnd) -> str:
    return f"{taken.outcome} from {taken.origin}"


def nothing(told: Told, work_trees: WorkTrees, cold: Played, backend: str = "none") -> Count:
    """Decisions that a memory without knowledge leaves as the cold arm takes them, under every read policy."""
    played, cases, good = play(told, backend, work_trees), list(decisions(told)), 0
    for _, job, decision in cases:
        before, after = (
            cold.ends[None][job.id, decision.id],
            {policy: played.ends[policy][job.id, decision.id] for policy in READ_POLICIES},
        )
        other = [policy for policy in READ_POLICIES if after[policy] != before]
        if other:
            end = after[other[0]]
            told.breach(
                f"jobs.{job.id}.{decision.id}",
                f"{backend}, {other[0]}: {_ended(end)}, but cold {_ended(before)}",
            )
        good += not other
    for name in sorted(played.heard):
        told.breach(f"facts.{name}", f"{backend} asserts it")
    return Count(good, len(cases))
