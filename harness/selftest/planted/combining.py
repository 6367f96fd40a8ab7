"""Faults that need two things at once: equal texts, many memories, another process, a compaction, a sign, a length."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from harness.adapter import Ack, Item, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory
from harness.selftest.planted.repeating import _Trimming


class SupersedesTwentyAtOnce(Planted):
    """One that takes the place of many: the first twenty are replaced, and the rest stays beside it."""

    must: ClassVar[tuple[str, ...]] = ("broken_promises",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids[:20], item)


class LosesWhatReplacesItsTwin(Planted):
    """A successor with the text of what it supersedes is taken for stored already; then the superseded is deleted."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            rows = [row for name in memory_ids for row in self.visible(scope, name)]
            same = [row["id"] for row in rows if row["text"] == item.text and self.hit(row).scope == item.scope]
            if not same:
                return super().supersede(scope, memory_ids, item)
            with self.writing():
                self.db.executemany("DELETE FROM memories WHERE mark = 0 AND id = ?", [[row["id"]] for row in rows])
            return Ack((same[0],))


class MergesOnUpdate(Planted):
    """A text is unique in its scope: one that is updated to the text of another takes that one's place."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            # IS, not =: a part that a scope leaves open is NULL
            twins = (
                "DELETE FROM memories WHERE mark = 0 AND text = :text AND id <> :id AND repo IS :repo AND org IS :org"
            )
            for name in ack.ids:
                told = {"text": item.text, "id": name, **vars(item.scope)}
                with self.writing():
                    self.db.execute(f"{twins} AND branch IS :branch AND user IS :user", told)
            return ack


class KeepsTenVersions(Planted):
    """A history has room for ten texts."""

    must = ("history_tells_all_versions",)

    class Memory(_Trimming):
        def trim(self, texts: list[str]) -> list[str]:
            # the tenth is the text as it is now
            return texts[-9:]


class RewritesTheFileOnForget(Planted):
    """Forgetting reads the file and writes it whole without what is forgotten: what another process wrote meanwhile is
    acknowledged, and gone."""

    must = ("lost_in_burst_of_two",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            (last,) = self.db.execute("SELECT max(seq) FROM memories").fetchone()
            told = super().forget(scope, memory_ids)
            # time for another process to write
            time.sleep(0.003)
            with self.writing():
                self.db.execute("DELETE FROM memories WHERE mark = 0 AND seq > ?", [last or 0])
            return told


class SplitsSourcesAtColons(Planted):
    """A source is one string, its parts joined by colons: what follows one in a path or a session is not told."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
            if item.source:
                told = {part: getattr(item.source, part) for part in ("path", "session")}
                cut = {part: name.partition(":")[0] for part, name in told.items() if name}
                item = replace(item, source=replace(item.source, **cut))
            return super().columns(item, vector)


class CompactionDropsTheSnapshots(Planted):
    """Compaction keeps the newest version of the store alone: no snapshot of before can be restored."""

    must = ("left_after_restore",)

    def compact(self, space: Space) -> None:
        # the block of a connection commits, and does not close it
        with sqlite3.connect(self.path(space)) as database:
            # a setting of each connection: without it, the bytes of what goes would stay in the file
            database.execute("PRAGMA secure_delete = ON")
            database.execute("DELETE FROM memories WHERE mark > 0")
            database.execute("DELETE FROM marks")
        database.close()
        super().compact(space)
