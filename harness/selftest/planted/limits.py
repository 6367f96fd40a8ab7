"""Faults of limits that nobody asked for: of hits, of scopes, and between the pages of a listing."""

from __future__ import annotations

import json
from typing import ClassVar

from harness.adapter import Ack, Filter, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory
from harness.selftest.planted.scopes import PAGE, Keyed

# --- hits -------------------------------------------------------------------------------------------------------------


class _Capping(ReferenceMemory):
    """Brings no more hits than it thinks fit."""

    most: ClassVar[int]

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        return super().recall_where(query, scope, min(k, self.most), at, where)


class BringsFive(Planted):
    """A question brings five memories at most, however many are asked for."""

    must: ClassVar[tuple[str, ...]] = ("many_found_at_once",)

    class Memory(_Capping):
        most = 5


class BringsTen(Planted):
    """A question brings ten memories at most."""

    must = BringsFive.must

    class Memory(_Capping):
        most = 10


class BringsTwenty(Planted):
    """A question brings twenty memories at most."""

    must = BringsFive.must

    class Memory(_Capping):
        most = 20


class BringsTwentyFive(Planted):
    """A question brings a page of 25 memories, and nobody asks for the next one."""

    must = BringsFive.must

    class Memory(_Capping):
        most = 25


class BringsThirty(Planted):
    """A question brings thirty memories at most."""

    must = BringsFive.must

    class Memory(_Capping):
        most = 30


class BringsFifty(Planted):
    """A question brings fifty memories at most."""

    must = BringsFive.must

    class Memory(_Capping):
        most = 50


# --- scopes -----------------------------------------------------------------------------------------------------------


class _Numbering(Keyed):
    """Knows a scope by its number, in the order of the first writes."""

    room: ClassVar[int]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.db.execute("CREATE TABLE IF NOT EXISTS places (number INTEGER PRIMARY KEY, place TEXT UNIQUE)")

    def add(self, item: Item, vector: bytes) -> Ack:
        place = json.dumps(list(vars(item.scope).values()))
        self.db.execute("INSERT OR IGNORE INTO places (place) VALUES (?)", [place])
        # this write may have given a scope its number, and with it another key
        self.keys.clear()
        return super().add(item, vector)

    def key(self, scope: Scope) -> str:
        place = json.dumps(list(vars(scope).values()))
        row = self.db.execute("SELECT number FROM places WHERE place = ?", [place]).fetchone()
        return str(self.share(row["number"])) if row else place

    def share(self, number: int) -> int:
        """Scopes with the same number are one."""
        return number % self.room


class NumbersScopesTo256(Planted):
    """The number of a scope is one byte: the 257th is the first."""

    must: ClassVar[tuple[str, ...]] = ("leaks_by_part",)

    class Memory(_Numbering):
        room = 256


class NumbersScopesToAHundred(Planted):
    """There is room for a hundred scopes: the next one is the first."""

    must = NumbersScopesTo256.must

    class Memory(_Numbering):
        room = 100


class LastScopesShareOne(Planted):
    """There is room for 64 scopes: all that come later are the last."""

    must = NumbersScopesTo256.must

    class Memory(_Numbering):
        room = 64

        def share(self, number: int) -> int:
            return min(number, self.room)


class OldScopesShareOne(Planted):
    """The last hundred scopes are kept apart; all that are older are archived as one."""

    must = NumbersScopesTo256.must

    class Memory(_Numbering):
        room = 100

        def share(self, number: int) -> int:
            last: int = self.db.execute("SELECT MAX(number) FROM places").fetchone()[0]
            return max(number, last - self.room)


class LosesOldScopes(Planted):
    """There is room for a hundred scopes: with the next one, the memories of the oldest are gone."""

    must = ("missed_in_own_scope",)

    class Memory(ReferenceMemory):
        room = 100

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            parts = "repo, org, branch, user"
            newest = f"SELECT {parts} FROM memories WHERE mark = 0 GROUP BY {parts} ORDER BY MAX(seq) DESC"
            for row in self.db.execute(newest).fetchall()[self.room :]:
                for hit in self.entries(Scope(**row)):
                    self.db.execute("DELETE FROM memories WHERE id = ?", [hit.memory_id])
            return ack


# --- pages ------------------------------------------------------------------------------------------------------------


class RepeatsTheFirstPage(Planted):
    """A listing has pages of 100, and each of them is the first."""

    must: ClassVar[tuple[str, ...]] = ("large_scope_listed",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            hits = super().entries(scope)
            return [hits[at % PAGE] for at in range(len(hits))]


class ListsTheFirstPageTwice(Planted):
    """A listing of more than 100 begins with its first page, and then with all pages."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            hits = super().entries(scope)
            return [*hits[: PAGE if len(hits) > PAGE else 0], *hits]


class DropsTheLastPage(Planted):
    """A listing of more than 100 ends with its last whole page."""

    must = RepeatsTheFirstPage.must

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            hits = super().entries(scope)
            return hits[: len(hits) - len(hits) % PAGE] if len(hits) > PAGE else hits


class SkipsOneBetweenPages(Planted):
    """Pages of a listing begin one too late: the first of each but the first is left out."""

    must = RepeatsTheFirstPage.must

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            return [hit for at, hit in enumerate(super().entries(scope)) if at == 0 or at % PAGE]
