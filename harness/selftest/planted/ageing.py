"""Faults that show only on a later day of the story."""

from __future__ import annotations

from typing import Any

from adapters._base import moment
from harness.adapter import Hit, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

DAY = 24 * 60 * 60


class _Ageing(ReferenceMemory):
    """Knows on which day of the story it was last asked."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.db.execute("CREATE TABLE IF NOT EXISTS days (day INTEGER NOT NULL)")

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        day = int(moment(at) // DAY)
        (last,) = self.db.execute("SELECT max(day) FROM days").fetchone()
        if last is None or day > last:
            with self.writing():
                self.db.execute("INSERT INTO days VALUES (?)", [day])
                if last is not None:
                    self.night(day)
        return super().recall(query, scope, k, at)

    def night(self, day: int) -> None:
        raise NotImplementedError


class PrunesAtNight(Planted):
    """On the first question of a new day, every third memory of the days before is taken for done with."""

    must = ("kept_through_days",)

    class Memory(_Ageing):
        def night(self, day: int) -> None:
            self.db.execute("DELETE FROM memories WHERE mark = 0 AND seq % 3 = 0")


class FadesAfterAYear(Planted):
    """What was written more than a year before the question has faded."""

    must = ("kept_through_days",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            # more than k, so that what has faded does not take places
            hits = super().recall(query, scope, 10_000, at)
            return [hit for hit in hits if moment(at) - moment(hit.created or at) < 366 * DAY][:k]


class TidiesOnTheSecondDay(Planted):
    """A process that opens the store on a later day keeps what was asked for on the day before, and drops the rest."""

    must = ("kept_through_days",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS asked (day INTEGER, id TEXT)")
            self.opened: int | None = None

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            day = int(moment(at) // DAY)
            if self.opened is None:
                self.opened = day
                (last,) = self.db.execute("SELECT max(day) FROM asked WHERE day < ?", [day]).fetchone()
                if last is not None:
                    with self.writing():
                        self.db.execute(
                            "DELETE FROM memories WHERE mark = 0 AND id NOT IN (SELECT id FROM asked WHERE day = ?)",
                            [last],
                        )
            hits = super().recall(query, scope, k, at)
            self.db.executemany("INSERT INTO asked VALUES (?, ?)", [(day, hit.memory_id) for hit in hits[:1]])
            return hits
