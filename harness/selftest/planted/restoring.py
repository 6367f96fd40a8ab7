"""Faults of what is restored or marked a second time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from harness.adapter import Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class RestoresAMarkOnce(Planted):
    """A mark that was restored is noted as done: restored once more, it is acknowledged, and nothing happens."""

    must: ClassVar[tuple[str, ...]] = ("marks_restored",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS done (mark TEXT PRIMARY KEY)")

        def restore(self, mark: str) -> None:
            # no row is counted where the mark stands there already
            if self.db.execute("INSERT OR IGNORE INTO done VALUES (?)", [mark]).rowcount:
                super().restore(mark)


class RestoresAMarkOnceAProcess(Planted):
    """A process restores no mark twice, whatever was written since."""

    must = RestoresAMarkOnce.must

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            self.done = set[str]()
            super().__init__(*args)

        def restore(self, mark: str) -> None:
            if mark not in self.done:
                super().restore(mark)
            self.done.add(mark)


class SkipsTheMarkOfBefore(Planted):
    """Whoever restores the mark that was restored last is told that all is as it was, whatever was written since."""

    must = ("restored_exactly",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS last (mark TEXT)")

        def restore(self, mark: str) -> None:
            if self.db.execute("SELECT 1 FROM last WHERE mark = ?", [mark]).fetchone():
                return
            super().restore(mark)
            self.db.execute("DELETE FROM last")
            self.db.execute("INSERT INTO last VALUES (?)", [mark])


class UsesAMarkUp(Planted):
    """A restore moves what a mark holds back into the store: restored once more, there is no such mark."""

    must = ("restored_exactly",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            self.db.execute("DELETE FROM marks WHERE mark = ?", [mark])


class EndsAScopeOnce(Planted):
    """A scope takes one order to mark what has ended: later ones are called done."""

    must = ("deprecated_recalled",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS ended (scope TEXT PRIMARY KEY)")

        def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
            # no row is counted where the scope stands there already
            if self.db.execute("INSERT OR IGNORE INTO ended VALUES (?)", [str(scope)]).rowcount:
                return super().deprecate(scope, memory_ids, at)
            return [bool(self.visible(scope, name)) for name in memory_ids]
