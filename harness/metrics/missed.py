"""Decisions that are not right although the memory held what is right: not found, not shown, or not taken.

What is replaced, deleted or marked as ended is not held any more.
"""

from __future__ import annotations

from harness.adapter import Scope, applies
from harness.metrics.holding import explain_unlisted, find_state
from harness.metrics.metric import StoryMetric, metric, proportion
from harness.metrics.view import Record, View
from harness.metrics.words import WORK, Words
from harness.model.trial import Measure

MISSED_KNOWN = "missed_known"


def missed_known(view: View) -> Measure:
    """Of who does not ask, what is known when the work is done."""
    if unknown := explain_unlisted(view):
        return unknown
    record, asked, known, missed = view.record, view.record.list_decision_questions(view.read_policy), 0, list[str]()
    for session, job in view.scenario.jobs():
        for decision in job.decisions:
            taken, questions = view.decided.get((job.id, decision.id)), asked.get((job.id, decision.id))
            line = questions[0][0] if questions else taken.line if taken else len(view.log.events)
            if _is_known(record, line, decision.right.fact, record.scenario.place(session)):
                known += 1
                if taken is None or taken.verdict != "right":
                    missed.append(f"L{line}")
    return proportion(len(missed), known, missed, none="memory held no fact that is right for a decision")


def _is_known(record: Record, line: int, fact: str, place: Scope) -> bool:
    return any(
        fact in held.asserted and (held.hit.scope is None or applies(held.hit.scope, place))
        for held in find_state(record, line).held.values()
    )


METRICS: tuple[StoryMetric, ...] = (
    metric(
        MISSED_KNOWN, "lower", "proportion",
        "decisions that are not right although, when memory was first asked, it held one that asserts the right fact, "
        "holds there and is not marked as ended / decisions for which it held one; by what was acknowledged, or listed "
        "of captured sessions", missed_known, reads=True, version=3,
        aside="a part of `decisions_right`: each of these is not right", words=Words(WORK, place=27, contrasted=32),
        label="decisions missed though known",
    ),
)  # fmt: skip
