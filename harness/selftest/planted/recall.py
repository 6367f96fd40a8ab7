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
    may = (
        "recall_seconds_p99",
        "right_before_look_alike",
        "ended_late",
        "ended_early",
        "wordless_text_found",
        "deletion",
        "forget_undone_by_kill",
        "settled_too_early",
        "scores_out_of_order",
        "expiry_by_wall_clock",
        "expiry_lost",
        "other_scopes_restored",
        "own_text_first",
        "answer_among_look_alikes",
        "unknown_answered_with_silence",
        "calls_failed",
        "forgotten_from_search",
        "forgotten_from_forbidden_search",
        "forgotten_from_paraphrase",
        "scope_forgotten_from_search",
        "expired_not_recalled",
        "restored_probes",
        "left_after_restore",
        "resurrected_by_restore",
        "left_after_undo",
        "poison",
        "unfindable_after_kill",
        "updated_found",
        "sharing",
        "story",
        "detour",
        "burst",
        "embedder",
        "answers_invented",
        "numbers_as_told",
        "short_questions_answered",
        "kept_through_days",
    )

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return self.entries(scope) if k else []


class NeverAbstains(Planted):
    """The threshold is off by a sign: always the k nearest, however far."""

    must = ("unknown_answered_with_silence", "abstention")
    may = (
        "precision_in_budget",
        "expired_not_recalled",
        "expired_rules_returned",
        "precision_at_k",
        "tokens_ingest",
        "tokens_recall",
        "tokens_total",
        "tokens_per_job",
        "break_even",
        "embedding_tokens",
    )

    class Memory(ReferenceMemory):
        near = -1.0


class RanksOldestFirst(Planted):
    """A lost DESC: what is near enough comes back in the order of writing."""

    must = ("own_text_first", "answer_among_look_alikes", "mrr", "right_before_look_alike")
    may = (
        "wordless_text_found",
        "scores_out_of_order",
        "expiry_by_wall_clock",
        "self_reachability",
        "unknown_answered_with_silence",
        "lower_authority_first",
        "unfindable_after_kill",
        "updated_found",
        "own_writes_unseen",
        "unseen_while_open",
        "stale_after_other_deletes",
        "stale_after_settling",
        "unfindable_between_handles",
        "story",
        "detour",
        "burst",
        "embedder",
    )

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
    may = (
        "answer_among_look_alikes",  # by chance: three answers at the least size, each with a drawn date
        "scores_out_of_order",
        "self_reachability",
        "attacks_acted_on_minding_confidence",
        "attacks_acted_on_minding_source",
        "benign_utility_under_poison",
        "low_confidence_first",
        "lower_authority_first",
        "unfindable_after_kill",
        "updated_found",
        "unfindable_between_handles",
        "story",
        "detour",
        "burst",
        "embedder",
        "kept_through_days",
    )

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            order = {row["id"]: row["seq"] for row in self.visible(scope)}
            return sorted(super().recall(query, scope, ALL, at), key=lambda hit: -order[hit.memory_id])[:k]


class BringsBackTheExpired(Planted):
    """Nothing reads the end of a memory's validity."""

    must = ("expired_not_recalled", "expired_rules_returned")
    may = (
        "ended_late",
        "ended_early",
        "expiry_by_wall_clock",
        "expiry_lost",
    )

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return super().recall(query, scope, k, "0001-01-02T00:00:00+00:00")


class SwallowsErrors(Planted):
    """The search engine trips over punctuation, and whoever calls it takes the error for no result."""

    must = ("self_reachability", "answer_among_look_alikes", "recall")
    may = (
        "ended_late",
        "ended_early",
        "wordless_text_found",
        "expiry_by_wall_clock",
        "own_text_first",
        "unknown_answered_with_silence",
        "forgotten_from_paraphrase",
        "restored_probes",
        "poison",
        "unfindable_after_kill",
        "updated_found",
        "own_writes_unseen",
        "unseen_while_open",
        "unfindable_between_handles",
        "story",
        "burst",
        "found_after_a_miss",
    )

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
    may = (
        "right_before_look_alike",
        "found_after_a_miss",
        "changed_after_a_hit",
        "short_questions_answered",
        "kept_through_days",
        "ended_late",
        "ended_early",
        "wordless_text_found",
        "scores_out_of_order",
        "expiry_by_wall_clock",
        "expiry_lost",
        "answer_among_look_alikes",
        "unknown_answered_with_silence",
        "forgotten_from_search",
        "forgotten_from_forbidden_search",
        "forgotten_from_paraphrase",
        "scope_forgotten_from_search",
        "expired_not_recalled",
        "isolation",
        "restored_probes",
        "poison",
        "unfindable_after_kill",
        "updated_found",
        "sharing",
        "story",
        "detour",
        "burst",
        "embedder",
        "answers_invented",
    )

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
    may = (
        "other_scopes_restored",
        "keeping",
        "deletion",
        "isolation",
        "rollback",
        "poison",
        "torn_by_kill",
        "wrong_after_kill",
        "forget_undone_by_kill",
        "update_undone_by_kill",
        "unfindable_after_kill",
        "updated_found",
        "sharing",
        "story",
        "detour",
        "burst",
        "embedder",
    )

    class Memory(ReferenceMemory):
        asked = 0

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            if self.asked == 5:
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
    may = (
        "other_scopes_restored",
        "keeping",
        "deletion",
        "isolation",
        "rollback",
        "poison",
        "torn_by_kill",
        "wrong_after_kill",
        "forget_undone_by_kill",
        "update_undone_by_kill",
        "unfindable_after_kill",
        "updated_found",
        "sharing",
        "story",
        "detour",
        "burst",
        "embedder",
    )

    class Memory(ReferenceMemory):
        asked = 0

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            if self.asked == 5:
                os.abort()
            return super().recall(query, scope, k, at)


class LiesAboutSupport(Planted):
    """Declares everything, and refuses what a lesser edition lacks: history and marks."""

    must = ("restored_exactly", "left_after_restore")
    may = (
        "history_tells_all_versions",
        "marks_restored",
        "deletion",
        "deleted_after_reopening",
        "history_across_scopes",
        "deleted_history_across_scopes",
        "history_tells_earlier_text",
        "calls_failed",
        "other_scopes_restored",
        "forgotten_from_history",
        "restored_probes",
        "resurrected_by_restore",
        "lost_by_restore",
        "good_lost_by_restore",
        "deleted_from_history",
    )

    class Memory(ReferenceMemory):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            raise Unsupported("history: not in this edition")

        def snapshot(self) -> str:
            raise Unsupported("snapshot: not in this edition")

        def restore(self, mark: str) -> None:
            raise Unsupported("restore: not in this edition")
