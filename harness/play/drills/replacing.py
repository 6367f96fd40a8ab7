"""What takes another's place: one memory for several, one whose end is near, one that comes after a deletion.

Ends are told in story time, far from the day on which this is played: a memory that ended in 2000 held in 1999, and one
that ends in 2999 has ended in 3000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.adapter import Scope
from harness.log.transcript import Op
from harness.model.drill import Piece
from harness.play.drills.durability import write_lesson
from harness.play.drills.reading import read_back
from harness.play.drills.stage import NOW, DrillSession

SCOPE = Scope(repo="storefront-changes", org="acme")
ELSEWHERE = Scope(repo="storefront-heirs", org="acme")
GROUPS, SEVERAL = 2, 3
"""How often memories are replaced together, and how many."""
TURNED = 6
"""Memories that an update gives another matter, so that what they were found by finds them no more. Every other one is
updated twice."""
LONG_AGO, EARLIER, PAST = "1998-01-01T00:00:00+00:00", "1999-06-01T00:00:00+00:00", "2000-01-01T00:00:00+00:00"
FUTURE, LATER = "2999-12-31T00:00:00+00:00", "3000-06-01T00:00:00+00:00"
TIMES = {"now": NOW, "earlier": EARLIER, "later": LATER}
"""Step -> the story time at which it asks."""
ENDS = {
    "endless": None, "lasting-1": FUTURE, "lasting-2": FUTURE, "ended-1": PAST, "ended-2": PAST,
    "shortened": FUTURE, "exchanged": FUTURE,
}  # fmt: skip
CHANGES: tuple[tuple[str, str, Op], ...] = (("shortened", "shorter", "update"), ("exchanged", "exchange", "supersede"))
"""The first has its end ahead, the second, which takes its place, behind it."""
HEIRS = (("doomed-1", "heir-1", SCOPE), ("doomed-2", "heir-2", ELSEWHERE), ("doomed-3", "heir-3", SCOPE))
"""What is deleted, and what is written next: in its scope, in another, and in its scope after reopening."""


def plan(seed: int) -> Iterator[Piece]:
    for group in range(1, GROUPS + 1):
        yield _make_piece(f"joint-{group}", "joint", seed)
        for number in range(1, SEVERAL + 1):
            yield _make_piece(f"several-{group}.{number}", "several", seed, twin=f"joint-{group}")
    for name, end in ENDS.items():
        yield _make_piece(name, name.partition("-")[0], seed, expires=end)
    for twin, name, _ in CHANGES:
        yield _make_piece(name, name, seed, expires=PAST, twin=twin)
    for number in range(1, TURNED + 1):
        yield _make_piece(f"turned-{number}", "turned", seed)
        if number % 2 == 0:
            yield _make_piece(f"half-turn-{number}", "half turn", seed, twin=f"turned-{number}")
        yield _make_piece(f"turn-{number}", "turn", seed, twin=f"turned-{number}")
    for twin, name, scope in HEIRS:
        yield _make_piece(twin, "doomed", seed)
        yield _make_piece(name, "heir", seed, scope=scope, twin=twin)


def _make_piece(
    name: str, role: str, seed: int, *, scope: Scope = SCOPE, expires: str | None = None, twin: str | None = None
) -> Piece:
    item, canary = write_lesson("keeping", seed, name, scope)
    # written before the earliest day for which it is asked
    dated = replace(item, at=LONG_AGO, expires=expires) if name in ENDS else replace(item, expires=expires)
    return Piece(name=name, role=role, item=dated, canary=canary, twin=twin)


def play(stage: DrillSession) -> None:
    """Open before and after; between, the store is closed and reopened if it outlives its process."""
    if stage.supports("supersede"):
        _join(stage)
    if stage.supports("update"):
        _turn(stage)
    ending = stage.plan.of(*dict.fromkeys(name.partition("-")[0] for name in ENDS))
    if stage.supports("expiry"):
        _end(stage, ending)
    if stage.supports("forget"):
        for doomed, heir, _ in HEIRS[:-1]:
            _delete(stage, doomed)
            _inherit(stage, heir)
        _delete(stage, HEIRS[-1][0])
    if stage.supports("persistent"):
        stage.close("replaced")
        stage.open("once more")
    if stage.supports("forget"):
        _inherit(stage, HEIRS[-1][1])
    if stage.supports("expiry"):
        _ask(stage, "reopened later", [*stage.plan.of("endless", "ended"), *_list_changed(stage)], NOW)


def _join(stage: DrillSession) -> None:
    several = stage.plan.of("several")
    stage.remember("several", several)
    stage.settle("several")
    read_back(stage, "several", SCOPE, several)
    for joint in stage.plan.of("joint"):
        ids = [name for piece in several if piece.twin == joint.name for name in stage.ids.get(piece.name, ())]
        if ids:
            stage.change("joined", "supersede", ids, joint)
    stage.settle("joined")
    read_back(stage, "joined", SCOPE, several)


def _turn(stage: DrillSession) -> None:
    stage.remember("turned", stage.plan.of("turned"))
    stage.settle("turned")
    # in the order of the plan, in which a half turn stands before the turn of the same memory
    for piece in stage.plan.of("half turn", "turn"):
        if ids := stage.ids.get(piece.twin or ""):
            stage.change("turned", "update", ids, piece)
    stage.settle("turned")
    _ask(stage, "turned", stage.plan.of("turn"), NOW)


def _end(stage: DrillSession, pieces: Sequence[Piece]) -> None:
    stage.remember("ending", pieces)
    stage.settle("ending")
    for step, at in TIMES.items():
        _ask(stage, step, stage.plan.of("endless", "lasting", "ended"), at)
    for old, name, op in CHANGES:
        if stage.supports(op) and (ids := stage.ids.get(old)):
            stage.change("changed", op, ids, stage.plan.by_name[name])
    stage.settle("changed")
    _ask(stage, "changed", [*stage.plan.of("endless"), *_list_changed(stage)], NOW)


def _list_changed(stage: DrillSession) -> list[Piece]:
    return [stage.plan.by_name[name] for _, name, op in CHANGES if stage.supports(op)]


def _ask(stage: DrillSession, step: str, pieces: Sequence[Piece], at: str) -> None:
    for piece in pieces:
        stage.recall(step, piece.item.text, SCOPE, about=[piece], at=at)


def _inherit(stage: DrillSession, name: str) -> None:
    stage.remember("inherited", [stage.plan.by_name[name]])


def _delete(stage: DrillSession, name: str) -> None:
    """The last that was written: the next number of a careless counter is its own."""
    piece = stage.plan.by_name[name]
    stage.remember("doomed", [piece])
    if ids := stage.ids.get(name):
        stage.call("doomed", "forget", SCOPE, list(ids), about=[piece])
