"""`expire`: each kind of memory has a lifetime, and what is older is taken away when a session begins.

A backend's own lifetimes run by the wall clock, and a story's days lie in the past: told at the write, they would be
over at once. So the agent keeps the calendar. A backend whose lifetime takes a date is told it once it is over, and
hides the memory by itself; else the agent deletes it. The drill `keeping` asks for what is told beforehand.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from harness.log.events import Event, Retirement
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
    """Has what has outlived its kind, or ended by its own date, expire."""

    def __init__(self, memory_session: MemorySession) -> None:
        super().__init__(memory_session)
        self.ends: dict[str, tuple[datetime, Written]] = {}

    def begin(self, session: Session) -> Iterator[Event]:
        due = [
            self.memory_session.date(replace(each, item=replace(each.item, expires=end.isoformat())))
            for name, (end, each) in self.ends.items()
            if end <= session.at and self.is_stored(name)
        ]
        supports = self.memory_session.supports
        own: Retirement = "expire" if supports("expiry") and supports("update") else "forget"
        yield from retire_written(self.memory_session, session, "expired", due, own)

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        for each in written:
            if end := self.find_end(session, each):
                self.ends[each.name] = end, each
        yield from ()
        return list(written)

    def find_end(self, session: Session, written: Written) -> datetime | None:
        """When it is over, by its kind or by its own date, whichever comes first."""
        own = [datetime.fromisoformat(written.item.expires)] if written.item.expires else []
        lifetime = LIFETIMES.get(written.item.kind)
        return min([*own, *([session.at + lifetime] if lifetime else [])], default=None)
