"""Do the measures see it? A planted fault against the sound reference: what moved, and what had to or must not."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from harness.metrics.trust import BY_CHANCE
from harness.metrics.trust.speed import TAILS
from harness.model.results import count_reused
from harness.model.trial import Better, Definition, Measure, Measured, NotMeasured
from harness.selftest.planted.base import Planted
from harness.selftest.planted.catalogue import FAULTS
from harness.selftest.proof import Breach

SLACK = 1e-9
TIME = "seconds"
SLOWER, LONGER = 3.0, 0.05
"""A time moves when it is that many times as long, and by that many seconds: else it is the machine's doing."""

Move = Literal["worse", "failed", "unmeasured", "untold", "other"]
"""How a measure left what the reference reaches: to a worse value, to a failure, to another value where none is better
(these three flag a fault), or to a word that measures nothing, or that it cannot be told, which flag none."""
FLAGS: tuple[Move, ...] = ("worse", "failed", "other")


@dataclass(frozen=True)
class PlantedFault:
    """A backend with one bug.

    Attributes:
        must: Measures that flag it.
        may: Measures or whole families that may move too.
        never: Measures that it was made to deceive, and that must not be better than the reference's.
        untold: Measures that have to say that it cannot be told.
        older: The release whose stores it takes over; empty: drills of that are not played.
    """

    name: str
    adapter: str
    bug: str
    must: tuple[str, ...]
    may: tuple[str, ...]
    never: tuple[str, ...] = ()
    older: str = ""
    untold: tuple[str, ...] = ()


@dataclass(frozen=True)
class FaultRow:
    """What one fault moved, by measure, and what is wrong with that."""

    fault: PlantedFault
    moves: Mapping[str, Move]
    breaches: tuple[Breach, ...]

    @property
    def caught(self) -> list[str]:
        return [name for name, move in self.moves.items() if move in FLAGS]


@dataclass(frozen=True)
class Matrix:
    """Faults x measures.

    Attributes:
        reference: What the sound backend reaches.
        days: Backend and family -> when an earlier self-test played it; None: it was played now.
    """

    reference: Mapping[str, Measure]
    rows: tuple[FaultRow, ...]
    days: Mapping[tuple[str, str], date | None] = field(default_factory=dict)

    @property
    def breaches(self) -> tuple[Breach, ...]:
        return tuple(breach for row in self.rows for breach in row.breaches)

    def describe_reused(self) -> str:
        """How many plays are of earlier self-tests, and of which day; empty if none."""
        reused = {f"{name}: {family}": day for (name, family), day in self.days.items() if day}
        return count_reused(reused, len(self.days))


class FaultNameError(Exception):
    """No planted fault has this name. One line, for users."""


def list_planted(names: Sequence[str] = ()) -> tuple[PlantedFault, ...]:
    """All planted faults, or those of these names, as a child imports them. Raises FaultNameError."""
    known = {made.__name__: made for made in FAULTS}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "they stand in harness/selftest/planted/"
            raise FaultNameError(f"fault '{name}' is not known; {hint}")
    return tuple(map(_fault, (known[name] for name in dict.fromkeys(names)) if names else FAULTS))


def _fault(made: type[Planted]) -> PlantedFault:
    bug = " ".join((made.__doc__ or "").split())
    adapter = f"{made.__module__}:{made.__name__}"
    return PlantedFault(made.__name__, adapter, bug, made.must, made.may, made.never, made.older, made.untold)


def judge(
    fault: PlantedFault,
    sound: Mapping[str, Measure],
    found: Mapping[str, Measure],
    definitions: Mapping[str, Definition],
    families: Mapping[str, str],
) -> FaultRow:
    """Compares what a fault moved with what it must and may move.

    Args:
        found: Without those of drills that were not played.
        families: Measure -> the drill or story that it reads, a word that `may` knows too.
    """
    moves = {
        name: move
        for name, measure in sound.items()
        if name in found and (move := find_move(definitions[name], measure, found[name]))
    }
    gained = [name for name in fault.never if name in sound and gains(definitions[name], sound[name], found[name])]
    return FaultRow(fault, moves, tuple(_breaches(fault, moves, gained, families)))


def gains(definition: Definition, sound: Measure, found: Measure) -> bool:
    """Whether `found` is better than what the reference reaches, or cannot be told to be no better."""
    if not isinstance(sound, Measured) or not isinstance(found, Measured):
        return sound.status != found.status
    return abs(found.value - sound.value) > SLACK and _below(definition.better, found.value, sound.value)


def find_move(definition: Definition, sound: Measure, found: Measure) -> Move | None:
    """How `found` left what the reference reaches; None if it did not, or only for the better.

    Where the reference has nothing to measure, the best proportion stands in for what it would reach.
    """
    if isinstance(sound, Measured) and isinstance(found, Measured):
        return _value(definition, sound.value, found.value)
    if found.status == sound.status:
        return None
    if isinstance(found, Measured) and definition.unit == "proportion" and definition.better != "neither":
        return _value(definition, float(definition.better == "higher"), found.value)
    if found.status != "failed" and definition.name in BY_CHANCE:
        return None
    if isinstance(found, NotMeasured) and found.untold:
        return "untold"
    return "failed" if found.status == "failed" else "unmeasured"


def _value(definition: Definition, sound: float, found: float) -> Move | None:
    if definition.unit == TIME:
        return "worse" if found > max(sound * SLOWER, sound + LONGER) else None
    if abs(found - sound) <= SLACK:
        return None
    if definition.better == "neither":
        return "other"
    return "worse" if _below(definition.better, sound, found) else None


def _below(better: Better, sound: float, found: float) -> bool:
    return found < sound if better == "higher" else found > sound


def _breaches(
    fault: PlantedFault, moves: Mapping[str, Move], gained: Sequence[str], families: Mapping[str, str]
) -> Iterator[Breach]:
    yield from _misnamed(fault, families)
    for name in fault.must:
        if name in families and moves.get(name) not in FLAGS:
            how = WORDS[moves[name]] if name in moves else "is as with the reference"
            yield Breach(fault.name, name, f"must flag it, and {how}")
    for name in fault.untold:
        if moves.get(name) != "untold":
            yield Breach(fault.name, name, "must say that it cannot be told")
    for name in gained:
        yield Breach(fault.name, name, "must not gain, and is better than with the reference or cannot be compared")
    for name, move in moves.items():
        if name in TAILS and move == "worse":
            continue
        if not {name, families[name]} & {*fault.must, *fault.may, *fault.untold}:
            yield Breach(fault.name, name, f"must not move, and {WORDS[move]}")


def _misnamed(fault: PlantedFault, families: Mapping[str, str]) -> Iterator[Breach]:
    for name in (*fault.must, *fault.may, *fault.never, *fault.untold):
        if name not in families and name not in families.values():
            yield Breach(fault.name, name, "no such measure")
    if not fault.must and not fault.untold:
        yield Breach(fault.name, "must", "no measure has to flag it")


WORDS: Mapping[Move, str] = {
    "worse": "is worse than with the reference",
    "failed": "failed",
    "unmeasured": "measures nothing any more",
    "untold": "cannot be told any more",
    "other": "is not as with the reference",
}


def proven(rows: Sequence[FaultRow]) -> set[str]:
    """The measures whose value some fault changed. To fail because a backend hangs proves no formula."""
    return {name for row in rows for name, move in row.moves.items() if move in ("worse", "other")}
