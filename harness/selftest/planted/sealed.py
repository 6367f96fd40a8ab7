"""Faults that leave what was deleted where nobody can look: in cipher, in a file laid out beforehand, in projected
vectors. None of them can be called clean."""

from __future__ import annotations

import base64
import hashlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

from harness.adapter import Ack, Item, Layer, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory
from harness.selftest.planted.disk import OLD, DeclaresOld, KeepsDeleted

JOURNAL = "journal.bin"
ROOM = 1 << 20
"""Bytes that a journal of constant size has from the start."""
TEXTS = (
    "text_gone_after_closing",
    "text_gone_after_churn",
    "text_gone_after_compaction",
    "text_gone_after_kill",
)
VECTORS = (
    "vector_gone_after_closing", "vector_gone_after_churn", "vector_gone_after_compaction", "vector_gone_after_kill"
)  # fmt: skip


def seal(text: str, at: int) -> bytes:
    """A stream cipher with a key of its own at each place."""
    data = text.encode()
    blocks = range(len(data) // 32 + 1)
    stream = b"".join(hashlib.sha256(f"{at} {block}".encode()).digest() for block in blocks)
    # the stream is made in blocks, and longer than the text
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


class SealsAJournal(Planted):
    """Every write is kept in a journal, in cipher, and never taken out of it."""

    untold: ClassVar[tuple[str, ...]] = TEXTS

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            with Path(self.space.root, JOURNAL).open("ab") as file:
                # a generator: each place is asked for after what stands before it is written
                file.writelines(seal(item.text, file.tell()) for item in items)
            return super().remember(items)

    def storage(self, space: Space) -> list[Layer]:
        there = [Layer("journal", JOURNAL, "file")] if Path(space.root, JOURNAL).exists() else []
        return [*super().storage(space), *there]


class SealsAJournalOfConstantSize(SealsAJournal):
    """The same in a file that has all of its bytes from the start, so that it never grows."""

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            path = Path(self.space.root, JOURNAL)
            if not path.exists():
                path.write_bytes(bytes(ROOM))
            with path.open("r+b") as file:
                # what is written ends where the zeros begin
                file.seek(len(path.read_bytes().rstrip(b"\0")))
                file.writelines(seal(item.text, file.tell()) for item in items)
            return super().remember(items)


class ProjectsVectors(Planted):
    """Vectors are projected before they are stored; deleted ones stay in an index of their own."""

    untold = VECTORS

    class Memory(ReferenceMemory):
        def ask(self, texts: Sequence[str]) -> list[list[float]]:
            # turned around, they are as near to each other, and none is found by its bytes
            return [vector[::-1] for vector in super().ask(texts)]

        def add(self, item: Item, vector: bytes) -> Ack:
            with Path(self.space.root, "index.f32").open("ab") as file:
                file.write(vector)
            return super().add(item, vector)


# --- what is kept of the deleted alone --------------------------------------------------------------------------------


STORY = ("deleted_from_bytes",)
KEY = 0xA5


def encipher(text: str) -> bytes:
    """Every byte turned by the same key."""
    return bytes(each ^ KEY for each in text.encode())


class TurnsTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in a file, every byte turned by a key."""

    untold = (*TEXTS, *STORY)

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return encipher(text)


class NumbersTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept as a model reads them: a line of the numbers of their tokens."""

    untold = (*TEXTS, *STORY)

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            tokens = (text[at : at + 4] for at in range(0, len(text), 4))
            return f"{[crc32(token.encode()) % 50_000 for token in tokens]}\n".encode()


class PacksTheNumbersOfTheDeleted(DeclaresOld, Planted):
    """The same, in two bytes a token."""

    untold = (*TEXTS, *STORY)

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            tokens = (text[at : at + 4] for at in range(0, len(text), 4))
            # below 65,536, so that each takes two bytes
            return array("H", [crc32(token.encode()) % 50_000 for token in tokens]).tobytes()


class ProjectsTheDeleted(DeclaresOld, Planted):
    """Vectors of what was deleted are kept projected, in an index of their own."""

    untold = (*TEXTS, *VECTORS, *STORY)

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return array("f", array("f", vector)[::-1]).tobytes()


class KeepsPassages(DeclaresOld, Planted):
    """What is deleted is embedded once more, as a passage, and that vector stays."""

    untold = (*TEXTS, *VECTORS, *STORY)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            texts = [f"passage: {row['text']}" for name in memory_ids for row in self.visible(scope, name)]
            with Path(self.space.root, OLD).open("ab") as file:
                file.writelines(map(self.pack, self.embed(texts)))
            return super().forget(scope, memory_ids)


class TurnsTheDeletedInATable(Planted):
    """Deleted texts are kept in a table of the same database, every byte turned by a key."""

    untold = (*TEXTS, *STORY)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS audit (said BLOB)")

        def erase(self, scope: Scope, memory_id: str) -> bool:
            ciphered = [[encipher(row["text"])] for row in self.visible(scope, memory_id)]
            self.db.executemany("INSERT INTO audit VALUES (?)", ciphered)
            return super().erase(scope, memory_id)


class MirrorsInATable(Planted):
    """Every text is also in a second table, every byte turned by a key, and a deletion does not reach it."""

    untold = TEXTS

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS mirror (said BLOB)")

        def add(self, item: Item, vector: bytes) -> Ack:
            self.db.execute("INSERT INTO mirror VALUES (?)", [encipher(item.text)])
            return super().add(item, vector)


class EncodesTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in base64, one a line."""

    must: ClassVar[tuple[str, ...]] = ("text_gone_after_closing", "text_gone_after_compaction", "deleted_from_bytes")

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return base64.b64encode(text.encode()) + b"\n"
