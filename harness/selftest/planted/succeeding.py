"""Faults of filters behind an end, a mark, a compaction or a restore, and of what stood before a successor."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from adapters._base import moment
from harness.adapter import Ack, Filter, Hit, Item, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory


class FallsBackForAnUncitedFile(Planted):
    """A file that no memory cites is taken for a filter that was not given."""

    must = ("filtered_wrong",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            known = any(self.fits(row, Filter(path=where.path)) for row in self.visible(scope))
            return super().recall_where(query, scope, k, at, where if known else replace(where, path=None))


class EndedTakePlacesOfAFilter(Planted):
    """With a filter the k nearest that fit are taken first, and what has ended is left out of them."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            if where == Filter():
                return super().recall_where(query, scope, k, at, where)
            ends = {row["id"]: row["expires"] for row in self.visible(scope)}
            # at that time nothing had ended, so what has ended by now is among the k
            hits = super().recall_where(query, scope, k, "1000-01-01T00:00:00+00:00", where)
            return [hit for hit in hits if (end := ends[hit.memory_id]) is None or end > moment(at)]


class FiltersByToday(Planted):
    """With a filter, what has ended is told by the clock of the machine, whatever day is asked about."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            when = at if where == Filter() else datetime.now().astimezone().isoformat()
            return super().recall_where(query, scope, k, when, where)


class RestoresWithoutKinds(Planted):
    """A mark has no column for kinds: what is restored is of the usual one."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.db.execute("UPDATE memories SET kind = 'project' WHERE mark = 0")


class MarkLosesTheKind(Planted):
    """A mark writes the metadata anew, without the kind."""

    must = ("filtered_missed",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            done = super().deprecate(scope, memory_ids, at)
            for name in [n for n, ok in zip(memory_ids, done, strict=True) if ok]:
                self.db.execute("UPDATE memories SET kind = '' WHERE mark = 0 AND id = ?", [name])
            return done


class CompactionLosesTheKinds(Planted):
    """A compaction rewrites each memory, and leaves out its kind."""

    must = ("filtered_missed",)

    def compact(self, space: Space) -> None:
        super().compact(space)
        db = sqlite3.connect(self.path(space))
        # the block commits, and does not close
        with db:
            db.execute("UPDATE memories SET kind = 'project'")
        db.close()


class SuccessorInheritsTheSource(Planted):
    """A successor that was told without a source cites what the superseded one cites."""

    must = ("source_survives_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            old = [self.hit(row).source for name in memory_ids for row in self.visible(scope, name)]
            return super().supersede(
                scope, memory_ids, replace(item, source=item.source or next(filter(None, old), None))
            )


class ForgottenHeirRevivesTheOld(Planted):
    """Deleting a successor brings back, as current, what it had superseded."""

    must = ("changed_after_a_hit",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS replaced (heir TEXT, old TEXT)")

        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            rows = [dict(row) for name in memory_ids for row in self.visible(scope, name)]
            ack = super().supersede(scope, memory_ids, item)
            for row in rows:
                # JSON has no bytes
                row["vector"] = row["vector"].hex()
                for heir in ack.ids:
                    self.db.execute("INSERT INTO replaced VALUES (?, ?)", [heir, json.dumps(row)])
            return ack

        def erase(self, scope: Scope, memory_id: str) -> bool:
            done = super().erase(scope, memory_id)
            if done:
                for (old,) in self.db.execute("SELECT old FROM replaced WHERE heir = ?", [memory_id]).fetchall():
                    row = json.loads(old)
                    row["vector"] = bytes.fromhex(row["vector"])
                    # SQLite may have given its number to another row since
                    names = [n for n in row if n != "seq"]
                    self.db.execute(
                        f"INSERT OR IGNORE INTO memories ({', '.join(names)}) VALUES "
                        f"({', '.join(':' + n for n in names)})",
                        row,
                    )
                self.db.execute("DELETE FROM replaced WHERE heir = ?", [memory_id])
            return done


# --- where a successor holds ------------------------------------------------------------------------------------------


class SuccessorStaysWithTheOld(Planted):
    """A successor is stored where what it supersedes held, whatever scope it names."""

    must = ("scope_survives_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            old = [self.hit(row).scope for name in memory_ids for row in self.visible(scope, name)]
            return super().supersede(scope, memory_ids, replace(item, scope=next(filter(None, old), item.scope)))


class SuccessorStaysWithTheAsker(Planted):
    """A successor is stored where it was asked for, whatever scope it names."""

    must = ("scope_survives_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids, replace(item, scope=scope))


class SuccessorHoldsEverywhere(Planted):
    """A successor has no scope at all."""

    must = ("scope_survives_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids, replace(item, scope=Scope()))


class SuccessorLosesTheUser(Planted):
    """A successor of what was one user's is everybody's."""

    must = ("broken_promises",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids, replace(item, scope=replace(item.scope, user=None)))


class SuccessorLosesTheBranch(Planted):
    """A successor of what was told on one branch holds on all of them."""

    must = ("scope_survives_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids, replace(item, scope=replace(item.scope, branch=None)))
