"""After a fact was replaced: is the old one still served as if it held?

An update is a phrasing of a probe (not of history) whose gold fact replaced others. It is eligible if one of those was
recalled by an earlier probe for it, and the write of the gold fact was acknowledged: only then does the absence of the
old fact mean something. A memory that never knew the old fact has no eligible update, and is not clean.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Literal, get_args

from harness.log.events import Retired, Wrote
from harness.metrics.metric import StoryMetric, metric, not_applicable, proportion, unsupported
from harness.metrics.seen import PhrasingSeen, RecalledEntry
from harness.metrics.view import Record, View, once
from harness.metrics.words import STALE, Between, Progress, Words
from harness.model.trial import SCRIPTED, Better, Measure, NotMeasured

UpdateOutcome = Literal[
    "current_only", "both_flagged", "both_current_first", "both_stale_first", "stale_only", "neither", "failed"
]
OUTCOMES: tuple[UpdateOutcome, ...] = get_args(UpdateOutcome)
CONTROLS = ("remember", "supersede", "recall")
STALE_EXPOSURE = "stale_exposure"
NONE_ELIGIBLE = "no update is eligible: the old fact was never recalled before, or the new one never stored"


@dataclass(frozen=True)
class Update:
    """An eligible update.

    Attributes:
        stale: Entries within the budget that assert an old fact, marked as superseded or not.
    """

    question: PhrasingSeen
    outcome: UpdateOutcome
    stale: tuple[RecalledEntry, ...]

    @property
    def unmarked(self) -> tuple[RecalledEntry, ...]:
        return tuple(entry for entry in self.stale if not entry.marked)


@once
def updates(record: Record) -> list[Update]:
    """Every eligible update with its outcome."""
    before = _before(record)
    found = []
    for question in _candidates(record):
        eligible = [
            (fact, before[fact]) for fact in question.probe.gold if before[fact] and _eligible(record, question, fact)
        ]
        if eligible:
            current = {fact for fact, _ in eligible}
            old = {name for _, names in eligible for name in names} - set(question.probe.gold)
            found.append(_update(question, current, old))
    return found


@once
def _before(record: Record) -> dict[str, tuple[str, ...]]:
    return {name: record.scenario.predecessors(name) for name in record.scenario.by_id}


@once
def _candidates(record: Record) -> list[PhrasingSeen]:
    before = _before(record)
    return [q for q in record.known_questions if any(before[fact] for fact in q.probe.gold)]


def _eligible(record: Record, question: PhrasingSeen, fact: str) -> bool:
    """A probe that was not reached is one only if all that it needs had happened before the end."""
    end = inf if question.line is None else question.line
    # a fact that was never stored counts as one that came too late
    if record.stored.get(fact, end) >= end:
        return False
    old = set(record.scenario.predecessors(fact))
    return any(
        earlier.line is not None
        and earlier.line < end
        and not earlier.fault
        and any(entry.asserted & old & set(earlier.probe.gold) for entry in earlier.window)
        for earlier in record.known_questions
    )


def _update(question: PhrasingSeen, current: Collection[str], old: Collection[str]) -> Update:
    entries = () if question.fault else question.window
    # the raw reading, as that of an entry under the backend's own mark asserts nothing
    stale = tuple(entry for entry in entries if not entry.raw.unclear and entry.raw.asserted.intersection(old))
    new = [entry for entry in entries if entry.asserted.intersection(current)]
    return Update(question, _outcome(question, new, stale), stale)


def _outcome(question: PhrasingSeen, new: Collection[RecalledEntry], stale: Collection[RecalledEntry]) -> UpdateOutcome:
    if question.fault:
        return "failed"
    if not new:
        return "stale_only" if stale else "neither"
    if not stale:
        return "current_only"
    unmarked = [entry.position for entry in stale if not entry.marked]
    if not unmarked:
        return "both_flagged"
    first = min(entry.position for entry in new)
    # strictly: in one entry with an old rule the new one is not first
    return "both_current_first" if first < min(unmarked) else "both_stale_first"


def update_outcome(view: View, outcome: UpdateOutcome) -> Measure:
    """What was not answered is no share of what should not be: it counts where a current fact is wanted."""
    found = updates(view.record)
    chosen = [update for update in found if update.outcome == outcome]
    receipts = [line for update in chosen for line in update.question.receipt]
    if outcome == "failed":
        return proportion(len(chosen), len(found), receipts, none=_none(view))
    failing = [update for update in found if update.outcome == "failed"]
    if failing and len(failing) == len(found):
        lines = [line for update in failing for line in update.question.receipt]
        return proportion(0, len(found), lines, none="", unanswered=len(found))
    of = len(found) if outcome == "current_only" else len(found) - len(failing)
    return proportion(len(chosen), of, receipts, none=_none(view))


def _none(view: View) -> NotMeasured:
    return view.record.explain_uncontrolled(NONE_ELIGIBLE, *CONTROLS)


def updates_eligible(view: View) -> Measure:
    return proportion(
        len(updates(view.record)), len(_candidates(view.record)), none="the scenario probes no replaced fact"
    )


# --- exposure ---------------------------------------------------------------------------------------------------------


def _count_exposed(view: View, stale: Callable[[Update], Collection[RecalledEntry]]) -> Measure:
    found = updates(view.record)
    shown = [update for update in found if update.outcome == "failed" or stale(update)]
    receipts = [
        receipt
        for update in shown
        for receipt in ([entry.receipt for entry in stale(update)] or update.question.receipt)
    ]
    unanswered = sum(update.outcome == "failed" for update in found)
    return proportion(len(shown), len(found), receipts, none=_none(view), unanswered=unanswered)


def stale_exposure(view: View) -> Measure:
    return _count_exposed(view, lambda update: update.stale)


def stale_exposure_upper(view: View) -> Measure:
    """The other bound of exposure: unclear entries count as asserting the old facts that they assert."""

    def stale(update: Update) -> Collection[RecalledEntry]:
        old = {name for fact in update.question.probe.gold for name in view.scenario.predecessors(fact)}
        old -= set(update.question.probe.gold)
        return [entry for entry in update.question.window if entry.raw.asserted & old]

    return _count_exposed(view, stale)


def unflagged_stale_exposure(view: View) -> Measure:
    return _count_exposed(view, lambda update: update.unmarked)


def stale_first(view: View) -> Measure:
    if not view.record.supports("ranked"):
        return not_applicable(f"unranked: {view.record.support('ranked').note or 'no order'}")
    return _count_exposed(
        view, lambda update: update.stale if update.outcome in ("both_stale_first", "stale_only") else ()
    )


LOOKED_UP = ("curated", "matched", "deprecate", "deprecate-on-commit")

# --- who looks up before writing ------------------------------------------------------------------------------------


def update_omission(view: View) -> Measure:
    record = view.record
    if view.log.trial.write_policy not in LOOKED_UP:
        return not_applicable("only who looks up finds the old rule")
    if view.log.trial.writer != SCRIPTED:
        return not_applicable("a model decides what is replaced: writer_stale_left")
    if not record.supports("supersede"):
        return unsupported(record.support("supersede").note or "cannot replace a memory")
    before, held = _before(record), dict[str, frozenset[str]]()
    receipt: str | None = None
    lookups = {event.ref: line for line, event in record.recalls("lookup")}
    due, missed, ended = 0, list[str](), frozenset[str]()
    """The lines of look-ups whose write replaced no old rule, and after which none was deprecated."""
    for line, event in enumerate(record.log.events, 1):
        if isinstance(event, Wrote):
            items = record.log.items(event)
            facts = [written.name.removeprefix("fact:") for written in items]
            ended = frozenset(old for fact in facts for old in before.get(fact, ()))
            receipt = None
            if event.purpose == "learn" and any(record.stored.get(old, line) < line for old in ended):
                due += 1
                if not _reaches(event.replaces, held, ended):
                    missed.append(receipt := f"L{lookups.get(facts[0], line)}")
            for written, ids in zip(items, event.ids or (), strict=False):
                held |= dict.fromkeys(ids, record.classifier.read(written.item.text).asserted)
        # an old rule may also be marked as ended right after its successor was written
        elif isinstance(event, Retired) and event.rule == "replaced" and receipt and _reaches(event.ids, held, ended):
            missed.remove(receipt)
            receipt = None
    none = view.record.explain_uncontrolled("no fact was replaced while its predecessor was stored", *CONTROLS)
    return proportion(len(missed), due, missed, none=none)


def _reaches(ids: Sequence[str], held: Mapping[str, frozenset[str]], ended: frozenset[str]) -> bool:
    """Whether one of these memories asserts what ended; one that a backend renamed does, as it was found."""
    return any(held.get(each, ended) & ended for each in ids)


_OF = " / eligible updates (old fact recalled by an earlier probe for it, new one acknowledged)"
_MEANING: dict[UpdateOutcome, tuple[Better, str]] = {
    "current_only": ("higher", "updates that bring the current fact and no old one"),
    "both_flagged": ("neither", "updates that bring both, every old one under the backend's own superseded mark"),
    "both_current_first": ("neither", "updates that bring both, the current one first (in reading order)"),
    "both_stale_first": ("lower", "updates that bring both, an unmarked old one first or in one entry with it"),
    "stale_only": ("lower", "updates that bring an old fact and not the current one"),
    "neither": ("lower", "updates that bring neither, or only what is unclear"),
    "failed": ("lower", "updates that were not reached or not answered"),
}
_ANSWERED = {
    "current_only": "the new rule only", "both_flagged": "both rules, the old one marked",
    "both_current_first": "both rules, the new one first", "both_stale_first": "both rules, the old one first",
    "stale_only": "the old rule only", "neither": "neither rule", "failed": "no answer",
}  # fmt: skip
_FAULT = "; not answered counts as exposed"
_SHOWN = "what memory shows; the column counts what is done with it"
METRICS: tuple[StoryMetric, ...] = (
    *(
        metric(
            f"update_{outcome}", _MEANING[outcome][0], "proportion", f"{_MEANING[outcome][1]}{_OF}",
            partial(update_outcome, outcome=outcome), source="memtrust", aside=_SHOWN, version=3,
            words=Words(STALE, place=60 + at), label=f"changes answered with {_ANSWERED[outcome]}",
        )
        for at, outcome in enumerate(OUTCOMES)
    ),
    metric(
        "updates_eligible", "neither", "proportion", "eligible updates / phrasings of probes for a fact that replaced "
        "another", updates_eligible, words=Words(STALE, place=55),
        label="changes that could be judged",
    ),
    metric(
        STALE_EXPOSURE, "lower", "proportion",
        f"updates of which an entry within the budget asserts an old fact, marked or not{_OF}{_FAULT}", stale_exposure,
        source="own, after memtrust", aside=_SHOWN, version=3, words=Words(
            STALE, thing="stale memories shown", did="showed stale rules in {} updates", clean_if_zero=True,
            between=Between(40), decisive=20, contrasted=25, progress=Progress(30, "shown stale"),
        ),
        label="old rules shown after a change",
    ),
    metric(
        "stale_exposure_upper", "lower", "proportion",
        f"as stale_exposure, unclear entries counted as they assert{_OF}{_FAULT}", stale_exposure_upper,
        aside=_SHOWN, version=3, words=Words(STALE),
        label="old rules shown, unclear answers counted",
    ),
    metric(
        "unflagged_stale_exposure", "lower", "proportion",
        f"updates of which an entry asserts an old fact without the backend's superseded field (a date is no mark)"
        f"{_OF}{_FAULT}", unflagged_stale_exposure, source="memtrust",
        aside=_SHOWN, version=3, words=Words(STALE, place=52),
        label="old rules shown without a mark",
    ),
    metric(
        "stale_first", "lower", "proportion",
        f"updates that bring an unmarked old fact before the current one, or without it; ranked backends only{_OF}"
        f"{_FAULT}", stale_first, aside=_SHOWN, version=3, words=Words(STALE, place=54, clean_if_zero=True),
        label="old rules shown first",
    ),
    metric(
        "update_omission", "lower", "proportion",
        "writes after a look-up that replaced or deprecated no memory of a predecessor although one was stored / "
        "writes after a look-up of a fact with a stored predecessor", update_omission, source="HaluMem", version=3,
        aside="what a look-up missed, and what came of it is in the columns of the curated policy",
        words=Words(STALE, place=70),
        label="look-ups that missed the old rule",
    ),
)  # fmt: skip
