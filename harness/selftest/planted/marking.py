"""Faults of marking what has ended: for other places, of many at once, beside own ends, and after a kill."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, ClassVar

from adapters._base import moment
from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class MarksAnyId(Planted):
    """Marking as ended by id does not look at the scope."""

    must: ClassVar[tuple[str, ...]] = ("broken_promises",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            answers = []
            for name in memory_ids:
                row = self.db.execute("SELECT * FROM memories WHERE mark = 0 AND id = ?", [name]).fetchone()
                own = Scope(row["repo"], row["org"], row["branch"], row["user"]) if row else scope
                answers += super().deprecate(own, [name], at)
            return answers


class _Noting(ReferenceMemory):
    """Notes beside the memories which of them are marked, and since when."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.db.execute("CREATE TABLE IF NOT EXISTS noted (id TEXT PRIMARY KEY, at REAL)")

    def noted(self) -> dict[str, float]:
        return {row["id"]: row["at"] for row in self.db.execute("SELECT * FROM noted")}

    def note(self, name: str, at: float) -> None:
        self.db.execute("INSERT OR REPLACE INTO noted VALUES (?, ?)", [name, at])

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        ack = super().update(scope, memory_id, item)
        self.db.executemany("DELETE FROM noted WHERE id = ?", [[name] for name in ack.ids])
        return ack

    def restore(self, mark: str) -> None:
        super().restore(mark)
        self.db.execute("DELETE FROM noted")


class MarkedAreNotListed(Planted):
    """A listing shows what is current: what is marked as ended is there for its id and for questions about before."""

    must = ("broken_promises",)

    class Memory(_Noting):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            answers = super().deprecate(scope, memory_ids, at)
            for name, marked in zip(memory_ids, answers, strict=True):
                if marked:
                    self.note(name, moment(at))
            return answers

        def entries(self, scope: Scope) -> list[Hit]:
            noted = self.noted()
            return [hit for hit in super().entries(scope) if hit.memory_id not in noted]


class MarkReplacesTheOwnEnd(Planted):
    """A mark takes the place of the end that a memory was told with: marked behind it, what had ended holds again."""

    must = ("broken_promises",)

    class Memory(_Noting):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            answers = super().deprecate(scope, memory_ids, at)
            noted = self.noted()
            with self.writing():
                for name, marked in zip(memory_ids, answers, strict=True):
                    if marked:
                        # of two marks the earlier one stays, as the contract has it: the fault is about own ends
                        end = min(noted.get(name, moment(at)), moment(at))
                        self.db.execute("UPDATE memories SET expires = ? WHERE id = ? AND mark = 0", [end, name])
                        self.note(name, end)
            return answers


class MarksFiftyAtOnce(Planted):
    """An order to mark is worked on up to its fiftieth id; all of them are called marked."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            return [*super().deprecate(scope, memory_ids[:50], at), *(True for _ in memory_ids[50:])]


class StopsMarkingAtTheUnknown(Planted):
    """Marking several stops at the first id that is not there; the rest is said to be marked."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            there = [bool(self.visible(scope, name)) for name in memory_ids]
            until = there.index(False) if False in there else len(there)
            super().deprecate(scope, memory_ids[:until], at)
            return there


class MarksOnClosing(Planted):
    """Marks of ends are written when the store is closed: a kill loses those that were acknowledged since."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.pending: dict[str, float] = {}
            super().__init__(*args)

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            answers = [bool(self.visible(scope, name)) for name in memory_ids]
            for name, there in zip(memory_ids, answers, strict=True):
                if there:
                    self.pending[name] = min(self.pending.get(name, moment(at)), moment(at))
            return answers

        def visible(self, place: Scope, memory_id: str | None = None) -> list[Any]:
            rows = super().visible(place, memory_id)
            # dicts, as rows of SQLite cannot be changed
            return [{**dict(row), "expires": self.end(row)} if row["id"] in self.pending else row for row in rows]

        def end(self, row: sqlite3.Row) -> float:
            own: float | None = row["expires"]
            marked = self.pending[row["id"]]
            return marked if own is None else min(own, marked)

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            for name in ack.ids:
                self.pending.pop(name, None)
            return ack

        def flush(self) -> None:
            end = "UPDATE memories SET expires = MIN(COALESCE(expires, :at), :at) WHERE id = :id AND mark = 0"
            with self.writing():
                self.db.executemany(end, [{"id": name, "at": at} for name, at in self.pending.items()])
            self.pending.clear()

        # a snapshot holds what is pending: only a kill loses it
        def snapshot(self) -> str:
            self.flush()
            return super().snapshot()

        def restore(self, mark: str) -> None:
            self.flush()
            super().restore(mark)

        def close(self) -> None:
            self.flush()
            super().close()


class OthersSeeMarksLater(Planted):
    """Each process keeps the ends that it read first: what another one marks as ended still holds there."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.ends: dict[tuple[str, str], float | None] = {}
            super().__init__(*args)

        def visible(self, place: Scope, memory_id: str | None = None) -> list[Any]:
            rows = super().visible(place, memory_id)
            # by the text, too: what another process updates is seen at once
            return [
                {**dict(row), "expires": self.ends.setdefault((row["id"], row["text"]), row["expires"])} for row in rows
            ]

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            answers = super().deprecate(scope, memory_ids, at)
            self.ends.clear()
            return answers

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            self.ends.clear()
            return ack

        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.ends.clear()
