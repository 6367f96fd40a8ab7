"""What the planted faults have in common: the reference with another memory, and which measures must see the fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from adapters._base import sdk
from adapters.reference import Reference, ReferenceMemory
from harness.adapter import Space

__all__ = ["Planted", "ReferenceMemory", "drop"]


REFERENCE = "adapters.reference:Reference"


def drop(memory: ReferenceMemory, ids: Iterable[str]) -> None:
    """Deletes what was stored under these ids: a blank text has none."""
    memory.db.executemany("DELETE FROM memories WHERE id = ? AND mark = 0", [[name] for name in ids])


class Planted(Reference):
    """One believable bug. What else it may move stands in `may.json`.

    Attributes:
        must: Measures that flag it.
        untold: Measures that have to say that it cannot be told.
        never: Measures that a cheat is after, and that must not be better than the reference's.
        breaks: The check of the contract that must notice it, where no measure can.
        contained: Only the sandbox of children holds it off: without one it is not played.
        older: The release whose stores it takes over, as `module:Class`; empty: it is played as the only release.
    """

    Memory: ClassVar[type[ReferenceMemory]] = ReferenceMemory
    must: ClassVar[tuple[str, ...]] = ()
    never: ClassVar[tuple[str, ...]] = ()
    untold: ClassVar[tuple[str, ...]] = ()
    breaks: ClassVar[str] = ""
    contained: ClassVar[bool] = False
    older: ClassVar[str] = ""

    def open(self, space: Space) -> ReferenceMemory:
        return self.Memory(self.path(space), space, sdk("numpy", "coldwarm"))


class Upgraded(Planted):
    """One believable bug in taking over the store of an older release, which is sound unless it says another."""

    older: ClassVar[str] = REFERENCE
