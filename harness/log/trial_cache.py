"""Finished trials, kept across runs: a parcel each (harness/log/parcel.py), in a file named by the trial's key.

An entry is renamed into place whole. Whoever asked for a log judges it before it is in its place.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from harness.log import parcel
from harness.log.blobs import BlobError, Blobs, Unwritable
from harness.log.parcel import DRAFT, Head, ParcelError
from harness.log.reader import Played
from harness.machine import files

BOUND = 2_000_000_000
"""Bytes beyond which the entries that were not used for longest are removed."""
_SUFFIX = ".trial"
_STALE = 3600.0
"""Seconds after which nobody writes at a draft any more."""


class Kept(NamedTuple):
    """An entry: its file, its bytes, and when it was used last."""

    path: Path
    bytes: int
    used: float


@dataclass(frozen=True)
class TrialCache:
    """A folder of entries. Safe for concurrent writers and readers; whatever cannot be kept is not kept."""

    root: Path

    def keep(self, key: str, played: Played) -> None:
        """Writes the entry of a trial that was just read back, in place of the one that was there."""
        with suppress(OSError, BlobError, ParcelError):
            data = parcel.pack(key, played)
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{key}.{os.getpid()}.{threading.get_ident()}{DRAFT}")
            try:
                draft.write_bytes(data)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def find_day(self, key: str) -> date | None:
        """When the trial of this key was played; None: there is no entry."""
        try:
            with files.open_regular(self._path(key)) as file, os.fdopen(file, "rb", closefd=False) as stream:
                return Head.model_validate_json(stream.readline()).played
        except (OSError, ValidationError):
            return None

    def restore(self, key: str, target: Path, blobs: Blobs, believe: Callable[[Path], bool]) -> bool:
        """Puts an entry's blobs and its log in place. False: there is none, or it is not believed and is removed.

        Raises Unwritable.

        Args:
            target: Of the log; nothing is there before `believe` has read all of it beside that.
        """
        path = self._path(key)
        try:
            parcel.unpack(key, files.whole(path)).place(target, blobs, believe)
        except Unwritable:
            raise
        except FileNotFoundError:
            return False
        except (OSError, ParcelError):
            with suppress(OSError):
                path.unlink()
            return False
        with suppress(OSError):
            os.utime(path)
        return True

    def list_entries(self) -> list[Kept]:
        """All entries, the one that was used last at the end."""
        return sorted(self._walk(_SUFFIX), key=lambda kept: kept.used)

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

    def _walk(self, suffix: str) -> Iterator[Kept]:
        for path in self.root.glob(f"??/*{suffix}"):
            with suppress(OSError):
                found = path.lstat()
                yield Kept(path, found.st_size, found.st_mtime)

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}{_SUFFIX}"
