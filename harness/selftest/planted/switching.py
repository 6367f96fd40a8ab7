"""Faults of a store behind which the embedder is switched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class KeepsOldVectors(Planted):
    """Never looks who made its vectors: of another length, they cannot be compared, and each question raises."""

    must = ("found_with_another_embedder", "silently_unfound_with_another_embedder", "found_with_shorter_vectors")
    never = ("silently_unfound_with_shorter_vectors",)

    class Memory(ReferenceMemory):
        def keep_up(self) -> None:
            """Nothing."""


class FillsShortVectorsUp(Planted):
    """Brings all vectors to one length, so that nothing raises and nothing is found."""

    must = ("silently_unfound_with_shorter_vectors", "found_with_shorter_vectors")

    class Memory(KeepsOldVectors.Memory):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            # 384 is the length of the usual embedder's vectors
            return [[*vector, *[0.0] * (384 - len(vector))] for vector in super().embed(texts)]


class RefusesAnotherEmbedder(Planted):
    """Says that its vectors are of another embedder, and does not open. Nothing is wrong in silence."""

    must = ("found_with_another_embedder", "found_with_shorter_vectors")
    never = ("silently_unfound_with_another_embedder", "silently_unfound_with_shorter_vectors")

    class Memory(ReferenceMemory):
        def embed_again(self) -> None:
            raise RuntimeError("this store was embedded by another model: embed it anew, or bring that model back")


class EmbedsTheOldOnly(Planted):
    """Embeds its memories anew, and leaves what comes later out of the index until the next day."""

    must = ("new_found_with_another_embedder", "new_found_with_shorter_vectors")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.switched = False
            super().__init__(*args)

        def embed_again(self) -> None:
            super().embed_again()
            self.switched = True

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            if self.switched:
                self.late = frozenset(name for ack in acks for name in ack.ids)
            return acks

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            late = self.late if self.switched else frozenset()
            return [hit for hit in super().recall(query, scope, k, at) if hit.memory_id not in late]

        late: frozenset[str] = frozenset()
