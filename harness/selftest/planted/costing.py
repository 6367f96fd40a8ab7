"""Faults of what a backend takes of the machine for each question: its processor and its disk."""

from __future__ import annotations

from hashlib import pbkdf2_hmac
from typing import Any

from harness.adapter import Hit, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class WorksTooHard(Planted):
    """Each question makes an index anew: too fast to be noticed, and most of what its processor does."""

    must = ("processor_seconds",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            # work and no sleep, as seconds of the processor are counted
            pbkdf2_hmac("sha256", query.encode(), b"index", 200_000)
            return super().recall(query, scope, k, at)


class CountsItsAnswers(Planted):
    """Each answer is noted in a table of the store, for statistics that nobody reads."""

    must = ("bytes_per_question",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS answers (at TEXT, id TEXT)")

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, k, at)
            with self.writing():
                self.db.executemany("INSERT INTO answers VALUES (?, ?)", [(at, hit.memory_id) for hit in hits])
            return hits
