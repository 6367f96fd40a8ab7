"""One batch that is larger than the usual limits of a request: 100, 256, 1,000 and 1,024."""

from __future__ import annotations

from collections.abc import Iterator

from harness.adapter import Item, Scope
from harness.model.drill import Piece
from harness.play.drills.reading import read_back
from harness.play.drills.stage import DrillSession

SIZE = 1030
STEP = "at once"
SCOPE = Scope(repo="storefront-archive", org="acme")
WRITTEN = "2026-02-02T09:00:00+00:00"
AGAIN = 10
"""Of what a listing leaves out, so many are asked for."""
PROBES = (1, 100, 101, 256, 257, 1000, 1001, 1024, 1025, SIZE)
"""Those that are asked for where nothing can be listed, from 1: the last before a limit, and the first behind it."""


def plan() -> Iterator[Piece]:
    """The same at every size and seed: its embeddings are computed once."""
    for number in range(1, SIZE + 1):
        item = Item(f"Box {number} of the archive stands on shelf {number * 7919 % 9973}", SCOPE, WRITTEN, "project")
        yield Piece(name=f"bulk-{number}", role="bulk", item=item)


def play(stage: DrillSession) -> None:
    """What a listing leaves out may be there all the same: a few of it are asked for by id, or by their own text."""
    pieces = stage.plan.of("bulk")
    stage.remember(STEP, pieces)
    stage.settle(STEP)
    asked = pieces if stage.supports("entries") else [pieces[number - 1] for number in PROBES]
    shown = read_back(stage, STEP, SCOPE, asked)
    missed = [piece for piece in asked if not shown.issuperset(stage.ids.get(piece.name, ()))]
    for piece in missed[:: max(1, len(missed) // AGAIN)][:AGAIN] if stage.supports("entries") else ():
        if stage.supports("get"):
            stage.call(STEP, "get", SCOPE, stage.ids[piece.name][0], about=[piece])
        else:
            stage.recall(STEP, piece.item.text, SCOPE, about=[piece])
