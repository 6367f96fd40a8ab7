"""Embeddings by content: each distinct text is embedded once, whichever trial, backend or run asks for it."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from filelock import FileLock

from harness.gateway.embedder import EmbedderError, Encoder

_SLICE = 64  # texts claimed, embedded and stored at a time: what a kill can lose, and how long others wait
_PATIENCE = 30  # seconds in which another process may be at the file
_TABLE = (
    "CREATE TABLE IF NOT EXISTS embedding (key BLOB PRIMARY KEY, vector BLOB, tokens INTEGER, cut INTEGER, sum BLOB)"
)
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Embedded(NamedTuple):
    """One text as the model has embedded it.

    Attributes:
        vector: Little-endian float32 bytes.
        tokens, cut: Word pieces that the model saw, and that were cut off.
    """

    vector: bytes
    tokens: int
    cut: int


class EmbeddingCache:
    """Memory in front of one sqlite file (`path=None`: memory alone). Safe for threads; processes may share the file.

    A row whose bytes changed is recomputed, a file that is no database is set aside, a folder that cannot be written
    leaves the cache in memory: never an error, one warning each. `embedded` and `repaired` count texts.
    """

    def __init__(self, path: Path | None, embedder: Encoder) -> None:
        self.embedder = embedder
        self.embedded = 0
        self.repaired = 0
        self.refused: EmbedderError | None = None
        """Why a backend that asked got no vector: nothing it does after that is its own doing."""
        self._salt = embedder.digest.encode() + b"\n"
        self._memory: dict[bytes, Embedded] = {}
        self._busy: set[bytes] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._store = _Store(path) if path is not None else None

    def get(self, texts: Sequence[str]) -> list[Embedded]:
        """One result per text, in order. Raises ValueError for an empty text, and what the embedder raises."""
        if "" in texts:
            raise ValueError("an empty text has no embedding")
        keys = [self._key(text) for text in texts]
        # without the lock: what is known is never taken away
        absent = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._memory}
        while absent:
            mine = self._claim(absent)
            if mine:
                self._fill(mine)
            absent = {key: text for key, text in absent.items() if key not in self._memory}
        return [self._memory[key] for key in keys]

    def knows(self, texts: Sequence[str]) -> bool:
        """Whether `get` would answer at once, from memory."""
        return all(self._key(text) in self._memory for text in texts)

    def warm(self, texts: Sequence[str]) -> None:
        """Embed what is not known yet, so that later calls cost no model time."""
        self.get(texts)

    def close(self) -> None:
        """Nothing is embedded after it: an interpreter that ends while a thread is inside the model is aborted."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._busy)
        if self._store is not None:
            self._store.close()

    def _key(self, text: str) -> bytes:
        # A lone surrogate is a text like any other, and needs a key of its own.
        return hashlib.sha256(self._salt + text.encode("utf-8", "surrogatepass")).digest()

    def _claim(self, absent: dict[bytes, str]) -> dict[bytes, str]:
        """Some of `absent` that nobody works on; if there is none, waits for those who do and returns nothing.

        Raises RuntimeError once it is closed.
        """
        with self._changed:
            if self._closed:
                raise RuntimeError("the cache of embeddings is closed")
            free = [key for key in absent if key not in self._busy and key not in self._memory][:_SLICE]
            self._busy.update(free)
            if not free and any(key in self._busy for key in absent):
                self._changed.wait()
            return {key: absent[key] for key in free}

    def _fill(self, mine: dict[bytes, str]) -> None:
        found: dict[bytes, Embedded] = {}
        new: dict[bytes, Embedded] = {}
        damaged = 0
        try:
            if self._store is not None:
                found, damaged = self._store.read(list(mine))
            missing = [key for key in mine if key not in found]
            if missing:
                vectors, tokens, cut = self.embedder.encode([mine[key] for key in missing])
                rows = zip(missing, vectors.astype("<f4"), tokens, cut, strict=True)
                new = {key: Embedded(vector.tobytes(), seen, rest) for key, vector, seen, rest in rows}
                if self._store is not None:
                    self._store.write(new)
        finally:  # after an error, those who wait take over what is left
            with self._changed:
                self._memory.update(found)
                self._memory.update(new)
                self.embedded += len(new)
                self.repaired += damaged
                self._busy.difference_update(mine)
                self._changed.notify_all()


class _Store:
    """The file. No method raises for what is wrong with it: it repairs, begins anew, or gives up the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._link: sqlite3.Connection | None = None
        self._given_up = False
        with self._lock:
            self._guard(lambda link: None)

    def read(self, keys: list[bytes]) -> tuple[dict[bytes, Embedded], int]:
        """The sound rows among `keys`, and how many were damaged and dropped."""

        def work(link: sqlite3.Connection) -> tuple[dict[bytes, Embedded], int]:
            marks = ",".join("?" * len(keys))
            query = f"SELECT key, vector, tokens, cut, sum FROM embedding WHERE key IN ({marks})"  # noqa: S608 - only "?"
            rows = link.execute(query, keys).fetchall()
            sound = {row[0]: Embedded(*row[1:4]) for row in rows if row[4] == _sum(*row[:4])}
            if len(sound) < len(rows):
                link.executemany(
                    "DELETE FROM embedding WHERE key = ?", [(row[0],) for row in rows if row[0] not in sound]
                )
            return sound, len(rows) - len(sound)

        with self._lock:
            return self._guard(work) or ({}, 0)

    def write(self, rows: dict[bytes, Embedded]) -> None:
        def work(link: sqlite3.Connection) -> None:
            filled = [(key, *row, _sum(key, *row)) for key, row in rows.items()]
            with link:  # one transaction
                link.execute("BEGIN IMMEDIATE")
                # another process may have stored the same text meanwhile
                link.executemany("INSERT OR IGNORE INTO embedding VALUES (?, ?, ?, ?, ?)", filled)

        with self._lock:
            self._guard(work)

    def close(self) -> None:
        with self._lock:
            if self._link is not None:
                self._link.close()
                self._link = None

    def _guard(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `work` returns; None once the file is given up. Called with the lock held."""
        if self._given_up:
            return None
        try:
            try:
                return work(self._connect())
            except sqlite3.OperationalError:  # locked, read-only, disk full: the file may be sound
                raise
            except sqlite3.DatabaseError as error:  # malformed, or no database at all
                self._set_aside(error)
                return work(self._connect())
        except (sqlite3.Error, OSError) as error:
            self._given_up = True
            _log.warning(
                "embedding cache %s cannot be used (%s): embeddings are kept in memory only", self._path, error
            )
            return None

    def _connect(self) -> sqlite3.Connection:
        if self._link is None:
            self._link = self._open()
        return self._link

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # One process at a time: of two that change a new file's journal SQLite refuses one at once, whatever `timeout`.
        with FileLock(self._path.with_name(self._path.name + ".lock"), timeout=_PATIENCE, poll_interval=0.005):
            return self._link_up()

    def _link_up(self) -> sqlite3.Connection:
        link = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        link.text_factory = bytes  # a damaged value must reach its checksum, whatever it looks like
        try:
            link.execute("PRAGMA journal_mode = WAL")
            # what a power cut takes of it is embedded again
            link.execute("PRAGMA synchronous = NORMAL")
            link.execute(_TABLE)
        except sqlite3.Error:
            link.close()
            raise
        return link

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        aside = self._path.with_name(self._path.name + ".damaged")
        self._path.replace(aside)  # sqlite itself drops a write-ahead log that is left beside an empty database
        _log.warning(
            "embedding cache %s is damaged (%s): set aside as %s, a new one begins", self._path, error, aside.name
        )


def _sum(*row: Any) -> bytes:
    """Checksum of a row's values and types, whatever a damaged file makes of them."""
    return hashlib.sha256(repr(row).encode()).digest()
