"""Ends to the minute: what ends is asked for right before and right after, in another zone than that of its end.

One of the questions is nearer to memories that ended long ago, as many as hits are asked for: they take no place.
Between writing and asking the store is closed and reopened, if it outlives its process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from harness.adapter import Scope
from harness.log.transcript import Op
from harness.model.drill import Piece
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import DrillSession

SCOPE = Scope(repo="storefront-ends", org="acme")
WRITTEN = "2001-01-01T00:00:00+00:00"
NEAR = timedelta(minutes=20)
"""Less than zones differ by."""
ALL = 20
"""More than hold in the scope: no order hides one."""
OVER = "2001-01-15T00:00:00+00:00"
EARLY, BEFORE, AFTER, LATE = "long before", "right before", "right after", "long after"
AWAY = {BEFORE: (-NEAR,), AFTER: (NEAR, timedelta())}
"""By turns: at its end a memory has ended."""
FAR = {EARLY: "2001-02-01T00:00:00+00:00", LATE: "2101-02-01T00:00:00+00:00"}
ENDS = (
    "2024-02-29T23:50:00+00:00", "2024-12-31T23:30:00-05:00", "2025-03-30T03:00:00+02:00", "2025-10-26T02:30:00+02:00",
    "2025-11-02T01:30:00-05:00", "2026-01-31T09:00:00+05:45", "2026-03-31T00:00:00+02:00", "2026-04-01T12:00:00-03:30",
    "2041-06-30T17:00:00+00:00",
)  # fmt: skip
"""Leap days, ends of months and years, both sides of a change of the clock, midnight, and past 2038."""
CHANGES: tuple[tuple[str, str, Op], ...] = (
    ("2025-06-15T12:00:00+02:00", "2026-02-28T22:00:00-08:00", "update"),
    ("2026-05-31T00:00:00+01:00", "2025-08-31T23:00:00+10:00", "supersede"),
)
"""The end that is written, and the one that takes its place."""
FREED: tuple[Op, ...] = ("update", "supersede")
"""What takes the place of a memory with an end, and has none."""
ZONES = tuple(timezone(timedelta(hours=hours)) for hours in (0, -7, 9))


def plan(seed: int) -> Iterator[Piece]:
    first, *others = (_make_piece(f"ending-{number}", "ending", end, seed) for number, end in enumerate(ENDS))
    words = first.item.text.removesuffix(f" {first.canary}")
    for number in range(1, ALL + 1):
        item = replace(first.item, text=f"{words} {number:02}", expires=OVER)
        yield Piece(name=f"over-{number}", role="over", item=item)
    yield from (replace(first, query=words), *others)
    for end, later, op in CHANGES:
        yield _make_piece(f"before {op}", "ending before", end, seed)
        yield _make_piece(f"after {op}", "ending changed", later, seed, twin=f"before {op}")
    for op in FREED:
        yield _make_piece(f"bound {op}", "ending before", ENDS[-1], seed)
        yield _make_piece(f"freed {op}", "ending freed", None, seed, twin=f"bound {op}")


def _make_piece(name: str, role: str, end: str | None, seed: int, twin: str | None = None) -> Piece:
    item, canary = write_lesson("keeping", seed, name, SCOPE)
    return Piece(name=name, role=role, item=replace(item, at=WRITTEN, expires=end), canary=canary, twin=twin)


def write(stage: DrillSession) -> None:
    if not stage.supports("expiry"):
        return
    stage.remember("ends", stage.plan.of("over", "ending", "ending before"))
    for old, new, op in [*(("before", "after", op) for _, _, op in CHANGES), *(("bound", "freed", op) for op in FREED)]:
        if stage.supports(op) and (ids := stage.ids.get(f"{old} {op}")):
            stage.change("ends", op, ids, stage.plan.by_name[f"{new} {op}"])
    stage.settle("ends")


def ask(stage: DrillSession) -> None:
    """What was acknowledged; none if nothing ends here."""
    asked = [piece for piece in stage.plan.of("ending", "ending changed") if stage.ids.get(piece.name)]
    for step, at in FAR.items():
        # two are enough: so far from an end no zone matters
        _ask_at(stage, step, [(piece, at) for piece in asked[:2]])
    for step, away in AWAY.items():
        times = [_write_moment(piece, away[number % len(away)], number) for number, piece in enumerate(asked)]
        _ask_at(stage, step, list(zip(asked, times, strict=True)))
    # it has no end any more, so it holds long after the one that it had
    freed = [piece for piece in stage.plan.of("ending freed") if stage.ids.get(piece.name)]
    _ask_at(stage, BEFORE, [(piece, FAR[LATE]) for piece in freed])


def _write_moment(piece: Piece, away: timedelta, number: int) -> str:
    """The moment so far away from an end, as another clock shows it."""
    assert piece.item.expires is not None
    return (datetime.fromisoformat(piece.item.expires) + away).astimezone(ZONES[number % len(ZONES)]).isoformat()


def _ask_at(stage: DrillSession, step: str, questions: Sequence[tuple[Piece, str]]) -> None:
    for piece, at in questions:
        stage.recall(step, piece.query or piece.item.text, SCOPE, about=[piece], k=ALL, at=at)
