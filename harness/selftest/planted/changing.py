"""Faults that show when others change what one has seen: another process, a branch, a thread, a text told again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

from adapters._base import moment
from adapters.reference import ADD, CHANGE, END, LISTED
from harness.adapter import Ack, Item, Scope, Source, Space, applies
from harness.selftest.planted.base import Planted, ReferenceMemory


class RefreshesByCount(Planted):
    """A process searches its own copy as long as the number of memories is the same: it sees no update of another."""

    must = ("stale_after_other_changes",)

    class Memory(ReferenceMemory):
        copied: tuple[int, list[Any]] | None = None

        @contextmanager
        def writing(self) -> Iterator[None]:
            with super().writing():
                yield
            self.copied = None

        def visible(self, place: Scope, memory_id: str | None = None) -> list[Any]:
            if memory_id is not None:
                return super().visible(place, memory_id)
            count = self.db.execute("SELECT COUNT(*) FROM memories WHERE mark = 0").fetchone()[0]
            copied = self.copied
            if copied is None or copied[0] != count:
                rows = self.db.execute("SELECT * FROM memories WHERE mark = 0 ORDER BY seq").fetchall()
                copied = self.copied = (len(rows), rows)
            return [row for row in copied[1] if applies(self.hit(row).scope or Scope(), place)]


class EndsWaitForAWrite(Planted):
    """Ends wait in the process until something is remembered or the store is closed: a kill loses them, and another
    process does not see them.
    """

    must = ("stale_after_other_changes", "deprecated_recalled")

    class Memory(ReferenceMemory):
        def __init__(self, path: Path, space: Space, numpy: Any) -> None:
            self.waiting: dict[str, float] = {}
            super().__init__(path, space, numpy)

        def flush(self) -> None:
            if self.waiting:
                with self.writing():
                    self.db.executemany(END, [{"id": name, "at": at} for name, at in self.waiting.items()])
                self.waiting = {}

        def visible(self, place: Scope, memory_id: str | None = None) -> list[Any]:
            rows = list[Any](super().visible(place, memory_id))
            for number, row in enumerate(rows):
                if (end := self.waiting.get(row["id"])) is not None:
                    expires = end if row["expires"] is None else min(end, row["expires"])
                    # a dict, as a row of SQLite cannot be changed
                    rows[number] = {**dict(row), "expires": expires}
            return rows

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            there = [bool(self.visible(scope, name)) for name in memory_ids]
            for name, marked in zip(memory_ids, there, strict=True):
                if marked:
                    self.waiting[name] = min(self.waiting.get(name, moment(at)), moment(at))
            return there

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            self.flush()
            return super().remember(items)

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            if ack.ids:
                self.waiting.pop(memory_id, None)
            return ack

        def snapshot(self) -> str:
            self.flush()
            return super().snapshot()

        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.waiting = {}

        def close(self) -> None:
            self.flush()
            super().close()


class TellsItsOwnVersions(Planted):
    """A process writes a history as it knows it from its own last update, and drops what others wrote since."""

    must = ("versions_of_two_told",)

    class Memory(ReferenceMemory):
        def __init__(self, path: Path, space: Space, numpy: Any) -> None:
            super().__init__(path, space, numpy)
            self.told: dict[str, list[str]] = {}

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            (vector,) = self.vectors([item])
            with self.writing():
                rows = self.visible(scope, memory_id) if vector else []
                for row in rows:
                    earlier = self.told.get(memory_id) or [*json.loads(row["earlier"]), row["text"]]
                    self.told[memory_id] = [*earlier, item.text]
                    fresh = {"id": memory_id, "earlier": json.dumps(earlier), **self.columns(item, vector)}
                    self.db.execute(CHANGE, fresh)
            return Ack(tuple(row["id"] for row in rows))

        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            self.told.clear()
            return super().supersede(scope, memory_ids, item)

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.told.pop(memory_id, None)
            return super().erase(scope, memory_id)

        def forget_scope(self, scope: Scope) -> None:
            self.told.clear()
            super().forget_scope(scope)

        def restore(self, mark: str) -> None:
            self.told.clear()
            super().restore(mark)


class CrossesWriters(Planted):
    """What is being written lies in a field of the store, so that of two threads one stores the source of the other."""

    must = ("sources_mixed_in_burst", "sources_mixed_in_burst_of_two")

    class Memory(ReferenceMemory):
        batch: Sequence[tuple[str, Source | None, float | None]] = ()

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            self.batch = [(item.kind, item.source, item.confidence) for item in items]
            # another thread sets `batch` while this one waits for its vectors
            vectors = self.vectors(items)
            with self.writing():
                own = [(item.kind, item.source, item.confidence) for item in items]
                # the batch of the other thread may be shorter or longer
                about = [*self.batch[: len(items)], *own[len(self.batch) :]]
                told = [
                    replace(item, kind=kind, source=source, confidence=confidence)
                    for item, (kind, source, confidence) in zip(items, about, strict=True)
                ]
                return list(map(self.add, told, vectors))


class StoresNoEndedTextAgain(Planted):
    """A text that is already there is not stored again, also where the one that is there has ended."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            now = moment(item.at)
            for row in self.db.execute(LISTED, vars(item.scope)).fetchall():
                if vector and row["text"] == item.text and row["expires"] is not None and row["expires"] <= now:
                    return Ack((row["id"],))
            return super().add(item, vector)


class TellsHistoryByText(Planted):
    """Histories are kept by the text that holds now, so that memories of equal text tell each other's earlier texts."""

    must = ("history_of_equal_text",)

    class Memory(ReferenceMemory):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            told = list[str]()
            for row in self.visible(scope, memory_id):
                alike = self.db.execute("SELECT earlier FROM memories WHERE mark = 0 AND text = ?", [row["text"]])
                told += [text for each in alike.fetchall() for text in json.loads(each["earlier"])]
                told.append(row["text"])
            return told


class NestsItsHistory(Planted):
    """Each update puts the history so far as JSON into a string of JSON, whose escapes double: the 24th fails."""

    must = ("calls_failed",)

    class Memory(ReferenceMemory):
        def __init__(self, path: Path, space: Space, numpy: Any) -> None:
            super().__init__(path, space, numpy)
            self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20)

        def unroll(self, earlier: str) -> list[str]:
            parts = json.loads(earlier)
            return [*self.unroll(parts[0]), parts[1]] if parts else []

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            (vector,) = self.vectors([item])
            with self.writing():
                rows = self.visible(scope, memory_id) if vector else []
                for row in rows:
                    columns = {**self.columns(item, vector), "earlier": json.dumps([row["earlier"], row["text"]])}
                    names = ", ".join(f"{name} = :{name}" for name in columns)
                    self.db.execute(
                        f"UPDATE memories SET {names} WHERE id = :id AND mark = 0", {**columns, "id": row["id"]}
                    )
            return Ack(tuple(row["id"] for row in rows))

        def history(self, scope: Scope, memory_id: str) -> list[str]:
            return [
                text for row in self.visible(scope, memory_id) for text in (*self.unroll(row["earlier"]), row["text"])
            ]


class KeepsEditsOnTheBranch(Planted):
    """Whoever updates a memory of the whole repository from a branch changes it for that branch only."""

    must = ("source_survives_update",)

    class Memory(ReferenceMemory):
        @staticmethod
        def lane(branch: str) -> int:
            """The mark under which the edits of a branch are kept."""
            # below 0, as 0 is the mark of what is live, and snapshots have the marks above it
            return -1 - crc32(branch.encode())

        def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
            rows = super().visible(place, memory_id)
            if not place.branch:
                return rows
            edits = self.db.execute("SELECT * FROM memories WHERE mark = ?", [self.lane(place.branch)]).fetchall()
            edited = {row["id"]: row for row in edits}
            return [edited.get(row["id"], row) for row in rows]

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            rows = self.visible(scope, memory_id) if scope.branch and item.text.strip() else []
            if not rows or rows[0]["branch"]:
                return super().update(scope, memory_id, item)
            (vector,) = self.vectors([item])
            with self.writing():
                lane = self.lane(scope.branch or "")
                earlier = json.dumps([*json.loads(rows[0]["earlier"]), rows[0]["text"]])
                # an id stands once under a mark, so the edit before has to go
                self.db.execute("DELETE FROM memories WHERE id = ? AND mark = ?", [memory_id, lane])
                added = ADD.replace("(0, ", "(:mark, ").replace("'[]'", ":earlier")
                edit = {"id": memory_id, "mark": lane, "earlier": earlier, **self.columns(item, vector)}
                self.db.execute(added, edit)
            return Ack((memory_id,))

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            told = super().deprecate(scope, memory_ids, at)
            with self.writing():
                for name in [name for name, marked in zip(memory_ids, told, strict=True) if marked]:
                    self.db.execute(END.replace("mark = 0", "mark < 0"), {"id": name, "at": moment(at)})
            return told

        def restore(self, mark: str) -> None:
            super().restore(mark)
            with self.writing():
                self.db.execute("DELETE FROM memories WHERE mark < 0")


class ReplacesWhatIsAlike(Planted):
    """An update to a text that another memory has replaces that other one, wherever it holds."""

    must = ("kept_beside_a_batch",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            if ack.ids:
                with self.writing():
                    self.db.execute(
                        "DELETE FROM memories WHERE mark = 0 AND text = ? AND id != ?", [item.text, memory_id]
                    )
            return ack
