"""Which ways of working a backend supports: by itself, by what an adapter or the agent adds, or not at all, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from harness.adapter import FILTERS
from harness.model.backend import Backend, Declared
from harness.model.results import Results
from harness.model.trial import NEEDS, WritePolicy
from harness.report import words
from harness.report.model import table, ways

Level = Literal["native", "emulated", "unsupported"]
WAYS: Sequence[WritePolicy] = [way for way, needs in NEEDS.items() if needs]
"""Ways of writing that take more of a backend than to store and to find."""
HEADS = (*(ways.WRITES[way] for way in WAYS), "filtered")
BY_THE_CLOCK = "its own lifetime is told once it is over: it runs by the wall clock, and a story lies in the past"


class Supported(NamedTuple):
    """How far one way of working goes with one backend."""

    level: Level
    why: str


def list_supported(results: Results) -> Iterator[tuple[str, list[Supported]]]:
    """Each ranked row with its ways, in the order of HEADS."""
    for name in table.list_ranked(results):
        if backend := results.backends[name].backend:
            yield (
                table.show_name(results, name),
                [*(_judge_write(backend, way) for way in WAYS), _judge_filter(backend)],
            )


def _judge_write(backend: Backend, way: WritePolicy) -> Supported:
    found = _join([(need, backend.find_support(need)) for need in NEEDS[way]])
    if way != "expire" or found.level == "unsupported":
        return found
    own = backend.find_support("expiry")
    if own.supported and backend.supports("update"):
        return Supported("native", BY_THE_CLOCK)
    return Supported("emulated", words.make_visible(f"the agent deletes; of its own lifetime: {own.note}", 200))


def _judge_filter(backend: Backend) -> Supported:
    """One part of a filter is enough to ask with; what is not there of the others is told."""
    asked = [(name.removeprefix("filter_"), backend.find_support(name)) for name in FILTERS]
    there = [each for each in asked if each[1].supported]
    if not there:
        return Supported("unsupported", words.make_visible(asked[0][1].note, 200))
    lacking = [f"{name}: {said.note}" for name, said in asked if not said.supported]
    level, why = _join(there)
    return Supported(level, words.make_visible("; ".join(dict.fromkeys([*filter(None, [why]), *lacking])), 200))


def _join(found: Sequence[tuple[str, Declared]]) -> Supported:
    """As far as the least of what it takes."""
    levels: tuple[Level, ...] = "unsupported", "emulated", "native"
    level = next(level for level in levels if any(said.level == level for _, said in found))
    notes = [f"{name}: {said.note}" for name, said in found if said.level == level and said.note]
    return Supported(level, words.make_visible("; ".join(dict.fromkeys(notes)), 200))
