"""Faults of marking what has ended: not heeded, heeded too late or everywhere, or at the cost of what was told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar

from adapters._base import moment
from adapters.reference import ADD, END, LISTED
from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

LONG_AGO = "0002-01-01T00:00:00+00:00"
ENDED = moment("2025-09-15T23:30:00-05:00")
"""The drill's own, which no child may import."""


class MarksOnly(Planted):
    """Keeps a mark in a field that no question looks at."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            return [bool(self.visible(scope, name)) for name in memory_ids]


class MarksInMemory(Planted):
    """Marks are in the process, and not in the store."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: object) -> None:
            # `object` says nothing of the arguments, which go on as they came
            super().__init__(*args)  # type: ignore[arg-type]
            self.ends: dict[str, float] = {}

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            there = {name: moment(at) for name in memory_ids if self.visible(scope, name)}
            self.ends |= there
            return [name in there for name in memory_ids]

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            self.ends.pop(memory_id, None)
            return super().update(scope, memory_id, item)

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            # what is left out below would else take places among the k
            hits = super().recall(query, scope, k + len(self.ends), at)
            return [hit for hit in hits if self.ends.get(hit.memory_id, moment(at) + 1) > moment(at)][:k]


class MarksTodayByTheClock(Planted):
    """A mark takes the day of the machine's clock, whatever time it is told."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            return super().deprecate(scope, memory_ids, datetime.now(UTC).isoformat())


class MarksForAllTime(Planted):
    """What is marked is hidden from every question, also from one about the time when it held."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            return super().deprecate(scope, memory_ids, LONG_AGO)


class MarksTheFirstOnly(Planted):
    """Says of a list that it is marked, and marks the first of it."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            super().deprecate(scope, memory_ids[:1], at)
            return [bool(self.visible(scope, name)) for name in memory_ids]


class MarksEveryTextAlike(Planted):
    """Marks by the text: whoever else has it told loses it, too."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            said = super().deprecate(scope, memory_ids, at)
            with self.writing():
                for name in memory_ids:
                    for row in self.visible(scope, name):
                        alike = self.db.execute("SELECT id FROM memories WHERE mark = 0 AND text = ?", [row["text"]])
                        self.db.executemany(END, [{"id": each["id"], "at": moment(at)} for each in alike.fetchall()])
            return said


class MarkedTakePlaces(Planted):
    """The k nearest are taken first, and what is marked is left out of them: fewer come back."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            ends = {row["id"]: row["expires"] for row in self.visible(scope)}
            # at that time nothing had ended, so what is marked is among the k
            hits = super().recall(query, scope, k, LONG_AGO)
            return [hit for hit in hits if (end := ends[hit.memory_id]) is None or end > moment(at)]


class _Rewriting(ReferenceMemory):
    """Marks by writing the whole memory anew."""

    lost: ClassVar[str]

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        said = super().deprecate(scope, memory_ids, at)
        with self.writing():
            for name in memory_ids:
                self.db.execute(f"UPDATE memories SET {self.lost} WHERE id = ? AND mark = 0", [name])
        return said


class MarkLosesTheSource(Planted):
    """A mark writes the metadata anew, without the source."""

    must = ("deprecated_altered",)

    class Memory(_Rewriting):
        lost = "source = NULL"


class MarkLosesTheConfidence(Planted):
    """A mark writes the metadata anew, without the confidence."""

    must = ("deprecated_altered",)

    class Memory(_Rewriting):
        lost = "confidence = NULL"


class MarkStandsInTheText(Planted):
    """A mark is a word before the text."""

    must = ("deprecated_altered",)

    class Memory(_Rewriting):
        lost = "text = '[deprecated] ' || text"


class KeepsTheMarkOnUpdate(Planted):
    """What was marked once stays out of the way, also with a new text."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            marked = [row["expires"] for row in self.visible(scope, memory_id) if row["expires"] and not item.expires]
            ack = super().update(scope, memory_id, item)
            with self.writing():
                self.db.executemany(END, [{"id": memory_id, "at": end} for end in marked])
            return ack


class KeepsTheMarkedForTheRecord(Planted):
    """A deletion reaches what holds; what is marked as ended stays for questions about before."""

    must = ("deprecated_undeleted",)

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            rows = self.visible(scope, memory_id)
            if rows and rows[0]["expires"] == ENDED:
                return True
            return super().erase(scope, memory_id)


class ForgetsAScopeButItsEnded(Planted):
    """Forgetting a scope reaches what holds today; what is marked as ended stays for questions about before."""

    must = ("deprecated_undeleted",)

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            rows = [dict(row) for row in self.db.execute(LISTED, vars(scope)) if row["expires"] == ENDED]
            super().forget_scope(scope)
            with self.writing():
                self.db.executemany(ADD, rows)


class RestoresWithoutTheMarks(Planted):
    """A restore writes each memory anew, and leaves out when it ended."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            with self.writing():
                self.db.execute("UPDATE memories SET expires = NULL WHERE mark = 0 AND expires = ?", [ENDED])


class _MarkingOnce(ReferenceMemory):
    """Knows what was marked before."""

    def __init__(self, *args: object) -> None:
        # `object` says nothing of the arguments, which go on as they came
        super().__init__(*args)  # type: ignore[arg-type]
        self.db.execute("CREATE TABLE IF NOT EXISTS marked (id TEXT NOT NULL)")

    def count(self, memory_id: str) -> int:
        (times,) = self.db.execute("SELECT count(*) FROM marked WHERE id = ?", [memory_id]).fetchone()
        return int(times)

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        with self.writing():
            self.db.executemany("INSERT INTO marked VALUES (?)", [[name] for name in memory_ids])
        return super().deprecate(scope, memory_ids, at)


class MarksOnce(Planted):
    """What was marked, and holds again since an update, is called marked and takes no second mark."""

    must = ("deprecated_recalled",)

    class Memory(_MarkingOnce):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            updated = [name for name in memory_ids if self.count(name) and self.history(scope, name)[1:]]
            said = super().deprecate(scope, memory_ids, at)
            with self.writing():
                for name in updated:
                    self.db.execute("UPDATE memories SET expires = NULL WHERE id = ? AND mark = 0", [name])
            return said


class LaterMarkWins(Planted):
    """A mark writes its end whatever end is there: marked as of a later day, an ended memory holds again till then."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            with self.writing():
                for name in memory_ids:
                    ended = [row for row in self.visible(scope, name) if row["expires"] == ENDED]
                    self.db.executemany("UPDATE memories SET expires = NULL WHERE seq = ?", [[r["seq"]] for r in ended])
            return super().deprecate(scope, memory_ids, at)


class UnmarksOnce(Planted):
    """The first update takes a mark away; a mark that came after it stays, whatever text is written."""

    must = ("deprecated_lost",)

    class Memory(_MarkingOnce):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ends = [row["expires"] for row in self.visible(scope, memory_id) if self.count(memory_id) > 1]
            ack = super().update(scope, memory_id, item)
            with self.writing():
                self.db.executemany(END, [{"id": memory_id, "at": end} for end in ends if end is not None])
            return ack


class FirstMarkWins(Planted):
    """A marked memory takes no other mark: known to have ended earlier, it holds till the end that came first."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            ended = [name for name in memory_ids for row in self.visible(scope, name) if row["expires"] == ENDED]
            super().deprecate(scope, [name for name in memory_ids if name not in ended], at)
            return [bool(self.visible(scope, name)) for name in memory_ids]


class MarksOutliveARestore(Planted):
    """Marks lie beside the snapshots: what was marked after one stays marked when it is restored."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            ended = self.db.execute("SELECT id FROM memories WHERE mark = 0 AND expires = ?", [ENDED]).fetchall()
            super().restore(mark)
            with self.writing():
                self.db.executemany(END, [{"id": row["id"], "at": ENDED} for row in ended])


class MarksLeaveOutTheEnded(Planted):
    """A snapshot is taken of what holds: what had ended is gone once it is restored."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def snapshot(self) -> str:
            mark = super().snapshot()
            with self.writing():
                self.db.execute("DELETE FROM memories WHERE mark = ? AND expires = ?", [mark, ENDED])
            return mark


class UpdatesNothingThatHasEnded(Planted):
    """An update looks for what holds today: of what is marked as ended it finds nothing, and says so."""

    must = ("deprecated_lost",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            now = datetime.now(UTC).timestamp()
            ended = any(row["expires"] and row["expires"] <= now for row in self.visible(scope, memory_id))
            return Ack(()) if ended else super().update(scope, memory_id, item)
