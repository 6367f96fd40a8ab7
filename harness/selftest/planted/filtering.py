"""Faults of filters: not known and passed over, applied too late, or at odds with what memories lack."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import replace
from typing import Any

from adapters._base import moment
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


class FiltersByFileName(Planted):
    """Knows a file by its name alone, whatever folder it lies in."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            path = json.loads(row["source"]).get("path") if row["source"] else None
            same = where.path and path and path.split("/")[-1] == where.path.split("/")[-1]
            return super().fits(row, replace(where, path=None) if same else where)


class DoubtsTheLeast(Planted):
    """At least so sure is taken for more than so sure."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            return super().fits(row, where) and (where.confidence is None or row["confidence"] != where.confidence)


class _Filtering(ReferenceMemory):
    """Answers questions with a filter in another way than others."""

    filtered = False

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        self.filtered = where != Filter()
        return super().recall_where(query, scope, k, at, where)


class FiltersEveryScope(Planted):
    """A question with a filter is asked of all that there is: the filter has taken the scope's place."""

    must = ("filtered_wrong",)

    class Memory(_Filtering):
        def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
            if self.filtered and memory_id is None:
                return self.db.execute("SELECT * FROM memories WHERE mark = 0 ORDER BY seq").fetchall()
            return super().visible(place, memory_id)


class FiltersTheDeleted(Planted):
    """An index by kind is kept in the process, and no deletion reaches it."""

    must = ("filtered_wrong",)

    class Memory(_Filtering):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.deleted: list[sqlite3.Row] = []

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.deleted += self.visible(scope, memory_id)
            return super().erase(scope, memory_id)

        def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
            return super().visible(place, memory_id) + (self.deleted if self.filtered and memory_id is None else [])


class FiltersWhatHasEnded(Planted):
    """A question with a filter looks at no end."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            # a time at which nothing had ended yet
            when = at if where == Filter() else "1970-01-01T00:00:00+00:00"
            return super().recall_where(query, scope, k, when, where)


class AppliesOneConditionOnly(Planted):
    """Of several conditions the file is applied, else the kind, and the others are passed over."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            if where.path is not None:
                where = Filter(path=where.path)
            return super().fits(row, replace(where, confidence=None) if where.kinds else where)


class TakesAnyCondition(Planted):
    """Of several conditions one is enough."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            told = (Filter(kinds=where.kinds), Filter(path=where.path), Filter(confidence=where.confidence))
            asked = [each for each in told if each != Filter()]
            # `super()` without arguments does not work within the generator below
            fits = super().fits
            return not asked or any(fits(row, each) for each in asked)


class TakesOneConditionAtOnce(Planted):
    """Two conditions are more than its index can look up: nothing fits them."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            several = bool(where.kinds) + (where.path is not None) + (where.confidence is not None) > 1
            return not several and super().fits(row, where)


class FoldsPaths(Planted):
    """Files are the same whose names differ in case, or by a sharp s and ss."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: sqlite3.Row, where: Filter) -> bool:
            path = json.loads(row["source"]).get("path") if row["source"] else None
            alike = where.path and path and path.casefold() == where.path.casefold()
            return super().fits(row, replace(where, path=None) if alike else where)


class FilesOnce(Planted):
    """The index by kind follows the first update of a memory, and none after it."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            kinds = [row["kind"] for row in self.visible(scope, memory_id) if json.loads(row["earlier"])]
            return super().update(scope, memory_id, replace(item, kind=kinds[0]) if kinds else item)


class FiltersFourTimesAsMany(Planted):
    """The filter sees four times as many memories as are asked for, the nearest ones: behind a crowd, none fits."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        times = 4

        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            near = super().recall_where(query, scope, self.times * k, at, Filter())
            fitting = {row["id"] for row in self.visible(scope) if self.fits(row, where)}
            return [hit for hit in near if hit.memory_id in fitting][:k]


class FiltersTenTimesAsMany(Planted):
    """The filter sees ten times as many memories as are asked for, the nearest ones."""

    must = ("filtered_missed",)

    class Memory(FiltersFourTimesAsMany.Memory):
        times = 10


class ReadsPathsAsPatterns(Planted):
    """The path of a filter goes into LIKE as it is: each underscore stands for any character."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def fits(self, row: Any, where: Filter) -> bool:
            if where.path is not None and row["source"]:
                told = json.loads(row["source"]).get("path")
                pattern = "".join({"_": ".", "%": ".*"}.get(sign, re.escape(sign)) for sign in where.path)
                # as LIKE has it, whose `%` takes line ends as well
                if told is not None and re.fullmatch(pattern, told, re.DOTALL):
                    where = replace(where, path=told)
            return super().fits(row, where)


class NeverAbstainsWithAFilter(Planted):
    """What fits a filter is ranked, and no threshold is asked: the nearest comes, however far."""

    must = ("unknown_answered_with_silence",)

    class Memory(ReferenceMemory):
        def forces(self, scope: Scope, at: str, where: Filter) -> bool:
            return where != Filter()

        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            hits = super().recall_where(query, scope, k, at, where)
            if hits or not self.forces(scope, at, where):
                return hits
            rows = [row for row in self.visible(scope) if row["expires"] is None or row["expires"] > moment(at)]
            return [self.hit(row) for row in rows if self.fits(row, where)][:k]


class NeverAbstainsInAFile(Planted):
    """Only a question that is kept to a file has no threshold."""

    must = ("unknown_answered_with_silence",)

    class Memory(NeverAbstainsWithAFilter.Memory):
        def forces(self, scope: Scope, at: str, where: Filter) -> bool:
            return where.path is not None


class NeverAbstainsForAUser(Planted):
    """Only a question of one user has no threshold."""

    must = ("unknown_answered_with_silence",)

    class Memory(NeverAbstainsWithAFilter.Memory):
        def forces(self, scope: Scope, at: str, where: Filter) -> bool:
            return scope.user is not None


class NeverAbstainsOfThePast(Planted):
    """Only a question as of an earlier day has no threshold."""

    must = ("unknown_answered_with_silence",)

    class Memory(NeverAbstainsWithAFilter.Memory):
        def forces(self, scope: Scope, at: str, where: Filter) -> bool:
            # the day on which drills ask, unless they ask of the past
            return at < "2026-03-02"
