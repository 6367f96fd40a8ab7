"""Faults that only the bytes show: what queries leave, other forms, other places, cleaning when watched."""

from __future__ import annotations

import gzip
import os
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import cramjam
import lz4.frame

from adapters.reference import Reference
from harness.adapter import Ack, Hit, Item, Layer, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory
from harness.selftest.planted.deletion import LeavesTexts


class LogsQueriesMemory(ReferenceMemory):
    """Writes every question down."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        with Path(self.space.root, LogsQueries.log).open("a") as file:
            file.write(f"{at} asked {query!r}\n")
        return super().recall(query, scope, k, at)


class LogsQueries(Planted):
    """A log of all questions, which says nothing of what was deleted: a finding of its own, and no residue."""

    must: ClassVar[tuple[str, ...]] = ("queries_kept_on_disk",)

    Memory = LogsQueriesMemory
    log = "queries.log"

    def storage(self, space: Space) -> list[Layer]:
        return [*super().storage(space), Layer("queries", self.log, "file")]


class LogsQueriesAndLeavesTexts(LogsQueries):
    """A log of all questions, and deleted rows that are not overwritten: two findings."""

    must = ("queries_kept_on_disk", *LeavesTexts.must)

    class Memory(LogsQueriesMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("PRAGMA secure_delete = OFF")


# --- other forms ------------------------------------------------------------------------------------------------------

OLD = "old.bin"
TEXTS = ("text_gone_after_closing", "text_gone_after_compaction", "deleted_from_bytes")
VECTORS = ("vector_gone_after_closing", "vector_gone_after_compaction")


class KeepsDeleted(ReferenceMemory):
    """Appends what it deletes to a file, in some form."""

    @staticmethod
    def form(text: str, vector: bytes) -> bytes:
        raise NotImplementedError

    def erase(self, scope: Scope, memory_id: str) -> bool:
        with Path(self.space.root, OLD).open("ab") as file:
            file.writelines(self.form(row["text"], row["vector"]) for row in self.visible(scope, memory_id))
        return super().erase(scope, memory_id)


class DeclaresOld(Reference):
    """Where the faults of this part keep what was deleted."""

    @staticmethod
    def layers(space: Space) -> list[Layer]:
        return [Layer("old", OLD, "file")] if Path(space.root, OLD).exists() else []

    def storage(self, space: Space) -> list[Layer]:
        return [*super().storage(space), *self.layers(space)]


class CompressesTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in an archive, compressed with zlib."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return zlib.compress(text.encode())


class SnapsTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in a log, each in a frame of Snappy."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return bytes(cramjam.snappy.compress(text.encode()))


class Lz4sTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in a log, each in a frame of LZ4."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            # twice, as lz4 stores what does not repeat as it stands
            return bytes(lz4.frame.compress((text + " ").encode() * 2))


class ZstdsTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in a log, each in a frame of zstd."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return bytes(cramjam.zstd.compress(text.encode()))


class GzipsTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in a log that is rotated through gzip."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return gzip.compress(text.encode() * 2)


class ReversesTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept back to front, as an index of word ends keeps them."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return text[::-1].encode()


class CapitalisesTheDeleted(DeclaresOld, Planted):
    """Deleted texts are kept in capitals, as an index without case keeps them."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return text.upper().encode()


class KeepsTheDeletedInUtf32(DeclaresOld, Planted):
    """Deleted texts are kept with four bytes a character."""

    must = TEXTS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return text.encode("utf-32-le")


class QuantisesTheDeleted(DeclaresOld, Planted):
    """Vectors of what was deleted are kept in an index of bytes, from the least to the largest component."""

    must = VECTORS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            return _quantise(vector)


class RoundsTheDeleted(DeclaresOld, Planted):
    """Vectors of what was deleted are kept as bfloat16."""

    must = VECTORS

    class Memory(KeepsDeleted):
        @staticmethod
        def form(text: str, vector: bytes) -> bytes:
            # a bfloat16 is the upper half of a float32, which is little-endian here
            return b"".join(vector[at + 2 : at + 4] for at in range(0, len(vector), 4))


def _quantise(vector: bytes) -> bytes:
    values = array("f", vector)
    least, most = min(values), max(values)
    return bytes(round((value - least) / (most - least) * 255) for value in values)


class KeepsTrigrams(Planted):
    """The index of trigrams is added to and never purged."""

    must = TEXTS

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS grams (gram TEXT PRIMARY KEY) WITHOUT ROWID")

        def add(self, item: Item, vector: bytes) -> Ack:
            grams = {item.text[at : at + 3] for at in range(len(item.text) - 2)}
            self.db.executemany("INSERT OR IGNORE INTO grams VALUES (?)", [[gram] for gram in grams])
            return super().add(item, vector)


# --- other places -----------------------------------------------------------------------------------------------------


COPIED = ("seen_in_undeclared_places", "text_gone_after_compaction", "undeclared_bytes", "deleted_from_bytes")


class CopiesMemory(ReferenceMemory):
    """Writes every text to a file that nobody was told of."""

    copies: ClassVar[str]

    def add(self, item: Item, vector: bytes) -> Ack:
        path = Path(self.copies.format(**os.environ, root=self.space.root))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{item.text}\n")
        return super().add(item, vector)


class CopiesToHome(Planted):
    """Texts are also cached below the user's home."""

    must = COPIED

    class Memory(CopiesMemory):
        copies = "{HOME}/.cache/memories.txt"


class CopiesToTemporaryFolder(Planted):
    """Texts are also in a temporary file that nobody removes."""

    must = COPIED

    class Memory(CopiesMemory):
        copies = "{TMPDIR}/memories.txt"


class CopiesBesideTheRoot(Planted):
    """Texts are also in a file beside the store's folder."""

    must = COPIED

    class Memory(CopiesMemory):
        copies = "{root}/../memories.txt"


class CopiesToAnUndeclaredFile(Planted):
    """Texts are also in a file of the store's folder that `storage` does not name."""

    must = COPIED

    class Memory(CopiesMemory):
        copies = "{root}/audit.txt"


class PrintsTexts(Planted):
    """Texts are also printed, as debug output."""

    must = (*COPIED, "memories_printed")

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            print("add", item.text)  # noqa: T201  the fault
            return super().add(item, vector)


class DeclaresAnEmptyFile(Planted):
    """`storage` names a file that holds nothing; all data lie beside it, deleted rows not overwritten."""

    must = (*LeavesTexts.must, "seen_in_undeclared_places", "undeclared_bytes")
    never = ("bytes_per_memory",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("PRAGMA secure_delete = OFF")
            Path(self.space.root, "data.bin").touch()

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("data", "data.bin", "file")]


# --- being watched ----------------------------------------------------------------------------------------------------


class Hoards(ReferenceMemory):
    """Keeps what it deletes in a file, until `tidy`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.trash = Path(self.space.root, "trash.txt")
        self.trash.touch()

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        with self.trash.open("a") as file:
            file.writelines(f"{row['text']}\n" for name in memory_ids for row in self.visible(scope, name))
        return super().forget(scope, memory_ids)


class CleansWhenAsked(Planted):
    """What was deleted is kept until somebody asks where data lie, which is who is about to look."""

    must = ("text_gone_after_closing", "text_gone_after_kill", "deleted_from_bytes")
    Memory = Hoards

    def storage(self, space: Space) -> list[Layer]:
        trash = Path(space.root, "trash.txt")
        if trash.exists():
            trash.write_text("")
        return [*super().storage(space), Layer("trash", "trash.txt", "file")]


class CleansOnClosing(Planted):
    """What was deleted is kept until the store is closed: a process that is killed leaves it."""

    must = ("text_gone_after_kill",)

    class Memory(Hoards):
        def close(self) -> None:
            self.trash.write_text("")
            super().close()

    def storage(self, space: Space) -> list[Layer]:
        return [*super().storage(space), Layer("trash", "trash.txt", "file")]
