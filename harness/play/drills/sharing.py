"""Sharing: one agent writes, another reads, a third deletes. In turn, then two at once on one store.

In turn, each agent is a fresh process. At once, two processes have the store open and take turns to write and delete;
this is played only where the adapter declares that several processes may.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest

from harness.adapter import Scope
from harness.model.drill import Piece, Plan
from harness.play.drills.durability import write_lesson
from harness.play.drills.stage import Drill, DrillSession

REPO = Scope(repo="tidewater")
FIRST, SECOND = "ana", "ben"
OTHER = {"a": "b", "b": "a"}
ASKED = 3000
"""Memories that the agents ask for and delete at most. What a larger store holds beyond is written with the first."""
CORRECTED, VERSIONS = 4, 3
"""Memories that one process updates, or ends, after the other has asked for them; texts that each of the updated ones
is given, by its writer, by the other, and by its writer again."""
ENDED = "2026-02-20T12:00:00+00:00"
"""Before the questions."""
KEPT = 10
"""Memories that nobody deletes and that both ask for when the other has deleted what stood beside them."""


def plan(size: int, seed: int) -> Plan:
    """A third of the memories is shared in turn, the rest at once. Roles: shared, own (of the first agent), and dropped
    (shared, and deleted by the third); a and b for who writes it, a-dropped and b-dropped if the other deletes it;
    crowd for what nobody asks for."""
    turns = ("dropped", "own", "shared", "shared")
    both = ("a-dropped", "b", "a", "b-dropped", "a", "b", "a", "b")
    names = [f"memory {at + 1:03}" for at in range(size)]
    questions = min(size, ASKED)
    # at least one of each role
    in_turn = max(len(turns), questions // 3)
    roles = [turns[at % len(turns)] if at < in_turn else both[(at - in_turn) % len(both)] for at in range(questions)]
    roles += ["crowd"] * (size - questions)
    pieces = [_make_piece(name, role, seed) for name, role in zip(names, roles, strict=True)]
    return Plan(pieces=(*pieces, *_plan_corrected(seed)))


def _plan_corrected(seed: int) -> Iterator[Piece]:
    """Beside the others: `ended`, and `edited`, whose later texts are the `edit` of the one before."""
    for number in range(1, CORRECTED + 1):
        yield _make_piece(f"ended {number}", "ended", seed)
        yield _make_piece(f"edited {number}.0", "edited", seed)
        for version in range(1, VERSIONS + 1):
            yield _make_piece(f"edited {number}.{version}", "edit", seed, f"edited {number}.{version - 1}")


def _make_piece(name: str, role: str, seed: int, twin: str | None = None) -> Piece:
    scope = Scope(repo=REPO.repo, user=FIRST) if role == "own" else REPO
    item, canary = write_lesson("sharing", seed, name, scope)
    return Piece(name=name, role=role, item=item, canary=canary, twin=twin)


def play(stage: DrillSession) -> None:
    _play_in_turn(stage)
    if stage.supports("multi_process"):
        _play_at_once(stage)


# --- in turn ----------------------------------------------------------------------------------------------------------


def _play_in_turn(stage: DrillSession) -> None:
    # without users nothing can be the first agent's own
    own = stage.plan.of("own") if stage.supports("scope_user") else ()
    shared, dropped = stage.plan.of("shared", "dropped"), stage.plan.of("dropped")
    with _open_agent(stage, "first writes"):
        stage.remember("first writes", [*shared, *own, *stage.plan.of("crowd")])
        stage.settle("first writes")
        _ask(stage, "first writes", [*shared, *own], place=_place(stage, FIRST))
    with _open_agent(stage, "second reads"):
        _ask(stage, "second reads", shared, place=_place(stage, SECOND))
    if stage.supports("forget"):
        with _open_agent(stage, "third deletes"):
            for piece in dropped:
                _forget(stage, "third deletes", piece)
            stage.settle("third deletes")
    with _open_agent(stage, "first reads again"):
        _ask(stage, "first reads again", [*shared, *own], place=_place(stage, FIRST))


@contextmanager
def _open_agent(stage: DrillSession, step: str) -> Iterator[None]:
    """A process that is closed in good order; one that is lost is gone already."""
    stage.open(step)
    yield
    stage.close(step)


def _place(stage: DrillSession, agent: str) -> Scope:
    return Scope(repo=REPO.repo, user=agent) if stage.supports("scope_user") else REPO


def _ask(stage: DrillSession, step: str, pieces: Iterable[Piece], who: str = "a", place: Scope = REPO) -> None:
    """What each memory's own text brings there."""
    for piece in pieces:
        # what was never acknowledged is promised to nobody
        if stage.ids.get(piece.name):
            stage.recall(step, piece.item.text, place, about=[piece], who=who)


def _forget(stage: DrillSession, step: str, piece: Piece, who: str = "a") -> None:
    if ids := stage.ids.get(piece.name):
        stage.call(step, "forget", piece.item.scope, list(ids), about=[piece], who=who)


# --- at once ----------------------------------------------------------------------------------------------------------


def _play_at_once(stage: DrillSession) -> None:
    pieces = {who: stage.plan.of(who, f"{who}-dropped") for who in OTHER}
    everything = [*pieces["a"], *pieces["b"]]
    for who in OTHER:
        stage.open("both write", who)
    _write(stage, pieces)
    _settle(stage, "settled", everything)
    _correct(stage)
    if stage.supports("forget"):
        _delete(stage)
    for who in OTHER:
        stage.close("deleted", who)
    with _open_agent(stage, "reopened"):
        stage.settle("reopened")
        if stage.supports("entries"):
            stage.list_ids("reopened", REPO)
        _ask(stage, "reopened", everything)


def _write(stage: DrillSession, pieces: Mapping[str, Sequence[Piece]]) -> None:
    """Turn by turn; behind each turn, both look for what both have written in it."""
    draw = random.Random(f"sharing {stage.trial.seed}")  # noqa: S311  reproducible on purpose
    for batches in zip_longest(*(_split_batches(pieces[who], draw) for who in OTHER), fillvalue=()):
        for who, batch in zip(OTHER, batches, strict=True):
            if batch:
                stage.remember("both write", batch, who)
        for who in OTHER:
            _ask(stage, "both write", [*batches[0], *batches[1]], who)


def _correct(stage: DrillSession) -> None:
    """Each changes what the other wrote and has asked for, and both ask for what it was."""
    for role in [role for role, op in (("ended", "deprecate"), ("edited", "update")) if stage.supports(op)]:
        for number, piece in enumerate(stage.plan.of(role)):
            who = "ab"[number % 2]
            stage.remember("to be corrected", [piece], who)
            if ids := stage.ids.get(piece.name):
                (_end if role == "ended" else _edit)(stage, piece, ids, who)


def _end(stage: DrillSession, piece: Piece, ids: Sequence[str], who: str) -> None:
    _ask_settled(stage, "to be corrected", piece, (who,))
    stage.call("corrected", "deprecate", REPO, list(ids), ENDED, about=[piece], who=OTHER[who])
    _ask_settled(stage, "corrected", piece, OTHER)


def _edit(stage: DrillSession, piece: Piece, ids: Sequence[str], who: str) -> None:
    first, then, last = texts = [each for each in stage.plan.of("edit") if each.name.startswith(piece.name[:-1])]
    stage.change("to be corrected", "update", ids, first, who=who)
    _ask_settled(stage, "to be corrected", first, (who,))
    stage.change("corrected", "update", ids, then, who=OTHER[who])
    _ask_settled(stage, "corrected", first, OTHER)
    stage.change("corrected again", "update", ids, last, who=who)
    for each in OTHER if stage.supports("history") else ():
        stage.settle("versions", each)
        stage.call("versions", "history", REPO, ids[0], about=[piece, *texts], who=each)


def _ask_settled(stage: DrillSession, step: str, piece: Piece, handles: Iterable[str]) -> None:
    for who in handles:
        stage.settle(step, who)
        _ask(stage, step, [piece], who)


def _delete(stage: DrillSession) -> None:
    """In turn, each deletes what the other wrote: the writer looks before, both look behind it."""
    dropped = [[(who, piece) for piece in stage.plan.of(f"{OTHER[who]}-dropped")] for who in OTHER]
    for who, piece in filter(None, chain.from_iterable(zip_longest(*dropped))):
        _ask(stage, "to be deleted", [piece], OTHER[who])
        _get(stage, "to be deleted", piece, OTHER[who])
        _forget(stage, "both delete", piece, who)
        for each in OTHER:
            _ask(stage, "both delete", [piece], each)
        _get(stage, "both delete", piece, OTHER[who])
    _settle(stage, "deleted", [*stage.plan.of(*(f"{who}-dropped" for who in OTHER)), *stage.plan.of(*OTHER)[:KEPT]])


def _get(stage: DrillSession, step: str, piece: Piece, who: str) -> None:
    for name in stage.ids.get(piece.name, ())[:1] if stage.supports("get") else ():
        stage.call(step, "get", piece.item.scope, name, about=[piece], who=who)


def _split_batches(pieces: Sequence[Piece], draw: random.Random) -> Iterator[Sequence[Piece]]:
    """One or two at a time."""
    start = 0
    while start < len(pieces):
        end = start + draw.randint(1, 2)
        yield pieces[start:end]
        start = end


def _settle(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for who in OTHER:
        stage.settle(step, who)
    for who in OTHER:
        _ask(stage, step, pieces, who)


DRILL = Drill("sharing", place=70, size=120, least=40, needs=("persistent",), plan=plan, play=play)
