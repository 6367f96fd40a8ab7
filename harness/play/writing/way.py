"""What every way of writing is made of: when it acts, and how it finds and deletes memories."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from harness.adapter import Item, Memory, Scope
from harness.log.events import Event, Retired, Retirement, RetiringRule
from harness.log.parts import Written
from harness.model.scenario import Session
from harness.play.readers import ReadEntry
from harness.play.session import MemorySession
from harness.play.store import Answer


class Way:
    """Adds what was learnt and changes nothing else (`append`). The others change one thing each.

    Attributes:
        looks_up: What is learnt is written one by one, each after a look-up, by `learn`.
    """

    looks_up: ClassVar[bool] = False

    def __init__(self, memory_session: MemorySession) -> None:
        self.memory_session = memory_session

    def is_stored(self, name: str) -> bool:
        """Whether what was written under this name is in the store, as far as was acknowledged."""
        return not self.memory_session.alive.isdisjoint(self.memory_session.ids.get(name, ()))

    def begin(self, session: Session) -> Iterator[Event]:
        """What the agent does when a session begins and its commit is checked out."""
        return iter(())

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        """Which of what a session tells is written now, in the order of telling."""
        # makes it a generator, as callers take its value by `yield from`
        yield from ()
        return list(written)

    def learn(self, session: Session, written: Written) -> Iterator[Event]:
        """Writes one fact after a look-up."""
        raise NotImplementedError


class Cited(NamedTuple):
    """The line that a memory names as its source, and where."""

    commit: str
    path: str
    line: int

    @classmethod
    def of(cls, written: Written) -> Cited | None:
        source = written.item.source
        if source is None or source.commit is None or source.path is None or source.line is None:
            return None
        return cls(source.commit, source.path, source.line)


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


def retire(
    memory_session: MemorySession,
    session: Session,
    rule: RetiringRule,
    scope: Scope,
    ids: Sequence[str],
    op: Retirement = "forget",
    items: Mapping[str, Item] = {},
) -> Iterator[Event]:
    """Deletes memories, marks them as ended now, or tells when they expired. What is not deleted keeps its ids: a story
    can still have it deleted.

    Args:
        items: Each as it is to be told again; `expire` alone asks for them.
    """
    if not ids:
        return

    def act(memory: Memory) -> list[bool]:
        if op == "expire":
            return [bool(memory.update(scope, each, items[each]).ids) for each in ids]
        return memory.forget(scope, ids) if op == "forget" else memory.deprecate(scope, ids, session.at.isoformat())

    known = memory_session.ids
    names = [name for name, held in known.items() if not set(ids).isdisjoint(held)]
    # what lapses was told at the write, and acknowledged with these ids
    told = Answer([True] * len(ids), None, 0.0)
    acknowledged, fault, took = told if op == "lapse" else memory_session.ask(act)
    if acknowledged is not None:
        memory_session.alive.difference_update(ids)
        memory_session.wrote()
        for name in names if op == "forget" else ():
            known[name] = tuple(each for each in known[name] if each not in ids)
    yield Retired(
        session=session.id, rule=rule, op=op, names=tuple(names), ids=tuple(ids),
        said=None if acknowledged is None else tuple(acknowledged), fault=fault, took=took,
    )  # fmt: skip
    memory_session.go_on()


def retire_written(
    memory_session: MemorySession,
    session: Session,
    rule: RetiringRule,
    written: Sequence[Written],
    op: Retirement = "forget",
) -> Iterator[Event]:
    """Retires what was stored of these, one call for each scope."""
    for scope in dict.fromkeys(each.item.scope for each in written):
        own = [each for each in written if each.item.scope == scope]
        items = {memory_id: each.item for each in own for memory_id in memory_session.ids.get(each.name, ())}
        yield from retire(memory_session, session, rule, scope, [*items], op, items)
