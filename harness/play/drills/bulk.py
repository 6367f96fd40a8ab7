"""One batch that is larger than the usual limits of a request: 100, 256, 1,000 and 1,024. Half of it is then forgotten
in one call; and what was there before has to be there still. And one memory that is larger than others: a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.adapter import Item, Scope, Source
from harness.model.drill import Piece
from harness.play.drills.reading import read_back
from harness.play.drills.stage import DrillSession

SIZE = 1030
CROWD, FULL = 2050, 500
"""Memories of a second batch where a drill has its full size or more: beyond the limits of 2,000 and 2,048 at once, and
with those before it beyond a room for 2,500."""
STEP, FOUND, LONG = "at once", "found at once", "at length"
SCOPE = Scope(repo="storefront-archive", org="acme")
DOCUMENTS = Scope(repo="storefront-documents", org="acme")
DOCUMENT = "Log of the night in which the archive moved, kept whole for the audit:\n" + "\n".join(
    f"{n * 7919 % 9973:04} cart {n} left hall {n % 31} and came to hall {n % 37}" for n in range(1450)
)
"""Longer than a column of 65,535 bytes."""
OWN = 2000
"""Characters from its beginning that are asked for."""
WRITTEN = "2026-02-02T09:00:00+00:00"
AGAIN = 10
"""Of what a listing leaves out, so many are asked for."""
BESIDE = 20
"""Of what was there before, so many are asked for where nothing can be listed."""
PROBES = (1, 100, 101, 256, 257, 1000, 1001, 1024, 1025, SIZE)
"""Those that are asked for by their own text, from 1: the last before a limit, and the first behind it. Where nothing
can be listed, they stand for all."""


def plan(size: int) -> Iterator[Piece]:
    """The same at every seed: its embeddings are computed once."""
    for number in range(1, SIZE + (CROWD if size >= FULL else 0) + 1):
        # the shelf looks drawn, and is the same at every seed
        text = f"Box {number} of the archive stands on shelf {number * 7919 % 9973}"
        role, source = ("bulk", Source(path="archive/boxes.md", line=number)) if number <= SIZE else ("crowd", None)
        item = Item(text, SCOPE, WRITTEN, "project", source)
        yield Piece(name=f"{role}-{number}", role=role, item=item)
    yield Piece(name="document", role="document", item=Item(DOCUMENT, DOCUMENTS, WRITTEN, "project"))


def play(stage: DrillSession, before: Sequence[Piece]) -> None:
    """What a listing leaves out may be there all the same: a few of it are asked for by id, or by their own text.

    Args:
        before: What was written before the batch, in other scopes.
    """
    _write_document(stage)
    pieces = stage.plan.of("bulk")
    stage.remember(STEP, pieces)
    stage.settle(STEP)
    probes = [pieces[number - 1] for number in PROBES]
    asked = pieces if stage.supports("entries") else probes
    shown = read_back(stage, STEP, SCOPE, asked)
    missed = [piece for piece in asked if not shown.issuperset(stage.ids.get(piece.name, ()))]
    # spread over all that is missing: a limit leaves out one end of a batch
    for piece in missed[:: max(1, len(missed) // AGAIN)][:AGAIN] if stage.supports("entries") else ():
        if stage.supports("get"):
            stage.call(STEP, "get", SCOPE, stage.ids[piece.name][0], about=[piece])
        else:
            stage.recall(STEP, piece.item.text, SCOPE, about=[piece])
    for piece in probes if stage.supports("entries") else ():
        stage.recall(FOUND, piece.item.text, SCOPE, about=[piece])
    if crowd := stage.plan.of("crowd"):
        stage.remember("crowd", crowd)
        stage.settle("crowd")
    # the batch itself was just read back; only a second one could push it out
    _read_beside(stage, [*before, *(asked if crowd else ()), *crowd])
    if stage.supports("forget"):
        _forget(stage, pieces, asked)


def _write_document(stage: DrillSession) -> None:
    """In a call and a scope of its own: who refuses it refuses nothing else."""
    document = stage.plan.of("document")
    stage.remember(LONG, document)
    stage.settle(LONG)
    if stage.supports("entries"):
        stage.list_ids(LONG, DOCUMENTS, about=document)
    for name in stage.ids.get("document", ()) if stage.supports("get") else ():
        stage.call(LONG, "get", DOCUMENTS, name, about=document)
    stage.recall(LONG, DOCUMENT[:OWN], DOCUMENTS, about=document)


def _read_beside(stage: DrillSession, before: Sequence[Piece]) -> None:
    sample = before if stage.supports("entries") else before[:: max(1, len(before) // BESIDE)]
    for scope in dict.fromkeys(piece.item.scope for piece in sample):
        read_back(stage, "beside", scope, [piece for piece in sample if piece.item.scope == scope])


def _forget(stage: DrillSession, pieces: Sequence[Piece], asked: Sequence[Piece]) -> None:
    """Every other one: some interfaces stop at 20, 50, 100 or 500 ids."""
    going = [piece for piece in pieces[::2] if stage.ids.get(piece.name)]
    if going:
        stage.call(
            "forgotten", "forget", SCOPE, [each for piece in going for each in stage.ids[piece.name]], about=going
        )
        stage.settle("forgotten")
        read_back(stage, "forgotten", SCOPE, asked)
