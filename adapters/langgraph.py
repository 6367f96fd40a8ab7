"""LangGraph's store over SQLite: each scope a namespace of its own, vectors of the texts from the gateway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from adapters._base import moment, release, sdk
from adapters._capture import PIECES, by_piece, observe_with
from adapters._labels import holding_at, name_scope, read_scope
from harness.adapter import (
    Ack,
    BaseAdapter,
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
    delete_and_add,
    embed,
)

ABOVE = "memories"
"""The first label of every namespace."""
FILE = "store.sqlite"
PAGE = 1000
INSTALL = "an environment by its release: -b {}@VERSION"


FIRST = moment("0001-01-01T00:00:00+00:00")


def write_end(at: str) -> str:
    """A time as digits of one length, seconds since the year 1, as PostgreSQL compares values as texts."""
    return f"{moment(at) - FIRST:016.3f}"


def write_share(confidence: float | None) -> str:
    """A confidence as digits of one length, for the same reason; none is no doubt."""
    return f"{1.0 if confidence is None else confidence:.6f}"


ALWAYS = write_end("9999-12-31T23:59:59+00:00")
"""The end of what has none: a comparison finds no value that lacks the field."""


def write_value(item: Item) -> dict[str, Any]:
    given = {**asdict(item.source or Source()), "at": item.at, "kind": item.kind, "confidence": item.confidence}
    return {"text": item.text, **{name: value for name, value in given.items() if value is not None}}


class LanggraphMemory(BaseMemory):
    fields: ClassVar[Sequence[str] | None] = ["text"]
    """What vectors are made of, told with every write: this store goes past `fields` of its configuration."""
    store_class: ClassVar[str] = "SqliteStore"

    def __init__(self, langgraph: Any, base: Any, space: Space) -> None:
        self.base, self.connection = base, self.connect(space)
        index = {"dims": space.dims, "embed": lambda texts: embed(space, texts), "fields": ["text"]}
        self.store = getattr(langgraph, self.store_class)(self.connection, index=index)
        self.store.setup()

    @staticmethod
    def connect(space: Space) -> Any:
        """As the vendor's from_conn_string does. Not every Python's sqlite3 can load the extension for vectors."""
        import sqlite3

        own = hasattr(sqlite3.Connection, "enable_load_extension")
        library = sqlite3 if own else sdk("pysqlite3", INSTALL.format("langgraph"))
        return library.connect(str(Path(space.root, FILE)), check_same_thread=False, isolation_level=None)

    def name(self, scope: Scope) -> tuple[str, ...]:
        """The namespace of a scope."""
        return (ABOVE, name_scope(scope))

    def reach(self, place: Scope) -> list[tuple[str, ...]]:
        """The namespaces of all scopes that apply to this place."""
        return [(ABOVE, label) for label in holding_at(place)]

    def read_name(self, label: str) -> Scope | None:
        return read_scope(label)

    def hit(self, row: Any) -> Hit:
        value: Mapping[str, Any] = row.value
        source = Source(*(value.get(part) for part in ("commit", "path", "line", "session")))
        return Hit(
            row.key,
            value["text"],
            score=getattr(row, "score", None),
            source=None if source == Source() else source,
            created=value["at"],
            scope=self.read_name(row.namespace[1]),
            confidence=value.get("confidence"),
        )

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_piece, transcript, scope, at, session)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        named = [(str(uuid4()), item) for item in items]
        self._write([(key, item) for key, item in named if item.text.strip()])
        return [Ack((key,) if item.text.strip() else ()) for key, item in named]

    def _write(self, rows: Sequence[tuple[str, Item]]) -> None:
        self.store.batch([self._put(key, item) for key, item in rows])

    def _put(self, key: str, item: Item) -> Any:
        return self.base.PutOp(self.name(item.scope), key, self.value(item), index=self.fields)

    @staticmethod
    def value(item: Item) -> dict[str, Any]:
        ends = ALWAYS if item.expires is None else write_end(item.expires)
        return {**write_value(item), "ends": ends, "sure": write_share(item.confidence)}

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self._search(query, scope, k, [self.still_at(at)])

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        given: dict[str, Any] = {"ends": {"$gt": write_end(at)}}
        if where.path is not None:
            given["path"] = where.path
        if where.confidence is not None:
            given["sure"] = {"$gte": write_share(where.confidence)}
        return self._search(query, scope, k, [{**given, "kind": kind} for kind in where.kinds] or [given])

    def _search(self, query: str, scope: Scope, k: int, filters: Sequence[Mapping[str, Any] | None]) -> list[Hit]:
        """What any of the filters lets through."""
        if not query.strip() or k < 1:
            return []
        asked = [
            self.base.SearchOp(each, query=query, limit=k, filter=given)
            for each in self.reach(scope)
            for given in filters
        ]
        found = [row for rows in self.store.batch(asked) for row in rows]
        return [self.hit(row) for row in sorted(found, key=lambda row: -row.score)[:k]]

    def still_at(self, at: str) -> Mapping[str, Any] | None:
        """The filter for what has not ended at a time."""
        return {"ends": {"$gt": write_end(at)}}

    def entries(self, scope: Scope) -> Iterator[Hit]:
        for at in count():
            page = self.store.search(self.name(scope), limit=PAGE, offset=at * PAGE)
            yield from map(self.hit, page)
            if len(page) < PAGE:
                return

    def _find(self, place: Scope, key: str) -> Any:
        found = self.store.batch([self.base.GetOp(each, key) for each in self.reach(place)])
        return next(filter(None, found), None)

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self._find(scope, memory_id)
        return self.hit(row) if row else None

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        row = self._find(scope, memory_id)
        if row is None or not item.text.strip():
            return Ack(())
        written = [self._put(memory_id, item)]
        # a namespace is a part of the key: the value put elsewhere would be a second memory
        if row.namespace != self.name(item.scope):
            written.append(self.base.PutOp(row.namespace, memory_id, None))
        # one transaction, in which texts are embedded first: a failure leaves the memory as it was
        self.store.batch(written)
        return Ack((memory_id,))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        return [self._mark(scope, key, write_end(at)) for key in memory_ids]

    def _mark(self, scope: Scope, key: str, end: str) -> bool:
        """The whole value is put again, as the store merges nothing."""
        row = self._find(scope, key)
        if row is not None:
            value = {**row.value, "ends": min(row.value["ends"], end)}
            self.store.batch([self.base.PutOp(row.namespace, key, value, index=self.fields)])
        return row is not None

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self._delete(scope, key) for key in memory_ids]

    def _delete(self, scope: Scope, key: str) -> bool:
        """Read before and after: the store's delete answers nothing."""
        row = self._find(scope, key)
        if row is None:
            return False
        self.store.delete(row.namespace, key)
        return self._find(scope, key) is None

    def forget_scope(self, scope: Scope) -> None:
        # read whole first, as a deletion moves the pages behind it
        for hit in list(self.entries(scope)):
            self.store.delete(self.name(scope), hit.memory_id)

    def usage(self) -> Usage:
        """No model inside: vectors come from the gateway."""
        return Usage()

    def close(self) -> None:
        self.connection.close()


class Langgraph(BaseAdapter):
    name = "langgraph"
    clients = ("Python",)
    module: ClassVar[str] = "langgraph.store.sqlite"
    distribution: ClassVar[str] = "langgraph-checkpoint-sqlite"
    imports: ClassVar[Sequence[str]] = (module, "sqlite_vec")
    embeds = True
    packages: Sequence[str] = (
        f"{distribution}>=3,<4",
        "pysqlite3-binary>=0.5; sys_platform == 'linux' and platform_machine == 'x86_64'",
    )
    native: ClassVar[tuple[str, ...]] = (
        "entries", "get", "update", "deprecate", "forget",
        "ranked", "persistent", "multi_process", "concurrent", "usage", "filter_path", "filter_confidence",
    )  # fmt: skip
    emulated: ClassVar = {
        "observe": PIECES,
        "supersede": "delete and add, not atomic",
        "forget_scope": "the memories of its namespace are deleted one by one",
        "source": "echoed: stored in the value",
        "created": "echoed: the story time in the value; the store's own dates cannot be set",
        "expiry": "the end is in the value, and a search filters by it; the store's ttl is minutes of the wall clock",
        "filter_kind": "one search for each kind: a filter takes one value for a field",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "the whole scope is one escaped label of a namespace; wider scopes are searched one by one",
        ),
    }
    unsupported: ClassVar = {
        "history": "no earlier versions of a value",
        **dict.fromkeys(("snapshot", "restore"), "no versions of a store"),
        "compact": "no documented compaction",
        "abstains": "no threshold: always the k nearest, however far",
    }
    memory: ClassVar[type[LanggraphMemory]] = LanggraphMemory

    def version(self) -> str:
        return release(self.distribution, INSTALL.format(self.name))

    def open(self, space: Space) -> Memory:
        install = INSTALL.format(self.name)
        return self.memory(sdk(self.module, install), sdk("langgraph.store.base", install), space)

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("database", FILE, "sqlite")]
