"""Faults of writing down and giving back: lost, cut, doubled, or with a past that is not theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from harness.adapter import Ack, Hit, Item, Scope, Source
from harness.selftest.planted.base import Planted, ReferenceMemory, drop


class ForgetsEveryTenth(Planted):
    """Acknowledges every write, and drops every tenth."""

    must: ClassVar[tuple[str, ...]] = ("writes_kept", "writes_listed", "self_reachability", "lost_between_handles")

    class Memory(ReferenceMemory):
        heard = 0

        def add(self, item: Item, vector: bytes) -> Ack:
            self.heard += 1
            ack = super().add(item, vector)
            if self.heard % 10 == 0:
                drop(self, ack.ids)
            return ack


class AcknowledgesOnly(Planted):
    """Acknowledges without storing: the transaction is never committed."""

    must = ("writes_kept", "self_reachability", "restored_exactly", "recall")

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            vectors = self.vectors(items)
            self.db.execute("BEGIN")
            acks = [self.add(item, vector) for item, vector in zip(items, vectors, strict=True)]
            self.db.execute("ROLLBACK")
            return acks


class CutsTexts(Planted):
    """A column for 40 characters: what is longer is cut."""

    must = ("writes_kept", "writes_listed", "odd_texts_exact", "recall")

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            return super().add(replace(item, text=item.text[:40]), vector)


class WritesTwice(Planted):
    """A retry after a write that had succeeded: every fifth memory is there twice, under an id that nobody was told."""

    must = ("entries_unaccounted", "doubled_between_handles")

    class Memory(ReferenceMemory):
        heard = 0

        def add(self, item: Item, vector: bytes) -> Ack:
            self.heard += 1
            ack = super().add(item, vector)
            if self.heard % 5 == 0:
                super().add(item, vector)
            return ack


class RefusesLongTexts(Planted):
    """What does not fit into a packet of 200 bytes is not stored, and nothing is said."""

    must = ("writes_not_acknowledged",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            # without a vector the reference stores nothing
            return super().add(item, vector if len(item.text.encode()) <= 200 else b"")


class StopsAtABlank(Planted):
    """A batch ends at a blank text: what comes behind it is acknowledged, and not stored."""

    must = ("writes_kept", "writes_listed", "self_reachability")

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            end = next((at for at, item in enumerate(items) if not item.text.strip()), len(items))
            drop(self, [name for ack in acks[end:] for name in ack.ids])
            return acks


class ShiftsIdsAtABlank(Planted):
    """Blank texts are left out of a batch before it is stored: what comes behind one gets the id of the next."""

    must = ("writes_kept", "texts_whole")

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            stored = [ack for ack in acks if ack.ids]
            return [*stored, *(Ack(()) for _ in acks[len(stored) :])]


class TidiesOnOpening(Planted):
    """Whoever opens the store first throws away what has no source, for junk."""

    must = ("kept_after_reopening", "lost_by_kill", "handed_over")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("DELETE FROM memories WHERE source IS NULL AND mark = 0")


class ListsOnePage(Planted):
    """A listing ends after the first page of 20."""

    must = ("writes_listed",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            return super().entries(scope)[:20]


class DropsMetadataOnUpdate(Planted):
    """An update writes the text only: source and confidence are gone."""

    must = ("source_survives_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            return super().update(scope, memory_id, replace(item, source=None, confidence=None))


class LosesConfidence(Planted):
    """Every memory comes back as certain as any other."""

    must = ("confidence_survives_writing", "attacks_acted_on_minding_confidence")

    class Memory(ReferenceMemory):
        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            return replace(super().hit(row, score), confidence=1.0)


class KeepsSourcesInTheProcess(Planted):
    """Sources live in a cache beside the store, and end with the process."""

    must = ("source_survives_reopening",)

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
            return hit if hit.memory_id in self.known else replace(hit, source=None)


class ForgesSources(Planted):
    """A memory without a source gets that of the last one that had any."""

    must = ("source_survives_writing",)

    class Memory(ReferenceMemory):
        last: Source | None = Source("0" * 40, "README.md", 1)

        def add(self, item: Item, vector: bytes) -> Ack:
            self.last = item.source or self.last
            return super().add(replace(item, source=self.last), vector)


class ShiftsLines(Planted):
    """Lines are counted from 0 inside, and nobody adds 1 on the way out."""

    must = (
        "source_survives_writing",
        "source_survives_update",
        "source_survives_supersede",
        "source_fidelity",
        "source_verified",
    )

    class Memory(ReferenceMemory):
        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            hit = super().hit(row, score)
            if hit.source is None or hit.source.line is None:
                return hit
            return replace(hit, source=replace(hit.source, line=hit.source.line - 1))


class ResetsDates(Planted):
    """The date of a memory is that of the import, not its own."""

    must = ("date_survives_writing", "dates_kept")

    class Memory(ReferenceMemory):
        def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
            return replace(super().hit(row, score), created="2026-11-22T00:00:00+00:00")


class SearchesTheOldestThousand(Planted):
    """All is listed; a search looks at the first thousand memories that hold."""

    must = ("self_reachability",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            oldest = {row["id"] for row in self.visible(scope)[:1000]}
            return [hit for hit in super().recall(query, scope, 10_000, at) if hit.memory_id in oldest][:k]


class LeavesTheLastPageUnindexed(Planted):
    """Vectors of a batch are made by the hundred; the rest of a batch, if it is larger, is stored without."""

    must = ("self_reachability",)

    class Memory(ReferenceMemory):
        def vectors(self, items: Sequence[Item]) -> list[bytes]:
            made, left = super().vectors(items), len(items) % 100 if len(items) > 100 else 0
            # zeros of the same length: the matrix of vectors needs them, and no question is near to them
            return [*made[: len(made) - left], *(bytes(len(each)) for each in made[len(made) - left :])]


class CutsLongDocuments(Planted):
    """A column for 32,768 characters: the end of a longer document is cut off."""

    must: ClassVar = ("writes_kept",)

    class Memory(ReferenceMemory):
        most = 32_768

        def add(self, item: Item, vector: bytes) -> Ack:
            return super().add(replace(item, text=item.text[: self.most]), vector)


class CutsLongDocumentsAtSixteenThousand(Planted):
    """A column for 16,000 characters."""

    must = CutsLongDocuments.must

    class Memory(CutsLongDocuments.Memory):
        most = 16_000


class DropsTheMiddleOfLongDocuments(Planted):
    """Of a long document the beginning and the end are stored, 10,000 characters each."""

    must = CutsLongDocuments.must

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            text = item.text
            return super().add(replace(item, text=text[:10_000] + text[10_000:][-10_000:]), vector)


class CutsLongDocumentsAtABlob(Planted):
    """A column for 65,535 bytes."""

    must = CutsLongDocuments.must

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            # the cut may fall inside of a letter
            return super().add(replace(item, text=item.text.encode()[:65_535].decode(errors="ignore")), vector)


class CountsLengthsInTwoBytes(Planted):
    """The length of a text is written in two bytes: of 65,536 characters and one, one is left."""

    must = CutsLongDocuments.must

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            return super().add(replace(item, text=item.text[: len(item.text) % 65_536]), vector)


class AcknowledgesLongDocuments(Planted):
    """What does not fit into a column of 65,535 bytes is acknowledged, and not stored."""

    must = CutsLongDocuments.must

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            if len(item.text.encode()) > 65_535:
                drop(self, ack.ids)
            return ack


class _StoresTwoThousandAtOnce(Planted):
    """Of a call with 2,000 memories or more the first 1,000 are stored, and all are acknowledged.

    Drills write as many in their full size only, in which no fault is played: a test plays it.
    """

    class Memory(ReferenceMemory):
        limit, stored = 2_000, 1_000

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            lost = acks[self.stored :] if len(items) >= self.limit else ()
            with self.writing():
                drop(self, [name for ack in lost for name in ack.ids])
            return acks


class _Stores2048AtOnce(Planted):
    """What stands behind the first 2,048 memories of a call is acknowledged, and not stored."""

    class Memory(_StoresTwoThousandAtOnce.Memory):
        limit = stored = 2_048
