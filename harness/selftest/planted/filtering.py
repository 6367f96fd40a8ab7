"""Faults of filters: not known and passed over, applied too late, or at odds with what memories lack."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

from harness.adapter import Ack, Filter, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class IgnoresFilters(Planted):
    """Knows no filter, says nothing, and brings what it always brings."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            return super().recall_where(query, scope, k, at, Filter())


class IgnoresAnUnknownField(Planted):
    """Passes over the one field of a filter that it does not know."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            return super().fits(row, replace(where, kinds=()))


class FiltersAfterCutting(Planted):
    """Takes the k nearest, and of these what fits."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            fitting = {row["id"] for row in self.visible(scope) if self.fits(row, where)}
            hits = super().recall_where(query, scope, k, at, Filter())
            return [hit for hit in hits if where == Filter() or hit.memory_id in fitting]


class DoubtsWhatHasNoConfidence(Planted):
    """A comparison with what is not there is false."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            return super().fits(row, where) and (where.confidence is None or row["confidence"] is not None)


class TakesAPathForAPrefix(Planted):
    """Brings what cites a file whose name begins like that of the one that was asked for."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            path = json.loads(row["source"]).get("path") if row["source"] else None
            alike = where.path is not None and path is not None and path.startswith(where.path)
            return super().fits(row, replace(where, path=None) if alike else where)


class UpdateLosesTheKind(Planted):
    """An update writes the text and the other fields, and no kind."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            return super().update(scope, memory_id, replace(item, kind=""))
