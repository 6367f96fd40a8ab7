"""Reference: one SQLite file, every capability native, nothing clever. What a sound backend does; never ranked."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

from adapters._base import FileAdapter, moment, sdk
from adapters._capture import by_message, observe_with
from harness.adapter import (
    CAPABILITIES,
    Ack,
    BaseMemory,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Scope,
    Source,
    Space,
    Usage,
    embed,
    fits,
    to_wire,
)

PROBE = "which embedder is this"
"""Its vector is kept, and tells whether another embedder answers."""
BUSY_SECONDS = 30.0
"""How long a call waits for another process."""

# Live memories carry the mark 0; a snapshot is a copy of them under a mark of its own. `earlier` holds the texts that
# an update replaced, so that they go and come back with their memory.
TABLES = (
    """CREATE TABLE IF NOT EXISTS memories (
    seq INTEGER PRIMARY KEY, mark INTEGER NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL,
    repo TEXT, org TEXT, branch TEXT, user TEXT, at TEXT NOT NULL, kind TEXT NOT NULL, source TEXT, confidence REAL,
    expires REAL, vector BLOB NOT NULL, earlier TEXT NOT NULL, UNIQUE (id, mark))""",
    "CREATE TABLE IF NOT EXISTS marks (mark INTEGER PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS embedder (vector BLOB NOT NULL)",
)
ADD = """
INSERT INTO memories (mark, id, text, repo, org, branch, user, at, kind, source, confidence, expires, vector, earlier)
VALUES (0, :id, :text, :repo, :org, :branch, :user, :at, :kind, :source, :confidence, :expires, :vector, '[]')
"""
CHANGE = """
UPDATE memories SET text = :text, repo = :repo, org = :org, branch = :branch, user = :user, at = :at, kind = :kind,
source = :source, confidence = :confidence, expires = :expires, vector = :vector, earlier = :earlier
WHERE id = :id AND mark = 0
"""
COPY = """
INSERT INTO memories (mark, id, text, repo, org, branch, user, at, kind, source, confidence, expires, vector, earlier)
SELECT :into, id, text, repo, org, branch, user, at, kind, source, confidence, expires, vector, earlier
FROM memories WHERE mark = :mark ORDER BY seq
"""
VISIBLE = """
SELECT * FROM memories WHERE mark = 0 AND (:id IS NULL OR id = :id) AND (repo IS NULL OR repo = :repo)
AND (org IS NULL OR org = :org) AND (branch IS NULL OR branch = :branch) AND (user IS NULL OR user = :user) ORDER BY seq
"""
LISTED = """
SELECT * FROM memories WHERE mark = 0 AND repo IS :repo AND org IS :org AND branch IS :branch AND user IS :user
ORDER BY seq
"""
END = "UPDATE memories SET expires = MIN(COALESCE(expires, :at), :at) WHERE id = :id AND mark = 0"
ERASE = "DELETE FROM memories WHERE id = ?"
ERASE_SCOPE = "DELETE FROM memories WHERE repo IS :repo AND org IS :org AND branch IS :branch AND user IS :user"


def connect(path: Path) -> sqlite3.Connection:
    """What is deleted is overwritten with zeros, and nothing is left in temporary files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # sqlite3 must begin no transaction by itself: `writing` begins each
    database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    database.row_factory = sqlite3.Row
    for setting in ("secure_delete = ON", "temp_store = MEMORY"):
        database.execute(f"PRAGMA {setting}")
    return database


def count_words(text: str) -> list[float]:
    """How often words of each of 512 sorts occur, L2-normalised; the sort of a word is drawn by its checksum."""
    # crc32, as hash() of a text differs from process to process
    sorts = Counter(crc32(word.encode()) % 512 for word in re.findall(r"\w+", text.lower()))
    length = math.hypot(*sorts.values()) or 1.0
    return [sorts[at] / length for at in range(512)]


class ReferenceMemory(BaseMemory):
    """Each call is one transaction, committed before it returns. The process itself remembers nothing."""

    near: ClassVar[float] = 0.2
    """Cosine below which a memory has nothing to do with a question."""

    def __init__(self, path: Path, space: Space, numpy: Any) -> None:
        self.space, self.numpy = space, numpy
        self.db = connect(path)
        self.turn = threading.RLock()
        with self.writing():
            for table in TABLES:
                self.db.execute(table)
        # looked at with the first text: a store that embeds nothing opens without an embedder
        self.current = False

    def keep_up(self) -> None:
        """Where the embedder is not the one that embedded the store, all of it is embedded anew."""
        known = self.db.execute("SELECT vector FROM embedder").fetchone()
        vector = self.pack(self.ask([PROBE])[0])
        if known is not None and known["vector"] == vector:
            return
        if known is not None:
            self.embed_again()
        # last: after a kill before it, all is embedded anew next time
        with self.writing():
            self.db.execute("DELETE FROM embedder")
            self.db.execute("INSERT INTO embedder VALUES (?)", [vector])

    def embed_again(self) -> None:
        rows = self.db.execute("SELECT seq, text FROM memories").fetchall()
        vectors = self.ask([row["text"] for row in rows])
        with self.writing():
            for row, vector in zip(rows, vectors, strict=True):
                self.db.execute("UPDATE memories SET vector = ? WHERE seq = ?", [self.pack(vector), row["seq"]])

    def pack(self, vector: Sequence[float]) -> bytes:
        data: bytes = self.numpy.array(vector, dtype="<f4").tobytes()
        return data

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing; whoever else writes, thread or process, waits until it is done."""
        with self.turn, self.db:
            # the write lock at once: of two readers that turn to writing SQLite refuses one without waiting
            self.db.execute("BEGIN IMMEDIATE")
            yield

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        vectors = self.vectors(items)
        with self.writing():
            return list(map(self.add, items, vectors))

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_message, transcript, scope, at, session)

    def vectors(self, items: Sequence[Item]) -> list[bytes]:
        """Little-endian float32, empty for a blank text. Not inside a transaction: nobody waits for an embedder."""
        texts = [item.text for item in items if item.text.strip()]
        found = map(self.pack, self.embed(texts))
        return [next(found) if item.text.strip() else b"" for item in items]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """By the embedder of the whole store: the first time, it is made sure of."""
        with self.turn:
            if not self.current:
                self.keep_up()
                self.current = True
        return self.ask(texts)

    def ask(self, texts: Sequence[str]) -> list[list[float]]:
        """Without an embedder, counts of words: what this store is for needs no meaning."""
        return embed(self.space, texts) if self.space.dims else [count_words(text) for text in texts]

    def add(self, item: Item, vector: bytes) -> Ack:
        """Ids depend on the content only, so that equal runs have equal ids; equal items get different ones."""
        if not vector:
            return Ack(())
        content = json.dumps(to_wire(item), sort_keys=True)
        names = (sha256(f"{turn} {content}".encode()).hexdigest()[:16] for turn in count())
        taken = "SELECT 1 FROM memories WHERE id = ?"
        # under any mark, as `erase` takes an id from all of them
        name = next(name for name in names if not self.db.execute(taken, [name]).fetchone())
        self.db.execute(ADD, {"id": name, **self.columns(item, vector)})
        return Ack((name,))

    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        fields = {name: getattr(item, name) for name in ("text", "at", "kind", "confidence")}
        source = json.dumps(to_wire(item.source)) if item.source else None
        expires = moment(item.expires) if item.expires else None
        return {**fields, **vars(item.scope), "source": source, "expires": expires, "vector": vector}

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        # no embedder is asked where nothing can be found
        if not query.strip() or k < 1 or self.db.execute("SELECT 1 FROM memories").fetchone() is None:
            return []
        asked = self.numpy.array(self.embed([query])[0], dtype="<f4")  # before a vector is read: it may be made anew
        now = moment(at)
        rows = [row for row in self.visible(scope) if row["expires"] is None or row["expires"] > now]
        if where != Filter():
            rows = [row for row in rows if self.fits(row, where)]
        if not rows:
            return []
        matrix = self.numpy.frombuffer(b"".join(row["vector"] for row in rows), dtype="<f4").reshape(
            len(rows), len(asked)
        )
        scores = matrix @ asked
        ranked = self.numpy.argsort(-scores, kind="stable")[:k]
        return [self.hit(rows[at], float(scores[at])) for at in ranked if scores[at] >= self.near]

    def fits(self, row: sqlite3.Row, where: Filter) -> bool:
        """Whether a memory is one that the filter lets through."""
        hit = self.hit(row)
        return fits(Item(hit.text, hit.scope or Scope(), row["at"], row["kind"], hit.source, hit.confidence), where)

    def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
        """The memories that hold at a place, or the one of them with this id."""
        return self.db.execute(VISIBLE, {**vars(place), "id": memory_id}).fetchall()

    def hit(self, row: sqlite3.Row, score: float | None = None) -> Hit:
        source = Source(**json.loads(row["source"])) if row["source"] else None
        scope = Scope(row["repo"], row["org"], row["branch"], row["user"])
        return Hit(row["id"], row["text"], score, source, row["at"], scope, confidence=row["confidence"])

    def entries(self, scope: Scope) -> list[Hit]:
        return [self.hit(row) for row in self.db.execute(LISTED, vars(scope))]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return next((self.hit(row) for row in self.visible(scope, memory_id)), None)

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        """The text as it is now comes last."""
        return [text for row in self.visible(scope, memory_id) for text in (*json.loads(row["earlier"]), row["text"])]

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        (vector,) = self.vectors([item])
        with self.writing():
            rows = self.visible(scope, memory_id) if vector else []
            for row in rows:
                earlier = json.dumps([*json.loads(row["earlier"]), row["text"]])
                self.db.execute(CHANGE, {"id": memory_id, "earlier": earlier, **self.columns(item, vector)})
        return Ack(tuple(row["id"] for row in rows))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """The successor takes their place; no mark loses them."""
        (vector,) = self.vectors([item])
        with self.writing():
            # a blank successor takes nobody's place
            for row in [row for name in memory_ids for row in self.visible(scope, name) if vector]:
                self.db.execute("DELETE FROM memories WHERE id = ? AND mark = 0", [row["id"]])
            return self.add(item, vector)

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        """By the column that holds ends."""
        with self.writing():
            there = [name for name in dict.fromkeys(memory_ids) if self.visible(scope, name)]
            self.db.executemany(END, [{"id": name, "at": moment(at)} for name in there])
        return [name in there for name in memory_ids]

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        with self.writing():
            return [self.erase(scope, name) for name in memory_ids]

    def erase(self, scope: Scope, memory_id: str) -> bool:
        """From the marks too, so that no restore brings it back."""
        found = bool(self.visible(scope, memory_id))
        if found:
            self.db.execute(ERASE, [memory_id])
        return found

    def forget_scope(self, scope: Scope) -> None:
        with self.writing():
            for row in self.db.execute(LISTED, vars(scope)).fetchall():
                # by id, as a mark may hold it under the scope that it had before an update
                self.db.execute(ERASE, [row["id"]])
            self.db.execute(ERASE_SCOPE, vars(scope))  # what only a mark still holds

    def snapshot(self) -> str:
        with self.writing():
            mark = self.db.execute("INSERT INTO marks DEFAULT VALUES").lastrowid
            self.db.execute(COPY, {"mark": 0, "into": mark})
        return str(mark)

    def restore(self, mark: str) -> None:
        with self.writing():
            if not self.db.execute("SELECT 1 FROM marks WHERE mark = ?", [mark]).fetchone():
                raise ValueError(f"there is no mark {mark!r}")
            self.db.execute("DELETE FROM memories WHERE mark = 0")
            self.db.execute(COPY, {"mark": mark, "into": 0})

    def usage(self) -> Usage:
        return Usage()

    def close(self) -> None:
        self.db.close()


class Reference(FileAdapter):
    name = "reference"
    clients = ("Python",)
    imports = ("numpy",)
    file = "memories.db"
    native = tuple(each for each in CAPABILITIES if each not in ("extracts", "masks", "verdict", "work_tree"))
    unsupported: ClassVar[Mapping[str, str]] = {"verdict": "what has ended or was superseded it does not bring"}

    def open(self, space: Space) -> Memory:
        return ReferenceMemory(self.path(space), space, sdk("numpy", "coldwarm"))

    def storage(self, space: Space) -> list[Layer]:
        """A rollback journal is there only while a call is at work, or after a kill."""
        journal = f"{self.file}-journal"
        left = [Layer("journal", journal, "file")] if Path(space.root, journal).exists() else []
        return [Layer("database", self.file, "sqlite"), *left]

    def compact(self, space: Space) -> None:
        with closing(connect(self.path(space))) as database:
            database.execute("VACUUM")
