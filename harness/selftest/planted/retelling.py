"""Faults of a history that one process after the other writes."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from harness.adapter import Ack, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class _Retelling(ReferenceMemory):
    def __init__(self, *args: Any) -> None:
        self.changed: set[str] = set()
        super().__init__(*args)

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        before = [json.loads(row["earlier"]) for row in self.visible(scope, memory_id)]
        ack = super().update(scope, memory_id, item)
        for name in ack.ids:
            (row,) = self.visible(scope, name)
            told = self.keep(name, before[0], json.loads(row["earlier"]))
            self.db.execute("UPDATE memories SET earlier = ? WHERE id = ? AND mark = 0", [json.dumps(told), name])
            self.changed.add(name)
        return ack

    def keep(self, name: str, before: list[str], after: list[str]) -> list[str]:
        """What a history holds after an update."""
        raise NotImplementedError


class TellsTheLastProcessOnly(Planted):
    """The first update of a process begins the history of a memory anew."""

    must: ClassVar = ("history_tells_all_versions",)

    class Memory(_Retelling):
        def keep(self, name: str, before: list[str], after: list[str]) -> list[str]:
            return after if name in self.changed else after[len(before) :]


class TellsTheFirstProcessOnly(Planted):
    """A history that another process has written is not written to again."""

    must = TellsTheLastProcessOnly.must

    class Memory(_Retelling):
        def keep(self, name: str, before: list[str], after: list[str]) -> list[str]:
            return after if name in self.changed or not before else before


class DropsTheTextAtOpening(Planted):
    """The text that a process finds is not written to the history by its first update."""

    must = TellsTheLastProcessOnly.must

    class Memory(_Retelling):
        def keep(self, name: str, before: list[str], after: list[str]) -> list[str]:
            return after if name in self.changed or not before else after[:-1]
