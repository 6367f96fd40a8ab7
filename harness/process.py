"""A backend in a child process: spawn, deadlines, kill, and the Memory proxy that validates what comes back.

A call ends in one of five ways: a value, or a `MemoryFault` of one of four kinds. `refused` was declared; `breach`
broke the contract; `crashed` raised or exited; `timed-out` was killed. After a fault with `alive` False the child is
gone and its trial is over.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.adapter import Ack, Hit, Item, Layer, Scope, Server, Space, Usage, to_wire
from harness.events import Fault, FaultKind
from harness.launch import Launcher, spawn
from harness.model import SECRET
from harness.replies import (
    ACK,
    ACKS,
    BOOL,
    BOOLS,
    DESCRIPTION,
    HIT,
    HITS,
    LAYERS,
    NOTHING,
    SERVER,
    TEXT,
    TEXTS,
    USAGE,
    Description,
    Reply,
)

T = TypeVar("T")
REPLY_LIMIT = 8 * 2**20
"""Bytes of the largest answer that is read; anything longer is a breach."""


class MemoryFault(Exception):  # noqa: N818  a fault is an outcome that is logged, see events.Fault
    """A call that failed. `alive`: whether the child can still be asked."""

    def __init__(self, fault: Fault, *, alive: bool, trace: str = "") -> None:
        super().__init__(f"{fault.kind} in {fault.op}: {fault.message}")
        self.fault, self.alive, self.trace = fault, alive, trace


@dataclass(frozen=True)
class Deadlines:
    """Seconds that a call may take: opening (an SDK is imported), any call, and more for each item it handles.

    rewrite: more for each item that a chat model inside rewrites.
    """

    open: float = 120.0
    call: float = 30.0
    item: float = 0.5
    rewrite: float = 60.0
    exit: float = 15.0


class Child:
    """One adapter in a process group of its own, with its own HOME and TMPDIR. Not for use by two threads at once."""

    def __init__(self, adapter: str, home: Path, deadlines: Deadlines, launch: Launcher = spawn) -> None:
        self.adapter, self.deadlines, self.took = adapter, deadlines, 0.0
        self.secrets: tuple[str, ...] = ()
        self._asked = 0
        self._output = home / "output.txt"
        ours, theirs = socket.socketpair()
        with theirs, self._prepared(home).open("ab") as output:
            self._process = launch(adapter, theirs.fileno(), home, output.fileno())
        ours.setblocking(False)
        self._link, self._rest, self._poll = ours, bytearray(), select.poll()
        self._poll.register(ours, select.POLLIN)

    def _prepared(self, home: Path) -> Path:
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        return self._output

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, reply: TypeAdapter[Reply[T]], op: str, *args: Any, seconds: float) -> T | None:
        """Asks and waits. Raises MemoryFault; what does not fit `reply` is a breach."""
        deadline = time.monotonic() + seconds
        request = self._request(op, args)
        try:
            self._send(request, deadline)
            line = self._line(deadline)
        except TimeoutError:
            self.kill()
            raise self._fault("timed-out", op, f"no answer within {seconds:g} s; the process was killed") from None
        except (OSError, EOFError):
            raise self._fault("crashed", op, self._last_words()) from None
        if line is None:
            self.kill()
            raise self._fault("breach", op, f"answered with more than {REPLY_LIMIT} bytes; the process was killed")
        if not line.startswith(b'{"n": %d,' % self._asked):
            self.kill()
            raise self._fault("breach", op, f"something else spoke on its channel: {line[:80]!r}; it was killed")
        try:
            answer = reply.validate_json(line)
        except ValidationError as error:
            raise self._invalid(op, line, error) from None
        self.took = answer.took
        if answer.error is not None:
            raise self._fault(answer.error.kind, op, answer.error.message, alive=True, trace=answer.error.trace)
        return answer.ok

    def post(self, op: str, *args: Any) -> None:
        """Asks without waiting; nothing else can be asked after it. What a dead child did not hear is not told."""
        with contextlib.suppress(OSError, TimeoutError):
            self._send(self._request(op, args), time.monotonic() + self.deadlines.call)

    def _request(self, op: str, args: Sequence[Any]) -> bytes:
        self._asked += 1
        return json.dumps({"n": self._asked, "op": op, "args": [to_wire(arg) for arg in args]}).encode() + b"\n"

    def _invalid(self, op: str, line: bytes, error: ValidationError) -> MemoryFault:
        """A wrong value from a sound adapter process is a breach that leaves it alive."""
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the answer"
        return self._fault("breach", op, f"{where}: {first['msg']}", alive=True, trace=repr(line[:500]))

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._link.send(view) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)

    def _line(self, deadline: float) -> bytes | None:
        """The next answer, or None if it is too long."""
        while (end := self._rest.find(b"\n")) < 0:
            if len(self._rest) > REPLY_LIMIT:
                return None
            self._wait(select.POLLIN, deadline)
            data = self._link.recv(2**20)
            if not data:
                raise EOFError
            self._rest += data
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    def _wait(self, event: int, deadline: float) -> None:
        self._poll.modify(self._link, event)
        if not self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError

    def _fault(self, kind: FaultKind, op: str, message: str, *, alive: bool = False, trace: str = "") -> MemoryFault:
        fault = Fault(kind=kind, op=op, message=self.redacted(message))
        return MemoryFault(fault, alive=alive, trace=self.redacted(trace))

    def redacted(self, text: str) -> str:
        """Says nothing of a secret, whatever the adapter quotes."""
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]")
        return text

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.poll()
        how = (
            "closed its channel"
            if code is None
            else f"was ended by signal {-code}"
            if code < 0
            else f"exited with {code}"
        )
        self.kill()
        lines = self.output().strip().splitlines()
        return f"the process {how}" + (f"; it last printed: {lines[-1][:300]}" if lines else "")

    def output(self, limit: int = 65536) -> str:
        """The end of what the adapter printed."""
        data = self._output.read_bytes() if self._output.exists() else b""
        return data[-limit:].decode("utf-8", "replace")

    def kill(self) -> None:
        """Ends the whole process group at once, as a power cut would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._link.close()

    def exit(self) -> None:
        """Lets the child end by itself: it reads the end of its line. What outlives the deadline is killed."""
        self._link.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self.deadlines.exit)
        self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.exit()


class RemoteMemory:
    """A Memory whose backend lives in a child. `took` is what the last call took inside the adapter, in seconds."""

    def __init__(self, child: Child, description: Description) -> None:
        self._child, self.description, self._pool = child, description, 0
        self.outage: Callable[[], str | None] = lambda: None
        """Why what the child depends on is gone, asked after each fault: the child is then of no use any more."""

    @property
    def took(self) -> float:
        return self._child.took

    def _call(self, reply: TypeAdapter[Reply[T]], op: str, *args: Any, items: int = 0) -> T | None:
        limits = self._child.deadlines
        rewrites = op in ("remember", "supersede") and self.description.support["extracts"].level != "unsupported"
        seconds = limits.call + (limits.item + limits.rewrite * rewrites) * items
        try:
            return self._child.call(reply, op, *args, seconds=seconds)
        except MemoryFault as error:
            declared = self.description.support.get(op)
            if error.fault.kind == "refused" and (declared is None or declared.level != "unsupported"):
                raise self._breach(op, f"refused although it is declared: {error.fault.message}") from None
            if error.alive and (outage := self.outage()):
                self.kill()
                raise MemoryFault(Fault(kind="crashed", op=op, message=outage), alive=False, trace=str(error)) from None
            raise

    def _must(self, reply: TypeAdapter[Reply[T]], op: str, *args: Any, items: int = 0) -> T:
        value = self._call(reply, op, *args, items=items)
        if value is None:
            raise self._breach(op, "answered nothing")
        return value

    @staticmethod
    def _breach(op: str, message: str) -> MemoryFault:
        return MemoryFault(Fault(kind="breach", op=op, message=message), alive=True)

    def _as_many(self, op: str, values: list[T], wanted: Sequence[Any]) -> list[T]:
        if len(values) != len(wanted):
            raise self._breach(op, f"answered {len(values)} values for {len(wanted)}")
        return values

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        self._pool += len(items)
        return self._as_many("remember", self._must(ACKS, "remember", items, items=len(items)), items)

    def settle(self, seconds: float) -> bool:
        return self._must(BOOL, "settle", seconds, items=self._pool)

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        hits = self._must(HITS, "recall", query, scope, k, at, items=self._pool)
        if len(hits) > k and self.description.support["ranked"].level != "unsupported":
            raise self._breach("recall", f"returned {len(hits)} hits for k = {k}")
        return hits

    def entries(self, scope: Scope) -> list[Hit]:
        return self._must(HITS, "entries", scope, items=self._pool)

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return self._call(HIT, "get", scope, memory_id)

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        return self._must(TEXTS, "history", scope, memory_id)

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        return self._must(ACK, "update", scope, memory_id, item)

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return self._must(ACK, "supersede", scope, memory_ids, item, items=len(memory_ids) + 1)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        said = self._must(BOOLS, "forget", scope, memory_ids, items=len(memory_ids))
        return self._as_many("forget", said, memory_ids)

    def forget_scope(self, scope: Scope) -> None:
        self._call(NOTHING, "forget_scope", scope, items=self._pool)

    def snapshot(self) -> str:
        return self._must(TEXT, "snapshot", items=self._pool)

    def restore(self, mark: str) -> None:
        self._call(NOTHING, "restore", mark, items=self._pool)

    def usage(self) -> Usage | None:
        return self._call(USAGE, "usage")

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


def describe(
    adapter: str,
    home: Path,
    deadlines: Deadlines = Deadlines(),
    launch: Launcher = spawn,
    settings: Mapping[str, str] = {},
) -> Description:
    """What an adapter with these settings says of itself, asked in a child of its own; its SDK is not imported."""
    with Child(adapter, home, deadlines, launch) as child:
        return _described(child, settings)


def _described(child: Child, settings: Mapping[str, str]) -> Description:
    """MemoryFault also where the environment lacks a secret that the adapter opens with."""
    child.secrets = tuple(value for key, value in settings.items() if value and SECRET.search(key))
    described = child.call(DESCRIPTION, "describe", settings, seconds=child.deadlines.open)
    if described is None:
        raise MemoryFault(Fault(kind="breach", op="describe", message="answered nothing"), alive=True)
    if missing := [name for name in described.secrets if not os.environ.get(name)]:
        message = f"{', '.join(missing)} must be set in the environment"
        raise MemoryFault(Fault(kind="refused", op="describe", message=message), alive=True)
    return described.model_copy(update={"problem": child.redacted(" ".join(described.problem.split()))})


def open_memory(
    adapter: str, space: Space, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> RemoteMemory:
    """A fresh process with the store at `space.root` open."""
    child = Child(adapter, home, deadlines, launch)
    try:
        memory = RemoteMemory(child, _described(child, space.settings))
        lent = {name: os.environ[name] for name in memory.description.secrets}
        child.secrets += tuple(lent.values())
        opened = replace(space, settings={**space.settings, **lent})
        child.call(NOTHING, "open", _wired(opened), seconds=deadlines.open)
    except MemoryFault:
        child.kill()
        raise
    return memory


def storage(
    adapter: str, space: Space, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> list[Layer]:
    """Where the adapter says that data may lie; asked without opening the store."""
    with Child(adapter, home, deadlines, launch) as child:
        return child.call(LAYERS, "storage", _wired(space), seconds=deadlines.call) or []


def compact(
    adapter: str, space: Space, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> None:
    """The vendor's documented compaction of a store that nobody has open."""
    with Child(adapter, home, deadlines, launch) as child:
        child.call(NOTHING, "compact", _wired(space), seconds=deadlines.open)


def serve(
    adapter: str, gateway: str, home: Path, deadlines: Deadlines = Deadlines(), launch: Launcher = spawn
) -> Server | None:
    """The server that the adapter's memories live in, as it describes it; None if it needs none."""
    with Child(adapter, home, deadlines, launch) as child:
        return child.call(SERVER, "serve", gateway, seconds=deadlines.call)


def _wired(space: Space) -> dict[str, Any]:
    return {key: value for key, value in vars(space).items() if value is not None}
