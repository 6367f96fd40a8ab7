"""Verdicts and filters of a backend, compared with the story: do they hit stale memories, and only these?

Each hit counts that a reader was shown in answer to a probe (not of history) or for a decision. It is stale if it
asserts a rule that held when it was written and was replaced or ended since, and current if all that it asserts holds.
Statements that were false from the start, that hold elsewhere or that were deleted are neither. `unverified` claims
nothing, so it is no warning.

What a verdict or a filter withholds is counted of decisions, by the way of reading: the log holds each question without
a filter and, for `filtered`, the same one with it. What a backend leaves out of both is seen by nobody, and may as well
not have been found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple

from harness.adapter import Hit, Scope
from harness.log.events import Forgot, Listed, Recalled, Resolved, Retired, Wrote
from harness.metrics.metric import StoryMetric, metric, not_applicable, proportion, unsupported
from harness.metrics.seen import RecalledEntry
from harness.metrics.view import Record, View, once
from harness.metrics.words import STALE, Words
from harness.model.dates import parse_moment
from harness.model.scenario import Scenario
from harness.model.trial import SCRIPTED, Measure

_MOVED = ("moved", "renamed")


class _Shown(NamedTuple):
    """A hit as a reader met it, and how what it asserts stood then.

    Attributes:
        moved: The line that it cites stands elsewhere since.
        decision: What was asked for; empty: a probe asked.
    """

    hit: Hit
    standing: Literal["stale", "current"]
    moved: bool
    receipt: str
    decision: str


@once
def _list_shown(record: Record) -> list[_Shown]:
    written = _find_dates(record)
    moved = {(each.source, event.head) for _, event in record.of(Resolved) for each in event.sources
             if each.state in _MOVED}  # fmt: skip
    sessions = {session.id: session for session in record.scenario.sessions}
    found = []
    for line, event in _list_recalls(record):
        session = sessions[event.session]
        place = record.scenario.place(session)
        # by identity, as two hits of one answer may be equal
        for _, entries in groupby(record.entries(line, event)[: event.shown], lambda entry: id(entry.hit)):
            first, *rest = entries
            told = written.get(first.hit.memory_id)
            if standing := _find_standing(record.scenario, (first, *rest), place, event.at, told):
                here = (first.hit.source, session.commit) in moved
                decision = event.ref if event.purpose == "decision" else ""
                found.append(_Shown(first.hit, standing, here, first.receipt, decision))
    return found


def _list_recalls(record: Record) -> Iterator[tuple[int, Recalled]]:
    history = {probe.id for _, probe in record.scenario.probes() if probe.history}
    yield from (each for each in record.recalls("probe") if each[1].ref not in history)
    yield from record.recalls("decision")


def _find_dates(record: Record) -> dict[str, datetime]:
    """Id -> when it was written first: a store may know a text that it is told again."""
    found: dict[str, datetime] = {}
    for _, event in record.of(Wrote):
        for written, ids in zip(record.log.items(event), event.ids or (), strict=False):
            if at := parse_moment(written.item.at):
                # the right side wins, and holds the earlier dates
                found = dict.fromkeys(ids, at) | found
    return found


def _find_standing(
    scenario: Scenario, entries: Sequence[RecalledEntry], place: Scope, at: datetime, told: datetime | None
) -> Literal["stale", "current"] | None:
    """How all that one hit asserts stands; None if it is neither, or unclear.

    Args:
        told: When it was written; None: nobody knows, and it held then.
    """
    if any(entry.raw.unclear for entry in entries):
        return None
    facts = frozenset[str]().union(*(entry.raw.asserted for entry in entries))
    ended = {fact for fact in facts if scenario.find_standing(fact, at, place) == "superseded"}
    if any(told is None or scenario.find_standing(fact, told, place) != "superseded" for fact in ended):
        return "stale"
    holds = facts and all(scenario.find_standing(fact, at, place) == "current" for fact in facts)
    return "current" if holds else None


def _count(view: View, standing: str, *, warned: bool, moved: bool = False) -> Measure:
    """How many of these hits the backend warns of; receipts show those for which it should be otherwise.

    Args:
        warned: Whether a warning is right.
        moved: Only those whose cited line moved.
    """
    if refused := _explain_unsupported(view):
        return refused
    shown = [each for each in _list_shown(view.record) if each.standing == standing and (each.moved or not moved)]
    wrong = [each.receipt for each in shown if each.hit.warned != warned]
    hits = len(shown) - len(wrong) if warned else len(wrong)
    none = view.record.explain_uncontrolled("no such memory was shown", "recall", "remember", "supersede")
    return proportion(hits, len(shown), wrong, none=none)


def _explain_unsupported(view: View) -> Measure | None:
    support = view.record.support("verdict")
    return None if support.supported else unsupported(support.note or "it says nothing of what it brings")


def stale_warned(view: View) -> Measure:
    return _count(view, "stale", warned=True)


def current_warned(view: View) -> Measure:
    return _count(view, "current", warned=False)


def moved_warned(view: View) -> Measure:
    return _count(view, "current", warned=False, moved=True)


def _count_withheld(view: View, standing: str, *, rightly: bool) -> Measure:
    """How many of these hits a reader is not to use. Where the filtered question failed, the worst is assumed."""
    if view.log.trial.reader != SCRIPTED:
        return not_applicable("a model decides which warnings it heeds")
    filtered = view.read_policy == "filtered"
    # a filter withholds without a verdict
    if not filtered and (refused := _explain_unsupported(view)):
        return refused
    answers = {event.ref: event for _, event in view.record.recalls("filtered")} if filtered else {}
    cases = [
        (each, answers.get(each.decision))
        for each in _list_shown(view.record)
        # where the same question was not asked with the filter, nobody knows what it withholds
        if each.standing == standing and each.decision and (not filtered or each.decision in answers)
    ]
    told = [
        (each, not rightly if answer and answer.fault else _is_withheld(view, each.hit, answer))
        for each, answer in cases
    ]
    wrong = [each.receipt for each, withheld in told if withheld != rightly]
    none = view.record.explain_uncontrolled("no such memory was shown", "recall", "remember", "supersede")
    unanswered = sum(bool(answer and answer.fault) for _, answer in cases)
    return proportion(sum(withheld for _, withheld in told), len(told), wrong, none=none, unanswered=unanswered)


def _is_withheld(view: View, hit: Hit, filtered: Recalled | None) -> bool:
    """`filtered`: the same question with the filter."""
    if filtered and all(each.memory_id != hit.memory_id for each in view.log.find_answer(filtered).hits):
        return True
    return hit.warned if view.read_policy == "careful" else bool(hit.superseded)


def stale_withheld(view: View) -> Measure:
    return _count_withheld(view, "stale", rightly=True)


def current_withheld(view: View) -> Measure:
    return _count_withheld(view, "current", rightly=False)


def verdicts_naming_nothing(view: View) -> Measure:
    if refused := _explain_unsupported(view):
        return refused
    known, named, wrong = set[str](), 0, list[str]()
    """Ids that were given or brought so far, without those that were deleted since."""
    for line, event in enumerate(view.log.events, 1):
        if isinstance(event, Wrote):
            known |= {name for ids in event.ids or () for name in ids}
        elif isinstance(event, Forgot) or (isinstance(event, Retired) and event.op == "forget"):
            known -= {name for name, gone in zip(event.ids, event.said or (), strict=False) if gone}
        elif isinstance(event, Listed):
            known |= {hit.memory_id for hit in view.log.hits(event)}
        elif isinstance(event, Recalled):
            hits = view.log.find_answer(event).hits
            # before the verdicts are judged: one may name another hit of the same answer
            known |= {hit.memory_id for hit in hits}
            by = [hit.verdict.by for hit in hits if hit.verdict and hit.verdict.by is not None]
            named += len(by)
            wrong += [f"L{line}"] * sum(name not in known for name in by)
    return proportion(len(wrong), named, wrong, none="no verdict names another memory")


_SHOWN = "what memory says of itself; the columns count what is done with it"
_USED = "what keeps a memory from a reader; the columns count what is done with what is left"
_WITHHELD = (
    "that the same question with the filter does not bring (filtered), of which the backend warns (careful), or that "
    "it marks as superseded (every way) / such hits that the question for a decision brings without a filter"
)
_OF = "that readers were shown (probes but those of history, decisions)"
METRICS: tuple[StoryMetric, ...] = (
    metric(
        "stale_warned", "higher", "proportion",
        f"hits whose assertion held when they were written and does not any more, and that the backend itself calls "
        f"stale, superseded, expired or contradicted / such hits {_OF}; only backends that give verdicts",
        stale_warned, aside=_SHOWN, words=Words(STALE, place=80), label="stale memories warned of",
        otherwise="stale memories served without a warning",
    ),
    metric(
        "current_warned", "lower", "proportion",
        f"hits all of whose assertions hold, and that the backend itself calls stale, superseded, expired or "
        f"contradicted / such hits {_OF}; only backends that give verdicts",
        current_warned, aside=_SHOWN, words=Words(STALE, place=81), label="current memories warned of",
    ),
    metric(
        "moved_warned", "lower", "proportion",
        "as current_warned, of hits whose cited line stands elsewhere at the checkout, in the same or a renamed file",
        moved_warned, aside=_SHOWN, words=Words(STALE, place=82), label="memories warned of as their line moved",
    ),
    metric(
        "stale_withheld", "higher", "proportion",
        f"hits whose assertion held when they were written and does not any more, and {_WITHHELD}; without a filter, "
        "only backends that give verdicts", stale_withheld, reads=True, aside=_USED,
        words=Words(STALE, place=84, contrasted=26), label="stale memories withheld from the reader",
        otherwise="stale memories that reach the reader",
    ),
    metric(
        "current_withheld", "lower", "proportion",
        f"hits all of whose assertions hold, and {_WITHHELD}; without a filter, only backends that give verdicts",
        current_withheld, reads=True, aside=_USED, words=Words(STALE, place=85, contrasted=27),
        label="current memories withheld from the reader",
    ),
    metric(
        "verdicts_naming_nothing", "lower", "proportion",
        "verdicts that name an id which was neither acknowledged nor brought before, or was deleted / verdicts that "
        "name an id", verdicts_naming_nothing, version=2, aside=_SHOWN, words=Words(STALE, place=83),
        label="verdicts that name no memory",
    ),
)  # fmt: skip
