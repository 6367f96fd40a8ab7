"""What a backend captures of a transcript, judged by the memories that are listed after each session.

Every session and fact counts by itself: a later session may repeat what the first capture lost. A memory that is
unclear, or that the backend marks as superseded, asserts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import NamedTuple

from harness.log.events import Changed, Wrote
from harness.metrics.holding import Held, explain_unknown, find_state, list_told
from harness.metrics.losses import LOST
from harness.metrics.metric import StoryMetric, metric, not_applicable, proportion, unsupported
from harness.metrics.view import Record, View, once
from harness.metrics.words import Words
from harness.model.canary import memory_word
from harness.model.dates import parse_moment
from harness.model.scenario import Forget, Session
from harness.model.trial import Measure

FED = "sessions were not handed over as they were spoken (--feed native)"


class Captured(NamedTuple):
    """A session that was handed over in this line, and what tells of facts in the memory before and afterwards.

    Attributes:
        told: The facts that it tells and does not take back.
        corrected: Those that it takes back, or replaces.
        named: All that it or a session before it speaks of.
    """

    line: int
    session: Session
    told: Sequence[str]
    corrected: frozenset[str]
    named: frozenset[str]
    before: Collection[Held]
    after: Collection[Held]

    @property
    def new(self) -> list[Held]:
        return [each for each in self.after if each.line > self.line and each.session == self.session.id]


class Fact(NamedTuple):
    """A fact that a session told, and the memories that assert it afterwards."""

    name: str
    session: Captured
    carriers: Sequence[Held]

    @property
    def receipt(self) -> str:
        return f"L{self.session.line}"


@once
def find_captured(record: Record) -> list[Captured]:
    return list(_list_captured(record))


def _list_captured(record: Record) -> Iterator[Captured]:
    sessions = {f"session:{session.id}": session for session in record.scenario.sessions}
    named = frozenset[str]()
    for line, event in record.of(Wrote):
        for written in record.log.items(event):
            if (session := sessions.get(written.name)) is None:
                continue
            told = list_told(record, written)
            retracted = {name for message in session.transcript for name in message.retracts}
            replaced = {old for name in told for old in record.scenario.predecessors(name)}
            named |= {name for message in session.transcript for name in message.anchored}
            # `find_state` takes what stood before a line, so one line more holds the listing, too
            after = find_state(record, _find_listed(record, line) + 1)
            yield Captured(
                # what a session takes back and then tells once more holds when it ends
                line, session, told, frozenset(retracted | replaced) - {*told}, named,
                find_state(record, line).held.values(), after.held.values(),
            )  # fmt: skip


def _find_listed(record: Record, line: int) -> int:
    """The last of the listings that follow a capture."""
    # a capture is followed by one listing for each scope, on lines without a gap
    listed = [at for at, _ in record.of(Changed) if at > line]
    last = listed[0] if listed else len(record.log.events)
    for at in listed:
        last = at if at == last + 1 else last
    return last


def _list_facts(record: Record) -> list[Fact]:
    return [
        Fact(name, each, [held for held in each.after if name in held.asserted])
        for each in find_captured(record)
        for name in each.told
    ]


def _of_captures(measure: Callable[[Record], Measure]) -> Callable[[View], Measure]:
    @wraps(measure)
    def measure_if_captured(view: View) -> Measure:
        if view.log.trial.feed != "native":
            return not_applicable(FED)
        return explain_unknown(view) or measure(view.record)

    return measure_if_captured


NOTHING = "no session told a fact"


@_of_captures
def facts_kept(record: Record) -> Measure:
    facts = _list_facts(record)
    lost = [fact.receipt for fact in facts if not fact.carriers]
    return proportion(len(facts) - len(lost), len(facts), lost, none=NOTHING)


@_of_captures
def facts_split(record: Record) -> Measure:
    facts = _list_facts(record)
    cut = [
        fact.receipt
        for fact in facts
        if not fact.carriers and sum(fact.name in held.reading.named for held in fact.session.new) > 1
    ]
    return proportion(len(cut), len(facts), cut, none=NOTHING)


@_of_captures
def merged(record: Record) -> Measure:
    facts = [fact for fact in _list_facts(record) if fact.carriers]
    only = [fact.receipt for fact in facts if all(len(held.asserted) > 1 for held in fact.carriers)]
    return proportion(len(only), len(facts), only, none="no fact was captured")


@_of_captures
def invented(record: Record) -> Measure:
    made = [(each, held) for each in find_captured(record) for held in each.new if held.asserted]
    wrong = [f"L{held.line}" for each, held in made if held.asserted - each.named]
    return proportion(len(wrong), len(made), wrong, none="no fact was captured")


@_of_captures
def stale(record: Record) -> Measure:
    of, left = 0, list[str]()
    for each in find_captured(record):
        for name in sorted(each.corrected):
            if any(name in held.asserted for held in each.before):
                of += 1
                left += [f"L{each.line}"] * any(name in held.asserted for held in each.after)
    return proportion(len(left), of, left, none="no session corrected what a memory asserts")


@_of_captures
def sourced(record: Record) -> Measure:
    support = record.support("source")
    if not support.supported:
        return unsupported(f"source: {support.note or 'not offered'}")
    made = [(each, held) for each in find_captured(record) for held in each.new if held.asserted & {*each.told}]
    lacking = [f"L{held.line}" for each, held in made if _name_session(held) != each.session.id]
    return proportion(len(made) - len(lacking), len(made), lacking, none="no fact was captured")


@_of_captures
def dated(record: Record) -> Measure:
    support = record.support("created")
    if not support.supported:
        return unsupported(f"created: {support.note or 'not offered'}")
    made = [(each, held) for each in find_captured(record) for held in each.new if held.asserted & {*each.told}]
    wrong = [f"L{held.line}" for each, held in made if not _lies_near(parse_moment(held.hit.created), each.session.at)]
    return proportion(len(made) - len(wrong), len(made), wrong, none="no fact was captured")


@_of_captures
def secrets(record: Record) -> Measure:
    told = [(each, name) for each in find_captured(record) for name in each.told if name in record.log.opened.canaries]
    kept = [f"L{each.line}" for each, name in told if _find_secret(record, each.after, name)]
    return proportion(len(kept), len(told), kept, none="no session told a secret")


@_of_captures
def forgotten(record: Record) -> Measure:
    # listed before the deletion by id: what is gone by then went because the session asked for it
    after = [
        _find_secret(record, each.after, name)
        for each in find_captured(record)
        for step in each.session.steps
        if isinstance(step, Forget)
        for name in step.facts
        if _find_secret(record, each.before, name)
    ]
    left = [f"L{held.line}" for held in after if held]
    return proportion(len(after) - len(left), len(after), left, none="no session asked to delete what a memory held")


def _find_secret(record: Record, memories: Collection[Held], name: str) -> Held | None:
    """A memory whose text holds it, whatever else it says."""
    word = memory_word(record.log.opened.canaries[name])
    return next((held for held in memories if word in held.hit.text), None)


def _lies_near(moment: datetime | None, at: datetime) -> bool:
    """A session is told over hours, and some stores keep a day and no time."""
    return moment is not None and abs(moment - at) <= timedelta(days=1)


def _name_session(held: Held) -> str:
    # a source may name a message of its session, as SESSION#NUMBER
    return ((held.hit.source and held.hit.source.session) or "").partition("#")[0]


_BY = "by what is listed after each session that was handed over; each session that tells a fact counts"
_INSIDE = "what a capture makes of a session; what comes of it is recalled and acted on"
METRICS: tuple[StoryMetric, ...] = (
    metric(
        "capture_kept", "higher", "proportion",
        f"facts that a session tells and that a memory asserts after it / facts that a session tells; {_BY}",
        facts_kept, source="own, after HaluMem", aside=_INSIDE, words=Words(LOST, place=20), label="facts captured",
    ),
    metric(
        "capture_split", "lower", "proportion",
        "facts that a session tells, that no memory asserts after it, and of which several of its memories tell a part "
        f"/ facts that a session tells; {_BY}", facts_split, aside=_INSIDE, words=Words(LOST, place=21),
        label="facts captured in parts",
    ),
    metric(
        "capture_merged", "neither", "proportion",
        f"facts captured that are asserted only by memories of several facts / facts captured; {_BY}", merged,
        words=Words(LOST, place=22), label="facts captured together with others",
    ),
    metric(
        "capture_invented", "lower", "proportion",
        "new memories that assert a fact of which no session so far speaks / new memories that assert a fact; what is "
        f"made up beyond the story's facts is not counted; {_BY}", invented, source="own, after HaluMem",
        aside=_INSIDE, words=Words(LOST, place=23), label="memories captured of what nobody said",
    ),
    metric(
        "capture_stale", "lower", "proportion",
        "facts that a session takes back or replaces, that a memory asserted before, and that a memory still asserts "
        f"after it / such facts that a memory asserted before; {_BY}", stale, source="own, after HaluMem",
        aside=_INSIDE, words=Words(LOST, place=24), label="corrected facts still asserted after the correction",
    ),
    metric(
        "capture_sourced", "higher", "proportion",
        "new memories that assert a fact of the session and name it as their source / new memories that assert a fact "
        f"of the session; {_BY}", sourced, aside=_INSIDE, words=Words(LOST, place=25),
        label="memories that name the session they come from",
    ),
    metric(
        "capture_dated", "higher", "proportion",
        "new memories that assert a fact of the session and are dated no more than a day from its beginning / new "
        f"memories that assert a fact of the session; {_BY}", dated, aside=_INSIDE, words=Words(LOST, place=26),
        label="memories dated as the session they come from",
    ),
    metric(
        "capture_secrets", "lower", "proportion",
        f"secrets that a session tells and that a memory holds after it / secrets that a session tells; {_BY}", secrets,
        aside=_INSIDE, words=Words(LOST, place=27), label="secrets captured",
    ),
    metric(
        "capture_forgotten", "higher", "proportion",
        "secrets that no memory holds after a session in which somebody asks to delete them, before a deletion by id / "
        f"secrets that a memory held before such a session; {_BY}", forgotten, aside=_INSIDE,
        words=Words(LOST, place=28), label="secrets deleted because a session asked for it",
    ),
)  # fmt: skip
