"""What is marked as ended, asked for days before and after; more of it is nearer to a question than what holds.

One of it has the text of a memory elsewhere, one is updated afterwards, one is deleted, and two are marked once more.
The store is compacted behind all ends, as the date of its newest memory says. Then a snapshot taken before this is
restored; what has ended is told again in the same words, and marked right before a kill; and at last the scope is
forgotten as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.adapter import Scope, Source
from harness.model.drill import Piece
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import NOW, DrillSession

SCOPE = Scope(repo="storefront-former", org="acme")
ELSEWHERE = Scope(repo="storefront-former-api", org="acme")
MARKED = 7
"""More than hits are asked for."""
ALL = 20
"""More than hold in the scope: no order hides one."""
WRITTEN, ENDED = "2025-06-02T09:00:00+00:00", "2025-09-15T23:30:00-05:00"
UNTIL, SINCE = "2025-09-13T12:00:00+00:00", "2025-09-18T12:00:00+00:00"
"""Days on both sides: some keep a day and no time."""
LATER, SOONER = "2025-11-20T12:00:00+00:00", "2025-08-20T12:00:00+00:00"
"""Ends of a second mark."""
SOURCE = Source("5e1f0c2a9b7d4e63", "docs/former.md", 12, "session-former")


def plan(seed: int) -> Iterator[Piece]:
    standing, canary = write_lesson("keeping", seed, "standing", SCOPE)
    words = standing.text.removesuffix(f" {canary}")
    told = replace(standing, at=WRITTEN, source=SOURCE, confidence=0.8)
    yield Piece(name="standing", role="standing", item=told, canary=canary, query=words)
    for number in range(1, MARKED + 1):
        item = replace(told, text=f"{words} {number:02}")
        yield Piece(name=f"marked-{number}", role="marked", item=item)
    yield Piece(name="namesake", role="namesake", item=replace(told, text=f"{words} 01", scope=ELSEWHERE))
    spare, canary = write_lesson("keeping", seed, "spare", SCOPE)
    newest = replace(spare, text=f"{spare.text} newest", scope=ELSEWHERE, at=NOW)
    yield Piece(name="newest", role="newest", item=newest)
    yield Piece(name="spare", role="spare", item=replace(spare, at=WRITTEN, source=SOURCE), canary=canary)
    for role, twin in (("again", f"marked-{MARKED}"), ("once again", "again")):
        again, canary = write_lesson("keeping", seed, role, SCOPE)
        again = replace(again, at=WRITTEN, source=SOURCE, confidence=0.8)
        yield Piece(name=role, role=role, item=again, canary=canary, twin=twin)
    dated, canary = write_lesson("keeping", seed, "said again", SCOPE)
    for role, at in (("outdated", WRITTEN), ("said again", SINCE)):
        yield Piece(name=role, role=role, item=replace(dated, at=at), canary=canary)


def play(stage: DrillSession) -> None:
    """In a store of its own."""
    if not stage.supports("deprecate"):
        return
    stage.renew()
    stage.open("former")
    marked = stage.plan.of("marked")
    stage.remember("former", [*stage.plan.of("standing"), *marked, *stage.plan.of("namesake", "spare", "newest")])
    stage.settle("former")
    _ask_until(stage, "former", marked)
    # a memory that the store took apart has several ids, and each of them ends
    parts = [(piece, each) for piece in marked for each in stage.ids.get(piece.name, ())]
    if parts:
        ids = [each for _, each in parts]
        stage.call("marked", "deprecate", SCOPE, ids, ENDED, about=[piece for piece, _ in parts])
    stage.settle("marked")
    _ask(stage, "marked", marked)
    if stage.supports("persistent"):
        stage.close("marked")
        if stage.supports("compact"):
            stage.compact("reopened")
        stage.open("reopened")
        _ask(stage, "reopened", marked)
    snapshot = stage.call("marked", "snapshot") if stage.supports("snapshot", "restore") else None
    *_, gone, turned = marked
    if stage.supports("update") and stage.ids.get(turned.name):
        (again,) = stage.plan.of("again")
        stage.change("unmarked", "update", stage.ids[turned.name], again)
        stage.settle("unmarked")
        stage.recall("unmarked", again.item.text, SCOPE, about=[again], k=ALL, at=SINCE)
        _mark_again(stage, again)
    _mark_once_more(stage, marked[0], LATER)
    _mark_once_more(stage, marked[1], SOONER)
    _mark_spare(stage)
    if stage.supports("forget") and stage.ids.get(gone.name):
        stage.call("gone", "forget", SCOPE, list(stage.ids[gone.name]), about=[gone])
        stage.settle("gone")
        # for a day on which it held: on any other its end would hide it
        stage.recall("gone", gone.item.text, SCOPE, about=[gone], k=ALL, at=UNTIL)
    if snapshot is not None:
        stage.call("restored", "restore", snapshot)
        stage.settle("restored")
        _ask_since(stage, "restored", marked)
        # deleted by request, which no snapshot brings back
        _ask_until(stage, "restored", [piece for piece in marked if piece is not gone])
        _ask_spare(stage, "restored")
    _tell_again(stage)
    if stage.supports("forget_scope"):
        stage.call("emptied", "forget_scope", SCOPE, about=marked)
        stage.settle("emptied")
        _ask_until(stage, "emptied", marked)
    stage.close("former")


def _mark_again(stage: DrillSession, piece: Piece) -> None:
    """What an update unmarked is marked once more, its id named twice, and updated once more."""
    (last,) = stage.plan.of("once again")
    ids = stage.ids.get(piece.name, ())
    if ids:
        stage.call("marked again", "deprecate", SCOPE, [*ids, *ids], ENDED, about=[piece])
        stage.settle("marked again")
        _ask_since(stage, "marked again", [piece])
        _ask_until(stage, "marked again", [piece])
        stage.change("unmarked again", "update", ids, last)
        stage.settle("unmarked again")
        stage.recall("unmarked again", last.item.text, SCOPE, about=[last], k=ALL, at=SINCE)


def _mark_once_more(stage: DrillSession, piece: Piece, end: str) -> None:
    """Of both ends the earlier one counts."""
    if ids := stage.ids.get(piece.name):
        step, ask = ("marked later", _ask_since) if end == LATER else ("marked sooner", _ask_until)
        stage.call(step, "deprecate", SCOPE, list(ids), end, about=[piece])
        stage.settle(step)
        ask(stage, step, [piece])


def _mark_spare(stage: DrillSession) -> None:
    """What holds in the snapshot is marked after it: the restore takes the mark away."""
    (spare,) = stage.plan.of("spare")
    if ids := stage.ids.get(spare.name):
        _ask_spare(stage, "spare")
        stage.call("spare marked", "deprecate", SCOPE, list(ids), ENDED, about=[spare])
        stage.settle("spare marked")


def _ask_spare(stage: DrillSession, step: str) -> None:
    for piece in stage.plan.of("spare"):
        stage.recall(f"{step} standing", piece.item.text, SCOPE, about=[piece], k=ALL, at=SINCE)


def _tell_again(stage: DrillSession) -> None:
    """What has ended and is said once more holds again, whatever the store knows of its words; then it ends for good,
    and the process is killed at once."""
    for step, role, end in (("outdated", "outdated", ENDED), ("said again", "said again", LATER)):
        (piece,) = stage.plan.of(role)
        stage.remember(step, [piece])
        stage.settle(step)
        stage.recall(f"{step} standing", piece.item.text, SCOPE, about=[piece], k=ALL, at=piece.item.at)
        if ids := stage.ids.get(piece.name):
            stage.call(f"{step} marked", "deprecate", SCOPE, list(ids), end, about=[piece])
    if stage.supports("persistent"):
        stage.kill("said again marked")
        stage.open("killed")
        # at the usual time of asking, which lies behind both ends
        stage.recall("killed since", piece.item.text, SCOPE, about=[piece], k=ALL)


def _ask(stage: DrillSession, step: str, marked: Sequence[Piece]) -> None:
    _ask_since(stage, step, marked)
    _ask_until(stage, step, marked)
    for piece in stage.plan.of("standing", "namesake"):
        stage.recall(f"{step} standing", piece.query or piece.item.text, piece.item.scope, about=[piece], at=SINCE)


def _ask_since(stage: DrillSession, step: str, marked: Sequence[Piece]) -> None:
    for piece in marked:
        stage.recall(f"{step} since", piece.item.text, SCOPE, about=[piece], k=ALL, at=SINCE)


def _ask_until(stage: DrillSession, step: str, marked: Sequence[Piece]) -> None:
    for piece in marked:
        stage.recall(f"{step} until", piece.item.text, SCOPE, about=[piece], k=ALL, at=UNTIL)
