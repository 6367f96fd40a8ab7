"""Faults of filters that show only beside something else: after a change, for other places, or of other values."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from adapters.reference import LISTED, VISIBLE
from harness.adapter import Ack, Filter, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class SuccessorKeepsTheKind(Planted):
    """A successor is filed under the kind of what it supersedes, whatever its own is."""

    must: ClassVar[tuple[str, ...]] = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            kinds = [row["kind"] for name in memory_ids for row in self.visible(scope, name)]
            return super().supersede(scope, memory_ids, replace(item, kind=kinds[0]) if kinds else item)


class RestoresWithoutTheKind(Planted):
    """A mark has no column for the kind: what is restored fits no question for one."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            with self.writing():
                self.db.execute("UPDATE memories SET kind = '' WHERE mark = 0")


class _Filtering(ReferenceMemory):
    filtering = False

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        self.filtering = where != Filter()
        try:
            return super().recall_where(query, scope, k, at, where)
        finally:
            self.filtering = False


class FiltersWhatIsMarked(Planted):
    """Questions with a filter go to an index of fields, which heeds ends that were told with a memory, and no mark."""

    must = ("filtered_wrong",)

    class Memory(_Filtering):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS own (id TEXT PRIMARY KEY, expires REAL)")

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            with self.writing():
                for name in memory_ids:
                    # OR IGNORE: only before the first mark is `expires` the end that the memory was told with
                    told = "INSERT OR IGNORE INTO own SELECT id, expires FROM memories WHERE mark = 0 AND id = ?"
                    self.db.execute(told, [name])
            return super().deprecate(scope, memory_ids, at)

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            if ack.ids:
                self.db.execute("DELETE FROM own WHERE id = ?", [memory_id])
            return ack

        def visible(self, place: Scope, memory_id: str | None = None) -> list[Any]:
            rows = super().visible(place, memory_id)
            if not self.filtering or memory_id is not None:
                return rows
            own = {row["id"]: row["expires"] for row in self.db.execute("SELECT * FROM own")}
            return [{**dict(row), "expires": own[row["id"]]} if row["id"] in own else row for row in rows]


class FiltersTheOwnScopeOnly(Planted):
    """The scope is one more field of a filter, compared for equality: what holds in a wider place does not come."""

    must = ("broken_promises",)

    class Memory(_Filtering):
        def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
            if self.filtering and memory_id is None:
                return self.db.execute(LISTED, vars(place)).fetchall()
            return super().visible(place, memory_id)


class FiltersWithoutTheUser(Planted):
    """A question with a filter looks at the organisation, the repository and the branch, and brings what is private."""

    must = ("broken_promises",)

    class Memory(_Filtering):
        def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
            if self.filtering and memory_id is None:
                anyone = VISIBLE.replace("AND (user IS NULL OR user = :user)", "")
                return self.db.execute(anyone, {**vars(place), "id": None}).fetchall()
            return super().visible(place, memory_id)


class FiltersInOrderOfWriting(Planted):
    """A question with a filter is a query of a table: what was written first comes first, up to k."""

    must = ("scores_out_of_order",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            if where == Filter():
                return super().recall_where(query, scope, k, at, where)
            hits = {hit.memory_id: hit for hit in super().recall_where(query, scope, 10**6, at, where)}
            # a k below 0 would cut from the end
            return [hits[row["id"]] for row in self.visible(scope) if row["id"] in hits][: max(k, 0)]


class IndexesFieldsOnClosing(Planted):
    """The index of fields is written on closing: after a kill, what was written since passes no filter."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS fielded (id TEXT PRIMARY KEY)")
            self.fresh: set[str] = set()

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            self.fresh.update(ack.ids)
            return ack

        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            known = "SELECT 1 FROM fielded WHERE id = ?"
            there = row["id"] in self.fresh or self.db.execute(known, [row["id"]]).fetchone() is not None
            return there and super().fits(row, where)

        def close(self) -> None:
            with self.writing():
                self.db.executemany("INSERT OR IGNORE INTO fielded VALUES (?)", [[name] for name in self.fresh])
            super().close()


class LetsZeroConfidenceThrough(Planted):
    """`not confidence or confidence >= least`: what is not to be trusted at all passes for what has no confidence."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            return super().fits(row, where if row["confidence"] else replace(where, confidence=None))


class FiltersInSingles(Planted):
    """The field of confidences has 32 bits: 0.7 is a little less than 0.7, and is not at least so much."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            if where.confidence is not None and row["confidence"] is not None:
                (single,) = struct.unpack("f", struct.pack("f", row["confidence"]))
                if single < where.confidence:
                    return False
                where = replace(where, confidence=None)
            return super().fits(row, where)


class ReadsPathsAsGlobs(Planted):
    """The path of a filter is a glob: app/[slug]/page.tsx is app/s/page.tsx and not itself."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            source = self.hit(row).source
            if where.path is not None:
                if source is None or source.path is None or not fnmatchcase(source.path, where.path):
                    return False
                where = replace(where, path=None)
            return super().fits(row, where)
