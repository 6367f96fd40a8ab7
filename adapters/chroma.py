"""Chroma, embedded: one collection, the scope as metadata, vectors from the harness so that no default model loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from adapters._base import moment, release, sdk
from adapters._capture import PIECES, by_piece, observe_with
from adapters._program import VECTORS, numbers, write_program
from harness.adapter import (
    FILTERS,
    Ack,
    BaseAdapter,
    BaseMemory,
    Call,
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
    delete_and_add,
    embed,
)

Where = Mapping[str, Any]
PAGE = 10_000
"""Records that are listed at once: Chroma 1.5.9 binds a variable for each, of which its SQLite takes 32,766."""
PROGRAM = f"""
import random
import tempfile

import chromadb

{VECTORS}

def open_store():
    client = chromadb.PersistentClient(path, settings=chromadb.Settings(anonymized_telemetry=False))
    configuration = {{"hnsw": {{"space": "cosine"}}}}
    return client, client.get_or_create_collection("memories", embedding_function=None, configuration=configuration)


def remember(texts, scope):
    new = [f"m{{len(ids) + at}}" for at in range(1, len(texts) + 1)]
    memories.upsert(ids=new, documents=texts, embeddings=embed(texts), metadatas=[scope] * len(texts))
    ids.extend(new)


path, ids = tempfile.mkdtemp(), []
client, memories = open_store()
"""
"""The start of a program against Chroma alone; `ids` are those of all memories, in the order of storing."""


def key(name: str | None) -> str:
    """What is not limited is "", as a filter cannot ask for a key that is not there; an empty name is escaped."""
    return "" if name is None else f"\\{name}" if not name or name.startswith("\\") else name


def name_of(key: str) -> str | None:
    return key.removeprefix("\\") if key else None


def exactly(scope: Scope) -> Where:
    """Memories of this scope."""
    return {"$and": [{part: key(value)} for part, value in asdict(scope).items()]}


def holding_at(place: Scope) -> Where:
    """Memories whose scope applies to this place."""
    # a set, as both are equal where the place does not name this part
    return {"$and": [{part: {"$in": list({"", key(value)})}} for part, value in asdict(place).items()]}


def still_at(place: Scope, at: str) -> Where:
    """Of the memories that apply to this place, those that have not ended then. What has no mark differs from any."""
    holds = {"$or": [{"deprecated": {"$ne": True}}, {"ends": {"$gt": moment(at)}}]}
    return {"$and": [*holding_at(place)["$and"], holds]}


def kept_to(where: Filter) -> list[Where]:
    """What each memory has to be that a filter lets through."""
    kinds: list[Where] = [{"kind": {"$in": list(where.kinds)}}] if where.kinds else []
    path: list[Where] = [] if where.path is None else [{"path": where.path}]
    return [*kinds, *path, *([] if where.confidence is None else [{"sure": {"$gte": where.confidence}}])]


def metadata(item: Item) -> dict[str, Any]:
    """Flat, and always with every key: an update merges, and None removes a key. `sure` is there of every memory, as a
    range finds none that lacks its key."""
    scope = {part: key(value) for part, value in asdict(item.scope).items()}
    sure = 1.0 if item.confidence is None else item.confidence
    told = {"at": item.at, "kind": item.kind, "confidence": item.confidence, "sure": sure}
    return {**scope, **asdict(item.source or Source()), **told, "deprecated": None, "ends": None}


def hit(name: str, text: str, data: Mapping[str, Any], distance: float | None = None) -> Hit:
    source = Source(*(data.get(part) for part in ("commit", "path", "line", "session")))
    return Hit(
        name,
        text,
        score=None if distance is None else 1 - distance,
        source=None if source == Source() else source,
        created=data["at"],
        scope=Scope(*(name_of(data[part]) for part in ("repo", "org", "branch", "user"))),
        confidence=data.get("confidence"),
    )


def _print_kept(call: Call) -> str:
    return repr({part: key(value) for part, value in asdict(call.scope).items()})


def _print_there(call: Call) -> str:
    return f"memories.get(ids={numbers(call.of)}, where={holding_at(call.scope)})"


def _print_deletion(call: Call) -> str:
    return f'if there := {_print_there(call)}["ids"]:\n    memories.delete(ids=there)'


def _print_update(call: Call) -> str:
    written = f"ids={numbers(call.of)}, documents=texts, embeddings=embed(texts)"
    return f'texts = {call.texts}\nif {_print_there(call)}["ids"]:\n    memories.upsert({written})'


def _print_query(call: Call) -> str:
    asked = f"query_embeddings=embed([{call.texts}]), n_results=10"
    return f'memories.query({asked}, where={holding_at(call.scope)})["ids"][0]'


PRINTED = {
    "remember": lambda call: f"remember({call.texts}, {_print_kept(call)})",
    "supersede": lambda call: f"{_print_deletion(call)}\nremember({call.texts}, {_print_kept(call)})",
    "update": _print_update,
    "forget": _print_deletion,
    "forget_scope": lambda call: f"memories.delete(where={exactly(call.scope)})",
    "entries": lambda call: f'memories.get(where={exactly(call.scope)})["ids"]',
    "get": lambda call: f"{_print_there(call)}",
    "recall": _print_query,
    "reopen": lambda call: "client.close()\nclient, memories = open_store()",
}
"""Operation -> how it is asked of Chroma alone."""


class ChromaMemory(BaseMemory):
    @staticmethod
    def exactly(scope: Scope) -> Where | None:
        return exactly(scope)

    @staticmethod
    def holding_at(place: Scope) -> Where | None:
        return holding_at(place)

    @staticmethod
    def still_at(place: Scope, at: str) -> Where | None:
        return still_at(place, at)

    def __init__(self, chromadb: Any, space: Space) -> None:
        self.space = space
        self.client = self.connect(chromadb, space)
        # Chroma measures by l2 unless told otherwise, and `hit` makes a score of a cosine
        self.collection = self.client.get_or_create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    @staticmethod
    def connect(chromadb: Any, space: Space) -> Any:
        return chromadb.PersistentClient(
            path=str(Path(space.root, "chroma")), settings=chromadb.Settings(anonymized_telemetry=False)
        )

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        named = [(str(uuid4()), item) for item in items]
        kept = [(name, item) for name, item in named if item.text.strip()]
        # Chroma refuses a larger batch
        most = self.client.get_max_batch_size()
        for start in range(0, len(kept), most):
            self._write(kept[start : start + most])
        return [Ack((name,) if item.text.strip() else ()) for name, item in named]

    def _write(self, rows: Sequence[tuple[str, Item]]) -> None:
        texts = [item.text for _, item in rows]
        self.collection.upsert(
            ids=[name for name, _ in rows],
            embeddings=embed(self.space, texts),
            documents=texts,
            metadatas=[metadata(item) for _, item in rows],
        )

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_piece, transcript, scope, at, session)

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self._query(query, k, self.still_at(scope, at))

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        return self._query(query, k, {"$and": [*still_at(scope, at)["$and"], *kept_to(where)]})

    def _query(self, query: str, k: int, where: Where | None) -> list[Hit]:
        if not query.strip() or k < 1:
            return []
        found = self.collection.query(
            query_embeddings=embed(self.space, [query]),
            n_results=k,
            where=where,
            include=["documents", "metadatas", "distances"],
        )
        columns = (found[column][0] for column in ("ids", "documents", "metadatas", "distances"))
        return [hit(*row) for row in zip(*columns, strict=True)]

    def _read(self, where: Where | None, ids: Iterable[str] | None = None, **part: int) -> dict[str, Hit]:
        wanted = None if ids is None else list(dict.fromkeys(ids))
        if wanted == []:  # refused by Chroma
            return {}
        found = self.collection.get(ids=wanted, where=where, include=["documents", "metadatas"], **part)
        rows = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return {name: hit(name, text, data) for name, text, data in rows}

    def entries(self, scope: Scope) -> Iterator[Hit]:
        for start in count(0, PAGE):
            page = self._read(self.exactly(scope), limit=PAGE, offset=start)
            yield from page.values()
            if len(page) < PAGE:
                return

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return self._read(self.holding_at(scope), [memory_id]).get(memory_id)

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        if self.get(scope, memory_id) is None or not item.text.strip():
            return Ack(())
        self._write([(memory_id, item)])
        return Ack((memory_id,))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        """By an update of the metadata alone, which merges."""
        if not memory_ids:  # refused by Chroma
            return []
        found = self.collection.get(ids=list(dict.fromkeys(memory_ids)), where=self.holding_at(scope))
        there, end = found["ids"], moment(at)
        marks = [{"deprecated": True, "ends": min(data.get("ends") or end, end)} for data in found["metadatas"]]
        if there:
            self.collection.update(ids=there, metadatas=marks)
        return [name in there for name in memory_ids]

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """Read back: the count that Chroma's delete returns is that of the ids asked for."""
        there = self._read(self.holding_at(scope), memory_ids)
        if there:
            self.collection.delete(ids=list(there))
        left = self._read(self.holding_at(scope), there)
        return [name in there and name not in left for name in memory_ids]

    def forget_scope(self, scope: Scope) -> None:
        self.collection.delete(where=self.exactly(scope))

    def usage(self) -> Usage:
        """No model inside: vectors come from the gateway."""
        return Usage()

    def close(self) -> None:
        """Older clients have no such call, and end with their process."""
        if hasattr(self.client, "close"):
            self.client.close()


class Chroma(BaseAdapter):
    name = "chroma"
    clients: ClassVar[Sequence[str]] = ("Python",)
    imports = ("chromadb",)
    embeds = True
    packages = ("chromadb>=1.0.20,<2",)
    native: ClassVar[tuple[str, ...]] = (
        "entries", "get", "update", "deprecate", "forget", "forget_scope", "compact", *FILTERS,
        "ranked", "persistent", "concurrent", "usage", "scope_org", "scope_repo", "scope_branch", "scope_user",
    )  # fmt: skip
    emulated: ClassVar = {
        "observe": PIECES,
        "supersede": "delete and add, not atomic",
        "source": "echoed: stored as flat metadata",
        "created": "echoed: the story time stored as metadata",
    }
    unsupported: ClassVar = {
        "history": "no earlier versions in the API",
        "snapshot": "no versions",
        "restore": "no versions",
        "abstains": "no threshold: always the k nearest, however far",
        "expiry": "not in the API",
        "multi_process": "the embedded client is for one process",
    }
    memory: ClassVar[type[ChromaMemory]] = ChromaMemory

    def version(self) -> str:
        return release("chromadb", "coldwarm[chroma]")

    def open(self, space: Space) -> Memory:
        return self.memory(sdk("chromadb", "coldwarm[chroma]"), space)

    def storage(self, space: Space) -> list[Layer]:
        """The database, and one folder per vector index, named by Chroma."""
        root = Path(space.root)
        folders = sorted(path.relative_to(root) for path in root.glob("chroma/*/"))
        segments = [Layer(f"segment {at}", str(path), "file") for at, path in enumerate(folders, 1)]
        return [Layer("database", "chroma/chroma.sqlite3", "sqlite"), *segments]

    def program(self, calls: Sequence[Call]) -> str:
        return write_program(PROGRAM, calls, PRINTED)

    def compact(self, space: Space) -> None:
        """`chroma vacuum`, without its script, which need not be on the PATH. It ends with 0 even if it failed."""
        run = "from chromadb.cli.cli import app; app()"
        command = [sys.executable, "-c", run, "vacuum", "--path", str(Path(space.root, "chroma")), "--force"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "Vacuum complete" not in done.stdout:
            raise RuntimeError(f"chroma vacuum: {(done.stderr or done.stdout).strip()}")
