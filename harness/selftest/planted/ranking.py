"""Faults of order that pay in a story, in which the newest is current and questions are worded like their memories."""

from __future__ import annotations

from harness.adapter import Hit, Scope
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
    may = ("scores_out_of_order", "own_text_first", "story", "detour", "poison")

    class Memory(_Reordering):
        def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
            begin = query.casefold().split()[:FIRST]
            return sorted(hits, key=lambda hit: hit.text.casefold().split()[:FIRST] != begin)


class PrefersTheNewestOfAFile(Planted):
    """Of the memories that cite the file of the nearest one, the latest told comes first."""

    must = ("right_before_look_alike",)
    may = ("scores_out_of_order", "own_text_first", "mrr", "story", "detour", "poison")

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
    may = (
        "scores_out_of_order",
        "own_text_first",
        "self_reachability",
        "answer_among_look_alikes",
        "story",
        "detour",
        "poison",
        "mrr",
        "updated_found",
        "unfindable_after_kill",
        "burst",
        "embedder",
        "kept_through_days",
        "expiry_by_wall_clock",
        "expiry_lost",
    )

    class Memory(_Reordering):
        def reorder(self, query: str, hits: list[Hit]) -> list[Hit]:
            return sorted(hits, key=lambda hit: len(hit.text))
