"""How soon random sequences find a planted fault, played in this process: sequences, and so the count of operations up
to the first wrong answer, are those of real processes. A kill leaves the store as it lies on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

from harness.adapter import Unsupported
from harness.backend.client import MemoryFault, RemoteMemory
from harness.machine import leftovers
from harness.model.backend import Backend, Declared, Fault
from harness.model.sequence import Steps
from harness.play import sequences
from harness.play.store import Handle, Store
from harness.promises.hunt import Hunted, Play, seek
from harness.selftest import local

LARGEST = 1030
SECONDS = 10_000.0
"""No bound: operations are what ends a hunt here."""


def seek_here(adapter: str, operations: int, seed: int = 1) -> Hunted:
    """Up to the first difference in what `module:Class` answers.

    Args:
        operations: After so many the hunt ends.
    """
    support = {
        name: Declared(level=each.level, note=each.note) for name, each in local.make_adapter(adapter).support.items()
    }
    backend = Backend(name=adapter, version="", support=support)
    with leftovers.make_temporary() as root:
        folders = (root / str(turn) for turn in count())

        def play(steps: Steps) -> Play:
            store = _Host(backend, next(folders), 1, None)
            return sequences.play(cast("Store[RemoteMemory]", store), steps)

        return seek(play, backend, seed, operations, SECONDS, LARGEST)


class _Host(local.LocalHost):
    def open(self) -> Handle:
        with _told("open"):
            return cast(Handle, _Faulting(super().open()))


class _Faulting:
    """What a memory raises comes as from a child process."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._memory, name)
        return self._call(name, found) if callable(found) else found

    def _call(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            with _told(name):
                return method(*given)

        return call

    def kill(self) -> None:
        if hasattr(self._memory, "db"):  # what a killed process would let go of
            self._memory.db.close()


@contextmanager
def _told(op: str) -> Iterator[None]:
    try:
        yield
    except Unsupported as error:
        raise MemoryFault(Fault(kind="refused", op=op, message=f"Unsupported: {error}"), alive=True) from None
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise MemoryFault(Fault(kind="raised", op=op, message=message), alive=True) from None
