"""Faults of fields and of what takes another's place: lost by an update, a successor, or the next opening."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

# a day that is fixed, and not the clock's, so that each play says the same
IMPORTED = "2026-11-22T00:00:00+00:00"


class DatesUpdatesByTheImport(Planted):
    """An updated memory is dated with the day on which the update was run."""

    must = ("date_survives_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            return super().update(scope, memory_id, replace(item, at=IMPORTED))


class KeepsTheFirstDate(Planted):
    """An updated memory keeps the date of its first text: no fault by itself, and a reader of dates has to know it."""

    must = ("first_date_after_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            known = self.get(scope, memory_id)
            return super().update(
                scope, memory_id, replace(item, at=known.created) if known and known.created else item
            )


class DropsTheEndOnUpdate(Planted):
    """An update writes every field but the end of validity, so that the memory never ends."""

    must = ("expiry_lost",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            return super().update(scope, memory_id, replace(item, expires=None))


class KeepsTheEndOnUpdate(Planted):
    """An update leaves the end of validity as it was."""

    must = ("expiry_lost",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            before = {row["id"]: row["expires"] for row in self.visible(scope, memory_id)}
            ack = super().update(scope, memory_id, item)
            for name, expires in before.items():
                self.db.execute("UPDATE memories SET expires = ? WHERE id = ? AND mark = 0", [expires, name])
            return ack


class WidensTheScopeOnUpdate(Planted):
    """An update forgets the organisation: the memory holds for every organisation then."""

    must = ("scope_survives_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            return super().update(scope, memory_id, replace(item, scope=replace(item.scope, org=None)))


class SupersedesTextOnly(Planted):
    """A successor takes the text, and neither source nor date nor confidence."""

    must = ("source_survives_supersede", "date_survives_supersede", "confidence_survives_supersede")

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            bare = replace(item, at=IMPORTED, source=None, confidence=None)
            return super().supersede(scope, memory_ids, bare)


class WidensTheScopeOfSuccessors(Planted):
    """A successor is stored for every organisation."""

    must = ("scope_survives_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids, replace(item, scope=replace(item.scope, org=None)))


class DropsTheEndOfSuccessors(Planted):
    """A successor never ends."""

    must = ("expiry_lost",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids, replace(item, expires=None))


class SupersedesTheFirst(Planted):
    """Of several memories that one takes the place of, only the first is replaced."""

    must = ("several_superseded",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, memory_ids[:1], item)


class DatesByTheOpening(Planted):
    """Whoever opens the store dates everything in it anew."""

    must = ("date_survives_reopening",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("UPDATE memories SET at = ? WHERE mark = 0", [IMPORTED])


class KeepsConfidenceInTheProcess(Planted):
    """What is certain and what is doubtful is known until the store is closed."""

    must = ("confidence_survives_reopening",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("UPDATE memories SET confidence = NULL WHERE mark = 0")


class KeepsScopesInTheProcess(Planted):
    """The organisation of a memory is known until the store is closed, and empty afterwards."""

    must = ("scope_survives_reopening",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.known: set[str] = set()
            super().__init__(*args)

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            self.known.update(ack.ids)
            return ack

        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            hit = super().hit(row, score)
            assert hit.scope is not None
            return hit if hit.memory_id in self.known else replace(hit, scope=replace(hit.scope, org=None))


class RevivesOnOpening(Planted):
    """The ends of validity live in the process: in the next one nothing has ended."""

    must = ("expiry_lost",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("UPDATE memories SET expires = NULL WHERE mark = 0")


class ExpiresByTheWallClock(Planted):
    """What has ended is told by today's date, not by the time that is asked about."""

    must = ("expiry_by_wall_clock",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return super().recall(query, scope, k, datetime.now(UTC).isoformat())


class GetsAPreview(Planted):
    """Reading by id gives the first 80 characters."""

    must = ("texts_whole",)

    class Memory(ReferenceMemory):
        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            hit = super().get(scope, memory_id)
            return hit and replace(hit, text=hit.text[:80])


class ListsPreviews(Planted):
    """A listing shows the first 2,000 characters of each text."""

    must = ("texts_whole", "writes_listed")

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            return [replace(hit, text=hit.text[:2000]) for hit in super().entries(scope)]


class RecallsSnippets(Planted):
    """A question brings the first 1,000 characters of what it finds."""

    must = ("texts_whole",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return [replace(hit, text=hit.text[:1000]) for hit in super().recall(query, scope, k, at)]


class CutsHistory(Planted):
    """The audit trail has a column for 40 characters."""

    must = ("texts_whole",)

    class Memory(ReferenceMemory):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            return [text[:40] for text in super().history(scope, memory_id)]


class ScoresByDistance(Planted):
    """The score is the distance: the best hit comes first, with the lowest."""

    must = ("scores_out_of_order",)

    class Memory(ReferenceMemory):
        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            return super().hit(row, None if score is None else 1 - score)


class TakesZeroForNone(Planted):
    """`if confidence`: what is not to be trusted at all has no confidence."""

    must = ("confidence_survives_writing",)

    class Memory(ReferenceMemory):
        def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
            return super().columns(replace(item, confidence=item.confidence or None), vector)


class UpdatesIntoTheAskersScope(Planted):
    """An updated memory is stored where it was asked for: what a user corrects is his own from then on."""

    must = ("scope_survives_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            return super().update(scope, memory_id, replace(item, scope=scope))


class UpdatesACopyForTheAsker(Planted):
    """What is corrected from a narrower scope becomes a memory of that scope, and all others see the old text."""

    must = ("scope_survives_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            if any(self.hit(row).scope != scope for row in self.visible(scope, memory_id)):
                self.remember([replace(item, scope=scope)])
                return Ack((memory_id,))
            return super().update(scope, memory_id, item)


class UpdatesEqualTexts(Planted):
    """A text is changed wherever it stands: the same words in another repository are changed with it."""

    must = ("texts_whole",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            before = [row["text"] for row in self.visible(scope, memory_id)]
            ack = super().update(scope, memory_id, item)
            for text in before if ack.ids else ():
                self.db.execute("UPDATE memories SET text = ? WHERE text = ? AND mark = 0", [item.text, text])
            return ack


class ShiftsSourcesOnDeletion(Planted):
    """Sources lie in a list by position, which no deletion makes shorter: what is behind a deleted memory cites its
    source."""

    must = ("source_survives_deletion",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            told = "SELECT seq, source FROM memories WHERE mark = 0 ORDER BY seq"
            sources = [row["source"] for row in self.db.execute(told).fetchall()]
            gone = super().forget(scope, memory_ids)
            with self.writing():
                # fewer rows than sources: that shifts them
                for source, row in zip(sources, self.db.execute(told).fetchall(), strict=False):
                    self.db.execute("UPDATE memories SET source = ? WHERE seq = ?", [source, row["seq"]])
            return gone
