"""What a memory backend looks like to coldwarm: wire types, protocols and a base for authors.

Standard library only: this file is all that a child process needs besides the adapter itself, so an adapter
runs in any environment in which its own SDK runs. Every value that crosses the process border is one of the
frozen dataclasses below or plain JSON.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import sys
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, get_args, runtime_checkable
from urllib.parse import urlsplit

Operation = Literal[
    "entries", "get", "history", "update", "supersede", "forget", "forget_scope", "snapshot", "restore", "compact"
]
Trait = Literal[
    "ranked", "abstains", "source", "created", "expiry",
    "scope_org", "scope_repo", "scope_branch", "scope_user",
    "persistent", "multi_process", "concurrent", "usage", "extracts", "masks",
]  # fmt: skip
"""concurrent: several threads may call `remember` at once. extracts: a model inside rewrites what it is told; texts
come back as facts of its own making. masks: addresses and what looks like a credential are replaced in what it is told.
"""
CAPABILITIES: tuple[str, ...] = get_args(Operation) + get_args(Trait)
CLOSED: Mapping[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""How the parent reads the wire types below: no unknown field, no conversion."""
NOT_OFFERED = "not offered by this adapter"
UNDECLARED: Mapping[str, str] = {
    "concurrent": "serial: it is told one thing after the other", "masks": NOT_OFFERED,
}  # fmt: skip
"""Why a capability is not there that an adapter says nothing of."""
BATCH = 1024
"""Texts in one request for embeddings."""
PLACE: Mapping[str, Any] = {"extra": "forbid"}
"""Scopes and sources also stand in scenario files, as tables."""


class Unsupported(Exception):  # noqa: N818  a refusal that was declared is no error
    """Raised by an operation that the adapter declares as unsupported. Raised by any other, it is a breach."""


@dataclass(frozen=True)
class Scope:
    """Where a memory holds. `None` means: not limited in this respect."""

    repo: str | None = None
    org: str | None = None
    branch: str | None = None
    user: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = PLACE


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory comes from: a line of a file at a commit, a session, or both."""

    commit: str | None = None
    path: str | None = None
    line: int | None = None
    session: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = PLACE


@dataclass(frozen=True, slots=True)
class Item:
    """One memory to be written. `at` and `expires` are ISO 8601 story times; `kind` is the memory type."""

    text: str
    scope: Scope
    at: str
    kind: str
    source: Source | None = None
    confidence: float | None = None
    expires: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that came back; its rank is its position. `created` is what the backend says, else None."""

    memory_id: str
    text: str
    score: float | None = None
    source: Source | None = None
    created: str | None = None
    scope: Scope | None = None
    superseded: bool | None = None
    confidence: float | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Ack:
    """The ids under which one item was stored: none (not stored), one, or several (the backend split it)."""

    ids: tuple[str, ...]
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Usage:
    """Tokens and calls of chat models inside the backend since it was opened. All 0: it has no model inside."""

    prompt: int = 0
    completion: int = 0
    calls: int = 0
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Space:
    """All that a backend is given: its folder, the gateway for embeddings, its settings.

    Attributes:
        dims: Floats in a vector; 0 where no embedder is installed, and `embed` is refused.
    """

    root: str
    gateway: str
    key: str
    dims: int
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    service: str | None = None


@dataclass(frozen=True)
class Layer:
    """A place where a backend may keep data; `path` is a file or folder, relative to the space's root."""

    name: str
    path: str
    format: Literal["file", "sqlite", "postgres", "remote"]
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Program:
    """One process of a backend's server, ready when its port answers.

    In `argv`, `setup` and `env`, `{root}` stands for the server's folder, `{store}` for the folder of the memories in
    use, and `{NAME}` for the port of the program of that name.

    Attributes:
        setup: Commands that run once, each to its end, before the first start.
        health: A path that answers 200 over HTTP (else a connection is enough).
        data: The folder of its memories below `{store}`, of which every trial gets a fresh copy.
        flush: A command that brings all of them into those files while it runs.
        stop: The signal that ends it in good order.
        unprivileged: It refuses to run as root.
    """

    name: str
    argv: tuple[str, ...]
    setup: tuple[tuple[str, ...], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    health: str | None = None
    data: str | None = None
    flush: tuple[str, ...] = ()
    stop: Literal["SIGTERM", "SIGINT"] = "SIGTERM"
    unprivileged: bool = False
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Server:
    """What a backend needs running, in the order of starting; the harness starts and ends it.

    Attributes:
        url: That of the whole, with the port as above.
        variable: The environment variable that names one that runs already.
        key: What it sends to the gateway.
        install: The command that installs it.
    """

    programs: tuple[Program, ...]
    url: str
    variable: str
    key: str
    install: str
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Call:
    """One operation of a sequence, for a program against the backend's own SDK (`program`).

    Attributes:
        op: A method of Memory, or `reopen`.
        says: What is done, in one line.
        of: Numbers of memories, from 0 in the order in which they are stored; -1 is an id that nobody has.
        texts: A Python expression: a list of the texts that are written; of `recall`, the text that is asked for.
        expires: Of what is written.
    """

    op: str
    says: str
    scope: Scope = Scope()
    of: tuple[int, ...] = ()
    texts: str = ""
    expires: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True)
class Support:
    """How far a capability goes. `note` says how it is emulated, or why it is not there."""

    level: Literal["native", "emulated", "unsupported"]
    note: str = ""
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@runtime_checkable
class Memory(Protocol):
    """An open store. Synchronous; may raise anything, each exception is logged as the backend's."""

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        """Store; one Ack per item, in order. Returning acknowledges the write. One at a time, unless `concurrent`."""

    def settle(self, seconds: float) -> bool:
        """Wait until recall sees every acknowledged write; False if it did not within `seconds`."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """At most k hits, best first if `ranked` (all of them if not); [] means: nothing known."""

    def entries(self, scope: Scope) -> list[Hit] | Iterator[Hit]:
        """All live memories of exactly this scope, past any page limit; made while they are read, if you yield them."""

    def get(self, scope: Scope, memory_id: str) -> Hit | None: ...
    def history(self, scope: Scope, memory_id: str) -> list[str]:
        """Every text that an audit interface still returns for this id."""

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack: ...
    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """Store `item` as the successor of these memories."""

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """Delete; one bool per id, in order: whether the backend says that it is gone."""

    def forget_scope(self, scope: Scope) -> None: ...
    def snapshot(self) -> str:
        """A mark that stays valid across reopening."""

    def restore(self, mark: str) -> None:
        """Makes the whole store, every scope, what it was at the mark, without what was forgotten since."""

    def usage(self) -> Usage | None: ...
    def close(self) -> None: ...


@runtime_checkable
class Adapter(Protocol):
    """The factory that the registry names. Built without arguments; must not import its SDK before `open`."""

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> Sequence[str]:
        """The names of the settings that `open` reads; any other is refused before a run begins."""

    @property
    def imports(self) -> Sequence[str]:
        """Modules that `open` imports and that may be imported once for many opens, whatever HOME and TMPDIR are."""

    @property
    def packages(self) -> Sequence[str]:
        """What it needs installed, as requirements with the releases that it works with, the backend's own first.

        `npm:NAME>=1,<2` is a Node package; it lies in `node_modules` of the environment that is made for it.
        """

    @property
    def files(self) -> Sequence[str]:
        """Files beside its modules that make it what it is, as paths: with them, it is another adapter."""

    @property
    def secrets(self) -> Sequence[str]:
        """Environment variables without which it cannot open. They reach `open` as settings of their names, no log."""

    @property
    def embeds(self) -> bool:
        """It cannot do without vectors: where no embedder is installed, it is not played, and says so beforehand."""

    @property
    def call_seconds(self) -> float:
        """What a call may take, beside more for each memory that it handles, if that is longer than usual (30 s)."""

    def configured(self, settings: Mapping[str, str]) -> Adapter:
        """The adapter as these settings make it: its support, storage and opening. Names it does not know are not its
        concern; for a value that it does not know, ValueError says in one line which it knows.
        """

    @property
    def support(self) -> Mapping[str, Support]:
        """Total over CAPABILITIES."""

    def version(self) -> str: ...
    def open(self, space: Space) -> Memory:
        """An empty root: a new store. Else the store that a close or a kill left there."""

    def storage(self, space: Space) -> list[Layer]:
        """Where data may lie; works with no Memory open."""

    def compact(self, space: Space) -> None:
        """The vendor's documented compaction; works with no Memory open."""

    def serve(self, gateway: str) -> Server | None:
        """The server that `open` expects at `space.service`, its models behind `gateway`; None if there is none."""


class BaseMemory(ABC):
    """For authors: the optional operations refuse until they are written."""

    @abstractmethod
    def remember(self, items: Sequence[Item]) -> list[Ack]: ...
    @abstractmethod
    def settle(self, seconds: float) -> bool: ...
    @abstractmethod
    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]: ...
    @abstractmethod
    def close(self) -> None: ...

    def entries(self, scope: Scope) -> list[Hit] | Iterator[Hit]:
        raise Unsupported("entries")

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        raise Unsupported("get")

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        raise Unsupported("history")

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        raise Unsupported("update")

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        raise Unsupported("supersede")

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        raise Unsupported("forget")

    def forget_scope(self, scope: Scope) -> None:
        raise Unsupported("forget_scope")

    def snapshot(self) -> str:
        raise Unsupported("snapshot")

    def restore(self, mark: str) -> None:
        raise Unsupported("restore")

    def usage(self) -> Usage | None:
        return None


class BaseAdapter(ABC):
    """For authors: declare what is there in three short lists; what none of them names is unsupported."""

    name: ClassVar[str]
    settings: ClassVar[Sequence[str]] = ()
    imports: ClassVar[Sequence[str]] = ()
    packages: Sequence[str] = ()
    files: Sequence[str] = ()
    secrets: ClassVar[Sequence[str]] = ()
    embeds: bool = False
    call_seconds: float = 0.0
    native: ClassVar[tuple[str, ...]] = ()
    emulated: ClassVar[Mapping[str, str]] = {}
    unsupported: ClassVar[Mapping[str, str]] = {}

    def configured(self, settings: Mapping[str, str]) -> Self:
        return self

    @property
    def support(self) -> Mapping[str, Support]:
        named = [*self.native, *self.emulated, *self.unsupported]
        wrong = sorted({word for word in named if word not in CAPABILITIES or named.count(word) > 1})
        if wrong:
            raise ValueError(f"{self.name} declares unknown or repeated capabilities: {', '.join(wrong)}")
        return {
            word: Support("native") if word in self.native
            else Support("emulated", self.emulated[word]) if word in self.emulated
            else Support("unsupported", self.unsupported.get(word, UNDECLARED.get(word, NOT_OFFERED)))
            for word in CAPABILITIES
        }  # fmt: skip

    @abstractmethod
    def version(self) -> str: ...
    @abstractmethod
    def open(self, space: Space) -> Memory: ...
    @abstractmethod
    def storage(self, space: Space) -> list[Layer]: ...

    def compact(self, space: Space) -> None:
        raise Unsupported("compact")

    def serve(self, gateway: str) -> Server | None:
        return None

    def program(self, calls: Sequence[Call]) -> str:
        """A program of a few lines that makes these calls with the backend's own SDK alone, without this adapter, and
        prints what the last one brings; "" where there is none. For a report to those who maintain it.
        """
        return ""


def find_installed(requirement: str) -> str | None:
    """The release of a package that is installed here, as `packages` names it; None if there is none.

    A Node package lies in the environment of this interpreter.
    """
    with suppress(OSError, ValueError, LookupError, PackageNotFoundError):
        if node := re.match(r"npm:([@\w./-]+)", requirement):
            return str(json.loads(Path(sys.prefix, "node_modules", node[1], "package.json").read_bytes())["version"])
        if named := re.match(r"[\w.-]+", requirement):
            return version(named[0])
    return None


def delete_and_add(memory: Memory, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
    """`supersede` for a backend without one: two calls, not atomic. Declare it as emulated."""
    memory.forget(scope, memory_ids)
    return memory.remember([item])[0]


def applies(limit: Scope, place: Scope) -> bool:
    """Whether what is limited to `limit` holds at `place`: every respect that `limit` names is the same there."""
    return (
        limit.repo in (None, place.repo)
        and limit.org in (None, place.org)
        and limit.branch in (None, place.branch)
        and limit.user in (None, place.user)
    )


def embed(space: Space, texts: Sequence[str]) -> list[list[float]]:
    """Vectors of `space.dims` floats, one per text, L2-normalised, from the run's one embedder."""
    return [vector for at in range(0, len(texts), BATCH) for vector in _embed(space, texts[at : at + BATCH])]


def _embed(space: Space, texts: Sequence[str]) -> list[list[float]]:
    where = urlsplit(space.gateway)
    body = json.dumps({"model": "local", "input": list(texts), "encoding_format": "base64"}).encode()
    head = {"authorization": f"Bearer {space.key}", "content-type": "application/json"}
    status, text = _post(where.hostname or "", where.port, f"{where.path}/embeddings", body, head)
    if status != 200:
        raise RuntimeError(f"embeddings endpoint answered {status}: {text[:200]!r}")
    return [array("f", base64.b64decode(row["embedding"])).tolist() for row in json.loads(text)["data"]]


_OWN = threading.local()
"""`link`: the connection that this thread keeps open from call to call, and whose it is and where it leads."""


def _post(host: str, port: int | None, path: str, body: bytes, head: Mapping[str, str]) -> tuple[int, bytes]:
    """Status and body of the answer. A kept connection that was closed meanwhile has been asked nothing: once more."""
    place = (os.getpid(), host, port)  # after a fork it is the parent's
    kept, link = getattr(_OWN, "link", (None, None))
    if kept != place:
        link = http.client.HTTPConnection(host, port, timeout=600)
    assert link is not None
    _OWN.link = (None, None)
    try:
        try:
            link.request("POST", path, body, dict(head))
            answer = link.getresponse()
        except ConnectionError:
            link.close()
            if kept != place:
                raise
            link.request("POST", path, body, dict(head))
            answer = link.getresponse()
        found = answer.status, answer.read()
    except BaseException:
        link.close()
        raise
    _OWN.link = (place, link)
    return found


_PLAIN = frozenset((str, int, float, bool, type(None)))


def to_wire(value: Any) -> Any:
    """Plain JSON values; absent fields are left out."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [to_wire(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return {key: to_wire(part) for key, part in _present(value).items()}
    return value


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _present(value: Any) -> dict[str, Any]:
    """Fields that are not absent; the values are as they are."""
    kind: Any = type(value)
    return {name: part for name in _names(kind) if (part := getattr(value, name)) is not None}


def _fields(value: Any) -> dict[str, Any]:
    if hasattr(value, "__dataclass_fields__"):
        return _present(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


encode = json.JSONEncoder(default=_fields, allow_nan=False).encode
"""The JSON of `to_wire(value)`, in compiled code. Raises TypeError and ValueError for what has none."""


def read_call(value: Mapping[str, Any]) -> Call:
    """A Call as `to_wire` wrote it."""
    return Call(**{**value, "scope": Scope(**value["scope"]), "of": tuple(value["of"])})


def read_item(value: Mapping[str, Any]) -> Item:
    """An Item as `to_wire` wrote it."""
    source = value.get("source")
    nested = {"scope": Scope(**value["scope"]), "source": None if source is None else Source(**source)}
    return Item(**{**value, **nested})
