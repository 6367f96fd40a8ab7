"""Faults of what is read by id, listed or told from a cache in the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class _Keeping(ReferenceMemory):
    """Keeps what it read, and nothing makes it read anew."""

    def __init__(self, *args: Any) -> None:
        # before `super().__init__`, which writes and so may clear it
        self.read = dict[tuple[object, ...], Any]()
        super().__init__(*args)

    def once(self, asked: tuple[object, ...], look: Callable[[], Any]) -> Any:
        """What was read the first time; that nothing was there is not kept."""
        if not (found := self.read.get(asked)) and (found := look()):
            self.read[asked] = found
        return found


class _KeepingUntilItWrites(_Keeping):
    """Reads anew after each change of its own process."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.read.clear()
        with super().writing():
            yield


class ReadsByIdOnce(Planted):
    """What a process has read by id it reads from its cache for good, updated or deleted."""

    must = ("forgotten_from_get",)

    class Memory(_Keeping):
        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            # not `super()`: a memory below that is no instance of this class has this method, too
            found: Hit | None = self.once((scope, memory_id), lambda: ReferenceMemory.get(self, scope, memory_id))
            return found


class ReadsByIdUntilItWrites(Planted):
    """Reads by id are kept until the own process writes: what another one changes or deletes stays in them."""

    must = ("stale_after_other_deletes",)

    class Memory(_KeepingUntilItWrites):
        get = ReadsByIdOnce.Memory.get


class ListsOnce(Planted):
    """A scope is listed from the cache of the process for good."""

    must = ("other_scopes_restored",)

    class Memory(_Keeping):
        def entries(self, scope: Scope) -> list[Hit]:
            # not `super()`: a memory below that is no instance of this class has this method, too
            found: list[Hit] = self.once((scope,), lambda: ReferenceMemory.entries(self, scope))
            return found


class ListsUntilItWrites(Planted):
    """Listings are kept until the own process writes: what another one writes, changes or deletes is not in them."""

    must = ("broken_promises",)

    class Memory(_KeepingUntilItWrites):
        entries = ListsOnce.Memory.entries


class ListsUntilItAdds(Planted):
    """Listings are kept until something new is stored: what is changed or deleted stays in them as it was."""

    must = ("left_after_undo",)

    class Memory(ListsOnce.Memory):
        def add(self, item: Item, vector: bytes) -> Ack:
            self.read.clear()
            return super().add(item, vector)


class TellsHistoryUntilItDeletes(Planted):
    """Histories are kept in the process until something is deleted: what is changed is not told."""

    must = ("history_tells_all_versions",)

    class Memory(_Keeping):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            found: list[str] = self.once((scope, memory_id), lambda: ReferenceMemory.history(self, scope, memory_id))
            return found

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.read.clear()
            return super().erase(scope, memory_id)

        def forget_scope(self, scope: Scope) -> None:
            self.read.clear()
            super().forget_scope(scope)
