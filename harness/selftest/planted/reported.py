"""Faults that users of memory stores have reported in public, each planted as what it comes down to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from adapters._base import moment
from adapters.reference import LISTED
from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory
from harness.selftest.planted.lasting import SavesOnClosing

UNTAGGED = " OR (mark = 0 AND coalesce(repo, org, branch, user) IS NULL) ORDER BY seq"


class PairsByPosition(Planted):
    """Vectors lie in one file, memories in another, and belong together by position. A kill costs the memories the last
    write, the vectors not: what is written next answers the questions of what was lost."""

    must = ("wrong_after_kill", "lost_by_kill")

    class Memory(SavesOnClosing.Memory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.index = Path(self.space.root, "vectors.bin")
            self.db.execute("CREATE TABLE IF NOT EXISTS places (place INTEGER PRIMARY KEY, id TEXT NOT NULL)")

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            # all that came before is safe, so that a kill costs the last write alone
            self.db.backup(self.file)
            return super().remember(items)

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            for name in ack.ids:
                self.place(name, vector)
            return ack

        def place(self, name: str, vector: bytes) -> None:
            """The next position of the memories is taken for that of the vectors."""
            self.db.execute("DELETE FROM places WHERE id = ?", [name])
            self.db.execute("INSERT INTO places SELECT coalesce(max(place) + 1, 0), ? FROM places", [name])
            with self.index.open("ab") as index:
                index.write(vector)

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            for row in self.visible(scope, memory_id) if ack.ids else ():
                self.place(memory_id, row["vector"])
            return ack

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            if not query.strip() or k < 1 or not self.index.exists():
                return []
            asked = self.numpy.array(self.embed([query])[0], dtype="<f4")
            rows = {
                row["id"]: row for row in self.visible(scope) if row["expires"] is None or row["expires"] > moment(at)
            }
            scores = self.numpy.frombuffer(self.index.read_bytes(), dtype="<f4").reshape(-1, len(asked)) @ asked
            placed = self.db.execute("SELECT place, id FROM places").fetchall()
            hits = [self.hit(rows[name], float(scores[place])) for place, name in placed if name in rows]
            return sorted((hit for hit in hits if (hit.score or 0) >= self.near), key=lambda hit: -(hit.score or 0))[:k]


class RebuildsInAnotherOrder(Planted):
    """After a kill the ids are read back from one file and the texts from another, and put together in two orders."""

    must = ("wrong_after_kill",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.running = Path(self.space.root, "running")
            # closing takes the file away, so a kill has left it
            if self.running.exists():
                rows = self.db.execute(
                    "SELECT seq, id, text, vector FROM memories WHERE mark = 0 ORDER BY id"
                ).fetchall()
                with self.writing():
                    for row, other in zip(rows, [*rows[1:], *rows[:1]], strict=True):
                        content = [other["text"], other["vector"], row["seq"]]
                        self.db.execute("UPDATE memories SET text = ?, vector = ? WHERE seq = ?", content)
            self.running.touch()

        def close(self) -> None:
            self.running.unlink(missing_ok=True)
            super().close()


class ReadsNoTornLine(Planted):
    """A log of JSON lines, of which a kill tears the last: whatever is called from then on reads it, and raises."""

    must = ("usable_after_kill", "lost_by_kill")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.lines, self.rest = Path(self.space.root, "log.jsonl"), ""

        def append(self, text: str) -> None:
            """The end of a line waits in a buffer for the next one."""
            line = json.dumps({"text": text})
            with self.lines.open("a") as lines:
                lines.write(self.rest + line[: len(line) // 2])
            self.rest = line[len(line) // 2 :] + "\n"

        def read(self) -> None:
            # half a line of its own is no tear: only a process that comes after a kill meets one
            for line in (
                self.lines.read_text().splitlines(keepends=True) if self.lines.exists() and not self.rest else ()
            ):
                json.loads(line)

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            self.read()
            for item in items:
                self.append(str(len(item.text)))
            return super().remember(items)

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            self.read()
            return super().recall(query, scope, k, at)

        def entries(self, scope: Scope) -> list[Hit]:
            self.read()
            return super().entries(scope)

        def close(self) -> None:
            if self.rest:
                with self.lines.open("a") as lines:
                    lines.write(self.rest)
            super().close()


class EndsInOneTableOnly(Planted):
    """Procedures have a table of their own, whose search looks at no end."""

    must = ("expired_not_recalled",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            return super().add(replace(item, expires=None) if item.kind == "procedural" else item, vector)


class KeepsTheOldVector(Planted):
    """An update writes the new text and does not index it: the memory is found by what it said before."""

    must = ("updated_found",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            before = self.visible(scope, memory_id)
            ack = super().update(scope, memory_id, item)
            with self.writing():
                for row in before if ack.ids else ():
                    self.db.execute("UPDATE memories SET vector = ? WHERE seq = ?", [row["vector"], row["seq"]])
            return ack


class TakesUntaggedForTagged(Planted):
    """A scope is a set of tags: the filter for those that have all of them lets through what has none, and a deletion
    by that filter takes it."""

    must = ("wider_scope_in_listing", "wider_scope_forgotten")

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            query = LISTED.replace("ORDER BY seq", UNTAGGED)
            return [self.hit(row) for row in self.db.execute(query, asdict(scope))]

        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                for hit in self.entries(scope):
                    self.db.execute("DELETE FROM memories WHERE id = ?", [hit.memory_id])


class AnswersFromItsOwnPages(Planted):
    """Each process keeps the texts as it last saw them, and finds one by the place of its memory: what another process
    writes or deletes moves others."""

    must = ("wrong_between_agents",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            # before `super().__init__`, which writes and so reads the pages
            self.pages: list[str] = []
            super().__init__(*args)

        @contextmanager
        def writing(self) -> Iterator[None]:
            with super().writing():
                yield
                if self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'memories'").fetchone():
                    self.pages = [
                        text for (text,) in self.db.execute("SELECT text FROM memories WHERE mark = 0 ORDER BY id")
                    ]

        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            before = "SELECT count(*) FROM memories WHERE mark = 0 AND id < ?"
            place = self.db.execute(before, [row["id"]]).fetchone()[0]
            hit = super().hit(row, score)
            return replace(hit, text=self.pages[place]) if place < len(self.pages) else hit
