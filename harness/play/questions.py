"""What a reader asks of its memory while it does one job."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Literal, TypeVar, cast

from harness.adapter import Filter, Item, Source
from harness.log.events import Event, RecallPurpose, Wrote
from harness.log.parts import Written
from harness.model.job import Decision, Job
from harness.model.scenario import Session
from harness.play.readers import ReadEntry
from harness.play.session import MemorySession, Query

T = TypeVar("T")


class Questions:
    """Each question once, logged in the order of asking."""

    def __init__(self, memory_session: MemorySession, session: Session, job: Job) -> None:
        self._memory, self._session, self._job = memory_session, session, job
        self._known: dict[tuple[str, str, Filter | None], list[ReadEntry]] = {}
        self._events: list[Event] = []
        self._kept = 0
        self._purpose: Literal["decision", "correction"] = "decision"

    def begin_correction(self) -> None:
        """Another round, by somebody who knows no answer of the one before: what is asked from here on is apart."""
        self._known, self._purpose = {}, "correction"

    def ask(self, query: str, decision: Decision, where: Filter | None = None) -> list[ReadEntry]:
        """Raises Lost if the child is gone."""
        # apart for each decision, as the log names the one for which it was asked
        key = query, decision.id, where
        if key not in self._known:
            place = self._memory.scenario.place(self._session)
            purpose: RecallPurpose = "filtered" if where else self._purpose
            asked = Query(purpose, f"{self._job.id}/{decision.id}", query, place, where=where)
            self._known[key] = self._drive(self._memory.recall(asked, self._session))
        return self._known[key]

    def remember(self, text: str) -> bool:
        """Keeps what the reader wants to be kept; it stands in the log as a remark of its job. Raises Lost.

        Returns whether it was stored: a backend may acknowledge a text and keep nothing of it.
        """
        place, self._kept = self._memory.scenario.place(self._session), self._kept + 1
        item = Item(text, place, self._session.at.isoformat(), "episodic", Source(session=self._session.id))
        written = Written(name=f"reader:{self._job.id}:{self._kept}", item=item)
        before = len(self._events)
        self._drive(self._memory.write(self._session, "remark", [written]))
        return any(isinstance(each, Wrote) and any(each.ids or ()) for each in self._events[before:])

    def _drive(self, steps: Iterator[Event] | Generator[Event, None, T]) -> T:
        # a reader asks in the middle of its work, where no event can be yielded: they wait for `take_log`
        while True:
            try:
                self._events.append(next(steps))
            except StopIteration as end:
                return cast("T", end.value)

    def take_log(self) -> Iterator[Event]:
        """What was asked since it was last called. Then ends the story if the child died in a question."""
        events, self._events = self._events, []
        yield from events
        self._memory.go_on()
