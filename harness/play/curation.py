"""The curated write policy: look up first, pay for it, then supersede what was found to be contradicted."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

from harness.adapter import Scope
from harness.log.events import Event, Written
from harness.model import canary
from harness.model.facts import Fact
from harness.model.scenario import Session
from harness.play.readers import ReadEntry, is_for
from harness.play.session import MemorySession, Query


def curate(memory_session: MemorySession, session: Session, fact: Fact, written: Written) -> Iterator[Event]:
    """Writes one fact. What the look-up does not bring is not superseded: an update omission, then it adds."""
    text = canary.query(written.item.text, memory_session.part.canaries.get(fact.id, ""))
    scope = written.item.scope
    found = yield from memory_session.recall(Query("lookup", fact.id, text, scope), session)
    stale = yield from _find_contradicted(memory_session, fact, found, scope)
    yield from memory_session.write(session, "learn", [written], replaces=stale)


def _find_contradicted(
    memory_session: MemorySession, fact: Fact, found: Iterable[ReadEntry], scope: Scope
) -> Generator[Event, None, list[str]]:
    """Ids of the memories found that hold where the fact does and assert a predecessor of it."""
    before = set(memory_session.scenario.predecessors(fact.id))
    if not before:
        return []
    contradicted = []
    for entry in found:
        reading = memory_session.tools.classifier.read(entry.text)
        usable = not entry.hit.superseded and is_for(entry, scope)
        if usable and fact.id not in reading.asserted and reading.asserted & before:
            contradicted.append(entry)
    return (yield from locate(memory_session, contradicted, scope))


def locate(
    memory_session: MemorySession, found: Iterable[ReadEntry], scope: Scope
) -> Generator[Event, None, list[str]]:
    """Ids of the memories that these entries are.

    A hit that holds more than the entry (a whole file) is not replaced: the memory inside it is looked up in the
    listing.
    """
    ids: list[str] = []
    inside: list[str] = []
    for entry in found:
        if entry.sole:
            ids.append(entry.hit.memory_id)
        else:
            inside.append(entry.text)
    if inside and memory_session.supports("entries"):
        ids += yield from memory_session.entries(scope, "lookup", lambda hit: any(text in hit.text for text in inside))
    return list(dict.fromkeys(ids))
