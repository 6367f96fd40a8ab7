"""LangGraph's store as its quickstart shows it: the user's name is a label of the namespace, and nothing else is scope.

The row `langgraph` shows what can be made of the store, this one what it does by itself: nothing here escapes a name,
and vectors are made of what the configuration that the documentation shows leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from adapters._labels import EVERYWHERE
from adapters.langgraph import ABOVE, Langgraph, LanggraphMemory, write_value
from harness.adapter import FILTERS, Filter, Hit, Item, Scope, Unsupported


class PlainMemory(LanggraphMemory):
    fields: ClassVar[Sequence[str] | None] = None

    @staticmethod
    def value(item: Item) -> dict[str, Any]:
        return write_value(item)

    def still_at(self, at: str) -> None:
        return None

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        raise Unsupported("recall_where")

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        raise Unsupported("deprecate")

    def name(self, scope: Scope) -> tuple[str, ...]:
        return (ABOVE, scope.user or EVERYWHERE)

    def reach(self, place: Scope) -> list[tuple[str, ...]]:
        return [self.name(place)]

    def read_name(self, label: str) -> Scope | None:
        return Scope(user=None if label == EVERYWHERE else label)


class LanggraphPlain(Langgraph):
    name = "langgraph_plain"
    clients = ("Python",)
    native: ClassVar[tuple[str, ...]] = (
        *(each for each in Langgraph.native if each not in ("deprecate", *FILTERS)), "scope_user",
    )  # fmt: skip
    emulated: ClassVar = {
        name: how for name, how in Langgraph.emulated.items() if not name.startswith(("expiry", "scope_", "filter_"))
    }
    unsupported: ClassVar = {
        **Langgraph.unsupported,
        "expiry": "a lifetime is minutes of the wall clock from the last use on; no date can be given",
        **dict.fromkeys(("deprecate", *FILTERS), "the quickstart asks without a filter"),
        **dict.fromkeys(("scope_org", "scope_repo", "scope_branch"), "the quickstart knows users only"),
    }
    memory: ClassVar[type[LanggraphMemory]] = PlainMemory
