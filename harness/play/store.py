"""What stories and drills are played on: a store, the memories open on it, and how a call to one of them ends.

A call gives a value or a fault, which is logged first; then `go_on` ends the story or drill if the child died in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from harness.adapter import Hit, Layer, Memory, Scope
from harness.backend.client import MemoryFault
from harness.machine import files
from harness.machine.processes import Killed
from harness.model.backend import Backend, Fault
from harness.play.readers import StoreGone
from harness.scan.copies import Copies
from harness.scan.disk import Needles, Scan, Survey, scan_layers

T = TypeVar("T")
SETTLE_SECONDS = 20.0
"""What a backend gets to let acknowledged writes be seen."""
ONLY = "a"
"""The handle, where one is open at a time."""


class Handle(Memory, Protocol):
    """An open memory that tells how long its last call took inside the adapter, in seconds."""

    @property
    def took(self) -> float: ...
    def kill(self) -> None: ...
    def page_entries(self, scope: Scope, take: Callable[[list[Hit]], object]) -> None:
        """`entries`, of which `take` gets one page after the other; where it raises, some were taken."""


class InOnePage:
    """`page_entries` of a memory in this process: all of them were made at once."""

    def page_entries(self: Memory, scope: Scope, take: Callable[[list[Hit]], object]) -> None:
        take(list(self.entries(scope)))


H = TypeVar("H", bound=Handle)
H_co = TypeVar("H_co", bound=Handle, covariant=True)


class Store(Protocol[H_co]):
    """Where the memories of one trial or drill live, and how one is opened: each time in a fresh process."""

    backend: Backend
    root: Path

    @property
    def folder(self) -> Path | None:
        """All that belongs to the trial, `root` included; None if it keeps nothing on disk."""

    def open(self) -> H_co: ...
    def lend_work_tree(self, repo: str) -> Path:
        """The folder in which a backend that reads the work tree of this repository finds it."""

    def set_clock(self, at: str) -> None:
        """What its processes take for now, if theirs is the clock of the story."""

    def flush(self) -> None: ...
    def layers(self) -> list[Layer]: ...


class InThisProcess:
    """A store with our clock, in which no backend that reads a work tree lives."""

    def set_clock(self, at: str) -> None:
        """Nothing: it is the wall clock."""

    def lend_work_tree(self, repo: str) -> Path:
        raise NotImplementedError(repo)


class Lost(StoreGone):  # not an error: it ends the story, and the fault is logged
    """The child is gone; the trial ends here."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


class Hindered(StoreGone, Killed):
    """A call that failed by the machine's doing: it ends the trial, whatever a drill makes of a lost child."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def __str__(self) -> str:
        return self.fault.message


class Answer(NamedTuple, Generic[T]):
    """The value of a call, or the fault that stands for it, and the seconds in the adapter."""

    value: T | None
    fault: Fault | None
    took: float


def must(act: Callable[[], T]) -> T:
    """What can only be done or end the trial. Raises Lost and Hindered."""
    try:
        return act()
    except MemoryFault as error:
        raise _end(error)(error.fault) from None


def _end(error: MemoryFault) -> type[Lost | Hindered]:
    return Hindered if error.fault.kind == "machine" else Lost


class StoreSession(Generic[H]):
    """A store and its open memories by handle."""

    def __init__(self, store: Store[H]) -> None:
        self.store = store
        self._memories: dict[str, H] = {}
        self._lost: Fault | None = None

    def supports(self, *capabilities: str) -> bool:
        return all(map(self.store.backend.supports, capabilities))

    def _enter(self, who: str = ONLY, store: Store[H] | None = None) -> None:
        """A fresh process on the same store, or on that one."""
        # a drill opens a new process where one was lost
        self._lost = None
        self._memories.pop(who, None)  # its process is gone
        self._memories[who] = (store or self.store).open()

    def is_open(self, who: str = ONLY) -> bool:
        """No call to it has found its process gone."""
        return who in self._memories and self._lost is None

    def _leave(self, who: str = ONLY) -> None:
        self._memories.pop(who).close()

    def abandon(self) -> None:
        """Leaves no process behind, however it ended."""
        for memory in self._memories.values():
            # each is killed, whatever the one before it raised
            with suppress(Exception):
                memory.kill()

    def ask(self, call: Callable[[H], T], who: str = ONLY) -> Answer[T]:
        """Log the answer, then call `go_on`. Raises Hindered."""
        memory = self._memories[who]
        try:
            return Answer(call(memory), None, memory.took)
        except MemoryFault as error:
            if error.fault.kind == "machine":
                raise Hindered(error.fault) from None
            if not error.alive:
                self._lost = error.fault
            return Answer(None, error.fault, memory.took)

    def go_on(self) -> None:
        """Raises Lost if the child died in the last call. Called after it was logged."""
        if self._lost is not None:
            raise Lost(self._lost)

    def weigh(self) -> int | None:
        """Bytes of the store's files; None if it keeps none there."""
        return (files.measure_size(self.store.root) or None) if self.store.folder is not None else None

    def scan(self, needles: Needles, step: str = "", keep: Copies | None = None) -> Iterator[tuple[Layer, bool, Scan]]:
        """The whole folder of the trial, read first; then the adapter is asked where data may lie now.

        Args:
            keep: Takes a copy of the store, called by the step, that is not scanned.
        """
        must(self.store.flush)
        if self.store.folder is None:
            return iter(())
        if keep is not None:
            keep.take(self.store.root, step)
        survey = Survey(self.store.folder, self.store.root, needles, keep.folders if keep is not None else ())
        return scan_layers(survey, must(self.store.layers))
