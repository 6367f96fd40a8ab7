"""`expire`: each kind of memory has a lifetime, and what is older is deleted when a session begins.

The agent deletes by itself and not by the backend's own lifetimes, as those run by the wall clock, and a story's days
lie in the past. The drill `keeping` asks whether a backend's own lifetimes work.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from harness.adapter import Operation
from harness.log.events import Event
from harness.log.parts import Written
from harness.model.scenario import Session
from harness.play.session import MemorySession
from harness.play.writing.way import Way, retire_written

LIFETIMES: Mapping[str, timedelta | None] = {
    "episodic": timedelta(days=14), "procedural": timedelta(days=180), "project": timedelta(days=180), "user": None,
}  # fmt: skip
"""By the kind of a memory. What was found while debugging lives for days, rules of the project for months, preferences
of people for ever."""


class Expire(Way):
    """Deletes what has outlived its kind, and what ended by its own date."""

    needs: ClassVar[tuple[Operation, ...]] = ("forget",)

    def __init__(self, memory_session: MemorySession) -> None:
        super().__init__(memory_session)
        self._ends: dict[str, tuple[datetime, Written]] = {}

    def begin(self, session: Session) -> Iterator[Event]:
        due = [each for name, (end, each) in self._ends.items() if end <= session.at and self.is_stored(name)]
        yield from retire_written(self.memory_session, session, "expired", due)

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        for each in written:
            own = [datetime.fromisoformat(each.item.expires)] if each.item.expires else []
            lifetime = LIFETIMES.get(each.item.kind)
            ends = [*own, *([session.at + lifetime] if lifetime else [])]
            if ends:
                self._ends[each.name] = min(ends), each
        yield from ()
        return list(written)
