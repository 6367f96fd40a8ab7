"""`curated`: looks up first, pays for it, then supersedes what was found to be contradicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.log.events import Event
from harness.log.parts import Written
from harness.model import canary
from harness.model.scenario import Session
from harness.play.readers import ReadEntry, is_for
from harness.play.session import Query
from harness.play.writing.way import Way, locate


class Curated(Way):
    """Understands every memory that the look-up brings. What it does not bring stays: an update omission."""

    looks_up = True

    def learn(self, session: Session, written: Written) -> Iterator[Event]:
        memory_session, scope = self.memory_session, written.item.scope
        fact = written.name.removeprefix("fact:")
        text = canary.query(written.item.text, memory_session.part.canaries.get(fact, ""))
        found = yield from memory_session.recall(Query("lookup", fact, text, scope), session)
        # what has a successor already is not replaced once more
        usable = [entry for entry in found if not entry.hit.superseded and is_for(entry, scope)]
        old = yield from locate(memory_session, self.list_replaced(written, usable), scope)
        yield from self.replace(session, written, old)

    def replace(self, session: Session, written: Written, old: Sequence[str]) -> Iterator[Event]:
        """Writes the new memory in the place of the old ones."""
        return self.memory_session.write(session, "learn", [written], replaces=old)

    def list_replaced(self, written: Written, usable: Iterable[ReadEntry]) -> list[ReadEntry]:
        """The memories that the new one replaces: those that assert a predecessor of the fact, and not the fact."""
        fact = written.name.removeprefix("fact:")
        before = set(self.memory_session.scenario.predecessors(fact))
        read = self.memory_session.tools.classifier.read
        return [
            entry
            for entry in usable
            if before and fact not in (asserted := read(entry.text).asserted) and asserted & before
        ]
