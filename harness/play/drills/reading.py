"""Reading a scope back in the surest way that a backend offers."""

from __future__ import annotations

from collections.abc import Sequence

from harness.adapter import Scope
from harness.model.drill import Piece
from harness.play.drills.stage import DrillSession


def read_back(stage: DrillSession, step: str, scope: Scope, pieces: Sequence[Piece], who: str = "a") -> set[str]:
    """Looks for the pieces where they belong: one listing, or, without one, a search for each by its own text.

    Returns: The ids that came.
    """
    if stage.supports("entries"):
        return stage.list_ids(step, scope, about=pieces, who=who)
    asked = (stage.recall(step, piece.item.text, scope, about=[piece], who=who) for piece in pieces)
    return {hit.memory_id for found in asked for hit in found or ()}
