"""Faults of telling apart and of amounts: texts taken for the same, ids given twice, batches cut at a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Row
from typing import Any

from harness.adapter import Ack, Item
from harness.selftest.planted.base import Planted, ReferenceMemory, drop

ANYWHERE = "SELECT id, text FROM memories WHERE mark = 0"


class _Merging(ReferenceMemory):
    """Takes a text for the first that has the same key."""

    def key(self, text: str) -> str:
        return text

    def add(self, item: Item, vector: bytes) -> Ack:
        for name, text in self.db.execute(ANYWHERE).fetchall():
            if item.text.strip() and self.key(text) == self.key(item.text):
                return Ack((name,))
        return super().add(item, vector)


class MergesByBeginning(Planted):
    """A text whose first 40 characters are there already is taken for the same memory."""

    must = ("writes_kept", "odd_texts_exact")

    class Memory(_Merging):
        def key(self, text: str) -> str:
            return text[:40]


class MergesByLongBeginning(Planted):
    """A text whose first 200 characters are there already is taken for the same memory."""

    must = ("writes_kept",)

    class Memory(_Merging):
        def key(self, text: str) -> str:
            return text[:200] if len(text) > 200 else text


class MergesWithoutCase(Planted):
    """Texts are compared in lower case."""

    must = ("writes_kept", "odd_texts_exact")

    class Memory(_Merging):
        def key(self, text: str) -> str:
            return text.lower()


class MergesWithoutSpace(Planted):
    """Texts are compared with their white space made even."""

    must = ("odd_texts_exact",)

    class Memory(_Merging):
        def key(self, text: str) -> str:
            return " ".join(text.split())


class MergesAcrossScopes(Planted):
    """A text is its own key: written again, in whatever scope, it is the memory that is there."""

    must = ("writes_kept", "scope_survives_writing")

    class Memory(_Merging):
        """By the text as it is."""


class DropsRepeats(Planted):
    """A text that is there already gets an id of its own, and no row."""

    must = ("writes_kept",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            known = any(text == item.text for _, text in self.db.execute(ANYWHERE).fetchall())
            ack = super().add(item, vector)
            if known:
                drop(self, ack.ids)
            return ack


class DropsTheUserInAnOrganisation(Planted):
    """Where an organisation is named, the user is not stored."""

    must = ("scope_survives_writing", "writes_listed", "leaks_by_part")

    class Memory(ReferenceMemory):
        def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
            scope = replace(item.scope, user=None) if item.scope.org else item.scope
            return super().columns(replace(item, scope=scope), vector)


class CountsFromTheLast(Planted):
    """The next id is one more than the highest that is there: the id of the last, once deleted, is given again."""

    must = ("ids_reissued",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            last = self.db.execute("SELECT max(CAST(id AS INTEGER)) FROM memories").fetchone()[0]
            name = f"{(last or 0) + 1:09}"
            ids = super().add(item, vector).ids
            # a blank text has no id, and no memory has the empty one
            self.db.execute("UPDATE memories SET id = ? WHERE id = ?", [name, *(ids or ("",))])
            return Ack((name,) if ids else ())


class StoresAPage(Planted):
    """Of a batch the first 100 are stored; all are acknowledged."""

    must = ("batch_kept",)

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            # dropped once it is stored, so that it is acknowledged with an id
            drop(self, [name for ack in acks[100:] for name in ack.ids])
            return acks


class RefusesLargeBatches(Planted):
    """A batch of more than 1,000 is an error of the database: nothing of it is stored."""

    must = ("batch_kept", "calls_failed")

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            if len(items) > 1000:
                raise ValueError("too many SQL variables")
            return super().remember(items)


class LosesWhatStandsOnABorder(Planted):
    """A batch goes out in parts of 256, and the first of each part but the first is left out."""

    must = ("batch_kept",)

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            drop(self, [name for ack in acks[256::256] for name in ack.ids])
            return acks


# --- equal texts ------------------------------------------------------------------------------------------------------


class _Swallowing(ReferenceMemory):
    """Gives a text that is there already an id of its own, and no row, where it is taken for the same memory."""

    def is_same(self, known: Row, item: Item) -> bool:
        raise NotImplementedError

    def add(self, item: Item, vector: bytes) -> Ack:
        rows = self.db.execute("SELECT * FROM memories WHERE mark = 0 AND text = ?", [item.text]).fetchall()
        ack = super().add(item, vector)
        if any(self.is_same(row, item) for row in rows):
            drop(self, ack.ids)
        return ack


class SwallowsTextsOfOtherScopes(Planted):
    """A text that another scope has told is taken for known, and not stored; told twice in one scope it is."""

    must = ("writes_kept",)

    class Memory(_Swallowing):
        def is_same(self, known: Row, item: Item) -> bool:
            return self.hit(known).scope != item.scope


class SwallowsTextsOfOtherSources(Planted):
    """A text that is told again in its scope by another source is known, and not stored."""

    must = ("writes_kept",)

    class Memory(_Swallowing):
        def is_same(self, known: Row, item: Item) -> bool:
            return self.hit(known).scope == item.scope and self.hit(known).source != item.source


class SwallowsTextsOfTheRepository(Planted):
    """A text that the repository knows is not stored for one of its users or branches."""

    must = ("writes_kept",)

    class Memory(_Swallowing):
        def is_same(self, known: Row, item: Item) -> bool:
            return bool(known["repo"] == item.scope.repo and known["user"] is None and item.scope.user)


class EqualTextsShareTheirFields(Planted):
    """Source and confidence belong to a text: whoever tells it last has told it everywhere."""

    must = ("source_survives_writing",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            source = self.columns(item, vector)["source"]
            self.db.execute("UPDATE memories SET source = ? WHERE mark = 0 AND text = ?", [source, item.text])
            return super().add(item, vector)


class KeepsTheLastOfEqualTexts(Planted):
    """A text stands once in a scope: told again, the later memory takes the place of the earlier one."""

    must = ("writes_kept",)

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            for hit in self.entries(item.scope):
                if hit.text == item.text:
                    self.db.execute("DELETE FROM memories WHERE id = ?", [hit.memory_id])
            return super().add(item, vector)
