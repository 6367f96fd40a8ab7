"""Faults of what is taken for the same or for nothing (a text, an id, no id), and of deletions that do not last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adapters._base import moment
from harness.adapter import Ack, Filter, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

DAYS = 10 * 86_400


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _size(text: str) -> tuple[int, str]:
    return len(text), text[:60]


class _Skipping(ReferenceMemory):
    """An update that changes nothing that it looks at is acknowledged, and not made."""

    def is_same(self, before: Hit, item: Item) -> bool:
        raise NotImplementedError

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        before = self.get(scope, memory_id)
        return Ack((memory_id,)) if before and self.is_same(before, item) else super().update(scope, memory_id, item)


class SkipsUpdatesOfCase(Planted):
    """An update that changes only case or white space is taken for none."""

    must = ("last_text_served",)

    class Memory(_Skipping):
        def is_same(self, before: Hit, item: Item) -> bool:
            return before.text != item.text and _fold(before.text) == _fold(item.text)


class SkipsUpdatesOfConfidence(Planted):
    """An update with the same text and the same source is taken for none, whatever its confidence or end."""

    must = ("same_text_updated",)

    class Memory(_Skipping):
        def is_same(self, before: Hit, item: Item) -> bool:
            return (before.text, before.source) == (item.text, item.source)


class SkipsUpdatesByLength(Planted):
    """An update is noticed by length and beginning of its text: another last word as long changes nothing."""

    must = ("last_text_served",)

    class Memory(_Skipping):
        def is_same(self, before: Hit, item: Item) -> bool:
            return before.text != item.text and _size(before.text) == _size(item.text)


class ForgetsAllForNoIds(Planted):
    """Forgetting no id is forgetting by the scope alone: all of it goes."""

    must = ("same_scope_over_deletion",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            if not memory_ids:
                self.forget_scope(scope)
            return super().forget(scope, memory_ids)


class TakesBeginningsOfIds(Planted):
    """An id is looked up by its beginning, as that of a commit: the beginning of one deletes whatever has it."""

    must = ("unknown_id_called_deleted", "same_scope_over_deletion")

    class Memory(ReferenceMemory):
        def whole(self, scope: Scope, memory_id: str) -> str:
            found = [row["id"] for row in self.visible(scope) if memory_id and row["id"].startswith(memory_id)]
            return found[0] if found else memory_id

        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            return super().forget(scope, [self.whole(scope, each) for each in memory_ids])

        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            return super().get(scope, self.whole(scope, memory_id))


class TakesAnEmptyIdForAny(Planted):
    """An empty id is a pattern that fits all: it deletes the first memory of the scope."""

    must = ("unknown_id_called_deleted",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            rows = self.visible(scope)
            return super().forget(scope, [each or (rows[0]["id"] if rows else "") for each in memory_ids])


class _Trashing(ReferenceMemory):
    """What is forgotten one by one goes to a table, from where it comes back."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # the columns of the reference, and none of its rows
        self.db.execute("CREATE TABLE IF NOT EXISTS trash AS SELECT * FROM memories WHERE 0")

    def erase(self, scope: Scope, memory_id: str) -> bool:
        self.db.execute("INSERT INTO trash SELECT * FROM memories WHERE id = ? AND mark = 0", [memory_id])
        return super().erase(scope, memory_id)


class RevivesAfterTenDays(Planted):
    """A tombstone is swept ten days after the last question before it: then the memory is there again."""

    must = ("changed_after_a_hit",)

    class Memory(_Trashing):
        asked = ""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS graves (id TEXT, since REAL)")

        def erase(self, scope: Scope, memory_id: str) -> bool:
            # before the first question, the process does not know what day it is
            if self.asked:
                self.db.execute("INSERT INTO graves VALUES (?, ?)", [memory_id, moment(self.asked)])
            return super().erase(scope, memory_id)

        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            self.asked = at
            due = "SELECT * FROM trash WHERE id IN (SELECT id FROM graves WHERE since < ?)"
            # what came back at an earlier question is there already
            self.db.execute(f"INSERT OR IGNORE INTO memories {due}", [moment(at) - DAYS])
            return super().recall_where(query, scope, k, at, where)


class ShowsTheDeletedFarDown(Planted):
    """What was deleted is filtered out of the first page of 25 hits only. Its bytes are kept, too."""

    must = ("forgotten_from_search",)

    class Memory(_Trashing):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            hits = super().recall_where(query, scope, k, at, where)
            trash = [replace(self.hit(row), score=None) for row in self.db.execute("SELECT * FROM trash")]
            return [*hits[:25], *trash, *hits[25:]][:k]
