"""Bursts: many writes in flight at once, to one process, then to two on one store, of which at last one deletes.

Each burst has a store of its own, in which a few memories were written one after the other before: the control.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from harness.adapter import Scope, Source
from harness.model.drill import Piece, Plan
from harness.play.drills.durability import write_lesson
from harness.play.drills.reading import read_back
from harness.play.drills.stage import Drill, DrillSession
from harness.play.store import Lost

SCOPE = Scope(repo="tidewater")
SMALL = 20
CALM = 3
"""Memories that are written one after the other before a burst."""
HANDLES = ("a", "b")
BESIDE = 40
"""Memories that one process writes while the other deletes as many, one after the other."""


def plan(size: int, seed: int) -> Plan:
    """Bursts of 20 and of `size` to one process, and one of `size` that two processes share."""
    sizes = {"small": SMALL, "large": max(size, SMALL), "shared": max(size, SMALL)}
    names = [(role, f"{role} {at + 1:03}") for role, amount in sizes.items() for at in range(amount)]
    calm = [("calm", f"calm {role} {at + 1}") for role in sizes for at in range(CALM)]
    beside = [(role, f"{role} {at + 1:03}") for role in ("doomed", "beside") for at in range(BESIDE)]
    return Plan(pieces=tuple(_make_piece(role, name, seed) for role, name in (*calm, *names, *beside)))


def _make_piece(role: str, name: str, seed: int) -> Piece:
    item, canary = write_lesson("burst", seed, name, SCOPE)
    cited = replace(item, source=Source(path=f"docs/{name.replace(' ', '-')}.md", line=1))
    return Piece(name=name, role=role, item=cited, canary=canary)


def play(stage: DrillSession) -> None:
    if stage.supports("concurrent"):
        _play_one(stage, "small", HANDLES[:1])
        stage.renew()
        _play_one(stage, "large", HANDLES[:1])
    if stage.supports("multi_process", "persistent"):
        stage.renew()
        _play_one(stage, "shared", HANDLES)


def _play_one(stage: DrillSession, role: str, handles: Sequence[str]) -> None:
    calm = [piece for piece in stage.plan.of("calm") if piece.name.split()[1] == role]
    written, deletes = stage.plan.of(role), len(handles) > 1 and stage.supports("forget")
    doomed, beside = (stage.plan.of(each) if deletes else () for each in ("doomed", "beside"))
    for who in handles:
        stage.open(role, who)
    for piece in calm:
        stage.remember(f"{role} calm", [piece])
    if doomed:
        stage.remember(f"{role} doomed", doomed)
    stage.settle(f"{role} calm")
    _ask(stage, f"{role} calm", calm)
    with suppress(Lost):  # logged; what is left is looked at
        stage.burst(role, {who: written[at :: len(handles)] for at, who in enumerate(handles)})
        for who in handles:
            stage.settle(role, who)
        # only what was acknowledged can be deleted
        if stored := [piece for piece in doomed if stage.ids.get(piece.name)]:
            stage.burst(role, {handles[0]: beside}, (handles[1], stored))
            stage.settle(role)
    _look(stage, role, [*calm, *written, *beside], handles)


def _look(stage: DrillSession, role: str, pieces: Sequence[Piece], handles: Sequence[str]) -> None:
    """By a fresh process where the store outlives one."""
    step = f"{role} after"
    if stage.supports("persistent"):
        for who in handles:
            stage.close(role, who)
        stage.open(step)
    if stage.supports("entries"):
        read_back(stage, step, SCOPE, pieces)
    _ask(stage, step, pieces)
    stage.close(step)


def _ask(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        # what was never acknowledged is promised to nobody
        if stage.ids.get(piece.name):
            stage.recall(step, piece.item.text, SCOPE, about=[piece])


DRILL = Drill("burst", place=72, size=100, least=40, needs=(), plan=plan, play=play)
