"""`deprecate`: looks up first, as `curated` does, and marks what the new fact contradicts instead of replacing it.

The old memory stays in the store as one that has ended: a question for today does not meet it, and one for the day on
which it held does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.log.events import Event
from harness.log.parts import Written
from harness.model.scenario import Session
from harness.play.writing.curated import Curated
from harness.play.writing.on_commit import OnCommit
from harness.play.writing.way import retire, retire_written


class Deprecate(Curated):
    """The new memory is written first, so that a fault between the two loses none."""

    def replace(self, session: Session, written: Written, old: Sequence[str]) -> Iterator[Event]:
        yield from self.memory_session.write(session, "learn", [written])
        if self.is_stored(written.name):
            yield from retire(self.memory_session, session, "replaced", written.item.scope, old, "deprecate")


class DeprecateOnCommit(OnCommit, Deprecate):
    """Follows the cited lines at each commit, too, and marks what they no longer say."""

    def learn(self, session: Session, written: Written) -> Iterator[Event]:
        self.follow([written])
        return super().learn(session, written)

    def exchange(self, session: Session, old: Written, new: Written) -> Iterator[Event]:
        """A memory that only cites another place is replaced; one in other words is a new one."""
        if new.name == old.name:
            yield from super().exchange(session, old, new)
            return
        self.follow([new])
        yield from self.replace(session, new, self.memory_session.ids[old.name])
        if self.is_stored(old.name):
            self.heirs[old.name], self.left = new.name, True

    def retire(self, session: Session, gone: Sequence[Written]) -> Iterator[Event]:
        return retire_written(self.memory_session, session, "gone", gone, "deprecate")
