"""Do the measures see it? A planted fault against the sound reference: what moved, and what had to or must not."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from harness.machine.containment import find_degree
from harness.machine.modules import import_all
from harness.metrics.trust import BY_CHANCE
from harness.metrics.trust.speed import UNSTEADY
from harness.model.dates import count_reused
from harness.model.trial import Better, Definition, Measure, Measured, NotMeasured, ReadPolicy, WritePolicy
from harness.selftest import allowed, planted, planted_ways
from harness.selftest.planted import base
from harness.selftest.planted.base import REFERENCE, Planted
from harness.selftest.planted_ways import PlantedWay
from harness.selftest.proof import Breach

# By `__module__`: what a module imports to build on is listed with the module that defines it.
STORES: tuple[type[Planted], ...] = tuple(
    fault
    for module in import_all(planted.__name__, planted.__path__)
    for fault in vars(module).values()
    if isinstance(fault, type) and issubclass(fault, Planted) and fault.__module__ == module.__name__
    if module is not base and not fault.__name__.startswith("_") and not fault.breaks
)
"""The classes of every module of that package that a measure can see; a name that begins with an underscore is of one
for others to build on."""
WAYS: tuple[type[PlantedWay], ...] = tuple(
    fault
    for fault in vars(planted_ways).values()
    if isinstance(fault, type) and issubclass(fault, PlantedWay) and fault.must
)
FAULTS: tuple[type[Planted | PlantedWay], ...] = (*STORES, *WAYS)

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
    """A backend with one bug, or a way of writing with one, to a sound backend.

    Attributes:
        must: Measures that flag it.
        may: Measures or whole families that may move too, as the golden file says.
        never: Measures that it was made to deceive, and that must not be better than the reference's.
        untold: Measures that have to say that it cannot be told.
        older: The release whose stores it takes over; empty: drills of that are not played.
        write: How its story is written.
        story: Another than that of all faults of stores.
        read: How its story is read.
        way: The class in `planted_ways` that writes; empty: the sound one.
    """

    name: str
    adapter: str
    bug: str
    must: tuple[str, ...]
    may: tuple[str, ...]
    never: tuple[str, ...] = ()
    older: str = ""
    untold: tuple[str, ...] = ()
    write: WritePolicy = "curated"
    story: str = ""
    read: ReadPolicy = "trusting"
    way: str = ""


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
        return count_reused(reused, len(self.days), "plays")


class FaultNameError(Exception):
    """No planted fault has this name. One line, for users."""


def list_planted(names: Sequence[str] = ()) -> tuple[PlantedFault, ...]:
    """All planted faults that this machine can hold off, or those of these names. Raises FaultNameError."""
    held = find_degree() != "module path only"
    known = {made.__name__: made for made in FAULTS if issubclass(made, PlantedWay) or held or not made.contained}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "they stand in harness/selftest/planted/"
            raise FaultNameError(f"fault '{name}' is not known; {hint}")
    may = allowed.read()
    return tuple(_describe(known[name], tuple(may.get(name, ()))) for name in dict.fromkeys(names or known))


def _describe(made: type[Planted | PlantedWay], may: tuple[str, ...]) -> PlantedFault:
    bug = " ".join((made.__doc__ or "").split())
    if issubclass(made, PlantedWay):
        fault = PlantedFault(made.__name__, REFERENCE, bug, made.must, may)
        return replace(fault, write=made.write, story=made.story, read=made.read, way=made.__name__)
    adapter = f"{made.__module__}:{made.__name__}"
    return PlantedFault(made.__name__, adapter, bug, made.must, may, made.never, made.older, made.untold)


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
    # a fault always plays the drills of these measures, so that `found` has each of them
    gained = [name for name in fault.never if name in sound and is_gain(definitions[name], sound[name], found[name])]
    return FaultRow(fault, moves, tuple(_list_breaches(fault, moves, gained, families)))


def is_gain(definition: Definition, sound: Measure, found: Measure) -> bool:
    """Whether `found` is better than what the reference reaches, or cannot be told to be no better."""
    if not isinstance(sound, Measured) or not isinstance(found, Measured):
        return sound.status != found.status
    # the other way round: a gain is there if the reference is below what was found
    return abs(found.value - sound.value) > SLACK and _is_below(definition.better, found.value, sound.value)


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
    # a kill may leave nothing to measure, which is the machine's doing
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
    return "worse" if _is_below(definition.better, sound, found) else None


def _is_below(better: Better, sound: float, found: float) -> bool:
    return found < sound if better == "higher" else found > sound


def _list_breaches(
    fault: PlantedFault, moves: Mapping[str, Move], gained: Sequence[str], families: Mapping[str, str]
) -> Iterator[Breach]:
    yield from _find_misnamed(fault, families)
    for name in fault.must:
        if name in families and moves.get(name) not in FLAGS:
            how = WORDS[moves[name]] if name in moves else "is as with the reference"
            yield Breach(fault.name, name, f"must flag it, and {how}")
    for name in fault.untold:
        if moves.get(name) != "untold":
            yield Breach(fault.name, name, "must say that it cannot be told")
    for name in gained:
        yield Breach(fault.name, name, "must not gain, and is better than with the reference or cannot be compared")
    for name in _find_beside(fault, moves, families):
        if not {name, families[name]} & {*fault.may}:
            yield Breach(fault.name, name, f"must not move, and {WORDS[moves[name]]}")


def _find_beside(fault: PlantedFault, moves: Mapping[str, Move], families: Mapping[str, str]) -> list[str]:
    """What moved that neither flags the fault nor is the machine's doing."""
    named = {*fault.must, *fault.untold}
    return [
        name
        for name, move in moves.items()
        if not {name, families[name]} & named and not (name in UNSTEADY and move == "worse")
    ]


def _find_misnamed(fault: PlantedFault, families: Mapping[str, str]) -> Iterator[Breach]:
    for name in (*fault.must, *fault.may, *fault.never, *fault.untold):
        if name not in families and name not in families.values():
            yield Breach(fault.name, name, "no such measure")
    if not fault.must and not fault.untold:
        yield Breach(fault.name, "must", "no measure has to flag it")


def renew(
    row: FaultRow, played: Collection[str], definitions: Mapping[str, Definition], families: Mapping[str, str]
) -> PlantedFault:
    """The fault that may move what it moved.

    Of what it might move before and did not, it keeps what was not played and what differs between equal plays.
    """
    moved = _find_beside(row.fault, row.moves, families)
    reached = {*moved, *(families[name] for name in moved)}
    varying = {name for name in families if definitions[name].varies}
    unseen = {word for word in (*families, *families.values()) if families.get(word, word) not in played}
    kept = {*row.fault.may} & (reached | varying | unseen)
    return replace(row.fault, may=tuple(sorted(kept | {name for name in moved if families[name] not in kept})))


WORDS: Mapping[Move, str] = {
    "worse": "is worse than with the reference",
    "failed": "failed",
    "unmeasured": "measures nothing any more",
    "untold": "cannot be told any more",
    "other": "is not as with the reference",
}


def list_proven(rows: Sequence[FaultRow]) -> set[str]:
    """The measures whose value some fault changed. To fail because a backend hangs proves no formula."""
    return {name for row in rows for name, move in row.moves.items() if move in ("worse", "other")}
