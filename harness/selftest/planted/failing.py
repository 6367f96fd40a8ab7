"""Faults of answering at all: calls that raise, answer in another form, or say too early that they are done."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from harness.adapter import Ack, Hit, Item, Scope, Usage
from harness.selftest.planted.base import Planted, ReferenceMemory


class RaisesOnRecall(Planted):
    """Every question ends in an error of the index."""

    must = (
        "calls_failed",
        "self_reachability",
        "forgotten_from_search",
        "forgotten_by_every_route",
        "scope_forgotten_from_search",
        "expired_not_recalled",
        "leaks_by_prefix",
        "leaks_into_no_scope",
        "restored_probes",
        "attacks_retrieved",
        "attacks_acted_on",
        "expired_rules_returned",
        "unfindable_after_kill",
        "updated_found",
        "stale_after_other_deletes",
        "recall",
        "stale_exposure",
        "stale_use",
        "abstention",
        "deleted_from_search",
        "deleted_after_reopening",
        "source_verified",
        "tokens_recall",
    )

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            raise ValueError("the index is broken")


class AnswersInAnotherForm(Planted):
    """Hands out the rows of its SDK as they are."""

    must = RaisesOnRecall.must

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> Any:
            # an empty list would be in the right form
            return [{"id": hit.memory_id, "memory": hit.text} for hit in super().recall(query, scope, k, at)] or [{}]


class TakesOtherArguments(Planted):
    """Written for an older protocol, in which a question had no time."""

    must = RaisesOnRecall.must

    class Memory(ReferenceMemory):
        # the other signature is the fault
        def recall(self, query: str, scope: Scope, k: int) -> list[Hit]:  # type: ignore[override]
            return super().recall(query, scope, k, "2026-01-01T00:00:00+00:00")


class AcknowledgesNothing(Planted):
    """Stores, and returns nothing."""

    must = (
        "writes_not_acknowledged",
        "writes_kept",
        "forgotten_by_every_route",
        "leaks_by_prefix",
        "attacks_retrieved",
        "lost_by_kill",
        "wrong_after_kill",
        "lost_between_handles",
        "facts_stored",
    )

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> Any:
            super().remember(items)


class RaisesOnListing(Planted):
    """A listing ends in an error."""

    must = (
        "writes_listed",
        "entries_unaccounted",
        "forgotten_from_listing",
        "forgotten_by_every_route",
        "scope_forgotten_from_listing",
        "same_scope_over_deletion",
        "leaks_by_listing",
        "restored_exactly",
        "lost_by_restore",
        "lost_by_kill",
        "wrong_after_kill",
        "doubled_between_handles",
        "deleted_from_entries",
        "over_deletion",
    )

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            raise RuntimeError("the page token has expired")


class RaisesForUnknownIds(Planted):
    """An id that is not there is an error."""

    must = ("forgotten_from_get", "forgotten_by_every_route", "read_across_scopes", "deleted_from_get")

    class Memory(ReferenceMemory):
        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            found = super().get(scope, memory_id)
            if found is None:
                raise KeyError(memory_id)
            return found


class RaisesEveryThird(Planted):
    """Every third question is one too many for the server behind it."""

    must = ("calls_failed", "self_reachability", "recall")

    class Memory(ReferenceMemory):
        asked = 0

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            if self.asked % 3 == 0:
                raise TimeoutError("429: slow down")
            return super().recall(query, scope, k, at)


class RaisesOnceForgotten(Planted):
    """From the first deletion on, the process cannot search any more."""

    must = ("forgotten_from_search", "forgotten_by_every_route", "left_after_undo", "deleted_from_search")

    class Memory(ReferenceMemory):
        broken = False

        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            self.broken = True
            return super().forget(scope, memory_ids)

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            if self.broken:
                raise ValueError("the index holds an id that the table does not")
            return super().recall(query, scope, k, at)


class RaisesOnForget(Planted):
    """A deletion ends in an error, and nothing is deleted: nothing else is lost by it either."""

    must = (
        "forgotten_from_search",
        "forgetting_said_and_done",
        "same_scope_over_deletion",
        "left_after_undo",
        "good_lost_by_undo",
        "kept_lost_by_undo",
        "forget_undone_by_kill",
        "deleted_for_writer",
        "stale_after_other_deletes",
        "deleted_from_search",
        "deletion_acknowledged",
        "over_deletion",
    )

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            raise PermissionError("deletions are switched off")


class RaisesOnRestore(Planted):
    """A restore ends in an error: nothing is revived and nothing lost by it."""

    must = ("restored_exactly", "restored_probes", "left_after_restore", "resurrected_by_restore", "lost_by_restore")

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            raise OSError("the copy is held by another process")


class RaisesOnSupersede(Planted):
    """A replacement ends in an error."""

    must = ("replaced_gone_after_supersede", "source_survives_supersede", "facts_stored", "stale_exposure")

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            raise RuntimeError("a memory may be replaced once a minute")


class KeepsNoHistory(Planted):
    """Declares an audit history and has nothing to tell."""

    must = ("history_tells_earlier_text",)

    class Memory(ReferenceMemory):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            return []


# --- settling ---------------------------------------------------------------------------------------------------------


class SettlesTooEarly(Planted):
    """Says that all is visible, while the search still leaves out what was written a few questions ago."""

    must = ("settled_too_early",)

    class Memory(ReferenceMemory):
        lag = 12

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.asked, self.written = 0, dict[str, int]()

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            self.written.update({name: self.asked for ack in acks for name in ack.ids})
            return acks

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.asked += 1
            seen = self.asked - self.lag
            # what another process wrote is not known here, and counts as written long ago
            return [hit for hit in super().recall(query, scope, k, at) if self.written.get(hit.memory_id, -99) < seen]


class ListsTooEarly(Planted):
    """Says that all is visible, while the first listing of a scope is the one from before the writes."""

    must = ("settled_too_early", "writes_listed")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.listed: set[Scope] = set()

        def entries(self, scope: Scope) -> list[Hit]:
            if scope not in self.listed:
                self.listed.add(scope)
                return []
            return super().entries(scope)


class NeverSettles(Planted):
    """Says after every wait that it was too short."""

    must = ("settled",)

    class Memory(ReferenceMemory):
        def settle(self, seconds: float) -> bool:
            return False


class RaisesOnSettling(Planted):
    """A wait ends in an error."""

    must = ("settled", "calls_failed")

    class Memory(ReferenceMemory):
        def settle(self, seconds: float) -> bool:
            raise ConnectionError("the queue is gone")


# --- usage ------------------------------------------------------------------------------------------------------------

# The form of Mem0's prompt, as the stand-in model refuses what it does not know.
PROMPT = """## Recently Extracted Memories
[]

## Existing Memories
[]

## New Messages
user: {text}

## Observation Date
2026-01-01"""


class HidesUsage(Planted):
    """Asks a chat model about each write, and reports that it has none inside."""

    must = ("chat_unreported",)

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            for item in items[:1]:
                self.chat(PROMPT.format(text=item.text))
            return super().remember(items)

        def chat(self, prompt: str) -> None:
            where = urlsplit(self.space.gateway)
            body = json.dumps({"model": "small", "messages": [{"role": "user", "content": prompt}]}).encode()
            head = {"authorization": f"Bearer {self.space.key}", "content-type": "application/json"}
            link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
            link.request("POST", f"{where.path}/chat/completions", body, head)
            link.getresponse().read()
            link.close()

        def usage(self) -> Usage:
            return Usage()


class RaisesOnUsage(Planted):
    """Declares that it tells what its models used, and ends in an error when asked."""

    must = ("tokens_backend",)

    class Memory(ReferenceMemory):
        def usage(self) -> Usage:
            raise RuntimeError("no usage in this plan")
