"""The contract between coldwarm and a memory backend: the values that cross the process border, and two protocols.

Every value that crosses is one of the frozen dataclasses below or plain JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

CLOSED: Mapping[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""How the parent reads the wire types below: no unknown field, no conversion."""
PLACE: Mapping[str, Any] = {"extra": "forbid"}
"""Scopes and sources also stand in scenario files, as tables."""


class Unsupported(Exception):  # noqa: N818  a refusal that was declared is no error
    """Raised by an operation that the adapter declares as unsupported. Raised by any other, it is a breach."""


# no slots, unlike Source and Item: `vars` gives its parts
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
    """One memory to be written. `at` and `expires` are ISO 8601 story times; `kind` is the memory type.

    It holds before `expires`, not at it. Of a time, what is finer than a second need not be kept.
    """

    text: str
    scope: Scope
    at: str
    kind: str
    source: Source | None = None
    confidence: float | None = None
    expires: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True, slots=True)
class Filter:
    """What a recall is kept to, beside its place and time. A part that is not given does not limit.

    Attributes:
        kinds: One of these memory types.
        path: The file that the source cites, as it was told; what cites none does not fit.
        confidence: At least so much; what was told without any is not doubted, and fits.
    """

    kinds: tuple[str, ...] = ()
    path: str | None = None
    confidence: float | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session. A call to a tool is a line of its own: `calls NAME: ARGUMENTS`."""

    role: Literal["user", "assistant", "tool"]
    content: str
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED


VerdictKind = Literal["stale", "superseded", "expired", "contradicted", "unverified"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the backend itself thinks of a memory that it brings.

    Attributes:
        kind: `unverified` claims nothing: nobody has checked it.
        by: The id of the memory that says otherwise.
        reason: In a few words.
    """

    kind: VerdictKind
    by: str | None = None
    reason: str | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED

    @property
    def warns(self) -> bool:
        """Whether it says that the memory does not hold any more."""
        return self.kind != "unverified"


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that came back; its rank is its position. `created` is what the backend says, else None.

    The verdict `superseded` sets `superseded`, too.
    """

    memory_id: str
    text: str
    score: float | None = None
    source: Source | None = None
    created: str | None = None
    scope: Scope | None = None
    superseded: bool | None = None
    confidence: float | None = None
    verdict: Verdict | None = None
    __pydantic_config__: ClassVar[Mapping[str, Any]] = CLOSED

    def __post_init__(self) -> None:
        if self.verdict is not None and self.verdict.kind == "superseded":
            object.__setattr__(self, "superseded", True)

    @property
    def warned(self) -> bool:
        """Whether the backend itself says that it does not hold any more."""
        return bool(self.superseded or (self.verdict and self.verdict.warns))


@dataclass(frozen=True)
class Ack:
    """The ids under which one item, or a session, was stored: none (not stored), one, or several (it was split)."""

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
        work_trees: Repository, as scopes name it -> its git checkout, which nobody but the harness changes: it stands
            at the commit of the session that is being played; one in which no session has been yet, at its newest
            commit of that day. Empty for who does not declare `work_tree`, and where there is no story.
    """

    root: str
    gateway: str
    key: str
    dims: int
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    service: str | None = None
    work_trees: Mapping[str, str] = field(default_factory=dict)


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

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        """Capture a session that has ended, in the backend's own way; the Ack has the ids that it tells.

        Args:
            at: When it was, as ISO 8601.
            session: Its name, for what says where a memory comes from.
        """

    def settle(self, seconds: float) -> bool:
        """Wait until recall sees every acknowledged write; False if it did not within `seconds`."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """At most k hits, best first if `ranked` (all of them if not); [] means: nothing known.

        What has ended takes no place among them. Best is what answers the question, whoever told it.
        """

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        """`recall`, of what fits `where` alone: what does not takes no place among the k."""

    def entries(self, scope: Scope) -> list[Hit] | Iterator[Hit]:
        """All live memories of exactly this scope, past any page limit; made while they are read, if you yield them."""

    def get(self, scope: Scope, memory_id: str) -> Hit | None: ...
    def history(self, scope: Scope, memory_id: str) -> list[str]:
        """Every text that an audit interface still returns for this id."""

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        """Change a memory that holds at `scope`; it stays in its own scope, which `item` names."""

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """Store `item`, in its own scope, as the successor of memories that hold at `scope`.

        A blank one is not stored, and replaces nothing.
        """

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        """Mark what holds at `scope` as ended at `at`, for all; one bool per id, in order: whether it is marked.

        It stays as it is, with its id, in listings and histories. A recall for that time or a later one does not bring
        it, or brings it as superseded; one for an earlier time brings it as before. What ended earlier stays so; an
        update takes the mark away.
        """

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """Delete what holds at `scope`, for all; one bool per id, in order: whether the backend says it is gone."""

    def forget_scope(self, scope: Scope) -> None: ...
    def snapshot(self) -> str:
        """A mark that stays valid across reopening."""

    def restore(self, mark: str) -> None:
        """Makes the whole store, every scope, what it was at the mark, without what was forgotten since.

        A history tells each text again that it told then; it may tell later ones, too.
        """

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
        """True for a backend that needs vectors: where no embedder is installed, it is not played, and says so
        beforehand.
        """

    @property
    def clients(self) -> Sequence[str]:
        """Languages in which an agent can use these memories: those of the vendor's own clients, or `any` where they
        are text files or a protocol such as HTTP or MCP serves them. Empty: not declared.
        """

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
