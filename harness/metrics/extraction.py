"""What a model inside the backend makes of its input: facts kept, merged, invented, or kept although they ended.

Judged by classifying the memories listed at the end of the story, never by id: one item may have become several
memories, and one memory may stand for several items. An unclear memory asserts nothing; one that the backend marks as
superseded only mentions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import wraps
from typing import NamedTuple

from harness.log.events import Listed, Wrote
from harness.metrics.metric import StoryMetric, failed, metric, not_applicable, proportion, unsupported
from harness.metrics.view import Record, View, once
from harness.model.trial import Measure

VERBATIM = "it stores what it is told, word for word"


class Live(NamedTuple):
    """A memory in a listing at the end of the story: the listing's line, and the facts that it asserts."""

    line: int
    asserted: frozenset[str]


class Ending(NamedTuple):
    """What there was at the end.

    Attributes:
        told: Fact -> line of its first telling, acknowledged or not.
        together: The facts that one item asserted.
        named: Every fact of which some item told at least a part.
    """

    live: tuple[Live, ...]
    told: Mapping[str, int]
    together: frozenset[frozenset[str]]
    named: frozenset[str]


@once
def find_ending(record: Record) -> Ending:
    live: list[Live] = []
    told: dict[str, int] = {}
    together: set[frozenset[str]] = set()
    named: set[str] = set()
    for line, event in record.of(Wrote):
        for written in record.log.items(event):
            kind, _, fact = written.name.partition(":")
            if kind == "fact":
                told.setdefault(fact, line)
            reading = record.classifier.hear(written.item.text)
            together.add(reading.asserted)
            named.update(reading.named)
    for line, listed in record.of(Listed):
        if listed.stage == "end":
            for hit in record.log.hits(listed):
                reading = record.classifier.hear(hit.text)
                reading = reading.demote() if hit.superseded else reading
                live.append(Live(line, frozenset() if reading.unclear else reading.asserted))
    return Ending(tuple(live), told, frozenset(together), frozenset(named))


def _holds(record: Record, fact: str) -> bool:
    """Whether a fact still held, in its own place, when the story ended."""
    home = record.scenario.home(record.scenario.by_id[fact])
    return record.scenario.find_standing(fact, record.scenario.sessions[-1].at, home) == "current"


def _carriers(found: Ending) -> Mapping[str, list[Live]]:
    carriers: defaultdict[str, list[Live]] = defaultdict(list)
    for live in found.live:
        for fact in live.asserted:
            carriers[fact].append(live)
    return carriers


def _list_told(record: Record, *, held: bool) -> list[str]:
    """The facts that were told and held at the end, or those that did not."""
    return [fact for fact in find_ending(record).told if _holds(record, fact) == held]


def _needs_listing(measure: Callable[[Record], Measure]) -> Callable[[View], Measure]:
    """Asked of backends that extract and can list what they hold; a listing that failed says nothing."""

    @wraps(measure)
    def measure_if_listed(view: View) -> Measure:
        record = view.record
        if not record.supports("extracts"):
            return not_applicable(VERBATIM)
        if not record.supports("entries"):
            return unsupported(f"entries: {record.support('entries').note or 'not offered'}")
        listings = [event for _, event in record.of(Listed) if event.stage == "end"]
        faults = [event.fault for event in listings if event.fault is not None]
        if faults or not listings:
            return failed(f"entries: {faults[0].message}" if faults else "nothing was listed at the end")
        return measure(record)

    return measure_if_listed


@_needs_listing
def facts_survived(record: Record) -> Measure:
    found, told = find_ending(record), _list_told(record, held=True)
    carriers = _carriers(found)
    lost = [f"L{found.told[fact]}" for fact in told if fact not in carriers]
    return proportion(len(told) - len(lost), len(told), lost, none="no fact that was told held at the end")


@_needs_listing
def facts_merged(record: Record) -> Measure:
    found = find_ending(record)
    carriers = _carriers(found)

    def merged(live: Live) -> bool:
        # what one item told together the backend did not put together
        return not any(live.asserted <= told for told in found.together)

    survived = [fact for fact in _list_told(record, held=True) if fact in carriers]
    only = [fact for fact in survived if all(merged(live) for live in carriers[fact])]
    lines = [f"L{found.told[fact]}" for fact in only]
    return proportion(len(only), len(survived), lines, none="no fact survived")


@_needs_listing
def facts_invented(record: Record) -> Measure:
    found = find_ending(record)
    invented = [f"L{live.line}" for live in found.live if live.asserted - found.named]
    none = record.explain_uncontrolled("nothing was left at the end", "remember", "supersede")
    return proportion(len(invented), len(found.live), invented, none=none)


@_needs_listing
def facts_kept_stale(record: Record) -> Measure:
    broken = {each.name for _, event in record.of(Wrote) if event.fault for each in record.log.items(event)}
    carriers = _carriers(find_ending(record))
    there = record.stored.keys() | carriers.keys()  # a write that failed may have been taken in all the same
    ended = [fact for fact in _list_told(record, held=False) if fact in there or f"fact:{fact}" not in broken]
    kept = [fact for fact in ended if fact in carriers]
    lines = [f"L{carriers[fact][0].line}" for fact in kept]
    none = record.explain_uncontrolled("no fact that was told was replaced, ended or deleted", "remember", "supersede")
    return proportion(len(kept), len(ended), lines, none=none)


_WHERE = "by classifying what is listed in the scopes of the story's facts at its end; unclear memories assert nothing"
_INSIDE = "what a model inside makes of what it is told; what comes of it is recalled and acted on"
METRICS: tuple[StoryMetric, ...] = (
    metric(
        "facts_survived", "higher", "proportion",
        f"facts told, acknowledged or not, that still hold and that some live memory asserts / such facts; {_WHERE}",
        facts_survived, whole=True, aside=_INSIDE,
        label="facts that survived",
    ),
    metric(
        "facts_merged", "neither", "proportion",
        "facts survived that are asserted only by memories that assert several facts which no one item told together / "
        f"facts survived; {_WHERE}", facts_merged, whole=True,
        label="facts merged into one memory",
    ),
    metric(
        "facts_invented", "lower", "proportion",
        "live memories that assert a fact of the story of which no item had told / live memories; what is made up "
        f"beyond the story's facts cannot be told from noise and is not counted; {_WHERE}", facts_invented, whole=True,
        aside=_INSIDE,
        label="facts that nobody stated",
    ),
    metric(
        "facts_kept_stale", "lower", "proportion",
        "facts told that were replaced, had ended or were to be deleted, and that some live memory still asserts "
        f"without the backend's superseded mark / such facts; {_WHERE}", facts_kept_stale, source="own, after HaluMem",
        whole=True, aside=_INSIDE, version=3,
        label="replaced facts still asserted",
    ),
)  # fmt: skip
