"""Faults of writes that are in flight at once. One after the other, each of these stores is sound."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from harness.adapter import Ack, Item
from harness.selftest.planted.base import Planted, ReferenceMemory

AT_WORK = 0.003
"""Seconds that a write takes, so that others are in flight meanwhile."""


class CountingMemory(ReferenceMemory):
    """Knows whether another write of its own process is in flight."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.counting, self.writers = threading.Lock(), 0

    @contextmanager
    def crowded(self) -> Iterator[bool]:
        with self.counting:
            self.writers += 1
        # outside the lock, or no two writes would be counted at once
        time.sleep(AT_WORK)
        try:
            yield self.writers > 1
        finally:
            with self.counting:
                self.writers -= 1


class WritesTheFileItRead(Planted):
    """Reads the file, adds to it and writes it whole: what others wrote meanwhile is acknowledged, and gone."""

    must = ("lost_in_burst", "lost_in_burst_of_two")

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            (before,) = self.db.execute("SELECT coalesce(max(seq), 0) FROM memories").fetchone()
            # time for another write to come between
            time.sleep(AT_WORK)
            acks = super().remember(items)
            own = [name for ack in acks for name in ack.ids]
            with self.writing():
                others = self.db.execute("SELECT id FROM memories WHERE mark = 0 AND seq > ?", [before]).fetchall()
                for row in others:
                    if row["id"] not in own:
                        self.db.execute("DELETE FROM memories WHERE id = ? AND mark = 0", [row["id"]])
            return acks


class FailsWhenBusy(Planted):
    """Does not wait for its turn: a write that meets another one raises."""

    must = ("failing_in_burst", "failing_in_burst_of_two")

    class Memory(CountingMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            with self.crowded() as crowded:
                if crowded:
                    raise RuntimeError("the database is locked")
                return super().remember(items)


class RepeatsWhatWasSlow(Planted):
    """Takes a write that had to wait for one that was lost, and writes it once more."""

    must = ("doubled_in_burst", "doubled_in_burst_of_two")

    class Memory(CountingMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            with self.crowded() as crowded:
                acks = super().remember(items)
                return super().remember(items) if crowded else acks


class IndexesOneAtATime(Planted):
    """Leaves out of its index what is written while it is at work on another one."""

    must = ("unfindable_after_burst", "unfindable_after_burst_of_two")

    class Memory(CountingMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            with self.crowded() as crowded:
                acks = super().remember(items)
            if crowded:
                with self.writing():
                    for name in [name for ack in acks for name in ack.ids]:
                        # zeros of the same length: the matrix of vectors needs them, and no question is near to them
                        self.db.execute("UPDATE memories SET vector = zeroblob(length(vector)) WHERE id = ?", [name])
            return acks
