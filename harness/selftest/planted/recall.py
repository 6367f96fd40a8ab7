"""Faults of answering: too much, too little, in the wrong order, too late, or not at all."""

from __future__ import annotations

import os
import time

from harness.adapter import Hit, Scope, Unsupported
from harness.selftest.planted.base import Planted, ReferenceMemory

ALL = 1_000_000


class ReturnsEverything(Planted):
    """Takes k for a hint: everything comes back, whatever was asked."""

    must = ("recalls_malformed", "self_reachability", "recall")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return self.entries(scope) if k else []


class NeverAbstains(Planted):
    """The threshold is off by a sign: always the k nearest, however far."""

    must = ("unknown_answered_with_silence", "abstention")

    class Memory(ReferenceMemory):
        # no cosine is lower
        near = -1.0


class RanksOldestFirst(Planted):
    """A lost DESC: what is near enough comes back in the order of writing."""

    must = ("own_text_first", "answer_among_look_alikes", "mrr", "right_before_look_alike")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            order = {row["id"]: row["seq"] for row in self.visible(scope)}
            return sorted(super().recall(query, scope, ALL, at), key=lambda hit: order[hit.memory_id])[:k]


class NeedsAWord(Planted):
    """A question without a letter or digit is answered with nothing."""

    must = ("wordless_text_found",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return super().recall(query, scope, k, at) if any(map(str.isalnum, query)) else []


class RanksNewestFirst(Planted):
    """Recency is all that counts among what is near enough: the last word wins, whoever said it."""

    must = ("own_text_first", "mrr", "attacks_retrieved", "attacks_acted_on", "right_before_look_alike")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            order = {row["id"]: row["seq"] for row in self.visible(scope)}
            return sorted(super().recall(query, scope, ALL, at), key=lambda hit: -order[hit.memory_id])[:k]


class BringsBackTheExpired(Planted):
    """Nothing reads the end of a memory's validity."""

    must = ("expired_not_recalled", "expired_rules_returned")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return super().recall(query, scope, k, "0001-01-02T00:00:00+00:00")


class SwallowsErrors(Planted):
    """The search engine trips over punctuation, and whoever calls it takes the error for no result."""

    must = ("self_reachability", "answer_among_look_alikes", "recall")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            try:
                return super().recall(self.parsed(query), scope, k, at)
            except ValueError:
                return []

        def parsed(self, query: str) -> str:
            if set(query) & set("?'\"`:-"):
                raise ValueError(f"syntax error near {query!r}")
            return query


class RefusesPolitely(Planted):
    """A guard in front of the store gives one constant sentence for an answer."""

    must = ("self_reachability", "own_text_first", "recall")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return [Hit("guard", "I am sorry, but I cannot help with that request.")][:k]


class Hangs(Planted):
    """The fifth question is never answered."""

    must = (
        "calls_failed",
        "self_reachability",
        "forgotten_by_every_route",
        "leaks_by_prefix",
        "restored_exactly",
        "attacks_retrieved",
        "lost_by_kill",
        "lost_between_handles",
        "recall",
    )

    class Memory(ReferenceMemory):
        asked = 0

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            if self.asked == 5:
                # longer than any deadline of the self-test
                time.sleep(1000)
            return super().recall(query, scope, k, at)


class Crashes(Planted):
    """The process dies of the fifth question."""

    must = (
        "calls_failed",
        "self_reachability",
        "forgotten_by_every_route",
        "leaks_by_prefix",
        "restored_exactly",
        "attacks_retrieved",
        "lost_by_kill",
        "lost_between_handles",
        "recall",
    )

    class Memory(ReferenceMemory):
        asked = 0

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            if self.asked == 5:
                # no exception, which the child would survive and report
                os.abort()
            return super().recall(query, scope, k, at)


class LiesAboutSupport(Planted):
    """Declares everything, and refuses what a lesser edition lacks: history and marks."""

    must = ("restored_exactly", "left_after_restore")

    class Memory(ReferenceMemory):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            raise Unsupported("history: not in this edition")

        def snapshot(self) -> str:
            raise Unsupported("snapshot: not in this edition")

        def restore(self, mark: str) -> None:
            raise Unsupported("restore: not in this edition")
