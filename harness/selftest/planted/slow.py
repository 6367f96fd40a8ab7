"""Faults of time: each call, one in ten, the first after an opening, and calls that write or delete."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class Slow(Planted):
    """Each question waits 80 ms for a lock that nobody holds."""

    # not the first answer: where the machine is busy, opening takes so long that 80 ms more are within its noise
    must = ("recall_seconds", "recall_seconds_p95")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            # beyond LONGER of harness/selftest/faults.py: less may be the machine's doing
            time.sleep(0.08)
            return super().recall(query, scope, k, at)


class SlowNowAndThen(Planted):
    """Every tenth question waits for an index that is made anew."""

    must = ("recall_seconds_p95",)

    class Memory(ReferenceMemory):
        asked = 0

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            if self.asked % 10 == 0:
                time.sleep(0.2)
            return super().recall(query, scope, k, at)


class SlowToStart(Planted):
    """A process that opens the store reads all of it before it answers its first question."""

    must = ("first_answer_seconds",)

    class Memory(ReferenceMemory):
        asked = False

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            if not self.asked:
                self.asked = True
                time.sleep(0.5)
            return super().recall(query, scope, k, at)


class SlowToWrite(Planted):
    """Each memory waits for an embedding that is asked for one by one."""

    must = ("write_seconds", "write_seconds_p95")

    class Memory(ReferenceMemory):
        few = True

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            self.few = len(items) <= 64  # a batch takes no minutes
            return super().remember(items)

        def add(self, item: Item, vector: bytes) -> Ack:
            time.sleep(0.1 if self.few else 0.0)
            return super().add(item, vector)


class SlowToDelete(Planted):
    """Each deletion makes the index anew."""

    must = ("delete_seconds",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> Any:
            time.sleep(0.3)
            return super().forget(scope, memory_ids)


class SlowToUpdate(Planted):
    """Each update waits for an index that is made anew."""

    must = ("update_seconds",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            time.sleep(0.25)
            return super().update(scope, memory_id, item)


class SlowToList(Planted):
    """Each listing waits for a count of everything."""

    must = ("list_seconds",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            time.sleep(0.15)
            return super().entries(scope)
