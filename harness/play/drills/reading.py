"""Reading a scope back in the surest way that a backend offers."""

from __future__ import annotations

from collections.abc import Sequence

from harness.adapter import Hit, Scope
from harness.model.drill import Piece
from harness.play.drills.stage import DrillSession


def read_back(stage: DrillSession, step: str, scope: Scope, pieces: Sequence[Piece], who: str = "a") -> list[Hit]:
    """Looks for the pieces where they belong: one listing, or, without one, a search for each by its own text."""
    if stage.supports("entries"):
        return stage.call(step, "entries", scope, about=pieces, who=who) or []
    return [hit for piece in pieces for hit in stage.recall(step, piece.item.text, scope, about=[piece], who=who) or []]
