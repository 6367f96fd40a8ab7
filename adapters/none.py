"""Control: a memory that keeps nothing. The floor of every measure but cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from harness.adapter import (
    CAPABILITIES,
    Ack,
    BaseAdapter,
    BaseMemory,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Scope,
    Space,
    Usage,
)


class NothingMemory(BaseMemory):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack(()) for _ in items]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return Ack(())

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return []

    def entries(self, scope: Scope) -> list[Hit]:
        return []

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return None

    def usage(self) -> Usage:
        return Usage()

    def close(self) -> None:
        """Nothing is held open."""


OFFERED = ("observe", "entries", "get", "abstains", "usage")


class Nothing(BaseAdapter):
    name = "none"
    native: ClassVar[tuple[str, ...]] = OFFERED
    unsupported: ClassVar = {word: "stores nothing" for word in CAPABILITIES if word not in OFFERED}

    def version(self) -> str:
        return "1"

    def open(self, space: Space) -> Memory:
        return NothingMemory()

    def storage(self, space: Space) -> list[Layer]:
        return []
