"""A backend in a child process: spawn, deadlines, kill, and the Memory proxy that validates what comes back.

A call ends in a value, or in a `MemoryFault`. `refused` was declared; `breach` broke the contract; `raised` is an
exception, `crashed` the end of the process; `timed-out` was killed; `machine` was nobody's fault. After a fault with
`alive` False the child is gone and its trial is over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import TypeAdapter

from harness.adapter import FILTERS, Ack, Call, Filter, Hit, Item, Layer, Message, Scope, Server, Space, Usage, to_wire
from harness.backend import bounds
from harness.backend.child import Child, Deadlines, MemoryFault
from harness.backend.forkserver import Launcher, spawn
from harness.backend.replies import (
    ACK,
    ACKS,
    BOOL,
    BOOLS,
    BURST,
    DECLARATION,
    DESCRIPTION,
    HIT,
    HITS,
    LAYERS,
    NOTHING,
    NUMBER,
    OWES,
    SERVER,
    TEXT,
    TEXTS,
    USAGE,
    BurstWrite,
    Declaration,
    Description,
    Reply,
)
from harness.backend.supervised import ServiceError
from harness.model.backend import Fault
from harness.model.trial import SECRET

__all__ = ["Child", "Deadlines", "MemoryFault"]  # what whoever opens a memory needs beside
T = TypeVar("T")


class RemoteMemory:
    """A Memory whose backend lives in a child. `took` is what the last call took inside the adapter, in seconds."""

    def __init__(self, child: Child, description: Description) -> None:
        # _pool counts the items told: what goes over all of them gets more time
        self._child, self.description, self._pool = child, description, 0
        self.outage: Callable[[float], ServiceError | None] = lambda _: None
        """What kept it from answering since a moment of the monotonic clock, such as a server that is gone. Asked after
        each fault: the child is then of no use any more."""

    @property
    def took(self) -> float:
        return self._child.took

    def measure_work(self) -> float | None:
        """Processor seconds of its processes; None: not known, or a server does the work, for others, too."""
        return None if self.description.server else self._child.measure_work()

    def _call(self, reply: TypeAdapter[Reply[T]], op: str, *args: Any, items: int = 0) -> T | None:
        return self._ask(op, items, lambda seconds: self._child.call(reply, op, *args, seconds=seconds))

    def _ask(self, op: str, items: int, ask: Callable[[float], T]) -> T:
        limits = self._child.deadlines
        writes = ("remember", "observe", "burst", "supersede")
        rewrites = op in writes and self.description.support["extracts"].supported
        call = max(limits.call, self.description.call_seconds)
        seconds = call + (limits.item + limits.rewrite * rewrites) * items
        began = time.monotonic()
        try:
            return ask(seconds)
        except MemoryFault as error:
            # recall_where is no capability of its own, what it filters by is;
            # None: an operation that every backend owes
            declared = map(self.description.support.get, FILTERS if op == "recall_where" else (op,))
            if error.fault.kind == "refused" and any(each is None or each.supported for each in declared):
                raise self._breach(op, f"refused although it is declared: {error.fault.message}") from None
            raise self._excuse(error, began) from None

    def _excuse(self, error: MemoryFault, began: float) -> MemoryFault:
        """The fault, or what kept the child from answering; it is killed then."""
        excused = excuse(error, self.outage(began))
        if excused is not error:
            self.kill()
        return excused

    def _must(self, reply: TypeAdapter[Reply[T]], op: str, *args: Any, items: int = 0) -> T:
        value = self._call(reply, op, *args, items=items)
        if value is None:
            raise self._breach(op, f"returned None; {OWES[op]}")
        return value

    def _list(self, reply: TypeAdapter[Reply[list[T]]], op: str, *args: Any, items: int = 0) -> list[T]:
        values: list[T] = []
        self._read_pages(reply, op, *args, items=items, take=values.extend)
        return values

    def _read_pages(
        self, reply: TypeAdapter[Reply[list[T]]], op: str, *args: Any, items: int, take: Callable[[list[T]], object]
    ) -> None:
        def gather(seconds: float) -> bool:
            return self._child.gather(reply, op, *args, seconds=seconds, take=take)

        if not self._ask(op, items, gather):
            raise self._breach(op, f"returned None; {OWES.get(op, 'it must return a list')}")

    @staticmethod
    def _breach(op: str, message: str) -> MemoryFault:
        return MemoryFault(Fault(kind="breach", op=op, message=message), alive=True)

    def _within(self, op: str, limit: str | None) -> None:
        if limit:
            raise MemoryFault(Fault(kind="limit", op=op, message=limit), alive=True)

    def _check_acks(self, op: str, acks: Sequence[Ack]) -> None:
        self._within(op, bounds.check_ids(name for ack in acks for name in ack.ids))

    def _as_many(self, op: str, values: list[T], wanted: Sequence[Any]) -> list[T]:
        if len(values) != len(wanted):
            raise self._breach(op, f"returned {len(values)} values for {len(wanted)}; {OWES[op]}")
        return values

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        self._pool += len(items)
        acks = self._as_many("remember", self._list(ACKS, "remember", items, items=len(items)), items)
        self._check_acks("remember", acks)
        return acks

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        self._pool += len(transcript)
        ack = self._must(ACK, "observe", transcript, scope, at, session, items=len(transcript))
        self._check_acks("observe", [ack])
        return ack

    def burst(self, items: Sequence[Item], *, at_once: bool) -> list[BurstWrite]:
        """Each item by a `remember` of its own; at once: all of them in flight together, one thread each."""
        self._pool += len(items)
        began = time.monotonic()
        found = self._as_many("burst", self._list(BURST, "burst", items, at_once, items=len(items)), items)
        failed = [each.error for each in found if each.error]
        for error in failed:
            self._child.check_machine("remember", error)
        if failed and (outage := self.outage(began)):
            self.kill()
            raise MemoryFault(Fault(kind=outage.kind, op="remember", message=str(outage)), alive=False)
        self._check_acks("remember", [each.ack for each in found if each.ack])
        return found

    def settle(self, seconds: float) -> bool:
        return self._must(BOOL, "settle", seconds, items=self._pool)

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self._recall("recall", query, scope, k, at)

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        return self._recall("recall_where", query, scope, k, at, where)

    def _recall(self, op: str, query: str, scope: Scope, k: int, *more: Any) -> list[Hit]:
        hits = self._list(HITS, op, query, scope, k, *more, items=self._pool)
        if len(hits) > k and self.description.support["ranked"].supported:
            raise self._breach(op, f"returned {len(hits)} hits for k = {k}")
        self._within(op, bounds.check_recall(hits))
        return hits

    def entries(self, scope: Scope) -> list[Hit]:
        hits: list[Hit] = []
        self.page_entries(scope, hits.extend)
        return hits

    def page_entries(self, scope: Scope, take: Callable[[list[Hit]], object]) -> None:
        exceeded: list[str] = []

        def check(page: list[Hit]) -> None:
            if limit := bounds.check_hits(page):
                exceeded.append(limit)  # not raised: the pages behind it, unread, would answer the next call
            if not exceeded:
                take(page)

        self._read_pages(HITS, "entries", scope, items=self._pool, take=check)
        self._within("entries", exceeded[0] if exceeded else None)

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        hit = self._call(HIT, "get", scope, memory_id)
        self._within("get", bounds.check_hits([hit] if hit else []))
        return hit

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        texts = self._list(TEXTS, "history", scope, memory_id)
        self._within("history", bounds.check_texts(texts))
        return texts

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        ack = self._must(ACK, "update", scope, memory_id, item)
        self._check_acks("update", [ack])
        return ack

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        ack = self._must(ACK, "supersede", scope, memory_ids, item, items=len(memory_ids) + 1)
        self._check_acks("supersede", [ack])
        return ack

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        said = self._list(BOOLS, "deprecate", scope, memory_ids, at, items=len(memory_ids))
        return self._as_many("deprecate", said, memory_ids)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        acknowledged = self._list(BOOLS, "forget", scope, memory_ids, items=len(memory_ids))
        return self._as_many("forget", acknowledged, memory_ids)

    def forget_scope(self, scope: Scope) -> None:
        self._call(NOTHING, "forget_scope", scope, items=self._pool)

    def tell_time(self) -> float:
        """What the clock of its process shows, in seconds of the epoch."""
        return self._call(NUMBER, "now") or 0.0

    def snapshot(self) -> str:
        mark = self._must(TEXT, "snapshot", items=self._pool)
        self._within("snapshot", bounds.check_texts([mark]))
        return mark

    def restore(self, mark: str) -> None:
        self._call(NOTHING, "restore", mark, items=self._pool)

    def usage(self) -> Usage | None:
        usage = self._call(USAGE, "usage")
        if usage and (wrong := bounds.check_usage(usage)):
            raise self._breach("usage", wrong)
        return usage

    def close(self) -> None:
        """Close, then exit: a reopening is always a new process. A fault of closing is raised after the exit."""
        try:
            self._call(NOTHING, "close", items=self._pool)
        finally:
            self._child.exit()

    def kill(self) -> None:
        self._child.kill()

    def kill_during(self, op: str, *args: Any, seconds: float) -> None:
        """Asks, does not wait for the answer, and kills after `seconds`: what became of the call, nobody knows."""
        self._child.post(op, *args)
        time.sleep(seconds)
        self._child.kill()


def excuse(error: MemoryFault, outage: ServiceError | None) -> MemoryFault:
    """The fault of a call as one of who kept the child from answering, if anybody did."""
    if outage is None or error.fault.kind == "machine":
        return error
    fault = Fault(kind=outage.kind, op=error.fault.op, message=str(outage))
    return MemoryFault(fault, alive=False, trace=str(error))


def describe(
    adapter: str,
    home: Path,
    deadlines: Deadlines = Deadlines(),
    launch: Launcher = spawn,
    settings: Mapping[str, str] = {},
) -> Description:
    """What an adapter with these settings says of itself, asked in a child of its own; its SDK is not imported."""
    with Child(adapter, home, deadlines, launch) as child:
        return _describe(child, settings)


def declare(
    adapter: str,
    home: Path,
    deadlines: Deadlines = Deadlines(),
    launch: Launcher = spawn,
    settings: Mapping[str, str] = {},
) -> Declaration:
    """What an adapter with these settings declares; asked where nothing that it needs has to be installed or set."""
    with Child(adapter, home, deadlines, launch) as child:
        child.withhold(*list_secrets(settings))
        declared = child.call(DECLARATION, "declare", settings, seconds=deadlines.open)
        if declared is None:
            raise MemoryFault(Fault(kind="breach", op="declare", message="answered nothing"), alive=True)
        return declared.model_copy(update={"problem": child.redact(" ".join(declared.problem.split()))})


def list_secrets(settings: Mapping[str, str], names: Iterable[str] = ()) -> tuple[str, ...]:
    """The secrets among settings, and in the environment by these names."""
    lent = (os.environ.get(name, "") for name in names)
    return (*(value for key, value in settings.items() if SECRET.search(key)), *lent)


def _describe(child: Child, settings: Mapping[str, str]) -> Description:
    """MemoryFault also where the environment lacks a secret that the adapter opens with."""
    child.withhold(*list_secrets(settings))
    described = child.call(DESCRIPTION, "describe", settings, seconds=child.deadlines.open)
    if described is None:
        raise MemoryFault(Fault(kind="breach", op="describe", message="answered nothing"), alive=True)
    if missing := [name for name in described.secrets if not os.environ.get(name)]:
        message = f"{', '.join(missing)} must be set in the environment"
        raise MemoryFault(Fault(kind="refused", op="describe", message=message), alive=True)
    return described.model_copy(update={"problem": child.redact(" ".join(described.problem.split()))})


def open_memory(
    adapter: str, space: Space, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> RemoteMemory:
    """A fresh process with the store at `space.root` open."""
    child = Child(adapter, home, deadlines, launch, _list_ports(space))
    try:
        described = _describe(child, space.settings)
        if described.unfit:
            raise MemoryFault(Fault(kind="raised", op="open", message=described.unfit), alive=True)
        if described.secrets:  # its service is hosted by somebody, somewhere
            child.exit()
            # None: to anywhere, as where its service is nobody here knows
            child = Child(adapter, home, deadlines, launch, None)
            described = _describe(child, space.settings)
        lent = {name: os.environ[name] for name in described.secrets}
        child.withhold(*lent.values())
        opened = replace(space, settings={**space.settings, **lent})
        child.call(NOTHING, "open", _encode_space(opened), seconds=deadlines.open)
    except MemoryFault:
        child.kill()
        raise
    return RemoteMemory(child, described)


def ask_storage(
    adapter: str, space: Space, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> list[Layer]:
    """Where the adapter says that data may lie; asked without opening the store."""
    with Child(adapter, home, deadlines, launch, _list_ports(space)) as child:
        child.withhold(*list_secrets(space.settings))
        layers = child.call(LAYERS, "storage", _encode_space(space), seconds=deadlines.call) or []
    if len(layers) > bounds.LAYERS:
        complaint = f"{len(layers):,} layers; at most {bounds.LAYERS} are looked at"
        raise MemoryFault(Fault(kind="limit", op="storage", message=complaint), alive=True)
    return layers


def compact(
    adapter: str,
    space: Space,
    home: Path,
    deadlines: Deadlines = Deadlines(),
    launch: Launcher = spawn,
    servers: tuple[int, ...] = (),
) -> None:
    """The vendor's documented compaction of a store that nobody has open.

    Args:
        servers: Ports that it may ask for that.
    """
    with Child(adapter, home, deadlines, launch, (*_list_ports(space), *servers)) as child:
        child.withhold(*list_secrets(space.settings))
        child.call(NOTHING, "compact", _encode_space(space), seconds=deadlines.open)


def write_program(
    adapter: str,
    calls: Sequence[Call],
    settings: Mapping[str, str],
    home: Path,
    deadlines: Deadlines = Deadlines(),
    launch: Launcher = spawn,
) -> str:
    """These calls as a program against the backend's own SDK; "" if its adapter prints none."""
    with Child(adapter, home, deadlines, launch) as child:
        child.withhold(*list_secrets(settings))
        return child.call(TEXT, "program", settings, to_wire(list(calls)), seconds=deadlines.call) or ""


def _list_ports(space: Space) -> tuple[int, ...]:
    """The ports behind which the models and the server of a space are."""
    places = [urlsplit(url) for url in (space.gateway, space.service) if url]
    return tuple(place.port or (443 if place.scheme == "https" else 80) for place in places)


def serve(
    adapter: str, gateway: str, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> Server | None:
    """The server that the adapter's memories live in, as it describes it; None if it needs none."""
    with Child(adapter, home, deadlines, launch) as child:
        return child.call(SERVER, "serve", gateway, seconds=deadlines.call)


def _encode_space(space: Space) -> dict[str, Any]:
    return {key: value for key, value in vars(space).items() if value is not None}
