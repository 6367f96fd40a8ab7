"""Faults of updates in two steps: a kill between the two leaves half of a memory, or none."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from harness.adapter import Ack, Filter, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

BETWEEN = 0.25
"""Seconds from one step to the other."""


class DeletesThenAdds(Planted):
    """An update deletes the memory and adds it again, in two transactions."""

    must: ClassVar = ("torn_by_kill",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            for row in self.visible(scope, memory_id) if item.text.strip() else ():
                self.db.execute("DELETE FROM memories WHERE seq = ?", [row["seq"]])
                time.sleep(BETWEEN)
                # as it was: `super().update` below changes it
                self.db.execute(f"INSERT INTO memories VALUES ({', '.join('?' * len(row))})", tuple(row))
            return super().update(scope, memory_id, item)


class AddsThenDeletes(Planted):
    """An update adds the new text, then deletes the old one, in two transactions."""

    must = DeletesThenAdds.must

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            if self.visible(scope, memory_id):
                (added,) = self.remember([item])
                time.sleep(BETWEEN)
                # the added one goes, as `super().update` below gives the old one the new text
                self.db.executemany("DELETE FROM memories WHERE id = ?", [[name] for name in added.ids])
            return super().update(scope, memory_id, item)


class RewritesTheTextFirst(Planted):
    """An update writes the text, then source and confidence, in two transactions."""

    must = DeletesThenAdds.must

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            if item.text.strip() and (before := self.get(scope, memory_id)):
                change = "UPDATE memories SET text = ?, source = ? WHERE id = ? AND mark = 0"
                self.db.execute(change, [item.text, None, memory_id])
                time.sleep(BETWEEN)
                source = self.columns(replace(item, source=before.source), b"")["source"]
                # the text before, which `super().update` below puts into the history
                self.db.execute(change, [before.text, source, memory_id])
            return super().update(scope, memory_id, item)


class RewritesTheFieldsFirst(Planted):
    """An update writes source and confidence, then the text, in two transactions."""

    must = DeletesThenAdds.must

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            if item.text.strip() and self.visible(scope, memory_id):
                source = self.columns(item, b"")["source"]
                self.db.execute("UPDATE memories SET source = ? WHERE id = ? AND mark = 0", [source, memory_id])
                time.sleep(BETWEEN)
            return super().update(scope, memory_id, item)


class RewritesInTwoSteps(Planted):
    """An update writes the text; source and confidence follow with the next call of the process."""

    must = ("sources_lost_by_kill",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.late: list[Callable[[], object]] = []
            super().__init__(*args)

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            self.catch_up()
            ack = super().update(scope, memory_id, replace(item, source=None, confidence=None))
            if ack.ids:
                told = [self.columns(item, b"")["source"], item.confidence, memory_id]
                change = "UPDATE memories SET source = ?, confidence = ? WHERE id = ? AND mark = 0"
                self.late.append(lambda: self.db.execute(change, told))
            return ack

        def catch_up(self) -> None:
            while self.late:
                self.late.pop()()

        def settle(self, seconds: float) -> bool:
            self.catch_up()
            return super().settle(seconds)

        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            self.catch_up()
            return super().recall_where(query, scope, k, at, where)

        def entries(self, scope: Scope) -> list[Hit]:
            self.catch_up()
            return super().entries(scope)

        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            self.catch_up()
            return super().get(scope, memory_id)

        def snapshot(self) -> str:
            self.catch_up()
            return super().snapshot()

        def close(self) -> None:
            self.catch_up()
            super().close()
