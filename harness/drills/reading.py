"""Reading a scope back in the surest way that a backend offers."""

from __future__ import annotations

from collections.abc import Sequence

from harness.adapter import Scope
from harness.drill import Piece
from harness.drills.stage import Stage


def read_back(stage: Stage, step: str, scope: Scope, pieces: Sequence[Piece]) -> None:
    """Looks for the pieces where they belong: one listing, or, without one, a search for each by its own text."""
    if stage.supports("entries"):
        stage.call(step, "entries", scope, about=pieces)
        return
    for piece in pieces:
        stage.recall(step, piece.item.text, scope, about=[piece])
