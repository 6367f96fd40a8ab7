"""A folder of entries by their keys, kept across runs, which may be written and read by several processes at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from harness.machine import files
from harness.machine.files import DRAFT

BOUND = 2_000_000_000
"""Bytes beyond which the entries that were not used for longest are removed."""
_STALE = 3600.0
"""Seconds after which nobody writes at a draft any more."""


class Entry(NamedTuple):
    """A file, its bytes, and when it was used last."""

    path: Path
    bytes: int
    used: float


@dataclass(frozen=True)
class Entries:
    """An entry is renamed into place whole; whoever reads one judges what is in it."""

    suffix: ClassVar[str]
    root: Path

    def write(self, key: str, data: bytes) -> None:
        """In place of the entry that was there. Raises OSError."""
        path = self.find_path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{key}.{os.getpid()}.{threading.get_ident()}{DRAFT}")
        try:
            draft.write_bytes(data)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def read(self, key: str) -> bytes:
        """Raises OSError: there is none, or it cannot be read."""
        path = self.find_path(key)
        data = files.read_whole(path)
        with suppress(OSError):
            # the file's time tells `prune` when the entry was last used
            os.utime(path)
        return data

    def forget(self, key: str) -> None:
        """Removes the entry, if there is one."""
        with suppress(OSError):
            self.find_path(key).unlink()

    def list_entries(self) -> list[Entry]:
        """All entries, the one that was used last at the end."""
        return sorted(self._walk(self.suffix), key=lambda entry: entry.used)

    def prune(self, most_bytes: int = BOUND, most_seconds: float | None = None) -> int:
        """Removes entries until so many bytes are left, those first that were not used for longest; says how many.

        Args:
            most_seconds: Entries that were not used for longer go, too.
        """
        now, entries, removed = time.time(), self.list_entries(), 0
        left = sum(each.bytes for each in entries)
        for each in entries:
            if left > most_bytes or (most_seconds is not None and now - each.used > most_seconds):
                with suppress(OSError):
                    each.path.unlink(missing_ok=True)
                    left, removed = left - each.bytes, removed + 1
        for each in self._walk(DRAFT):  # what a kill left
            if now - each.used > _STALE:
                with suppress(OSError):
                    each.path.unlink(missing_ok=True)
        return removed

    def find_path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}{self.suffix}"

    def _walk(self, suffix: str) -> Iterator[Entry]:
        for path in self.root.glob(f"??/*{suffix}"):
            with suppress(OSError):
                found = path.lstat()
                yield Entry(path, found.st_size, found.st_mtime)
