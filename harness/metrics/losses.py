"""The stage at which a right decision is lost: told, captured, in a usable form, kept, found or used.

It follows from what was stored when the memory was asked for the decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from harness.adapter import Hit, Scope, applies
from harness.log.events import Recalled
from harness.log.receipts import Receipt
from harness.metrics.holding import Held, State, explain_unknown, find_state, find_states, find_tellings
from harness.metrics.metric import StoryMetric, metric, proportion
from harness.metrics.seen import UNFINISHED, Decided, Key, RecalledEntry
from harness.metrics.view import Record, View
from harness.metrics.words import Topic, Words
from harness.model.dates import same_moment
from harness.model.job import Decision
from harness.model.trial import Measure, ReadPolicy
from harness.text.classify import Reading

LOST = Topic("lost", "Where it is lost", "At which stage does a memory lose a right decision?", 65, seldom=True)


class Stage(NamedTuple):
    """A stage at which a decision is lost. `says` is how it is known, `called` its name on the page."""

    name: str
    called: str
    says: str


UNTOLD, UNCAPTURED, UNCLEAR, UNSCOPED, UNDATED, REPLACED, UNRETRIEVED, UNUSED, ELSEWHERE = STAGES = (
    Stage("untold", "never told", "no session before had told the right fact, and no memory asserts it"),
    Stage("uncaptured", "not captured", "the right fact was told, and no memory of that session tells any of it"),
    Stage(
        "unclear", "captured unclearly",
        "a memory of the session that told the right fact tells a part of it, or a rival with it, and none asserts it "
        "alone",
    ),
    Stage(
        "unscoped", "captured without its scope",
        "the memory that asserts the right fact does not hold in the place of the job, or the reader took one of a "
        "neighbour's fact that came as if it held there",
    ),
    Stage(
        "undated", "captured without its date",
        "a reader who goes by dates was shown the right memory, and it or the one that was taken came without a day on "
        "which its fact was told",
    ),
    Stage("replaced", "replaced wrongly", "a memory asserted the right fact, and is gone or marked as ended"),
    Stage("unretrieved", "not retrieved", "a memory asserts the right fact, and no answer that was shown holds it"),
    Stage("unused", "retrieved and not used", "an answer that was shown holds it, and the reader took another"),
    Stage(
        "elsewhere", "lost elsewhere",
        "the right memory was taken and the work failed, the decision was not reached, the job was not ended, or no "
        "question to the memory or to the reader's model was answered",
    ),
)  # fmt: skip


class Loss(NamedTuple):
    stage: Stage
    receipt: str


def find_losses(record: Record, policy: ReadPolicy | None) -> Mapping[Key, Loss]:
    """The decisions that are not right, and where each was lost."""
    # `once` keeps one value of a record, and this one depends on the policy, too
    # mypy: the memo holds values of any kind
    known: Mapping[Key, Loss] | None = record.memo.get((find_losses, policy))  # type: ignore[assignment]
    if known is None:
        known = record.memo[find_losses, policy] = dict(_list_losses(record, policy))
    return known


def _list_losses(record: Record, policy: ReadPolicy | None) -> Iterator[tuple[Key, Loss]]:
    decided = record.find_decided(policy)
    for session, job in record.scenario.jobs():
        for decision in job.decisions:
            key = job.id, decision.id
            taken = decided.get(key)
            if taken is None:
                yield key, Loss(ELSEWHERE, f"L{len(record.log.events)}")
            elif taken.verdict != "right":
                yield key, _Case(record, policy, record.scenario.place(session), key, decision, taken).judge()


class _Case:
    """One decision that is not right."""

    def __init__(
        self, record: Record, policy: ReadPolicy | None, place: Scope, key: Key, decision: Decision, taken: Decided
    ) -> None:
        self._record, self._policy, self._place, self._decision, self._taken = record, policy, place, decision, taken
        self._questions: Sequence[tuple[int, Recalled]] = record.list_decision_questions(policy).get(key, ())
        self._line = self._questions[0][0] if self._questions else taken.line
        self._right = decision.right.fact

    def judge(self) -> Loss:
        if self._is_unanswered():
            return Loss(ELSEWHERE, self._taken.receipt)
        shown = list(chain.from_iterable(self._list_shown(*each) for each in self._questions))
        right = next((entry for entry in shown if self._is_usable(entry.hit, entry.raw)), None)
        return self._judge_stored() if right is None else self._judge_shown(right)

    def _is_unanswered(self) -> bool:
        call = self._taken.call
        if self._taken.verdict == UNFINISHED:
            return True
        return bool(call and not call.answered) or bool(
            self._questions and all(event.fault for _, event in self._questions)
        )

    def _list_shown(self, line: int, event: Recalled) -> Sequence[RecalledEntry]:
        return [entry for entry in self._record.entries(line, event)[: event.shown] if entry.in_budget]

    def _is_usable(self, hit: Hit, reading: Reading) -> bool:
        return self._is_clear(reading) and self._is_here(hit) and not self._is_marked(hit)

    def _is_clear(self, reading: Reading) -> bool:
        """Whether a text leads to the right option, and to no other."""
        options = [option.verdict for option in self._decision.options if option.fact in reading.asserted]
        return not reading.unclear and options == ["right"]

    def _is_here(self, hit: Hit) -> bool:
        return hit.scope is None or applies(hit.scope, self._place)

    def _is_marked(self, hit: Hit) -> bool:
        # only who reads carefully heeds verdicts; everybody heeds the mark of what is superseded
        return hit.warned if self._policy == "careful" else bool(hit.superseded)

    def _judge_shown(self, right: RecalledEntry) -> Loss:
        """The reader had it before its eyes."""
        taken, winner = self._taken, None
        if taken.entry is not None and taken.asked is not None:
            event = dict(self._questions)[taken.asked]
            winner = self._record.entries(taken.asked, event)[taken.entry]
        if winner and self._is_clear(winner.raw):
            return Loss(ELSEWHERE, taken.receipt)
        if winner and taken.verdict == "lure":
            return Loss(UNSCOPED, winner.receipt)
        if winner and self._policy in ("newest", "careful"):
            wrong = next((each for each in (right, winner) if not self._is_dated(each)), None)
            if wrong:
                return Loss(UNDATED, wrong.receipt)
        return Loss(UNUSED, right.receipt)

    def _is_dated(self, entry: RecalledEntry) -> bool:
        """With a day on which one of the decision's facts that it asserts was told."""
        facts = {option.fact for option in self._decision.options} & entry.asserted
        told = [each.at for fact in facts for each in find_tellings(self._record).get(fact, ())]
        created = entry.hit.created or ""
        # some stores keep a day and no time
        return any(same_moment(created, at) or created[:10] == at[:10] for at in told)

    def _judge_stored(self) -> Loss:
        states = [state for state in find_states(self._record) if state.line < self._line]
        held = [*find_state(self._record, self._line).held.values()]
        if there := self._first_usable(held):
            return self._cite(UNRETRIEVED, there)
        # from the latest state back, so that the receipt cites the last time that it was lost
        for before, after in zip(reversed(states[:-1]), reversed(states[1:]), strict=True):
            if there := self._first_usable(before.held.values()):
                return self._cite(REPLACED, there, after.line)
        if there := next((each for each in held if self._is_clear(each.reading)), None):
            return self._cite(REPLACED if self._is_here(there.hit) else UNSCOPED, there)
        return self._judge_missing(states)

    def _first_usable(self, held: Iterable[Held]) -> Held | None:
        return next((each for each in held if self._is_usable(each.hit, each.reading)), None)

    def _judge_missing(self, states: Sequence[State]) -> Loss:
        """No memory ever asserted it alone."""
        told = [each for each in find_tellings(self._record).get(self._right, ()) if each.line < self._line]
        sessions = {each.session for each in told}
        for state in states:
            for each in state.held.values():
                if each.session in sessions and self._right in each.reading.named:
                    return self._cite(UNCLEAR, each)
        return Loss(UNCAPTURED, f"L{told[-1].line}") if told else Loss(UNTOLD, self._taken.receipt)

    def _cite(self, stage: Stage, held: Held, line: int | None = None) -> Loss:
        return Loss(stage, str(Receipt(line or self._line, None, held.hit.memory_id, held.line)))


def lost(view: View, stage: Stage) -> Measure:
    if unknown := explain_unknown(view):
        return unknown
    cited = [loss.receipt for loss in find_losses(view.record, view.read_policy).values() if loss.stage == stage]
    return proportion(len(cited), len(view.decisions), cited, none="the scenario has no job")


METRICS: tuple[StoryMetric, ...] = tuple(
    metric(
        f"lost_{stage.name}", "neither" if stage in (UNTOLD, ELSEWHERE) else "lower", "proportion",
        f"decisions that are not right, of which {stage.says} / decisions of the story; the first stage that fits, by "
        "what was stored when the memory was asked", partial(lost, stage=stage), reads=True, version=4,
        aside="" if stage in (UNTOLD, ELSEWHERE) else "a part of `decisions_right`: each of these is not right",
        words=Words(LOST, at), label=f"decisions lost: {stage.called}",
    )
    for at, stage in enumerate(STAGES, 1)
)  # fmt: skip
