"""Faults of lasting: across a kill, a restore, a second process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from adapters.reference import ADD, COPY, connect
from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

KNOWN = """
SELECT id FROM known WHERE text = ? AND text NOT IN (SELECT text FROM memories WHERE mark = 0) ORDER BY rowid DESC
"""


class RestoresAdditionsOnly(Planted):
    """A restore takes away what was added since, and brings nothing back that was changed or removed."""

    must = ("restored_exactly", "lost_by_restore")

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            with self.writing():
                self.db.execute(
                    "DELETE FROM memories WHERE mark = 0 AND id NOT IN (SELECT id FROM memories WHERE mark = ?)", [mark]
                )


class RestoresNothing(Planted):
    """A restore says that all is well, and does nothing."""

    must = ("restored_exactly", "left_after_restore", "lost_by_restore")

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            """Nothing."""


class ResurrectsOnRestore(Planted):
    """A mark is a copy that forgetting does not reach: a restore brings the erased back."""

    must = ("restored_exactly", "resurrected_by_restore")

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            found = bool(self.visible(scope, memory_id))
            if found:
                self.db.execute("DELETE FROM memories WHERE id = ? AND mark = 0", [memory_id])
            return found


class LosesMarks(Planted):
    """Marks live as long as the process that made them."""

    must = ("restored_exactly", "restored_probes", "left_after_restore")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("DELETE FROM memories WHERE mark > 0")
            self.db.execute("DELETE FROM marks")


class SavesOnClosing(Planted):
    """Works on a copy in memory and writes the file on closing: a kill loses all that was acknowledged since."""

    must = ("lost_by_kill", "lost_between_handles")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            # the reference works on `db`, whatever that is
            self.file, self.db = self.db, connect(Path(":memory:"))
            self.file.backup(self.db)

        def close(self) -> None:
            self.db.backup(self.file)
            self.file.close()
            super().close()


class ChangesOnClosing(Planted):
    """New memories are written at once; what is changed or forgotten waits until the store is closed."""

    must = ("forget_undone_by_kill", "update_undone_by_kill", "lost_between_handles")

    class Memory(SavesOnClosing.Memory):
        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            for name in ack.ids:
                self.file.execute(ADD, {"id": name, **self.columns(item, vector)})
            return ack


class LeavesALock(Planted):
    """A lock file keeps other processes out; it stays behind when its owner is killed."""

    must = ("usable_after_kill", "lost_between_handles")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.lock = Path(self.space.root, "lock")
            # raises where another process holds it, or was killed with it
            self.lock.touch(exist_ok=False)

        def close(self) -> None:
            self.lock.unlink()
            super().close()


class WritesTheWholeStore(Planted):
    """What a process saw on opening and wrote itself is all there is: its writes drop those of others since."""

    must = ("lost_between_handles",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.own = {row["id"] for row in self.db.execute("SELECT id FROM memories")}

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            self.own.update(ack.ids)
            for (name,) in self.db.execute("SELECT id FROM memories WHERE mark = 0").fetchall():
                if name not in self.own:
                    self.db.execute("DELETE FROM memories WHERE mark = 0 AND id = ?", [name])
            return ack


class ServesStaleHits(Planted):
    """Answers are cached by question, and only a process's own writes empty its cache."""

    must = ("stale_after_other_deletes",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            # before `super().__init__`, which writes and so empties the cache
            self.answers: dict[tuple[object, ...], list[Hit]] = {}
            super().__init__(*args)

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return self.cached((query, scope, k, at), super().recall)

        def entries(self, scope: Scope) -> list[Hit]:
            return self.cached((scope,), super().entries)

        def cached(self, asked: tuple[object, ...], ask: Callable[..., list[Hit]]) -> list[Hit]:
            if asked not in self.answers:
                self.answers[asked] = ask(*asked)
            return self.answers[asked]

        @contextmanager
        def writing(self) -> Iterator[None]:
            self.answers.clear()
            with super().writing():
                yield


class LosesTheIndexEntry(Planted):
    """Forgetting a memory takes the one before it out of the index: it is listed, and no question finds it."""

    must = ("unfindable_after_kill", "unfindable_between_handles")

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            for row in self.visible(scope, memory_id):
                before = "SELECT id FROM memories WHERE mark = 0 AND seq < ? ORDER BY seq DESC LIMIT 1"
                for (name,) in self.db.execute(before, [row["seq"]]).fetchall():
                    # zeros of the same length: the matrix of vectors needs them, and no question is near to them
                    nowhere = bytes(len(row["vector"]))
                    self.db.execute("UPDATE memories SET vector = ? WHERE mark = 0 AND id = ?", [nowhere, name])
            return super().erase(scope, memory_id)


class LosesEndsOnRestore(Planted):
    """A mark has no column for the end of a memory: what is restored never ends."""

    must = ("restored_probes",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.db.execute("UPDATE memories SET expires = NULL WHERE mark = 0")


class RestoresWithTheNextWrite(Planted):
    """A restore is committed with the write or the closing that comes next: a kill before that undoes it."""

    must = ("restored_exactly", "left_after_restore")

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            """Under a mark of its own lies what was there before."""
            with self.writing():
                self.commit()
                # a restore refuses a mark that does not stand there
                self.db.execute("INSERT INTO marks VALUES (-1)")
                self.db.execute(COPY, {"mark": 0, "into": -1})
            super().restore(mark)

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            if self.db.execute("SELECT 1 FROM marks WHERE mark = -1").fetchone():
                super().restore("-1")
                self.commit()

        def commit(self) -> None:
            self.db.execute("DELETE FROM memories WHERE mark = -1")
            self.db.execute("DELETE FROM marks WHERE mark = -1")

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            self.commit()
            return super().remember(items)

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.commit()
            return super().erase(scope, memory_id)

        def close(self) -> None:
            self.commit()
            super().close()


class RestoresTextsNotVectors(Planted):
    """A restore brings the texts back and does not index them: a memory is found by what it said before."""

    must = ("restored_probes",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            before = self.db.execute("SELECT vector, id FROM memories WHERE mark = 0").fetchall()
            super().restore(mark)
            with self.writing():
                self.db.executemany("UPDATE memories SET vector = ? WHERE id = ? AND mark = 0", map(tuple, before))


class RestoresWithoutHistory(Planted):
    """A mark has the present texts only: after a restore no memory has a past."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.db.execute("UPDATE memories SET earlier = '[]' WHERE mark = 0")


class LosesSourcesByKill(Planted):
    """Sources lie in a file of their own that is written on closing: a kill loses them, and no text."""

    must = ("sources_lost_by_kill",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.late: dict[str, str | None] = {}
            super().__init__(*args)

        def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
            columns = super().columns(item, vector)
            self.late[item.text] = columns["source"]
            return {**columns, "source": None}

        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            source = self.late.get(row["text"])
            # a dict, as a row of SQLite cannot be changed
            return super().hit({**dict(row), "source": source or row["source"]}, score)  # type: ignore[arg-type]

        def close(self) -> None:
            with self.writing():
                told = "UPDATE memories SET source = ? WHERE text = ?"
                self.db.executemany(told, [(source, text) for text, source in self.late.items()])
            super().close()


class SkipsWhatARestoreTookAway(Planted):
    """A restore leaves the table of known texts as it is: what it took away is known, and is not stored again."""

    must: ClassVar = ("lost_by_restore",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS known (text TEXT, id TEXT)")

        def restore(self, mark: str) -> None:
            self.db.execute("INSERT INTO known SELECT text, id FROM memories WHERE mark = 0")
            super().restore(mark)

        def add(self, item: Item, vector: bytes) -> Ack:
            known = self.db.execute(KNOWN, [item.text]).fetchone()
            return self.skip(known["id"]) if known else super().add(item, vector)

        def skip(self, memory_id: str) -> Ack:
            return Ack(())

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.db.execute("DELETE FROM known WHERE id = ?", [memory_id])
            return super().erase(scope, memory_id)


class AcknowledgesWhatARestoreTookAway(Planted):
    """What a restore took away is acknowledged with its former id when it is told again, and not stored."""

    must = SkipsWhatARestoreTookAway.must

    class Memory(SkipsWhatARestoreTookAway.Memory):
        def skip(self, memory_id: str) -> Ack:
            return Ack((memory_id,))


class SkipsItUntilReopened(Planted):
    """What a restore took away is not stored again by the process that restored."""

    must = SkipsWhatARestoreTookAway.must

    class Memory(AcknowledgesWhatARestoreTookAway.Memory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            # SQLite finds a temporary table before a lasting one of that name, and drops it when the process ends
            self.db.execute("CREATE TEMP TABLE known (text TEXT, id TEXT)")
