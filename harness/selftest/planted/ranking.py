"""Faults of order that pay in a story, in which the newest is current and questions are worded like their memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.adapter import Filter, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

ALL = 10_000
FIRST = 4
"""Words of a question by which a memory is taken for its answer."""


class _Reordering(ReferenceMemory):
    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.reorder(query, super().recall(query, scope, ALL, at))[:k]

    def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
        raise NotImplementedError


class PrefersTheSameBeginning(Planted):
    """What begins with the first four words of the question is its answer, whatever comes behind them."""

    must = ("right_before_look_alike",)

    class Memory(_Reordering):
        def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
            begin = query.casefold().split()[:FIRST]
            return sorted(hits, key=lambda hit: hit.text.casefold().split()[:FIRST] != begin)


class PrefersTheNewestOfAFile(Planted):
    """Of the memories that cite the file of the nearest one, the latest told comes first."""

    must = ("right_before_look_alike",)

    class Memory(_Reordering):
        def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
            order = dict(self.db.execute("SELECT id, seq FROM memories"))
            paths = {hit.memory_id: hit.source.path for hit in hits if hit.source}
            near = paths.get(hits[0].memory_id) if hits else None
            same = [hit for hit in hits if near and paths.get(hit.memory_id) == near]
            return sorted(same, key=lambda hit: -order[hit.memory_id]) + [hit for hit in hits if hit not in same]


class PrefersTheShorter(Planted):
    """The score is divided by the length of the text."""

    must = ("right_before_look_alike",)

    class Memory(_Reordering):
        def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
            return sorted(hits, key=lambda hit: len(hit.text))


class PrefersTheUsersOwn(Planted):
    """What a user wrote comes before what the team wrote, whatever is asked."""

    must = ("right_before_look_alike",)

    class Memory(_Reordering):
        def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
            return sorted(hits, key=lambda hit: not (hit.scope and hit.scope.user))


class IndexesTheBeginning(Planted):
    """Whole texts are stored, and their first 120 characters are indexed."""

    must = ("right_before_look_alike",)

    class Memory(ReferenceMemory):
        def vectors(self, items: Sequence[Item]) -> list[bytes]:
            # without `lstrip`, a text that begins with so many blanks would be taken for a blank one, and not stored
            return super().vectors([replace(item, text=item.text.lstrip()[:120]) for item in items])


class IndexesTheFirstChunk(Planted):
    """Whole texts are stored, and their first 256 characters are indexed."""

    must = ("right_before_look_alike",)

    class Memory(ReferenceMemory):
        def vectors(self, items: Sequence[Item]) -> list[bytes]:
            # as above, only a blank text may become blank
            return super().vectors([replace(item, text=item.text.lstrip()[:256]) for item in items])


class CutsLongQuestions(Planted):
    """Only the first 100 characters of a question are searched for."""

    must = ("right_before_look_alike",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            return super().recall_where(query[:100], scope, k, at, where)
