"""Faults that leave what was deleted where nobody can look: in cipher, in a file laid out beforehand, in projected
vectors. None of them can be called clean."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from harness.adapter import Ack, Item, Layer, Space
from harness.selftest.planted.base import Planted, ReferenceMemory

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
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


class SealsAJournal(Planted):
    """Every write is kept in a journal, in cipher, and never taken out of it."""

    untold: ClassVar[tuple[str, ...]] = TEXTS
    may: ClassVar[tuple[str, ...]] = ("bytes_per_memory",)

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            with Path(self.space.root, JOURNAL).open("ab") as file:
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
                file.seek(len(path.read_bytes().rstrip(b"\0")))
                file.writelines(seal(item.text, file.tell()) for item in items)
            return super().remember(items)


class ProjectsVectors(Planted):
    """Vectors are projected before they are stored; deleted ones stay in an index of their own."""

    untold = VECTORS
    may = (*TEXTS, "bytes_per_memory", "undeclared_bytes")

    class Memory(ReferenceMemory):
        def ask(self, texts: Sequence[str]) -> list[list[float]]:
            return [vector[::-1] for vector in super().ask(texts)]

        def add(self, item: Item, vector: bytes) -> Ack:
            with Path(self.space.root, "index.f32").open("ab") as file:
                file.write(vector)
            return super().add(item, vector)
