"""Faults of a store that keeps what was superseded and warns of it: too often, never, too late, or by a wrong name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from adapters._base import moment
from harness.adapter import Ack, Hit, Item, Scope, Verdict
from harness.selftest.planted.base import Planted, ReferenceMemory

SUCCESSORS = "CREATE TABLE IF NOT EXISTS successors (id TEXT PRIMARY KEY, by TEXT NOT NULL, at TEXT NOT NULL)"


class WarningMemory(ReferenceMemory):
    """A sound one: what was superseded stays, is brought, and says by what it was superseded."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.db.execute(SUCCESSORS)

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        old = [row["id"] for name in memory_ids for row in self.visible(scope, name)]
        ack = self.remember([item])[0]
        with self.writing():
            rows = [(name, by, item.at) for name in old for by in ack.ids]
            self.db.executemany("INSERT OR REPLACE INTO successors VALUES (?, ?, ?)", rows)
        return ack

    def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
        return replace(super().hit(row, score), verdict=self.judge(row))

    def judge(self, row: sqlite3.Row) -> Verdict | None:
        found = self.db.execute("SELECT by, at FROM successors WHERE id = ?", [row["id"]]).fetchone()
        return Verdict("superseded", found["by"], f"on {found['at'][:10]}") if found else None


class _Warning(Planted):
    """No fault, but what the others here are faults of."""

    Memory = WarningMemory
    native: ClassVar[tuple[str, ...]] = (*Planted.native, "verdict")
    unsupported: ClassVar[Mapping[str, str]] = {}


class WarnsOfEverything(_Warning):
    """Whatever is older than a question might have changed, so that each memory is stale."""

    must = ("current_warned",)

    class Memory(ReferenceMemory):
        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            return replace(super().hit(row, score), verdict=Verdict("stale", reason="it may have changed since"))


class WarnsOfMovedLines(_Warning):
    """Takes each later commit for a change of the cited line, also where the line only moved."""

    must = ("moved_warned",)

    class Memory(WarningMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            if found := super().judge(row):
                return found
            cited = self.db.execute("SELECT at, source FROM memories WHERE mark = 0 AND source IS NOT NULL").fetchall()
            newest = max(cited, key=lambda each: moment(each["at"]), default=None)
            if not newest or not row["source"] or _read_commit(row) == _read_commit(newest):
                return None
            return Verdict("stale", reason=f"there are commits since {_read_commit(row)}")


def _read_commit(row: sqlite3.Row) -> str | None:
    commit: str | None = json.loads(row["source"]).get("commit")
    return commit


class NeverWarns(_Warning):
    """What was superseded comes back like everything else."""

    must = ("stale_warned", "stale_withheld")

    class Memory(WarningMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            return None


class MarksTheSuccessor(_Warning):
    """Sets the mark on the memory that supersedes, and not on the one that is superseded."""

    must = ("stale_warned", "current_warned", "current_withheld")

    class Memory(WarningMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            found = self.db.execute("SELECT id FROM successors WHERE by = ?", [row["id"]]).fetchone()
            return Verdict("superseded", found["id"]) if found else None


class DoubtsInsteadOfWarning(_Warning):
    """Calls unverified what it knows to be superseded."""

    must = ("stale_warned", "stale_withheld")

    class Memory(WarningMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            found = super().judge(row)
            return replace(found, kind="unverified") if found else None


class WarnsOneSessionLate(_Warning):
    """Looks for what was superseded when the next session begins to write, and until then serves it without a word."""

    must = ("stale_warned", "stale_withheld")

    class Memory(WarningMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            found = super().judge(row)
            if found is None:
                return None
            since = self.db.execute("SELECT at FROM successors WHERE id = ?", [row["id"]]).fetchone()["at"]
            told = self.db.execute("SELECT at FROM memories WHERE mark = 0").fetchall()
            return found if any(moment(each["at"]) > moment(since) for each in told) else None


class NamesNobody(_Warning):
    """Names the successor by the number of its row, which is no id."""

    must = ("verdicts_naming_nothing",)

    class Memory(WarningMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            found = super().judge(row)
            return replace(found, by=str(row["seq"])) if found else None
