"""Chroma as its quickstart shows it: one collection for all, asked without a filter.

The row `chroma` shows what can be made of the store, this one what it does for who never says where a memory holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from adapters._base import SCOPES
from adapters.chroma import Chroma, ChromaMemory, Where
from harness.adapter import FILTERS, Call, Filter, Hit, Scope, Unsupported


class PlainMemory(ChromaMemory):
    @staticmethod
    def exactly(scope: Scope) -> Where | None:
        return None

    @staticmethod
    def holding_at(place: Scope) -> Where | None:
        return None

    @staticmethod
    def still_at(place: Scope, at: str) -> Where | None:
        return None

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [replace(hit, scope=None) for hit in super().recall(query, scope, k, at)]

    # inherited, it would ask as the row `chroma` does
    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        raise Unsupported("recall_where")

    def _read(self, where: Where | None, ids: Iterable[str] | None = None, **part: int) -> dict[str, Hit]:
        return {name: replace(hit, scope=None) for name, hit in super()._read(where, ids, **part).items()}

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        raise Unsupported("deprecate")

    def forget_scope(self, scope: Scope) -> None:
        raise Unsupported("forget_scope")


class ChromaPlain(Chroma):
    name = "chroma_plain"
    clients = ("Python",)
    native: ClassVar[tuple[str, ...]] = tuple(
        name for name in Chroma.native if name not in (*SCOPES, *FILTERS, "deprecate")
    )
    unsupported: ClassVar = {
        **Chroma.unsupported,
        **dict.fromkeys(("deprecate", *FILTERS), "the quickstart asks without a filter"),
        **dict.fromkeys(SCOPES, "the quickstart has one collection for all"),
    }
    memory: ClassVar[type[ChromaMemory]] = PlainMemory

    def program(self, calls: Sequence[Call]) -> str:
        return ""
