"""Stories as the controls play them: the bounds bound, knowing nothing changes nothing, no policy solves it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from harness import metrics
from harness.log.events import Recalled, Worked, Wrote
from harness.log.parts import Written
from harness.log.reader import Log, read
from harness.machine import leftovers
from harness.model.cells import Cell
from harness.model.job import Decision, DecisionOutcome, Job
from harness.model.scenario import Session
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, READ_POLICIES, SCRIPTED, ReadPolicy, Trial
from harness.play.environment import Environment, Settings
from harness.play.trial import play_trial
from harness.repo.checks import WorkTrees
from harness.selftest import local
from harness.selftest.local import Keeps, LocalStores, PaperWorkTrees, require_whole
from harness.selftest.proof import SEED, Count, ScenarioProof
from harness.text.classify import Classifier

TAKEN_AT_WORD: tuple[ReadPolicy, ...] = ("trusting", "newest")
"""The policies that look nothing up: with them, a bound must bound."""


class DecisionEnd(NamedTuple):
    """How one decision ended: what was chosen, where it came from, and what the check saw of it.

    Attributes:
        refused: What a command of the job made the reader give up before.
    """

    value: str | None
    origin: str
    outcome: DecisionOutcome
    refused: tuple[str, ...] = ()


DecisionEnds = Mapping[tuple[str, str], DecisionEnd]
"""(job, decision) -> how it ended."""


@dataclass(frozen=True)
class PlayedStory:
    """One trial as it was played: what was decided under each read policy (None: cold), and every recall."""

    ends: Mapping[ReadPolicy | None, DecisionEnds]
    recalled: Sequence[Recalled]
    heard: frozenset[str]
    """Every fact that some hit asserted."""


def play_scenario(
    proof: ScenarioProof,
    backend: str | None,
    work_trees: WorkTrees,
    k: int = DEFAULT_K,
    seed: int = SEED,
    budget: int = DEFAULT_BUDGET,
) -> PlayedStory:
    """Plays a story without noise, by appending: a control with gold, an adapter in this process, or cold (None)."""
    with _log(proof, backend, work_trees, 0, k=k, seed=seed, budget=budget) as log:
        return _see(proof, log)


def score_scenario(
    proof: ScenarioProof, backend: str, work_trees: WorkTrees, noise: int, keeps: Keeps | None = None
) -> list[Cell]:
    """What a run would report of a backend that appends, one cell a read policy.

    Args:
        keeps: What it does not drop.
    """
    with _log(proof, backend, work_trees, noise, keeps) as log:
        return metrics.score([log])


def list_batches(proof: ScenarioProof, noise: int) -> list[tuple[Written, ...]]:
    """What a backend that appends is handed in a story, call by call."""
    # what it is handed does not depend on what it keeps, so a store that keeps nothing will do
    with _log(proof, "none", PaperWorkTrees(), noise) as log:
        return [log.items(event) for event in log.list_events(Wrote)]


@contextmanager
def _log(
    proof: ScenarioProof,
    backend: str | None,
    work_trees: WorkTrees,
    noise: int,
    keeps: Keeps | None = None,
    k: int = DEFAULT_K,
    seed: int = SEED,
    budget: int = DEFAULT_BUDGET,
) -> Iterator[Log]:
    """The log of a trial, with its payloads as long as the block lasts."""
    trial = Trial(
        backend=backend, scenario=proof.scenario.id, write_policy="append" if backend else None, noise=noise, seed=seed,
        reader=SCRIPTED, k=k, budget=budget,
    )  # fmt: skip
    with leftovers.make_temporary() as folder:
        settings = Settings(
            folder,
            {backend: local.make_playable(backend)} if backend else {},
            {proof.scenario.id: proof.story},
            embedder=None,
        )
        with Environment(settings, stores=LocalStores(keeps), work_trees=work_trees) as environment:
            yield require_whole(read(play_trial(trial, environment), environment.blobs))


def _see(proof: ScenarioProof, log: Log) -> PlayedStory:
    # another seed draws other canaries, and the classifier at hand would not know their texts
    same = log.opened.canaries == proof.canaries
    classifier = proof.classifier if same else Classifier(proof.scenario, log.opened.canaries)
    jobs = {job.id: job for _, job in proof.scenario.jobs()}
    ends: dict[ReadPolicy | None, dict[tuple[str, str], DecisionEnd]] = {
        policy: {} for policy in (None, *READ_POLICIES)
    }
    for event in log.list_events(Worked):
        checks = {check.decision: check for check in event.checks}
        decisions = {decision.id: decision for decision in jobs[event.job].decisions}
        for choice in event.choices:
            check = checks[choice.decision]
            outcome = decisions[choice.decision].judge(check.exit, check.value)
            taken = DecisionEnd(choice.value, choice.origin, outcome, choice.refused)
            ends[event.read_policy][event.job, choice.decision] = taken
    recalled = log.list_events(Recalled)
    hits = (hit for event in recalled for hit in log.find_answer(event).hits)
    return PlayedStory(ends, recalled, frozenset(name for hit in hits for name in classifier.read(hit.text).asserted))


def list_decisions(proof: ScenarioProof) -> Iterator[tuple[Session, Job, Decision]]:
    for session, job in proof.scenario.jobs():
        for decision in job.decisions:
            yield session, job, decision


# --- the bounds ------------------------------------------------------------------------------------------------------


def check_oracle(proof: ScenarioProof, work_trees: WorkTrees) -> Count:
    """Decisions that are right with only the gold in memory. Who checks git may be misled: that is noted."""
    return _check_bound(
        proof, play_scenario(proof, "oracle", work_trees), "oracle", "right", list(list_decisions(proof))
    )


def check_stale_oracle(proof: ScenarioProof, work_trees: WorkTrees) -> Count:
    """Decisions with a stale option that are stale with only superseded facts in memory, unless the job's own commands
    refuse that.
    """
    able = [each for each in list_decisions(proof) if any(option.verdict == "stale" for option in each[2].options)]
    return _check_bound(proof, play_scenario(proof, "stale_oracle", work_trees), "stale_oracle", "stale", able)


def _check_bound(
    proof: ScenarioProof,
    played: PlayedStory,
    name: str,
    wanted: DecisionOutcome,
    cases: Sequence[tuple[Session, Job, Decision]],
) -> Count:
    good = 0
    for _, job, decision in cases:
        seen = {policy: played.ends[policy][job.id, decision.id] for policy in READ_POLICIES}
        key = f"jobs.{job.id}.{decision.id}"
        wrong = [each for each in TAKEN_AT_WORD if not _is_bound(decision, seen[each], wanted)]
        if wrong:
            end = seen[wrong[0]]
            proof.breach(key, f"{name}, {' and '.join(wrong)}: {_describe_end(end)}, not {wanted}")
        elif misled := [each for each in READ_POLICIES if not _is_bound(decision, seen[each], wanted)]:
            proof.note(key, f"{name}, {' and '.join(misled)}: {_describe_end(seen[misled[0]])}")
        good += not wrong
    return Count(good, len(cases))


def _is_bound(decision: Decision, end: DecisionEnd, wanted: DecisionOutcome) -> bool:
    """Whether it ended as the bound demands, or was so until a command refused it."""
    return wanted in {end.outcome, *(option.verdict for option in map(decision.option, end.refused) if option)}


def _describe_end(taken: DecisionEnd) -> str:
    return f"{taken.outcome} from {taken.origin}"


def check_nothing(proof: ScenarioProof, work_trees: WorkTrees, cold: PlayedStory, backend: str = "none") -> Count:
    """Decisions that a memory without knowledge leaves as the cold arm takes them, under every read policy."""
    played, cases, good = play_scenario(proof, backend, work_trees), list(list_decisions(proof)), 0
    for _, job, decision in cases:
        before, after = (
            cold.ends[None][job.id, decision.id],
            {policy: played.ends[policy][job.id, decision.id] for policy in READ_POLICIES},
        )
        other = [policy for policy in READ_POLICIES if after[policy] != before]
        if other:
            end = after[other[0]]
            proof.breach(
                f"jobs.{job.id}.{decision.id}",
                f"{backend}, {other[0]}: {_describe_end(end)}, but cold {_describe_end(before)}",
            )
        good += not other
    for name in sorted(played.heard):
        proof.breach(f"facts.{name}", f"{backend} asserts it")
    return Count(good, len(cases))
