"""Faults of what is changed or deleted a second time: the first time, all is well."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar

from adapters.reference import ADD, LISTED
from harness.adapter import Ack, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

# --- texts ------------------------------------------------------------------------------------------------------------


def list_earlier(row: sqlite3.Row) -> list[str]:
    found: list[str] = json.loads(row["earlier"])
    return found


class ServesTheFirstUpdate(Planted):
    """Room for one new text: another one is noted in the history alone, and the first is served on."""

    must: ClassVar[tuple[str, ...]] = ("last_text_served",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            rows = self.visible(scope, memory_id)
            known = [text for row in rows for text in list_earlier(row)]
            if not known or item.text in known:
                return super().update(scope, memory_id, item)
            earlier = json.dumps([*known, item.text])
            with self.writing():
                self.db.execute("UPDATE memories SET earlier = ? WHERE id = ? AND mark = 0", [earlier, memory_id])
            return Ack((memory_id,))


class TakesAKnownTextForDone(Planted):
    """An update to a text that an earlier update had brought already is acknowledged and not made."""

    must = ("last_text_served",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            rows = self.visible(scope, memory_id)
            if rows and item.text in list_earlier(rows[0])[1:]:
                return Ack((memory_id,))
            return super().update(scope, memory_id, item)


class ReplaysUpdatesInDisorder(Planted):
    """A journal is replayed on opening: of more than two updates the last but one comes last."""

    must = ("last_text_served",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            rows = self.db.execute("SELECT seq, text, earlier FROM memories WHERE mark = 0").fetchall()
            for row in rows:
                # a memory that was never updated has no earlier text
                *first, last = list_earlier(row) or [""]
                if len(first) >= 2:
                    swapped = [last, json.dumps([*first, row["text"]]), row["seq"]]
                    self.db.execute("UPDATE memories SET text = ?, earlier = ? WHERE seq = ?", swapped)


class _Succeeding(ReferenceMemory):
    """Knows which memories are successors, and what they replaced."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.replaced: dict[str, list[dict[str, Any]]] = {}

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        rows = [dict(row) for name in memory_ids for row in self.visible(scope, name)]
        ack = super().supersede(scope, memory_ids, item)
        self.replaced |= dict.fromkeys(ack.ids, rows)
        self.bring_back([row for row in rows if row["id"] in self.replaced])
        return ack

    def bring_back(self, heirs: Sequence[dict[str, Any]]) -> None:
        """After successors were superseded in turn."""


class KeepsTheHeirOfAnHeir(Planted):
    """Only what was written first is taken away when something takes its place; a successor stays beside its own."""

    must = ("last_text_served",)

    class Memory(_Succeeding):
        def bring_back(self, heirs: Sequence[dict[str, Any]]) -> None:
            with self.writing():
                self.db.executemany(ADD, heirs)


class FirstComesBackForItsHeir(Planted):
    """What a successor had replaced is linked to it alone: once that is superseded, nothing hides the first."""

    must = ("last_text_served",)

    class Memory(_Succeeding):
        def bring_back(self, heirs: Sequence[dict[str, Any]]) -> None:
            with self.writing():
                add = ADD.replace("INSERT", "INSERT OR IGNORE")  # a text that came back itself has its id
                self.db.executemany(add, [row for heir in heirs for row in self.replaced[heir["id"]]])


class UpdatesNoHeir(Planted):
    """An update of what was written as a successor is acknowledged, and the text stays."""

    must = ("last_text_served",)

    class Memory(_Succeeding):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            known = memory_id in self.replaced and self.visible(scope, memory_id)
            return Ack((memory_id,)) if known else super().update(scope, memory_id, item)


class IndexesTheFirstUpdateOnly(Planted):
    """A memory that was updated is embedded anew; one that is updated once more keeps the vector of the text before."""

    must = ("updated_found",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            vectors = [(row["vector"], row["seq"]) for row in self.visible(scope, memory_id) if list_earlier(row)]
            ack = super().update(scope, memory_id, item)
            with self.writing():
                self.db.executemany("UPDATE memories SET vector = ? WHERE seq = ?", vectors)
            return ack


# --- deleted, and stored again ----------------------------------------------------------------------------------------


class DeletesTheLastTextOnly(Planted):
    """A deletion takes the newest text of a memory: what was updated more than once comes back as it was before."""

    must = ("changed_after_a_hit",)

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            rows = [row for row in self.visible(scope, memory_id) if len(list_earlier(row)) > 1]
            found = super().erase(scope, memory_id)
            for row in rows:
                (vector,) = self.embed([list_earlier(row)[-1]])
                self.db.execute(ADD, {**dict(row), "text": list_earlier(row)[-1], "vector": self.pack(vector)})
            return found


class RefusesDeletedTexts(Planted):
    """Digests of deleted texts are kept: whoever stores one of them again gets an id, and nothing is there."""

    must = ("found_after_a_miss",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.refused = set[str]()

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.refused |= {make_digest(row["text"], scope) for row in self.visible(scope, memory_id)}
            return super().erase(scope, memory_id)

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            if make_digest(item.text, item.scope) in self.refused:
                self.db.executemany("DELETE FROM memories WHERE id = ?", [[name] for name in ack.ids])
            return ack


def make_digest(text: str, scope: Scope) -> str:
    return sha256(f"{scope} {text}".encode()).hexdigest()


class DeletesOnceMoreOnOpening(Planted):
    """A log of deletions, by content, is replayed on opening: it deletes what was stored again since."""

    must = ("found_after_a_miss",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS log (digest TEXT NOT NULL)")
            log = {row["digest"] for row in self.db.execute("SELECT digest FROM log")}
            rows = self.db.execute("SELECT * FROM memories WHERE mark = 0").fetchall() if log else []
            for row in rows:
                if self.digest(row) in log:
                    self.db.execute("DELETE FROM memories WHERE seq = ?", [row["seq"]])

        def digest(self, row: sqlite3.Row) -> str:
            return make_digest(row["text"], self.hit(row).scope or Scope())

        def erase(self, scope: Scope, memory_id: str) -> bool:
            digests = [[self.digest(row)] for row in self.visible(scope, memory_id)]
            self.db.executemany("INSERT INTO log VALUES (?)", digests)
            return super().erase(scope, memory_id)


class _Forgetting(ReferenceMemory):
    """Remembers which scopes were forgotten, and what they held."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.forgotten: dict[Scope, list[dict[str, Any]]] = {}

    def forget_scope(self, scope: Scope) -> None:
        rows = [dict(row) for row in self.db.execute(LISTED, vars(scope))]
        super().forget_scope(scope)
        self.forgotten[scope] = rows


class ClosesAForgottenScope(Planted):
    """A scope that was forgotten stays closed: what is written to it later is acknowledged, and never shown."""

    must = ("found_after_a_miss",)

    class Memory(_Forgetting):
        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            if item.scope in self.forgotten:
                self.db.executemany("DELETE FROM memories WHERE id = ?", [[name] for name in ack.ids])
            return ack


class ForgetsAScopeOnce(Planted):
    """A scope that was forgotten once is noted as done: forgotten again, it keeps what was written since."""

    must = ("changed_after_a_hit",)

    class Memory(_Forgetting):
        def forget_scope(self, scope: Scope) -> None:
            if scope not in self.forgotten:
                super().forget_scope(scope)


class ReopensAForgottenScope(Planted):
    """Forgetting a scope hides it; the next write to it shows all that it ever held."""

    must = ("changed_after_a_hit",)

    class Memory(_Forgetting):
        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            self.db.executemany(ADD, [row for row in self.forgotten.pop(item.scope, []) if row["id"] not in ack.ids])
            return ack


# --- marks ------------------------------------------------------------------------------------------------------------


class ErasesFromTheNewestMark(Planted):
    """A deletion reaches the newest mark; from an older one, the memory comes back."""

    must = ("resurrected_by_restore",)

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            found = bool(self.visible(scope, memory_id))
            newest = "SELECT max(mark) FROM marks"
            if found:
                erase = f"DELETE FROM memories WHERE id = ? AND mark IN (0, ({newest}))"
                self.db.execute(erase, [memory_id])
            return found


class NumbersMarksFromTheRestored(Planted):
    """A mark has the number after the one that was restored last, whatever mark already has it."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        restored = 0

        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.restored = int(mark)

        def snapshot(self) -> str:
            if self.restored:
                with self.writing():
                    # SQLite numbers the next mark after the highest that is left
                    self.db.execute("DELETE FROM marks WHERE mark > ?", [self.restored])
                    self.db.execute("DELETE FROM memories WHERE mark = ?", [self.restored + 1])
                self.restored = 0
            return super().snapshot()


class ErasesTheLastVersionOnly(Planted):
    """A deletion takes the newest of the versions, which have a table: of what was updated twice, one stays there."""

    must = ("text_gone_after_closing", "text_gone_after_churn", "text_gone_after_compaction")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS versions (text TEXT NOT NULL)")

        def erase(self, scope: Scope, memory_id: str) -> bool:
            older = [text for row in self.visible(scope, memory_id) for text in list_earlier(row)[:-1]]
            self.db.executemany("INSERT INTO versions VALUES (?)", [[text] for text in older])
            return super().erase(scope, memory_id)
