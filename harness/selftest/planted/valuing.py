"""Faults of single fields: by one route only, or of one kind of value only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.adapter import Filter, Hit, Item, Scope, Source
from harness.selftest.planted.base import Planted, ReferenceMemory


class _Confident(ReferenceMemory):
    def confidence(self, value: float) -> float | None:
        raise NotImplementedError

    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        value = item.confidence
        return super().columns(replace(item, confidence=None if value is None else self.confidence(value)), vector)


class DropsFullConfidence(Planted):
    """A confidence of 1 is what is taken for granted, and not kept."""

    must = ("confidence_survives_writing",)

    class Memory(_Confident):
        def confidence(self, value: float) -> float | None:
            return None if value == 1 else value


class RoundsConfidence(Planted):
    """A confidence is kept in percent: 0.875 is 0.88."""

    must = ("confidence_survives_writing",)

    class Memory(_Confident):
        def confidence(self, value: float) -> float | None:
            return round(value * 100) / 100


class _Sourced(ReferenceMemory):
    def sourced(self, source: Source) -> Source:
        raise NotImplementedError

    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        return super().columns(replace(item, source=item.source and self.sourced(item.source)), vector)


class CutsCommitsAtForty(Planted):
    """A column for 40 characters: commits of a repository with SHA-256 are cut."""

    must = ("source_survives_writing",)

    class Memory(_Sourced):
        def sourced(self, source: Source) -> Source:
            return replace(source, commit=source.commit and source.commit[:40])


class TidiesSourcePaths(Planted):
    r"""docs\a.md is docs/a.md."""

    must = ("source_survives_writing",)

    class Memory(_Sourced):
        def sourced(self, source: Source) -> Source:
            return replace(source, path=source.path and source.path.replace("\\", "/"))


class StripsRootsOfPaths(Planted):
    """/etc/app.ini is etc/app.ini."""

    must = ("source_survives_writing",)

    class Memory(_Sourced):
        def sourced(self, source: Source) -> Source:
            return replace(source, path=source.path and source.path.lstrip("/"))


class RecallsTheDateOfTheQuestion(Planted):
    """A search dates its hits by the question; listing and reading tell the date that was written."""

    must = ("date_survives_writing",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            return [replace(hit, created=at) for hit in super().recall_where(query, scope, k, at, where)]


class RecallsWithoutSource(Planted):
    """A search brings no source; listing and reading do."""

    must = ("source_survives_writing",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            return [replace(hit, source=None) for hit in super().recall_where(query, scope, k, at, where)]


class GetsWithoutConfidence(Planted):
    """Reading by id brings no confidence; listing and searching do."""

    must = ("confidence_survives_writing",)

    class Memory(ReferenceMemory):
        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            hit = super().get(scope, memory_id)
            return hit and replace(hit, confidence=None)
