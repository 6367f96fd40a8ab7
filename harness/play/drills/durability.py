"""Durability: one store, killed again and again; what was acknowledged before a kill is looked for after it.

A kill ends the process (SIGKILL), it does not cut the power: what the operating system was handed survives, so a store
that never asks for its data to reach the disk passes here.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from math import ceil

from harness.adapter import Item, Scope, Source
from harness.model.drill import DrillName, Piece, Plan
from harness.model.trial import digest
from harness.play.drills.stage import Drill, DrillSession
from harness.play.store import Lost

ROUNDS = 20
SMALLEST = 4
"""Writes of a round at least: one before the look, one behind it, two in flight."""
NEWEST = 3
"""Writes of a round that are asked for by their own text after its kill."""
CALLS = 25
"""Batches of a round at most."""
ASKED = 1000
"""Writes that are asked for by their own text at most, some more than that: to ask for all takes time in the square of
the size. The others are listed only."""
AIR_MS = (1, 2, 4, 8, 16, 32)
"""How old a write in flight is when the process is killed: stores take from one to fifty for a write."""
UPDATE_MS = (4, 8, 16, 32, 64, 128)
"""Likewise an update, which some stores embed first."""
SCOPE = Scope(repo="tidewater")
WRITTEN = "2026-02-02T09:00:00+00:00"
BEGIN, END = "begin", "end"
TEMPLATES = (
    "{person} moved the {part} behind the {other} in change {n}",
    "The {part} retries {few} times before {person} is paged, see run {n}",
    "Ticket {n}: the {part} drops rows when the {other} is restarted",
    "{person} measured the {part} at {n} ms after the {other} was split off",
    "Keep {few} spare workers for the {part}; the {other} took them all in incident {n}",
    "The {part} reads its defaults from page {n}, which {person} maintains with the {other}",
)
PARTS = (
    "berth planner", "crane scheduler", "customs export", "gate camera feed", "hull inspection form", "invoice queue",
    "manifest parser", "pilot roster", "tide table import", "tugboat tracker", "weather bridge", "yard map",
)  # fmt: skip
PEOPLE = ("Anouk", "Bartek", "Chidi", "Delphine", "Emre", "Farah", "Goran", "Hyejin")


@dataclass(frozen=True)
class Round:
    """What happens up to one kill; pieces by name.

    Attributes:
        batches: Acknowledged writes, the last of them behind the look. change: what is forgotten or updated.
        late: Behind the last write, with no look between it and the kill.
        air: The write that the kill interrupts, `seconds` old; where the round updates, an update of `turned`.
    """

    name: str
    batches: tuple[tuple[str, ...], ...]
    forgotten: str | None
    updated: str | None
    late: bool
    air: tuple[str, ...]
    seconds: float

    @property
    def new(self) -> str:
        """The text that takes the place of `updated`."""
        return f"{self.name} new"

    @property
    def turned(self) -> str | None:
        """Written beside `updated`."""
        return self.updated and f"{self.updated.removesuffix('1')}2"


def plan_rounds(size: int, seed: int) -> tuple[Round, ...]:
    """`size` writes over up to 20 rounds; every other round from the second on forgets, the others update."""
    draw = random.Random(f"durability {size} {seed}")  # noqa: S311  reproducible on purpose
    amount = max(1, min(ROUNDS, size // SMALLEST))
    more = Counter(draw.randrange(amount) for _ in range(size - amount * SMALLEST))
    in_flight = set(draw.sample(range(amount), amount // 2))
    return tuple(_round(at, SMALLEST + more[at], at in in_flight, draw) for at in range(amount))


def _round(at: int, writes: int, in_flight: bool, draw: random.Random) -> Round:
    name = f"round {at + 1:02}"
    names = [f"{name}.{turn}" for turn in range(1, writes + 1)]
    # the first round has no older memory that it could update
    turns = bool(in_flight and at and at % 2 == 0)
    kept = writes - (draw.randint(1, 2) if in_flight and not turns else 0)
    cuts = sorted({0, *draw.sample(range(1, kept), draw.randint(1, min(CALLS, (kept + 1) // 2))), kept})
    oldest = f"round {at:02}.1" if at else None
    return Round(
        name=name,
        batches=tuple(tuple(names[start:end]) for start, end in pairwise(cuts)),
        forgotten=oldest if at % 2 else None,
        updated=None if at % 2 else oldest,
        # by twos, as forgetting and updating take turns by ones
        late=bool((at - 1) // 2 % 2),
        air=(f"{name} turn",) if turns else tuple(names[kept:]),
        seconds=draw.choice(UPDATE_MS if turns else AIR_MS) / 1000 if in_flight else 0.0,
    )


def plan(size: int, seed: int) -> Plan:
    nth = ceil(size / ASKED)
    return Plan(
        pieces=(
            *(piece for each in plan_rounds(size, seed) for piece in _list_pieces(each, seed, nth)),
            _make_piece(END, seed),
        )
    )


def _list_pieces(each: Round, seed: int, nth: int) -> Iterator[Piece]:
    """Of the writes of a round each nth is asked for by its own text, and the first, which a later round may change.
    Every other one has a source, and so has what an update writes."""
    for at, name in enumerate(chain(*each.batches)):
        piece = _make_piece(name, seed, "listed" if at % nth else "kept")
        source = Source(path="docs/tides.md", line=at, session=each.name) if at % 2 else None
        yield replace(piece, item=replace(piece.item, source=source))
    for name in each.air:
        piece = _make_piece(name, seed, "air", each.turned)
        yield _cite(piece) if each.turned else piece
    if each.updated:
        yield _cite(_make_piece(each.new, seed, "new", each.updated))


def _cite(piece: Piece) -> Piece:
    return replace(piece, item=replace(piece.item, source=Source(path="docs/tides.md", session=piece.name)))


def _make_piece(name: str, seed: int, role: str = "kept", twin: str | None = None) -> Piece:
    item, canary = write_lesson("durability", seed, name, SCOPE)
    return Piece(name=name, role=role, item=item, canary=canary, twin=twin)


def write_lesson(drill: DrillName, seed: int, name: str, scope: Scope) -> tuple[Item, str]:
    """A memory that reads like repo work, and its canary: the last word, so that a text cut short has lost it."""
    canary = f"cw{digest([drill, seed, name])[:12]}"
    draw = random.Random(canary)  # noqa: S311  reproducible on purpose
    part, other = draw.sample(PARTS, 2)
    text = draw.choice(TEMPLATES).format(
        person=draw.choice(PEOPLE), part=part, other=other, n=draw.randrange(1000, 9999), few=draw.randrange(2, 30)
    )
    return Item(f"{text} {canary}", scope, WRITTEN, "project"), canary


def play(stage: DrillSession) -> None:
    schedule = plan_rounds(stage.trial.size, stage.trial.seed)
    pieces = stage.plan.by_name
    stage.open(BEGIN)
    for each in schedule:
        changed = _play_round(stage, each)
        old = stage.ids.get(each.turned or "", ())
        # what was never acknowledged, or cannot be updated, has no update in flight
        flies = bool(old) and stage.supports("update") if each.turned else True
        air = [pieces[name] for name in each.air if flies]
        stage.kill(each.name, during=air, seconds=each.seconds, of=old)
        if each is schedule[-1]:
            # a kill may cost what was written long before it, so at last all is asked for
            asked: Sequence[Piece] = _list_asked(stage.plan.pieces)
        else:
            asked = [*(pieces[name] for name in [*chain(*each.batches)][-NEWEST:]), *changed]
        if not _revive(stage, each.name, asked):
            return
    stage.remember(END, [pieces[END]])  # a store that opens may still refuse to be written to
    stage.close(END)


def _play_round(stage: DrillSession, each: Round) -> list[Piece]:
    """Up to the moment of the kill; returns the pieces that were changed."""
    pieces = stage.plan.by_name
    *early, last = ([pieces[name] for name in batch] for batch in each.batches)
    for batch in early:
        stage.remember(each.name, batch)
    changed = [] if each.late else _change(stage, each)
    _look(stage, f"before the kill of {each.name}", [*_list_asked(chain(*early)), *changed])
    stage.remember(each.name, last)
    return _change(stage, each) if each.late else changed


def _list_asked(pieces: Iterable[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.role != "listed"]


def _change(stage: DrillSession, each: Round) -> list[Piece]:
    """Forgets or updates an older memory; what is not supported, or was never acknowledged, is left as it is."""
    pieces = stage.plan.by_name
    name = each.forgotten or each.updated
    ids = stage.ids.get(name or "")
    if name is None or not ids or not stage.supports("forget" if each.forgotten else "update"):
        return []
    if each.forgotten:
        stage.call(each.name, "forget", SCOPE, list(ids), about=[pieces[name]])
        return [pieces[name]]
    new, old = pieces[each.new], pieces[name]
    stage.change(each.name, "update", ids, new)
    # both, as the old text must not come back after the kill
    return [new, old]


def _revive(stage: DrillSession, name: str, asked: Sequence[Piece]) -> bool:
    """Opened in a fresh process and looked at. Whether that can be done at all: one failure gets a second chance."""
    for step in (f"after the kill of {name}", f"once more after the kill of {name}"):
        with suppress(Lost):  # the fault is logged, and says what the kill has done
            stage.open(step)
            _look(stage, step, asked)
            return True
    return False


def _look(stage: DrillSession, step: str, asked: Iterable[Piece]) -> None:
    """What is listed, and what each memory's own text brings of those that were ever acknowledged."""
    stage.settle(step)
    if stage.supports("entries"):
        stage.list_ids(step, SCOPE)
    for piece in asked:
        if stage.ids.get(piece.name):
            stage.recall(step, piece.item.text, SCOPE, about=[piece])


DRILL = Drill("durability", place=60, size=120, least=40, needs=("persistent",), plan=plan, play=play)
