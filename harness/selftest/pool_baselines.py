"""What the whole pool is worth: no read policy may solve the stories from it, and it must mislead often enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adapters.random import Random, RandomMemory
from harness.adapter import Item, Space
from harness.machine import leftovers
from harness.model.job import Decision
from harness.model.scenario import Session
from harness.model.trial import DEFAULT_K, READ_POLICIES, ReadPolicy
from harness.repo.checks import WorkTrees
from harness.selftest.control_plays import list_decisions, play_scenario
from harness.selftest.local import make_adapter
from harness.selftest.proof import Count, ScenarioProof

ALL = 10_000
"""More hits than any story has memories: the full pool."""
UNLIMITED = 1_000_000
"""More tokens than they have: what the pool is worth does not hang on how much of it is read."""
ORDERS = (1, 2, 3)
"""Seeds of the order in which a trusting reader meets the pool."""
DRAWS = 1000
"""Enough that no story looks unfair by the seeds that it happens to get."""


class UnscopedMemory(RandomMemory):
    scoped = False


class Unscoped(Random):
    """Draws from all memories, wherever they hold."""

    name = "unscoped"

    def open(self, space: Space) -> UnscopedMemory:
        return UnscopedMemory(self.path(space), space.seed)


@dataclass(frozen=True)
class PoolBaseline:
    """What everything that the story wrote so far is worth to each reader, and where it or the repository misleads."""

    solved: Mapping[ReadPolicy, Count]
    """Decisions that end right, by read policy, in several drawn orders."""
    newest_wrong: Count
    """Decisions of which the newest entry that asserts an option asserts a wrong one."""
    head_misleads: Count
    """Decisions of which a stale option's cited line still stands at HEAD."""
    only_memory: Count
    """Decisions of which no line at HEAD is cited for the right option."""
    large: Count
    """Questions of probes for which more memories are stored than are asked for."""
    small: tuple[str, ...]
    """The probes for which there are not."""


def measure_pool(proof: ScenarioProof, work_trees: WorkTrees, scoped: bool) -> PoolBaseline:
    """Reads the whole pool with each policy.

    Args:
        scoped: What holds elsewhere is kept apart, as a good store would.
    """
    backend = "random" if scoped else f"{__name__}:{Unscoped.__name__}"
    plays = [play_scenario(proof, backend, work_trees, ALL, seed, UNLIMITED) for seed in ORDERS]
    cases = list(list_decisions(proof))
    ends = {policy: [each.ends[policy] for each in plays] for policy in READ_POLICIES}
    solved = {
        policy: Count(sum(end.outcome == "right" for one in drawn for end in one.values()), len(cases) * len(ORDERS))
        for policy, drawn in ends.items()
    }
    # one drawn order will do: the newest entry is the same in each
    newest = plays[0].ends["newest"].values()
    probes = [event for event in plays[0].recalled if event.purpose == "probe"]
    return PoolBaseline(
        solved,
        Count(sum(end.origin == "memory" and end.outcome in ("stale", "lure") for end in newest), len(cases)),
        Count(sum(_misleads(proof, session, decision) for session, _, decision in cases), len(cases)),
        Count(
            sum(not _is_cited_still(proof, session, decision.right.fact) for session, _, decision in cases), len(cases)
        ),
        Count(sum(event.pool > DEFAULT_K for event in probes), len(probes)),
        tuple(dict.fromkeys(event.ref for event in probes if event.pool <= DEFAULT_K)),
    )


def _misleads(proof: ScenarioProof, session: Session, decision: Decision) -> bool:
    return any(
        option.verdict == "stale" and _is_cited_still(proof, session, option.fact) for option in decision.options
    )


def _is_cited_still(proof: ScenarioProof, session: Session, name: str) -> bool:
    """Whether the cited line of a fact is still in the repository at a session's commit."""
    source = proof.scenario.by_id[name].source
    if source is None or source.commit is None or source.path is None or source.line is None:
        return False
    state = proof.repo.trace(source.commit, source.path, source.line, session.commit).state
    return state in ("same", "moved", "renamed")


# --- chance ----------------------------------------------------------------------------------------------------------


class Chance(NamedTuple):
    """How often drawn memories held an answer, and how often k of N do by the hypergeometric law."""

    drawn: Count
    expected: float
    k: int
    n: int

    @property
    def fair(self) -> bool:
        """Within three standard errors."""
        error = math.sqrt(self.expected * (1 - self.expected) / self.drawn.of)
        return abs(self.drawn.hits / self.drawn.of - self.expected) <= 3 * error


def estimate_chance(proof: ScenarioProof, backend: str = "random", k: int = DEFAULT_K) -> Chance | None:
    """Draws for the story's first question that has an answer among at least 2k memories; None: it has none."""
    items = [Item(fact.plain.text, proof.scenario.home(fact), fact.since.isoformat(), fact.type)
             for fact in proof.scenario.facts]  # fmt: skip
    made = make_adapter(backend)
    with leftovers.make_temporary() as root:
        made.open(Space(str(root), "", "", 0, 0)).remember(items)
        for session, probe in proof.scenario.probes():
            place, at, query = proof.scenario.place(session), session.at.isoformat(), probe.ask.phrasings()[0][1]

            def recalled(seed: int, k: int) -> list[bool]:
                hits = made.open(Space(str(root), "", "", 0, seed)).recall(query, place, k, at)  # noqa: B023  called here
                gold = set(probe.gold)  # noqa: B023  called here, too
                return [bool(gold & proof.classifier.read(hit.text).asserted) for hit in hits]

            whole = recalled(0, ALL)
            n, g = len(whole), sum(whole)
            if g and n >= 2 * k:
                hits = sum(any(recalled(seed, k)) for seed in range(1, DRAWS + 1))
                return Chance(Count(hits, DRAWS), 1 - math.comb(n - g, k) / math.comb(n, k), k, n)
    return None
