"""Which of the story's facts a memory held at a line of the log, and when these facts were written.

If a backend captures sessions itself, the listing after each session shows it. If it stores texts word for word, it
follows from the acknowledged writes, without those that were deleted or replaced since.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from harness.adapter import Hit, Scope
from harness.log.blobs import unpack
from harness.log.events import Changed, Event, Forgot, Retired, Wrote
from harness.log.parts import HITS, Written
from harness.metrics.metric import failed, not_applicable, unsupported
from harness.metrics.view import Record, View, once
from harness.model.trial import NotMeasured
from harness.text.classify import Reading

WORDS_ITS_OWN = "a model inside words what it is told, and what it stored is listed of captured sessions alone"
UNSPOKEN = "the story is not told as it was spoken"


class Held(NamedTuple):
    """A memory that tells at least a part of a fact. `line` is the first that shows it as it is, in this session."""

    line: int
    session: str
    hit: Hit
    reading: Reading

    @property
    def asserted(self) -> frozenset[str]:
        return frozenset() if self.reading.unclear or self.hit.superseded else self.reading.asserted


class State(NamedTuple):
    """All of them from this line on, by scope and id."""

    line: int
    held: Mapping[tuple[Scope, str], Held]


class Telling(NamedTuple):
    """A fact is told: in which line, and on which date."""

    line: int
    at: str
    session: str


def explain_unknown(view: View) -> NotMeasured | None:
    """Why nobody knows what a memory made of what was spoken."""
    return explain_unlisted(view) if view.scenario.spoken else not_applicable(UNSPOKEN)


def explain_unlisted(view: View) -> NotMeasured | None:
    """Why nobody knows what a memory held."""
    record = view.record
    if view.log.trial.feed == "native":
        if not record.supports("entries"):
            return unsupported(f"entries: {record.support('entries').note or 'not offered'}")
        changes = record.of(Changed)
        faults = [event.fault for _, event in changes if event.fault]
        if faults:
            return failed(f"entries: {faults[0].message}")
        if not changes:
            return NotMeasured(status="not-run", reason="nothing was listed after a session")
    elif record.supports("extracts"):
        return not_applicable(WORDS_ITS_OWN)
    return None


@once
def find_tellings(record: Record) -> Mapping[str, list[Telling]]:
    """Fact -> when it was told, acknowledged or not."""
    found = defaultdict[str, list[Telling]](list)
    for line, event in record.of(Wrote):
        for written in record.log.items(event):
            for name in () if written.noise else list_told(record, written):
                found[name].append(Telling(line, written.item.at, event.session))
    return found


def list_told(record: Record, written: Written) -> list[str]:
    """The facts that an item asserts. Of a session that was handed over as it was spoken: those that it tells and does
    not take back."""
    if not written.said:
        reading = record.classifier.hear(written.item.text)
        return [] if reading.unclear else sorted(reading.asserted)
    session = next(each for each in record.scenario.sessions if written.name == f"session:{each.id}")
    return [name for name, holds in session.list_told().items() if holds]


@once
def find_states(record: Record) -> list[State]:
    """In the order of the log."""
    states, held = [State(0, {})], dict[tuple[Scope, str], Held]()
    native = record.log.trial.feed == "native"
    for line, event in enumerate(record.log.events, 1):
        gone = frozenset(_list_gone(event))
        kept = {key: each for key, each in held.items() if key[1] not in gone}
        if isinstance(event, Changed):
            # a listing is of one scope, and says nothing of the same id in another
            kept = {key: each for key, each in kept.items() if key[0] != event.scope or key[1] not in event.gone}
            kept |= _read(record, line, event.session, ((event.scope, hit) for hit in _list_hits(record, event)))
        elif isinstance(event, Wrote) and not native:
            kept |= _read(record, line, event.session, _list_written(record, event))
        elif isinstance(event, Retired) and event.op != "forget":
            ended = list_confirmed(event)
            kept |= {key: _mark(each) for key, each in kept.items() if key[1] in ended}
        # a state for each change, not for each line: `find_state` searches them for every session and decision
        if kept != held:
            held = kept
            states.append(State(line, held))
    return states


def list_confirmed(event: Forgot | Retired) -> list[str]:
    """The ids of which the backend says that it was done."""
    return [name for name, said in zip(event.ids, event.said or (), strict=False) if said]


def _list_hits(record: Record, event: Changed) -> tuple[Hit, ...]:
    return unpack(record.log.blobs, HITS, event.hits)


def _list_gone(event: Event) -> Iterator[str]:
    if isinstance(event, Wrote) and event.ids is not None:
        yield from event.replaces
    elif isinstance(event, Forgot) or (isinstance(event, Retired) and event.op == "forget"):
        yield from list_confirmed(event)


def _list_written(record: Record, event: Wrote) -> Iterator[tuple[Scope, Hit]]:
    # a write of unknown outcome has no ids
    for written, ids in zip(record.log.items(event), event.ids or (), strict=False):
        item = written.item
        for name in () if written.noise else ids:
            yield item.scope, Hit(name, item.text, source=item.source, created=item.at, scope=item.scope)


def _read(record: Record, line: int, session: str, hits: Iterable[tuple[Scope, Hit]]) -> dict[tuple[Scope, str], Held]:
    read = (((place, hit.memory_id), Held(line, session, hit, record.classifier.hear(hit.text))) for place, hit in hits)
    return {key: each for key, each in read if each.reading.named}


def _mark(held: Held) -> Held:
    return held._replace(hit=replace(held.hit, superseded=True))


def find_state(record: Record, line: int) -> State:
    """The last one before a line."""
    # the first state has line 0, so that one always stands before
    states = find_states(record)
    return states[bisect_left(states, line, key=attrgetter("line")) - 1]
