"""Control: gives back everything that was ever written, wherever it holds and whatever is asked.

Of it is read what fits the token budget, as of any other answer: a store that does better selects better than by date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adapters._base import SCOPES, RowAdapter, RowMemory
from harness.adapter import Memory, Space


class FullContextMemory(RowMemory):
    scoped = False

    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        return [(name, None) for name in visible]


class FullContext(RowAdapter):
    name = "full_context"
    native = tuple(word for word in RowAdapter.native if word not in SCOPES)
    unsupported: ClassVar = {
        **RowAdapter.unsupported,
        **dict.fromkeys(SCOPES, "one store without scopes"),
        "ranked": "everything, in the order of writing",
        "abstains": "everything, whatever is asked",
    }

    def open(self, space: Space) -> Memory:
        return FullContextMemory(self.path(space))
