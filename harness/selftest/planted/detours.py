"""Faults of stores that remember what they were: the same memories answer otherwise if they came another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.adapter import Ack, Hit, Item, Scope, embed
from harness.selftest.planted.base import Planted, ReferenceMemory

ALL = 1_000_000
CROWDED = 20
"""Deletions that an index takes before it is compacted."""


class _Churned(ReferenceMemory):
    """Keeps the vectors of what was deleted, and nothing else of it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.db.execute("CREATE TABLE IF NOT EXISTS dead (vector BLOB NOT NULL)")

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        vectors = [[row["vector"]] for name in memory_ids for row in self.visible(scope, name)]
        known = super().forget(scope, memory_ids)
        with self.writing():
            self.db.executemany("INSERT INTO dead VALUES (?)", vectors)
        return known

    def list_dead(self) -> list[bytes]:
        return [row["vector"] for row in self.db.execute("SELECT vector FROM dead")]


class DeletedTakePlaces(Planted):
    """What was deleted is gone from every answer, but still takes its place among the k nearest: fewer come back."""

    must = ("answers_changed_by_detour",)

    class Memory(_Churned):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits: list[tuple[float, Hit | None]] = [
                (hit.score or 0.0, hit) for hit in super().recall(query, scope, ALL, at)
            ]
            if dead := self.list_dead() if hits else []:
                matrix = self.numpy.frombuffer(b"".join(dead), dtype="<f4").reshape(len(dead), -1)
                scores = matrix @ self.numpy.array(embed(self.space, [query])[0], dtype="<f4")
                hits += [(score, None) for score in scores.tolist()]
            return [hit for _, hit in sorted(hits, key=lambda each: -each[0])[:k] if hit]


class UpdatesBlendVectors(Planted):
    """An update moves the vector only half of the way to the new text."""

    must = ("answers_changed_by_detour",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            before = self.visible(scope, memory_id)
            ack = super().update(scope, memory_id, item)
            for row in self.visible(scope, memory_id) if before else ():
                both = (self.numpy.frombuffer(each["vector"], dtype="<f4") for each in (before[0], row))
                blended = (sum(both) / 2).astype("<f4").tobytes()
                self.db.execute("UPDATE memories SET vector = ? WHERE id = ? AND mark = 0", [blended, memory_id])
            return ack


class CompactsTooMuch(Planted):
    """After many deletions the index is compacted, and what was written last is not in the new one."""

    must = ("answers_changed_by_detour", "bystanders_lost_by_detour")

    class Memory(_Churned):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, ALL, at)
            if len(self.list_dead()) >= CROWDED:
                order = [row["id"] for row in self.visible(scope)]
                # the minus signs round up, so that one memory alone is kept
                hits = [hit for hit in hits if hit.memory_id in order[: -(-len(order) * 3 // 4)]]
            return hits[:k]
