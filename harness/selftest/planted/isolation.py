"""Faults of keeping apart: what holds in one place is told, or touched, in another."""

from __future__ import annotations

import sqlite3
import unicodedata
from dataclasses import asdict, replace
from typing import Any

from adapters.reference import LISTED, VISIBLE
from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

PARTS = ("repo", "org", "branch", "user")


def compare_by(how: str) -> str:
    """The query for what holds at a place, with `how` in place of the equal sign between column and value."""
    query = VISIBLE
    for part in PARTS:
        query = query.replace(f"{part} = :{part}", how.format(part))
    return query


class LooksUp(ReferenceMemory):
    """The reference with another query for what holds at a place."""

    query = VISIBLE

    def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
        return self.db.execute(self.query, {**asdict(place), "id": memory_id}).fetchall()


class LeaksByPrefix(Planted):
    """A scope is a prefix of a key: `api` sees what `api-internal` wrote."""

    must = ("leaks_by_prefix", "leaks_by_address", "leaks_by_number")

    class Memory(LooksUp):
        query = compare_by("substr({0}, 1, length(:{0})) = :{0}")


class TakesItForAPattern(Planted):
    """A scope is compared with LIKE: `_` and `%` in a name stand for anything, and case does not count."""

    must = ("leaks_by_pattern", "leaks_by_case")

    class Memory(LooksUp):
        query = compare_by("{0} LIKE :{0}")


class TakesItForAGlob(Planted):
    """A scope is compared with GLOB: `*` and `?` in a name stand for anything."""

    must = ("leaks_by_pattern",)

    class Memory(LooksUp):
        query = compare_by("{0} GLOB :{0}")


class FoldsNames(Planted):
    """Names are normalised on the way in: full-width letters, ligatures and capitals become the plain ones."""

    must = ("leaks_by_case", "leaks_by_space", "leaks_by_lookalike")

    class Memory(LooksUp):
        query = compare_by("folded({0}) = folded(:{0})")

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            # the `lower` of SQLite knows the letters of ASCII alone
            self.db.create_function("folded", 1, fold_name)


def fold_name(name: str | None) -> str | None:
    return None if name is None else unicodedata.normalize("NFKC", name).casefold().strip()


class TakesNothingForAll(Planted):
    """Whoever names no user, branch or repository sees those of all."""

    must = ("leaks_into_no_scope", "leaks_into_unwritten_scope")

    class Memory(LooksUp):
        query = compare_by("(:{0} IS NULL OR {0} = :{0})")


class KeepsNothingApart(Planted):
    """Scopes are stored and given back, and no search looks at them."""

    must = ("leaks_by_part",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return Everywhere(self).recall(query, scope, k, at)


class ReadsAnyId(Planted):
    """Reading by id does not look at the scope."""

    must = ("read_across_scopes",)

    class Memory(ReferenceMemory):
        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            row = self.db.execute("SELECT * FROM memories WHERE mark = 0 AND id = ?", [memory_id]).fetchone()
            return self.hit(row) if row else None


class UpdatesAnyId(Planted):
    """Changing by id does not look at the scope."""

    must = ("updated_across_scopes",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            row = self.db.execute("SELECT * FROM memories WHERE mark = 0 AND id = ?", [memory_id]).fetchone()
            return super().update(self.hit(row).scope or scope if row else scope, memory_id, item)


class ForgetsAnyId(Planted):
    """Forgetting by id does not look at the scope."""

    must = ("forgotten_across_scopes",)

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            return self.db.execute("DELETE FROM memories WHERE id = ?", [memory_id]).rowcount > 0


class ListsByPattern(Planted):
    """The listing compares a scope with LIKE, which the search does not."""

    must = ("leaks_by_listing",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            return [self.hit(row) for row in self.db.execute(self.query, asdict(scope))]

        # LIKE with NULL on either side is NULL, and would list nothing
        query = LISTED
        for part in PARTS:
            query = query.replace(f"{part} IS :{part}", f"ifnull({part}, '') LIKE ifnull(:{part}, '')")


class FiltersTooLate(Planted):
    """The k nearest of all scopes are taken first, and the scope is applied to them."""

    must = ("crowded_out_of_scope", "answer_among_look_alikes")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            holding = {row["id"] for row in self.visible(scope)}
            everywhere = Everywhere(self)
            return [hit for hit in everywhere.recall(query, scope, k, at) if hit.memory_id in holding]


class Everywhere(ReferenceMemory):
    """The same store, open already, without scopes."""

    def __init__(self, memory: ReferenceMemory) -> None:
        # whatever the open one holds: a list of names here would have to follow the reference
        vars(self).update(vars(memory))

    def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
        return self.db.execute("SELECT * FROM memories WHERE mark = 0 ORDER BY seq").fetchall()


class TellsTheAskedScope(Planted):
    """The scope of a hit is that of the question, not its own."""

    must = ("scope_names_kept",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return [replace(hit, scope=scope) for hit in super().recall(query, scope, k, at)]


class TellsTheRepositoryOnly(Planted):
    """Of a scope, only the repository has a column that is read back."""

    must = ("scope_survives_writing", "scope_names_kept")

    class Memory(ReferenceMemory):
        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            return replace(super().hit(row, score), scope=Scope(repo=row["repo"]))
