"""Detour: the same memories, reached by another way, must answer the same questions alike.

Three empty stores get the same memories. The first is filled directly; the second in another order, which is the
control: what it answers otherwise hangs on ties or on an approximate index, and not on deletions. The third takes a
detour: twice as many are written, half of them are deleted, and a third of the rest is updated and updated back. It is
asked as it is and in a fresh process. The same is done at several sizes, as stores change their ways at limits of
their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

from harness.adapter import Item, Scope
from harness.model.drill import Piece, Plan
from harness.play.drills.fillers import PARTS, PEOPLE
from harness.play.drills.stage import Drill, DrillSession
from harness.play.drills.texts import FAMILIES

HOME = Scope(repo="storefront", org="acme")
WRITTEN = "2026-02-02T09:00:00+00:00"
SIZES = (20, 60, 200)
"""Memories in a store; those below the drill's size, and that size itself, are played."""
BATCH, AT_ONCE = 50, 20
"""Memories that are written and deleted by one call; of a large store a hundredth, if that is more."""
DRAFTS = 700
"""Memories that are updated and updated back at most: what stores of 2,000 need, as each takes two calls."""
OWN = 30
"""Memories of a store that are asked for by their own text."""
QUESTIONS = 30
DIRECT, ORDER, DETOUR, REOPENED = "direct", "other order", "detour", "detour, reopened"


def plan(size: int, seed: int) -> Plan:
    """`size` memories that stay (`kept`), as many that pass, and for every third that stays, DRAFTS at most, a draft of
    another text.

    The first of each role are those of the smaller stores. The first of the kept are about different parts and bear
    their family's question.
    """
    draw = random.Random(f"detour {seed}")  # noqa: S311  reproducible on purpose
    topics = list(product(FAMILIES, PARTS))
    draw.shuffle(topics)
    kept, passing, drafts = list[Piece](), list[Piece](), list[Piece]()
    for number in range(size):
        family, part = topics[number % len(topics)]
        question = family.question.format(part=part) if number < min(QUESTIONS, len(topics)) else None
        words = {"part": part, "person": PEOPLE[number % len(PEOPLE)]}
        item = Item(family.answer.format(n=number + 1000, **words), HOME, WRITTEN, "project", confidence=0.8)
        kept.append(Piece(name=f"kept-{number}", role="kept", item=item, query=question))
        # beyond the numbers of what stays, so that no two texts are alike
        gone = family.look_alike.format(n=number + 50_000, **words)
        passing.append(Piece(name=f"passing-{number}", role="passing", item=replace(item, text=gone)))
        if number % 3 == 0 and len(drafts) < DRAFTS:
            other, _ = topics[(number + 1) % len(topics)]
            text = other.look_alike.format(n=number + 90_000, **words)
            name = f"kept-{number}"
            drafts.append(Piece(name=f"draft-{number}", role="draft", item=replace(item, text=text), twin=name))
    return Plan(pieces=(*kept, *passing, *drafts))


def play(stage: DrillSession) -> None:
    size = stage.trial.size
    for each in (*(smaller for smaller in SIZES if smaller < size), size):
        kept = stage.plan.of("kept")[:each]
        shuffled = random.Random(f"order {each}").sample(kept, each)  # noqa: S311  reproducible on purpose
        for way, pieces in ((DIRECT, kept), (ORDER, shuffled)):
            _begin(stage, f"{way} {each}")
            _write(stage, f"{way} {each}", pieces)
            _ask(stage, f"{way} {each}", kept)
            stage.close(f"{way} {each}")
        _begin(stage, f"{DETOUR} {each}")
        _go_round(stage, f"{DETOUR} {each}", kept)
        _ask(stage, f"{DETOUR} {each}", kept)
        stage.close(f"{DETOUR} {each}")
        if stage.supports("persistent"):
            stage.open(f"{REOPENED} {each}")
            _ask(stage, f"{REOPENED} {each}", kept)
            stage.close(f"{REOPENED} {each}")


def _begin(stage: DrillSession, step: str) -> None:
    stage.renew()
    stage.open(step)


def _write(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for batch in _cut(pieces, max(BATCH, len(pieces) // 100)):
        stage.remember(step, batch)
    stage.settle(step)


def _go_round(stage: DrillSession, step: str, kept: Sequence[Piece]) -> None:
    """Each memory that stays is followed by one that is deleted; what is updated gets its own content back."""
    passing = stage.plan.of("passing")[: len(kept)]
    _write(stage, step, [*chain.from_iterable(zip(kept, passing, strict=True))])
    for batch in _cut(passing, max(AT_ONCE, len(kept) // 100)):
        ids = [memory_id for piece in batch for memory_id in stage.ids.get(piece.name, ())]
        stage.call(step, "forget", HOME, ids, about=batch)
    if stage.supports("update"):
        # drafts are planned for the largest store; a smaller one has only the first of them
        staying = {piece.name for piece in kept}
        for draft in stage.plan.of("draft"):
            piece = stage.plan.by_name[draft.twin or ""]
            if piece.name in staying and stage.ids.get(piece.name):
                stage.change(step, "update", stage.ids[piece.name], draft)
                # a draft that was refused has no ids, and the memory keeps its own
                stage.change(step, "update", stage.ids[draft.name] or stage.ids[piece.name], piece)
    stage.settle(step)


def _cut(pieces: Sequence[Piece], length: int) -> Iterator[Sequence[Piece]]:
    return (pieces[start : start + length] for start in range(0, len(pieces), length))


def _ask(stage: DrillSession, step: str, kept: Sequence[Piece]) -> None:
    """The questions, and some memories by their own text, spread over the order of writing."""
    for piece in kept:
        if piece.query is not None:
            stage.recall(step, piece.query, HOME, about=[piece])
    # rounded up, so that no more than OWN are asked for
    for piece in kept[:: -(-len(kept) // OWN)]:
        stage.recall(step, piece.item.text, HOME, about=[piece])


DRILL = Drill("detour", place=80, size=200, least=60, needs=("forget",), plan=plan, play=play)
