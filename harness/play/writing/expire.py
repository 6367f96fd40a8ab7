"""`expire`: each kind of memory has a lifetime, and what is older is taken away when a session begins.

By the wall clock a story's days lie in the past: a lifetime told at the write would be over at once. So the agent keeps
the calendar. A backend whose lifetime takes a date is told it once it is over, and hides the memory by itself; else the
agent deletes it. A backend with the clock of the story is told at the write, and asked for nothing later. The drill
`keeping` asks for what is told beforehand.
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
            self.memory_session.date(_tell_end(each, end))
            for name, (end, each) in self.ends.items()
            if end <= session.at and self.is_stored(name)
        ]
        yield from retire_written(self.memory_session, session, "expired", due, self._find_own())

    def _find_own(self) -> Retirement:
        """What becomes of a memory when it is over."""
        supports = self.memory_session.supports
        if not supports("expiry"):
            return "forget"
        if self.memory_session.trial.clock == "story":
            return "lapse"
        return "expire" if supports("update") else "forget"

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        for each in written:
            if end := self.find_end(session, each):
                self.ends[each.name] = end, each
        # makes it a generator, as callers take its value by `yield from`
        yield from ()
        if self._find_own() != "lapse":
            return list(written)
        return [_tell_end(each, self.ends[each.name][0]) if each.name in self.ends else each for each in written]

    def find_end(self, session: Session, written: Written) -> datetime | None:
        """When it is over, by its kind or by its own date, whichever comes first."""
        own = [datetime.fromisoformat(written.item.expires)] if written.item.expires else []
        lifetime = LIFETIMES.get(written.item.kind)
        return min([*own, *([session.at + lifetime] if lifetime else [])], default=None)


def _tell_end(written: Written, end: datetime) -> Written:
    return replace(written, item=replace(written.item, expires=end.isoformat()))
