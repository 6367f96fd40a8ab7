"""Upgrade: one release writes a store, another opens it, reads, writes, deletes and opens it again.

Played twice, each time on a store of its own that the older release wrote: first the older release goes on with it,
which is the control, then the newer one takes it over. The older release has also marked memories as ended, updated
some, and taken a snapshot, which is restored at last.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from harness.adapter import Scope, Source
from harness.model.drill import Piece, Plan
from harness.model.trial import digest
from harness.play.drills.durability import write_lesson
from harness.play.drills.reading import read_back
from harness.play.drills.stage import Drill, DrillSession
from harness.play.drills.texts import REWRITTEN
from harness.play.store import Lost

Pass = Literal["control", "upgrade"]
"""Who goes on with the store: the release that wrote it, or the newer one."""
BATCH = 50
SCOPES = (Scope(repo="tidewater", org="harbour"), Scope(repo="breakwater", org="harbour"))
OFFSETS = ("+00:00", "-08:00", "+05:30")
ROLES = ("kept", "kept", "kept", "dropped before", "kept", "dropped after", "kept", "new")
"""By turns: deleted by the older release, deleted after it handed over, written after it handed over."""
SHELF = Scope(repo="saltmarsh", org="harbour")
UPKEEP = ("ended", "changed", "change")
"""Of each so many in a scope of their own: marked as ended, updated, and what it is updated to."""
MARKED = 4
ENDED = "2026-02-10T09:00:00+00:00"
UNTIL, SINCE = "2026-02-07T12:00:00+00:00", "2026-02-13T12:00:00+00:00"
"""Days on both sides: some keep a day and no time."""


def plan(size: int, seed: int) -> Plan:
    """`size` memories in two scopes, each a note with a date, a source and a confidence of its own; more in a third."""
    pieces = [
        _make_piece(at, seed, f"memory {at + 1:03}", ROLES[at % len(ROLES)], SCOPES[at // len(ROLES) % len(SCOPES)])
        for at in range(max(size, len(ROLES) * len(SCOPES)))
    ]
    more = [_make_piece(at, seed, f"{role} {at + 1}", role, SHELF) for role in UPKEEP for at in range(MARKED)]
    return Plan(pieces=(*pieces, *more))


def _make_piece(at: int, seed: int, name: str, role: str, scope: Scope) -> Piece:
    item, canary = write_lesson("upgrade", seed, name, scope)
    source = Source(digest([seed, name])[:40], f"docs/page-{at}.md", at + 1, f"session-{at}")
    written = f"2026-01-{at % 28 + 1:02}T{at // 28 % 24:02}:{at % 60:02}:00{OFFSETS[at % len(OFFSETS)]}"
    text, sure = f"{REWRITTEN[at % len(REWRITTEN)]}\n{item.text}", (at % 10 + 1) / 10
    told = replace(item, text=text, at=written, source=source, confidence=sure)
    twin = name.replace(role, "changed") if role == "change" else None
    return Piece(name=name, role=role, item=told, canary=canary, twin=twin)


def play(stage: DrillSession) -> None:
    names: tuple[Pass, ...] = get_args(Pass)
    for turn in names:
        # the control has gone on with the first store: the newer release gets one that the older release writes anew
        if turn == "upgrade":
            stage.renew()
        mark = _write(stage, turn)
        for act in (_read, _change, _read_again, partial(_restore, mark=mark)):
            with suppress(Lost):  # logged: what a release refuses or dies of is what this drill is about
                act(stage, turn)


def _write(stage: DrillSession, turn: Pass) -> str | None:
    """By the older release. Its snapshot, if it takes any."""
    step, pieces = f"{turn} written", stage.plan.of("kept", "dropped before", "dropped after")
    stage.open(step, turn, older=True)
    _write_shelf(stage, step, turn)
    for start in range(0, len(pieces), BATCH):
        stage.remember(step, pieces[start : start + BATCH], turn)
    stage.settle(step, turn)
    dropped = stage.plan.of("dropped before")
    # while they are there, so that their absence later is the deletion's doing
    _ask(stage, step, dropped, turn)
    _forget(stage, step, dropped, turn)
    stage.settle(step, turn)
    mark = stage.call(step, "snapshot", who=turn) if stage.supports("snapshot", "restore") else None
    stage.close(step, turn)
    return mark


def _write_shelf(stage: DrillSession, step: str, turn: Pass) -> None:
    stage.remember(step, stage.plan.of("ended", "changed"), turn)
    stage.settle(step, turn)
    # what was updated is asked for by its history alone
    for change in stage.plan.of("change") if stage.supports("update", "history") else ():
        if ids := stage.ids.get(change.twin or ""):
            stage.change(step, "update", ids, change, who=turn)
    ended = [piece for piece in stage.plan.of("ended") if stage.ids.get(piece.name)]
    if ended and stage.supports("deprecate"):
        marked = [name for piece in ended for name in stage.ids[piece.name]]
        stage.call(step, "deprecate", SHELF, marked, ENDED, about=ended, who=turn)


def _read(stage: DrillSession, turn: Pass) -> None:
    step = f"{turn} taken over"
    _open(stage, step, turn)
    _look(stage, step, turn)
    for piece in stage.plan.of("ended") if stage.supports("deprecate") else ():
        for day, at in (("until", UNTIL), ("since", SINCE)):
            stage.recall(f"{turn} {day}", piece.item.text, SHELF, about=[piece], who=turn, at=at)
    for change in stage.plan.of("change") if stage.supports("update", "history") else ():
        for memory_id in stage.ids.get(change.name, ()):
            changed = stage.plan.by_name[change.twin or ""]
            stage.call(step, "history", SHELF, memory_id, about=[changed], who=turn)


def _change(stage: DrillSession, turn: Pass) -> None:
    """On the store as it was opened, or, if the process is gone, in a fresh one."""
    step = f"{turn} changed"
    if not stage.is_open(turn):
        _open(stage, step, turn)
    stage.remember(step, stage.plan.of("new"), turn)
    _forget(stage, step, stage.plan.of("dropped after"), turn)
    stage.settle(step, turn)
    stage.close(step, turn)


def _read_again(stage: DrillSession, turn: Pass) -> None:
    step = f"{turn} reopened"
    _open(stage, step, turn)
    _look(stage, step, turn)


def _restore(stage: DrillSession, turn: Pass, mark: str | None) -> None:
    """The snapshot of the older release: what it holds is listed, what was written since is asked for."""
    step = f"{turn} restored"
    if mark is not None:
        if not stage.is_open(turn):
            _open(stage, step, turn)
        stage.call(step, "restore", mark, who=turn)
        stage.settle(step, turn)
        _list(stage, step, turn)
        _ask(stage, step, stage.plan.of("new"), turn)
    if stage.is_open(turn):
        stage.close(step, turn)


def _open(stage: DrillSession, step: str, turn: Pass) -> None:
    stage.open(step, turn, older=turn == "control")


def _look(stage: DrillSession, step: str, turn: Pass) -> None:
    """What each scope lists, and what each memory's own text brings."""
    _list(stage, step, turn)
    _ask(stage, step, stage.plan.of(*ROLES), turn)


def _list(stage: DrillSession, step: str, turn: Pass) -> None:
    for scope in SCOPES if stage.supports("entries") else ():
        read_back(stage, step, scope, [piece for piece in stage.plan.pieces if piece.item.scope == scope], turn)


def _ask(stage: DrillSession, step: str, pieces: Sequence[Piece], turn: Pass) -> None:
    for piece in pieces:
        if stage.ids.get(piece.name):
            stage.recall(step, piece.item.text, piece.item.scope, about=[piece], who=turn)


def _forget(stage: DrillSession, step: str, pieces: Sequence[Piece], turn: Pass) -> None:
    for piece in pieces if stage.supports("forget") else ():
        if ids := stage.ids.get(piece.name):
            stage.call(step, "forget", piece.item.scope, list(ids), about=[piece], who=turn)


DRILL = Drill("upgrade", place=65, size=160, least=64, needs=("persistent",), plan=plan, play=play, hands_over=True)
