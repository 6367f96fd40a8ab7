"""Mem0 as its quickstart shows it: the user's name is the `user_id`, there is no other scope, and ids are trusted.

The row `mem0` shows what can be made of the library, this one what it does by itself: nothing here encodes a name or
asks whose memory an id is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from adapters.mem0 import ALL, EVERYWHERE, Mem0, Mem0Memory, dated, expiry, hit
from harness.adapter import FILTERS, Ack, Filter, Hit, Item, Scope, Unsupported


def user_id(scope: Scope) -> str:
    return scope.user or EVERYWHERE


def plain(row: Mapping[str, Any]) -> Hit:
    user = row["user_id"]
    # `hit` would take a user's plain name for a spelled-out scope
    return replace(hit({**row, "user_id": ""}), scope=Scope(user=None if user == EVERYWHERE else user))


class PlainMemory(Mem0Memory):
    def _add(self, item: Item, told: str | list[dict[str, str]]) -> Ack:
        place = user_id(item.scope)
        added = self.memory.add(told, user_id=place, metadata=dated(item), **expiry(item), infer=False)
        return Ack(tuple(row["id"] for row in added["results"]))

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        if not query.strip() or k < 1:
            return []
        return [
            plain(row) for row in self.memory.search(query, filters={"user_id": user_id(scope)}, top_k=k)["results"]
        ]

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        raise Unsupported("recall_where")

    def entries(self, scope: Scope) -> list[Hit]:
        return [plain(row) for row in self.memory.get_all(filters={"user_id": user_id(scope)}, top_k=ALL)["results"]]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self.memory.get(memory_id)
        return plain(row) if row else None

    def forget_scope(self, scope: Scope) -> None:
        self.memory.delete_all(user_id=user_id(scope))


class Mem0Plain(Mem0):
    name = "mem0_plain"
    clients = ("Python",)
    settings = ()
    native: ClassVar[tuple[str, ...]] = (
        *(each for each in Mem0.native if each not in ("deprecate", *FILTERS)), "scope_user",
    )  # fmt: skip
    emulated: ClassVar = {
        "supersede": "delete and add, not atomic",
        "source": "echoed: stored as flat metadata",
    }
    unsupported: ClassVar = {
        **Mem0.unsupported,
        **dict.fromkeys(("deprecate", *FILTERS), "the quickstart asks without a filter for it"),
        **dict.fromkeys(("scope_org", "scope_repo", "scope_branch"), "the quickstart knows users only"),
    }
    memory: ClassVar[type[Mem0Memory]] = PlainMemory
