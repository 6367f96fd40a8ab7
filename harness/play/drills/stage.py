"""Where a drill is played: open memories by handle, every call logged as it went over the wire.

A call that fails is logged and gives None; one in which the child dies ends the drill. The drill itself judges
nothing: what an answer means is for the measures to say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from harness.adapter import Ack, Hit, Item, Memory, Scope, to_wire
from harness.backend.client import RemoteMemory
from harness.backend.replies import BurstWrite
from harness.log.blobs import Blobs, Ref, pack
from harness.log.events import Event
from harness.log.listing import HitsPacker
from harness.log.parts import WEIGHTS
from harness.log.transcript import ANSWER, SIGHTINGS, Called, Handled, Looked, Op
from harness.model.backend import EmbedderName, Fault
from harness.model.drill import DrillName, DrillTrial, Piece, Plan
from harness.play.store import SETTLE_SECONDS, Lost, Store, StoreSession, must
from harness.scan.copies import Copies
from harness.scan.needles import compile_needles

NOW = "2026-03-02T10:00:00+00:00"
"""The story time at which drills ask."""


class DrillStore(Store[RemoteMemory], Protocol):
    """A store whose memories are child processes, that can be killed, compacted, and exchanged for an empty one."""

    @property
    def folder(self) -> Path: ...
    def compact(self) -> None: ...
    def beside(self, name: str) -> DrillStore: ...
    def switch_embedder(self, name: EmbedderName) -> None: ...
    def as_older(self) -> DrillStore:
        """The same store, as the older release opens it."""


@dataclass(frozen=True)
class Drill:
    """One drill: what it writes, and how it is played.

    Attributes:
        place: In the order of play.
        size: Memories in the store unless asked otherwise.
        least: No more than its measures need.
        needs: Capabilities without which nothing is played.
        provokes: It asks what a backend may well raise an exception at, and will do so again.
        hands_over: Played only where another release of the backend is played, too, whose store is taken over.
    """

    name: DrillName
    place: int
    size: int
    least: int
    needs: tuple[str, ...]
    plan: Callable[[int, int], Plan]
    """(size, seed) -> what is written."""
    play: Callable[[DrillSession], None]
    provokes: bool = False
    hands_over: bool = False


class DrillSession(StoreSession[RemoteMemory]):
    """One drill's store with its open handles. `ids`: piece -> the ids under which it was acknowledged.

    Attributes:
        keep: Takes a copy of the store as it was at each look, so that a reviewer can look again.
    """

    store: DrillStore

    def __init__(
        self,
        trial: DrillTrial,
        plan: Plan,
        store: DrillStore,
        blobs: Blobs,
        emit: Callable[[Event], None],
        vectors: Callable[[Sequence[str]], Sequence[bytes]],
        keep: Copies | None = None,
    ) -> None:
        super().__init__(store)
        self._given, self._turn = store, count(1)
        self.trial, self.plan, self._keep = trial, plan, keep
        self._blobs, self._emit, self._vectors = blobs, emit, vectors
        self.ids: dict[str, tuple[str, ...]] = {}

    # --- lifetimes ---

    def open(self, step: str, who: str = "a", *, older: bool = False) -> None:
        """Args: older: By the older release."""
        store = self.store.as_older() if older else self.store
        self._handle(step, who, "opened", lambda: self._enter(who, store))

    def close(self, step: str, who: str = "a") -> None:
        self._handle(step, who, "closed", lambda: self._leave(who))

    def renew(self) -> None:
        """Goes on with an empty store, without what was acknowledged before; nobody may have the old one open."""
        self.store = self._given.beside(f"next-{next(self._turn)}")
        self.ids.clear()

    def switch(self, step: str, name: EmbedderName) -> None:
        """Another embedder answers from the next opening on; nobody may have the store open."""
        self.store.switch_embedder(name)
        self._emit(Handled(step=step, what="switched"))

    def compact(self, step: str) -> None:
        """The vendor's compaction; nobody may have the store open."""
        self._handle(step, "a", "compacted", self.store.compact)

    def _handle(self, step: str, who: str, what: Any, act: Callable[[], None]) -> None:
        lost: Lost | None = None
        # asked before it is closed, when its processes are still there
        worked = self._memories[who].measure_work() if what == "closed" else None
        try:
            must(act)
        except Lost as error:
            lost = error
        took = None
        if what == "opened" and not lost:
            took, worked = self._memories[who].took, self._memories[who].measure_work()
        fault = lost.fault if lost else None
        self._emit(Handled(step=step, who=who, what=what, fault=fault, took=took, worked=worked))
        # without an open store there is nothing to ask; a failure to close or to compact is an answer
        if lost and what == "opened":
            raise lost

    def kill(
        self, step: str, who: str = "a", during: Sequence[Piece] = (), seconds: float = 0.0, of: Sequence[str] = ()
    ) -> None:
        """Ends the process at once (SIGKILL), with no time to save anything.

        Args:
            during: A write of these pieces is in flight, `seconds` old.
            of: Ids of the memory that it updates, if it is an update.
        """
        memory = self._memories.pop(who)
        if during and of:
            memory.kill_during("update", during[0].item.scope, of[0], during[0].item, seconds=seconds)
        elif during:
            memory.kill_during("remember", [piece.item for piece in during], seconds=seconds)
        else:
            memory.kill()
        self._emit(Handled(step=step, who=who, what="killed", about=tuple(piece.name for piece in during)))

    # --- calls ---

    def remember(self, step: str, pieces: Sequence[Piece], who: str = "a") -> None:
        """One batch; what was acknowledged is in `ids`."""
        acks = self.call(step, "remember", [piece.item for piece in pieces], about=pieces, who=who)
        self.ids.update({piece.name: ack.ids for piece, ack in zip(pieces, acks or (), strict=False)})

    def burst(
        self, step: str, pieces: Mapping[str, Sequence[Piece]], forgotten: tuple[str, Sequence[Piece]] = ("", ())
    ) -> None:
        """What each handle is told to write, with all handles at work at once; if its backend is `concurrent`, all of a
        handle's own writes are in flight at once, else one after the other. Raises Lost if a child is gone.

        Args:
            forgotten: Another handle, and what it deletes meanwhile, one after the other.
        """
        at_once, (other, old) = self.supports("concurrent"), forgotten
        with ThreadPoolExecutor(len(pieces) + 1) as pool:
            asked = {
                who: pool.submit(self.ask, partial(_write_burst, [each.item for each in own], at_once), who)
                for who, own in pieces.items()
            }
            for piece in old:
                self.call(step, "forget", piece.item.scope, list(self.ids[piece.name]), about=[piece], who=other)
        # logged here, in one thread and in a fixed order, whichever write came back first
        for who, own in pieces.items():
            found, fault, took = asked[who].result()
            for at, piece in enumerate(own):
                one = found[at] if found else None
                self._wrote(
                    step, who, piece, one.ack if one else None, _find_fault(one) or fault, one.took if one else took
                )
        # only now, when all that was answered is logged
        self.go_on()

    def _wrote(self, step: str, who: str, piece: Piece, ack: Ack | None, fault: Fault | None, took: float) -> None:
        # a write without an answer was not acknowledged, whatever an earlier one said
        self.ids[piece.name] = ack.ids if ack else ()
        answer = pack(self._blobs, ANSWER, [to_wire(ack)] if ack else None)
        self._emit(
            Called(step=step, who=who, op="remember", about=(piece.name,), answer=answer, fault=fault, took=took)
        )

    def recall(
        self,
        step: str,
        query: str,
        scope: Scope,
        about: Sequence[Piece] = (),
        who: str = "a",
        k: int | None = None,
        at: str = NOW,
    ) -> list[Hit] | None:
        found: list[Hit] | None = self.call(step, "recall", query, scope, k or self.trial.k, at, about=about, who=who)
        return found

    def change(
        self, step: str, op: Op, ids: Sequence[str], piece: Piece, asker: Scope | None = None, who: str = "a"
    ) -> None:
        """Updates the first of these memories, or supersedes all; what was acknowledged is in `ids`.

        Args:
            asker: Where it is asked for, if not in the scope of the piece.
        """
        target = ids[0] if op == "update" else list(ids)
        ack: Ack | None = self.call(step, op, asker or piece.item.scope, target, piece.item, about=[piece], who=who)
        self.ids[piece.name] = ack.ids if ack else ()

    def settle(self, step: str, who: str = "a") -> None:
        self.call(step, "settle", SETTLE_SECONDS, who=who)

    def list_ids(self, step: str, scope: Scope, about: Sequence[Piece] = (), who: str = "a") -> set[str]:
        """A listing, of which only the JSON is held; the ids that it shows. Raises Lost if the child is gone."""
        packer, shown = HitsPacker(self._blobs), set[str]()

        def take(page: list[Hit]) -> None:
            packer.add(page)
            shown.update(hit.memory_id for hit in page)

        _, fault, took = self.ask(lambda memory: memory.page_entries(scope, take), who)
        listed = None if fault else packer.finish()
        self._log(
            step, "entries", (scope,), listed if isinstance(listed, Ref) else to_wire(listed), fault, took, about, who
        )
        return set() if fault else shown

    def call(self, step: str, op: Op, *args: Any, about: Sequence[Piece] = (), who: str = "a") -> Any:
        """Asks and logs; None if it failed. Raises Lost if the child is gone."""
        value, fault, took = self.ask(lambda memory: getattr(memory, op)(*args), who)
        self._log(step, op, args, pack(self._blobs, ANSWER, to_wire(value)), fault, took, about, who)
        return value

    def _log(
        self,
        step: str,
        op: Op,
        args: Sequence[Any],
        answer: Any,
        fault: Fault | None,
        took: float,
        about: Sequence[Piece],
        who: str,
    ) -> None:
        names = tuple(piece.name for piece in about)
        self._emit(
            Called(
                step=step,
                who=who,
                op=op,
                about=names,
                request=_request(op, args),
                answer=answer,
                fault=fault,
                took=took,
            )
        )
        self.go_on()

    @property
    def blobs(self) -> Blobs:
        return self._blobs

    def note(self, event: Event) -> None:
        """Logs what is neither a call nor a look."""
        self._emit(event)

    def embed(self, texts: Sequence[str]) -> None:
        """Before they are written, so that no store waits for it."""
        self._vectors(list(texts))

    # --- the disk ---

    def look(self, step: str, canaries: Mapping[str, str], vectors: Mapping[str, str]) -> None:
        """Scans the drill's whole folder, and only then asks which layers are declared.

        Args:
            canaries: Piece -> string.
            vectors: Piece -> embedded text.
        """
        made = self._vectors(list(vectors.values()))
        # no vectors where no embedder is installed
        wanted = zip(vectors, made, strict=True) if made else ()
        needles = compile_needles(tuple(canaries.items()), tuple(wanted))
        for layer, declared, found in self.scan(needles, step, self._keep):
            self._emit(
                Looked(
                    step=step,
                    layer=layer,
                    declared=declared,
                    files=found.files,
                    bytes=found.bytes,
                    dark=found.dark,
                    vectorless=found.vectorless,
                    sightings=pack(self._blobs, SIGHTINGS, tuple(found.sightings)),
                    weights=pack(self._blobs, WEIGHTS, tuple(found.weights)),
                    problem=found.problem,
                )
            )


def _write_burst(items: Sequence[Item], at_once: bool, memory: RemoteMemory) -> list[BurstWrite]:
    return memory.burst(items, at_once=at_once)


def _find_fault(write: BurstWrite | None) -> Fault | None:
    error = write.error if write else None
    return Fault(kind=error.kind, op="remember", message=error.message, at=error.at) if error else None


@cache
def _list_arguments(op: str) -> tuple[str, ...]:
    return tuple(inspect.signature(getattr(Memory, op)).parameters)[1:]


def _request(op: str, args: Sequence[Any]) -> dict[str, Any]:
    """The arguments by name; items are the pieces that the call is about."""
    named = zip(_list_arguments(op), args, strict=True)
    return {name: to_wire(value) for name, value in named if not _holds_items(value)}


def _holds_items(value: Any) -> bool:
    return isinstance(value, Item) or (isinstance(value, list) and bool(value) and isinstance(value[0], Item))
