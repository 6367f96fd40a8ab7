"""Faults of calls that name one id twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from harness.adapter import Ack, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class ForgetsTheNextForTwice(Planted):
    """Rows are deleted by their position: for an id that is named twice, the next row goes, too."""

    must: ClassVar = ("same_scope_over_deletion",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            behind = "SELECT id FROM memories WHERE mark = 0 AND seq > (SELECT seq FROM memories WHERE id = ?)"
            for name in [name for name, times in Counter(memory_ids).items() if times > 1]:
                for row in self.db.execute(f"{behind} ORDER BY seq LIMIT 1", [name]).fetchall():
                    self.db.execute("DELETE FROM memories WHERE id = ?", [row["id"]])
            return super().forget(scope, memory_ids)


class ForgetsNothingNamedTwice(Planted):
    """What is to go is kept as a set of switches: an id that is named twice is off again, and called done."""

    must = ("forgotten_by_every_route",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            times, there = Counter(memory_ids), [bool(self.visible(scope, name)) for name in memory_ids]
            super().forget(scope, [name for name in times if times[name] % 2])
            return there


class RaisesForAnIdNamedTwice(Planted):
    """Ids of a call to forget have to be unique."""

    must = ("forgotten_by_every_route",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            if len(set(memory_ids)) < len(memory_ids):
                raise ValueError("ids have to be unique")
            return super().forget(scope, memory_ids)


class AnswersOnceForAnIdNamedTwice(Planted):
    """Deletes and marks each id once, and answers as often."""

    must = ("calls_failed",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            return super().forget(scope, list(dict.fromkeys(memory_ids)))

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            return super().deprecate(scope, list(dict.fromkeys(memory_ids)), at)


class RefusesToSupersedeTwice(Planted):
    """Ids of a call to supersede have to be unique."""

    must = ("replaced_gone_after_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            if len(set(memory_ids)) < len(memory_ids):
                raise ValueError("ids have to be unique")
            return super().supersede(scope, memory_ids, item)


class SupersedesNothingNamedTwice(Planted):
    """Replaces by a set of switches: an id that is named twice is off again."""

    must = ("replaced_gone_after_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            times = Counter(memory_ids)
            return super().supersede(scope, [name for name in times if times[name] % 2], item)


class UnmarksWhatIsNamedTwice(Planted):
    """A mark is a switch: an id that is named twice is marked, and unmarked again."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            times = Counter(memory_ids)
            super().deprecate(scope, [name for name in times if times[name] % 2], at)
            return [bool(self.visible(scope, name)) for name in memory_ids]
