"""What a selection means: which trials are played, in which order, and what each of them is made of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from harness.backend import registry
from harness.log.events import PROTOCOL
from harness.model.backend import Backend
from harness.model.drill import DrillTrial, Plan
from harness.model.scenario import Scenario
from harness.model.trial import SCRIPTED, Selection, Trial, WritePolicy, digest
from harness.play import drills, readers, writer
from harness.play.drills.stage import Drill
from harness.play.engine import make_canaries
from harness.play.session import Part
from harness.play.story import Story

PLACEBOS = ("placebo", "protocol")
"""Controls that say the same whatever they are told: what a model does for having a memory, whatever it holds."""
MANY = 5000
"""Memories of a trial or a drill that take half a minute to embed, so that they are embedded for who asks only."""


class Shard(NamedTuple):
    """A share of a run: scenarios with all their trials, then backends with all their drills, are dealt in turns.

    A scenario is never split, as its measures need its cold arm and its controls.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`2/4`. Raises ValueError, one line, for anything else."""
        found = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
        if found is None or int(found[1]) > int(found[2]):
            raise ValueError(f"shard '{text}' is not of the form 2/4: the number of a share, and of how many")
        return cls(int(found[1]), int(found[2]))

    def takes(self, at: int) -> bool:
        """Whether the share holds what stands at this place, counted from 0."""
        return at % self.of == self.number - 1


def list_trials(selection: Selection, scenarios: Sequence[Scenario], apart: Collection[str] = ()) -> list[Trial]:
    """Trials in the order of play: a scenario's cold arm and bounds first, then backend by backend, so that lines
    compare.

    Args:
        apart: Backends whose memories lie in a server: it has the wall clock, whatever a run asks for.
    """
    found = (
        Trial(
            backend=backend,
            scenario=scenario.id,
            write_policy=write,
            noise=amount,
            seed=seed,
            reader=selection.reader,
            k=selection.k,
            budget=selection.budget,
            undated=selection.undated,
            # Neither cold nor a control with gold is told anything.
            writer=SCRIPTED if backend in (None, *registry.ORACLES) else selection.writer,
            feed="facts" if backend in (None, *registry.ORACLES) else selection.feed,
            clock="wall" if backend in (None, *registry.ORACLES, *apart) else selection.clock,
            rounds=selection.rounds,
        )
        for scenario in scenarios
        for seed in selection.seeds
        for backend, write, amount in _list_variants(selection)
    )
    # a level or a way that is named twice is one trial
    return list(dict.fromkeys(found))


def _list_variants(selection: Selection) -> list[tuple[str | None, WritePolicy | None, int]]:
    """Every noise level with the headline's way of writing; others are contrasts, at the headline's noise only."""
    found: list[tuple[str | None, WritePolicy | None, int]] = [(None, None, 0)]
    # without noise: who looks up the gold would not meet it
    found += [(name, "append", 0) for name in registry.ORACLES]
    for spec in selection.backends:
        # plays above, named or not
        if spec.adapter in registry.ORACLES:
            continue
        if spec.adapter in PLACEBOS:  # no way of writing and no noise would change what they say
            found.append((spec.label, selection.headline_write, selection.headline_noise))
            continue
        for write in selection.writes:
            levels = selection.noise if write == selection.headline_write else (selection.headline_noise,)
            found += [(spec.label, write, amount) for amount in sorted(levels, reverse=True)]
    return found


def make_part(trial: Trial, story: Story, backend: Backend | None, source: str, embedder: str, chat: str = "") -> Part:
    """A trial with its noise, its canaries, and the digests of everything that its outcome depends on.

    Args:
        source, embedder: Digests.
        chat: Who answers models inside the backend, or the reader's; empty: nobody.
    """
    memories, noise = story.noise(trial.noise, trial.seed, trial.feed)
    digests: dict[str, str] = {
        "protocol": str(PROTOCOL),
        "scenario": story.digest,
        "fixture": story.repo.digest,
        "noise": noise,
        "reader": readers.digest(trial.reader),
        **({"program": program} if (program := readers.name_program(trial.reader)) else {}),
        **({"writer": writer.digest()} if trial.writer != SCRIPTED else {}),
    }
    if backend is not None:
        digests |= _list_digests(backend, source, embedder, chat)
    elif chat:
        # in the cold arm the reader's own model is all that answers
        digests["chat"] = chat
    return Part(trial, story.scenario, memories, make_canaries(story.scenario, trial.seed), digests)


def _list_digests(backend: Backend, source: str, embedder: str, chat: str) -> dict[str, str]:
    return {
        "adapter": source,
        "backend": backend.version,
        "settings": digest(dict(backend.settings)),
        "embedder": embedder,
        **({"chat": chat} if chat else {}),
    }


NOBODY: Mapping[str, str] = MappingProxyType({})


def list_drills(
    selection: Selection, backends: Iterable[str], taking_over: Mapping[str, str] = NOBODY
) -> list[DrillTrial]:
    """Backend by backend, the drills that were asked for, in the order of play. Raises DrillError.

    Args:
        taking_over: Those that another release is played with, whose stores they take over: label -> that release's.
    """
    return [
        DrillTrial(
            backend=backend,
            drill=name,
            size=_size(selection, drills.ALL[name]),
            seed=selection.seeds[0],
            k=selection.k,
            older=taking_over[backend] if drills.ALL[name].hands_over else "",
        )
        for backend in backends
        for name in drills.choose_drills(selection.drills)
        if backend in taking_over or not drills.ALL[name].hands_over
    ]


def explain_unplanned(selection: Selection, planned: Sequence[DrillTrial]) -> str:
    """A line that says why nothing comes of the drills that were asked for; empty if something does."""
    if not selection.drills or planned or not all(drills.ALL[name].hands_over for name in selection.drills):
        return ""
    name = " and ".join(selection.drills)
    return f"drill {name}: name two releases of one backend, the older one first: -b mem0@2.0.4 -b mem0@2.2.1"


def _size(selection: Selection, drill: Drill) -> int:
    return drill.least if selection.drill_size == "least" else selection.drill_size or drill.size


def write_drill(drill: Drill, size: int, seed: int) -> Plan:
    """What a drill writes and asks: the same for every backend, so that it is kept, unless that takes much memory."""
    return _write(drill, size, seed) if size < MANY else drill.plan(size, seed)


@lru_cache
def _write(drill: Drill, size: int, seed: int) -> Plan:
    return drill.plan(size, seed)


@lru_cache
def digest_drill(drill: Drill, size: int, seed: int) -> str:
    return write_drill(drill, size, seed).digest


def drill_digests(plan: str, backend: Backend, source: str, embedder: str, chat: str = "") -> dict[str, str]:
    """The digests of everything that a drill's outcome depends on.

    Args:
        plan: That of what it writes.
    """
    return {"protocol": str(PROTOCOL), "plan": plan, **_list_digests(backend, source, embedder, chat)}


def compute_identity(trial: Trial | DrillTrial, digests: Mapping[str, str]) -> str:
    """Equal for two trials that must have the same outcome: what resume compares."""
    return digest([trial.model_dump(mode="json"), dict(digests)])
