"""Finished trials, kept across runs: one file each, named by the trial's key, with its log and the blobs that it names.

The first line is the head, the rest a compressed body. An entry is renamed into place whole. What is read from one is
material: blobs must be what their names promise, and whoever asked for the log judges it before it is in its place.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import cramjam
from pydantic import Field, ValidationError

from harness.log.blobs import BlobError, Blobs, Ref
from harness.log.reader import Played
from harness.machine import files
from harness.model.trial import Model

BOUND = 2_000_000_000
"""Bytes beyond which the entries that were not used for longest are removed."""
_SUFFIX = ".trial"
_DRAFT = ".part"
_STALE = 3600.0
"""Seconds after which nobody writes at a draft any more."""


class _Head(Model):
    """The first line of an entry.

    Attributes:
        played: When, by the clock of the machine that did.
        log: Bytes of the log, which the body begins with.
        blobs: Name -> bytes, in the order of the body.
        sha256: Of the compressed body.
    """

    form: Literal[1] = 1
    key: str
    played: date
    log: int = Field(ge=1)
    blobs: Mapping[str, int]
    sha256: str


class _Refused(Exception):  # noqa: N818  the entry's fault, and no error of ours
    """An entry that cannot be believed."""


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
        with suppress(OSError, BlobError):
            log = files.whole(played.path)
            if hashlib.sha256(log).hexdigest() != played.sha256:
                return
            refs = {value.blob: value for event in played.events for value in vars(event).values() if _is_ref(value)}
            blobs = {name: played.blobs.get(ref) for name, ref in refs.items()}
            body = bytes(cramjam.zstd.compress(b"".join([log, *blobs.values()]), level=3))
            head = _Head(
                key=key,
                played=datetime.fromtimestamp(played.path.stat().st_mtime, UTC).date(),
                log=len(log),
                blobs={name: len(data) for name, data in blobs.items()},
                sha256=hashlib.sha256(body).hexdigest(),
            )
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{key}.{os.getpid()}.{threading.get_ident()}{_DRAFT}")
            try:
                draft.write_bytes(head.model_dump_json().encode() + b"\n" + body)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def find_day(self, key: str) -> date | None:
        """When the trial of this key was played; None: there is no entry."""
        try:
            with files.open_regular(self._path(key)) as file, os.fdopen(file, "rb", closefd=False) as stream:
                return _Head.model_validate_json(stream.readline()).played
        except (OSError, ValidationError):
            return None

    def restore(self, key: str, target: Path, blobs: Blobs, believe: Callable[[Path], bool]) -> bool:
        """Puts an entry's blobs and its log in place. False: there is none, or it is not believed and is removed.

        Raises Unwritable.

        Args:
            target: Of the log; nothing is there before `believe` has read all of it beside that.
        """
        draft = target.with_suffix(_DRAFT)
        try:
            log, parts = self._read(key)
            for name, data in parts.items():
                if blobs.put(data).blob != name:
                    raise _Refused(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(log)
            if not believe(draft):
                raise _Refused(key)
            draft.replace(target)
        except FileNotFoundError:
            return False
        except _Refused:
            with suppress(OSError):
                self._path(key).unlink()
            return False
        finally:
            draft.unlink(missing_ok=True)
        with suppress(OSError):
            os.utime(self._path(key))
        return True

    def _read(self, key: str) -> tuple[bytes, dict[str, bytes]]:
        """The log and the blobs. Raises FileNotFoundError and _Refused."""
        try:
            line, _, body = files.whole(self._path(key)).partition(b"\n")
            head = _Head.model_validate_json(line)
        except FileNotFoundError:
            raise
        except (OSError, ValidationError) as error:
            raise _Refused(key) from error
        if head.key != key or hashlib.sha256(body).hexdigest() != head.sha256:
            raise _Refused(key)
        try:
            data = bytes(cramjam.zstd.decompress(body))
        except cramjam.DecompressionError as error:
            raise _Refused(key) from error
        at, parts = head.log, dict[str, bytes]()
        for name, size in head.blobs.items():
            parts[name] = data[at : at + size]
            at += size
        if at != len(data):
            raise _Refused(key)
        return data[: head.log], parts

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
        for each in self._walk(_DRAFT):  # what a kill left
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


def _is_ref(value: object) -> bool:
    return isinstance(value, Ref)
