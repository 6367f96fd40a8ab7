"""`reviewed`: what a session is not sure of waits until it is confirmed.

It is confirmed when another session tells the same, or when the line that it cites still stands at a later commit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple

from harness.log.events import Event, Withheld
from harness.log.parts import Written
from harness.model.scenario import Session
from harness.play.session import MemorySession
from harness.play.writing.way import Cited, Way

SURE = 0.5
"""The confidence from which a memory is written at once; one that has none is."""


class Waiting(NamedTuple):
    """What was told, and in which session."""

    since: str
    written: Written


class Reviewed(Way):
    """Keeps unsure memories out of the store, and writes each once it is confirmed."""

    def __init__(self, memory_session: MemorySession) -> None:
        super().__init__(memory_session)
        self.waiting: list[Waiting] = []

    def begin(self, session: Session) -> Iterator[Event]:
        yield from self.memory_session.write(session, "remark", self.release(lambda each: self.stands(each, session)))

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        read = self.memory_session.tools.classifier.read
        unsure = [each for each in written if each.item.confidence is not None and each.item.confidence < SURE]
        # a lure in the noise may assert the same fact, and confirms nothing
        told = frozenset(fact for each in written if not each.noise for fact in read(each.item.text).asserted)
        confirmed = self.release(
            lambda each: each.since != session.id and bool(read(each.written.item.text).asserted & told)
        )
        if unsure:
            yield Withheld(session=session.id, at=session.at, items=tuple(unsure))
        self.waiting += [Waiting(session.id, each) for each in unsure]
        return [*confirmed, *(each for each in written if each not in unsure)]

    def release(self, is_confirmed: Callable[[Waiting], bool]) -> list[Written]:
        """What waits no longer."""
        found = [each for each in self.waiting if is_confirmed(each)]
        self.waiting = [each for each in self.waiting if each not in found]
        return [each.written for each in found]

    def stands(self, waiting: Waiting, session: Session) -> bool:
        """Whether a later commit still says the line that it cites."""
        cited, repo = Cited.of(waiting.written), self.memory_session.tools.repo
        if cited is None or cited.commit == session.commit or not repo.contains(session.commit, cited.commit):
            # on a branch that lacks the commit, nothing confirms its line
            return False
        return repo.trace(*cited, session.commit).state in ("same", "moved", "renamed")
