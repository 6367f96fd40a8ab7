"""Switched embedder: a store is written, closed, and opened again with another embedder behind the endpoint.

Twice, each time on a store of its own: the other embedder makes vectors of as many numbers, then of half as many. The
adapter is told how long vectors are, as somebody tells it who changes a model in a configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from harness.adapter import Scope
from harness.model.backend import EmbedderName
from harness.model.drill import Piece, Plan
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import Drill, DrillSession
from harness.play.store import Lost

SCOPE = Scope(repo="tidewater")
OTHERS: tuple[EmbedderName, ...] = ("another", "shorter")
NEW = 5
"""Of so many memories, one is written after the switch."""
ASKED = 1000
"""Memories that are asked for at most; what a larger store holds beyond is written before the switch (`crowd`)."""


def plan(size: int, seed: int) -> Plan:
    return Plan(pieces=tuple(_make_piece(at, seed) for at in range(size)))


def _make_piece(at: int, seed: int) -> Piece:
    name = f"memory {at + 1:03}"
    item, canary = write_lesson("embedder", seed, name, SCOPE)
    role = "crowd" if at >= ASKED else "new" if at % NEW == NEW - 1 else "kept"
    return Piece(name=name, role=role, item=item, canary=canary)


def play(stage: DrillSession) -> None:
    for name in OTHERS:
        if name != OTHERS[0]:
            stage.renew()
            # the other embedder of the turn before still answers
            stage.switch(f"{name} written", "own")
        _write(stage, f"{name} written")
        stage.switch(name, name)
        with suppress(Lost):  # logged; to refuse is one of the answers
            _read(stage, name)


def _write(stage: DrillSession, step: str) -> None:
    kept = stage.plan.of("kept")
    stage.open(step)
    stage.remember(step, [*kept, *stage.plan.of("crowd")])
    stage.settle(step)
    _ask(stage, step, kept)
    stage.close(step)


def _read(stage: DrillSession, step: str) -> None:
    new = stage.plan.of("new")
    stage.open(step)
    stage.settle(step)
    _ask(stage, step, stage.plan.of("kept"))
    stage.remember(step, new)
    stage.settle(step)
    _ask(stage, step, new)
    stage.close(step)


def _ask(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        if stage.ids.get(piece.name):
            stage.recall(step, piece.item.text, SCOPE, about=[piece])


DRILL = Drill("embedder", place=75, size=60, least=40, needs=("persistent",), plan=plan, play=play, provokes=True)
