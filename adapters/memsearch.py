"""memsearch: Markdown files are the truth, a Milvus Lite index beside them finds their chunks.

Milvus Lite answers in this process, over a socket file: by itself it takes a port, which a child may not connect to.
A memory is a file, in a folder for each scope: the library searches below one folder at a time, and filters by nothing
else. What the format has no field for stands in a comment at the head, which the library leaves out of the vector. What
does not fit by its head is left out here, and more are asked for in its place: a folder for each kind would be a search
for each, and scores of two searches are ranks, which do not compare.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

from adapters._base import LocalMemory, moment, release, sdk
from adapters._capture import EACH, by_message, observe_with
from adapters._labels import holding_at, name_scope, read_scope
from harness.adapter import (
    FILTERS,
    Ack,
    BaseAdapter,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Scope,
    Source,
    Space,
    fits,
)

T = TypeVar("T")
FOLDER, INDEX = "memory", "index.db"
KEPT = "surrogatepass"
MOST = 16_384
"""Chunks that Milvus brings at once."""
INSTALL = "an environment by its release: -b memsearch@VERSION"
_FILE = re.compile(r"<!-- (\{.*?\}) --> (.*)", re.DOTALL)


def make_head(item: Item) -> dict[str, Any]:
    given = {"scope": name_scope(item.scope), "at": item.at, "kind": item.kind, "confidence": item.confidence}
    ends = None if item.expires is None else moment(item.expires)
    return {**given, "source": asdict(item.source or Source()), "ends": ends}


def write_text(head: Mapping[str, Any], text: str) -> str:
    """In one line with the text: a comment alone before a line of 1,500 characters is a chunk of nothing, which an
    embedder refuses."""
    # a value that holds --> would end the comment
    told = json.dumps(head).replace(">", r"\u003e")
    return f"<!-- {told} --> {text}"


def read_file(path: Path) -> tuple[dict[str, Any], str] | None:
    """Head and text. None: there is no such memory any more."""
    if not path.is_file() or not (found := _FILE.fullmatch(path.read_bytes().decode("utf-8", KEPT))):
        return None
    return json.loads(found[1]), found[2]


def read_hit(path: Path, score: float | None = None) -> Hit | None:
    if (found := read_file(path)) is None:
        return None
    head, text = found
    source = Source(**head["source"])
    return Hit(
        path.stem,
        text,
        score=score,
        source=None if source == Source() else source,
        created=head["at"],
        scope=read_scope(head["scope"]),
        confidence=head["confidence"],
    )


def fits_in(path: Path, at: str, where: Filter) -> bool:
    """Whether a memory is there, has not ended by then, and is one that the filter lets through."""
    head, text = read_file(path) or ({}, "")
    if not head or (head["ends"] is not None and head["ends"] <= moment(at)):
        return False
    told = Item(text, Scope(), head["at"], head["kind"], Source(**head["source"]), head["confidence"])
    return fits(told, where)


class MemsearchMemory(LocalMemory):
    """The file first, then its chunks; what a kill left between them is made good when the store is opened."""

    def __init__(self, memsearch: Any, milvus: Any, space: Space) -> None:
        self.root, self.loop = Path(space.root, FOLDER), asyncio.new_event_loop()
        self.root.mkdir(parents=True, exist_ok=True)
        socket = f"{uuid4().hex[:8]}.sock"  # in the home of this process, as a long path is refused
        self.server, self.database, _ = milvus.start_server_in_thread(str(Path(space.root, INDEX)), "unix", socket)
        self.index = memsearch.MemSearch(
            [self.root],
            embedding_model="local",
            embedding_base_url=space.gateway,
            embedding_api_key=space.key,
            milvus_uri=f"unix:{socket}",
        )
        Path(socket).unlink()  # they are connected, and no file stays that is no data
        if failed := self._wait(self.index.index_with_report()).failed_files:
            raise RuntimeError(f"memsearch cannot index {failed[0].path}: {failed[0].error}")

    def _wait(self, asked: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asked)

    def _folder(self, label: str) -> Path:
        """Of a length of its own, as the library takes every path that begins so."""
        return self.root / sha256(label.encode()).hexdigest()[:16]

    def _files(self, scope: Scope) -> list[Path]:
        found = self._folder(name_scope(scope)).glob("*.md")
        # the names are drawn by chance: the order of writing is in the times alone
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def _find(self, place: Scope, memory_id: str) -> Path | None:
        # an id becomes a file name: no path must pass for one
        if not re.fullmatch(r"[0-9a-f]{32}", memory_id):
            return None
        paths = (self._folder(label) / f"{memory_id}.md" for label in holding_at(place))
        return next((path for path in paths if path.is_file()), None)

    def _write(self, path: Path, head: Mapping[str, Any], text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_bytes(write_text(head, text).encode("utf-8", KEPT))
        fresh.replace(path)
        self._wait(self.index.index_file(path))

    def _remove(self, path: Path) -> None:
        """As the library's own watcher does."""
        path.unlink()
        self.index.store.delete_by_source(str(path.resolve()))

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._add(item) if item.text.strip() else Ack(()) for item in items]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_message, transcript, scope, at, session)

    def _add(self, item: Item) -> Ack:
        memory_id = uuid4().hex
        self._write(self._folder(name_scope(item.scope)) / f"{memory_id}.md", make_head(item), item.text)
        return Ack((memory_id,))

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        """Chunks of one memory are one hit, its whole text."""
        if not query.strip() or k < 1:
            return []
        folders = filter(Path.is_dir, map(self._folder, holding_at(scope)))
        found = [row for each in folders for row in self._search(query, each, k, at, where)]
        hits = (read_hit(*row) for row in sorted(found, key=lambda row: -row[1]))
        return [hit for hit in hits if hit is not None][:k]

    def _search(self, query: str, folder: Path, k: int, at: str, where: Filter) -> list[tuple[Path, float]]:
        """The best that fit; more are asked for as long as they are fewer than k."""
        top = min(k, MOST)
        while True:
            rows = self._wait(self.index.search(query, top_k=top, source_prefix=folder))
            best = dict[Path, float]()
            for row in sorted(rows, key=lambda row: -row["score"]):
                best.setdefault(Path(row["source"]), row["score"])
            fitting = [(path, score) for path, score in best.items() if fits_in(path, at, where)]
            if len(fitting) >= k or len(rows) < top or top == MOST:
                return fitting
            top = min(8 * top, MOST)

    def entries(self, scope: Scope) -> Iterator[Hit]:
        return filter(None, map(read_hit, self._files(scope)))

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        path = self._find(scope, memory_id)
        return read_hit(path) if path else None

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        before = self._find(scope, memory_id)
        if before is None or not item.text.strip():
            return Ack(())
        path = self._folder(name_scope(item.scope)) / before.name
        # written before the old one goes, so that a kill loses no memory
        self._write(path, make_head(item), item.text)
        if path != before:
            self._remove(before)
        return Ack((memory_id,))

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        return [self._end(self._find(scope, memory_id), moment(at)) for memory_id in memory_ids]

    def _end(self, path: Path | None, end: float) -> bool:
        if path is None or (found := read_file(path)) is None:
            return False
        head, text = found
        before = head["ends"]
        self._write(path, {**head, "ends": end if before is None else min(before, end)}, text)
        return True

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        found = [self._find(scope, memory_id) for memory_id in memory_ids]
        for path in dict.fromkeys(filter(None, found)):
            self._remove(path)
        return [path is not None for path in found]

    def forget_scope(self, scope: Scope) -> None:
        for path in self._files(scope):
            self._remove(path)

    def close(self) -> None:
        self.index.close()
        self.server.stop(grace=2).wait()
        self.database.close()
        self.loop.close()


class Memsearch(BaseAdapter):
    name = "memsearch"
    clients = ("Python", "shell")
    imports = ("memsearch", "openai")
    embeds = True
    packages = ("memsearch>=0.4.23,<0.5",)
    native: ClassVar[tuple[str, ...]] = (
        "entries", "get", "update", "forget", "forget_scope", "ranked", "persistent", "usage",
    )  # fmt: skip
    emulated: ClassVar = {
        "observe": EACH.format("its hooks"),
        "supersede": "delete and add, not atomic",
        **dict.fromkeys(("source", "created"), "echoed: stored in a comment at the head of the file"),
        **dict.fromkeys(
            ("deprecate", "expiry"), "the head of the file tells the end; what has ended is replaced by the next best"
        ),
        **dict.fromkeys(FILTERS, "by the head of the file; what does not fit is replaced by the next best"),
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "a folder for each whole scope; wider scopes are searched one by one, and merged by their scores",
        ),
    }
    unsupported: ClassVar = {
        "history": "a rewritten file leaves no earlier text",
        **dict.fromkeys(("snapshot", "restore"), "files have no versions without git"),
        "compact": "what memsearch calls compact is a summary by a chat model",
        "abstains": "no threshold: always the k nearest, however far",
        "multi_process": "the index is locked by one process",
    }

    def version(self) -> str:
        return release("memsearch", INSTALL)

    def open(self, space: Space) -> Memory:
        return MemsearchMemory(sdk("memsearch", INSTALL), sdk("milvus_lite.adapter.grpc.server", INSTALL), space)

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("memories", FOLDER, "file"), Layer("index", INDEX, "file")]
