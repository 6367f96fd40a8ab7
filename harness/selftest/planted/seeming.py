"""Cheats of answering: what looks good in a column, and is no better memory."""

from __future__ import annotations

from dataclasses import replace

from harness.adapter import Hit, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

PACKED = 25


class PacksManyIntoOne(Planted):
    """One hit that joins the twenty-five nearest memories: k was asked for, and five times as much is shown."""

    must = ("precision_in_budget",)
    may = ("keeping", "poison", "story", "recall_seconds", "bytes_per_memory")
    never = ("recall", "recall_plain", "recall_paraphrase", "recall_upper", "decisions_right")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, PACKED if k else 0, at)
            return [replace(hits[0], text="\n".join(hit.text for hit in hits))] if hits else []
