"""The effect of memory on decisions: stale values used, and harm and help against the cold run of the same decision.

A decision counts for staleness only if it is sensitive to it: given gold, the reader gets it right; given superseded
facts, it gets it stale. If a memory decided nothing, it is neither clean nor guilty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from harness.metrics import columns
from harness.metrics.metric import amount, failed, metric, not_applicable, proportion
from harness.metrics.seen import UNFINISHED, Decided, Key
from harness.metrics.view import Record, View
from harness.metrics.words import STALE, WORK, Between, Case, Words
from harness.model.job import Decision
from harness.model.trial import Measure, NotMeasured

Trap = Literal["stale", "lure"]
IDLE = "memory decided nothing: no decision was taken from one of its entries"
NO_COLD = "the cold arm was not run"
NO_CONTROLS = "the controls oracle and stale_oracle were not run"
NO_JOB = "the scenario has no job"


def _idle(view: View) -> bool:
    return all(taken is None or taken.origin != "memory" for _, _, taken in view.decisions)


def _offers(decision: Decision, trap: Trap) -> bool:
    return any(option.verdict == trap for option in decision.options)


def _comes_out(control: Record | None, view: View, key: Key, verdict: str) -> bool:
    policy = "trusting" if view.read_policy == "filtered" else view.read_policy  # which has no filter, and takes alike
    taken = control.find_decided(policy).get(key) if control else None
    return taken is not None and taken.verdict == verdict


def _sensitive(view: View, trap: Trap) -> list[tuple[Key, Decided | None]] | NotMeasured:
    """Decisions with such an option that gold gets right and, for stale ones, superseded facts get stale."""
    if view.oracle is None or (trap == "stale" and view.stale_oracle is None):
        return not_applicable(NO_CONTROLS)
    offered = [(key, taken) for key, decision, taken in view.decisions if _offers(decision, trap)]
    # stale_oracle holds superseded facts and no neighbour's, so a lure asks for oracle alone
    kept = [
        (key, taken)
        for key, taken in offered
        if _comes_out(view.oracle, view, key, "right")
        and (trap == "lure" or _comes_out(view.stale_oracle, view, key, "stale"))
    ]
    if not kept:
        none = "no decision is sensitive to it: the controls do not come out right and stale"
        return not_applicable(none if offered else f"no decision has a {trap} option")
    missing = sum(taken is None for _, taken in kept)
    if missing:
        return failed(f"{missing} of {len(kept)} decisions were not reached; {view.log.reason}")
    return kept


def _count(view: View, trap: Trap, bad: Callable[[Decided], bool], *, by_memory: bool) -> Measure:
    kept = _sensitive(view, trap)
    if isinstance(kept, NotMeasured):
        return kept
    if by_memory and _idle(view):
        return _still(view)
    kept = [(key, taken) for key, taken in kept if not (by_memory and _is_unanswered(view, key))]
    hits = [taken for _, taken in kept if taken is not None and bad(taken)]
    none = view.record.explain_uncontrolled(NO_JOB, "recall")
    return proportion(len(hits), len(kept), [_receipt(taken) for taken in hits], none=none)


def _still(view: View) -> NotMeasured:
    """Memory decided nothing; where it could not be asked, or nothing was stored, that is no merit and no choice."""
    return view.record.explain_uncontrolled(IDLE, "recall", "remember", "supersede")


def _is_unanswered(view: View, key: Key) -> bool:
    """Whether all questions to the memory for this decision failed, the reader's question to its chat model came to
    nothing, or what it had right was not finished, so that the memory can have done neither good nor harm."""
    taken = view.decided.get(key)
    if taken and taken.verdict == UNFINISHED:
        return True
    # what memory had a part in counts, though a later question to it failed
    if taken and taken.origin == "memory":
        return False
    if taken and taken.call and not taken.call.answered:
        return True
    asked = view.record.list_decision_questions(view.read_policy).get(key)
    return asked is not None and all(event.fault for _, event in asked)


def _receipt(taken: Decided) -> str:
    """The entry that was chosen, where the decision came from memory; else the line of the job."""
    return taken.receipt if taken.entry is None or taken.asked is None else f"L{taken.asked}:e{taken.entry}"


def used(view: View, trap: Trap, origin: str) -> Measure:
    def bad(taken: Decided) -> bool:
        return taken.verdict == trap and taken.origin == origin

    return _count(view, trap, bad, by_memory=origin == "memory")


def missing(view: View) -> Measure:
    return _count(view, "stale", lambda taken: taken.verdict == "unresolved", by_memory=False)


# --- against the cold run ---------------------------------------------------------------------------------------------


class ArmPair(NamedTuple):
    """A decision in both arms; a warm one that was not reached has no verdict."""

    key: Key
    cold: str
    warm: str | None
    receipt: str


def pairs(view: View) -> list[ArmPair]:
    """Every decision that the cold run took, beside how it was taken here."""
    cold = view.cold.find_decided(None) if view.cold else {}
    # a decision that was not reached has no line: the end of the log says why
    end = f"L{len(view.log.events)}"
    return [
        ArmPair(key, cold[key].verdict, taken.verdict if taken else None, _receipt(taken) if taken else end)
        for key, _, taken in view.decisions
        if key in cold
    ]


def _against_cold(view: View, of: Callable[[ArmPair], bool], hit: Callable[[ArmPair], bool], none: str) -> Measure:
    if view.cold is None:
        return not_applicable(NO_COLD)
    eligible = [pair for pair in pairs(view) if of(pair)]
    hits = [pair for pair in eligible if hit(pair)]
    return proportion(len(hits), len(eligible), [pair.receipt for pair in hits], none=none)


def _blind(view: View) -> NotMeasured | None:
    """Why this cell could not have shown harm: nothing came from memory, or stale memory changes nothing here."""
    if view.cold is None:
        return not_applicable(NO_COLD)
    if view.stale_oracle is None:
        return not_applicable("the control stale_oracle was not run")
    # in a trial that failed, what was not reached counts as harm, whoever decided the rest
    if _idle(view) and not view.record.failed:
        return _still(view)
    return None


def harm(view: View) -> Measure:
    blind = _blind(view)
    if blind is not None:
        return blind
    harmed = [
        pair.key
        for pair in pairs(view)
        if pair.cold == "right" and not _comes_out(view.stale_oracle, view, pair.key, "right")
    ]
    if not harmed and any(pair.cold == "right" for pair in pairs(view)):
        return not_applicable("stale memory harms no decision of this scenario: stale_oracle gets right what cold does")
    return _against_cold(
        view,
        lambda pair: pair.cold == "right" and not _is_unanswered(view, pair.key),
        lambda pair: pair.warm != "right",
        "cold gets no decision right",
    )


def help_(view: View) -> Measure:
    return _against_cold(
        view, lambda pair: pair.cold != "right", lambda pair: pair.warm == "right", "cold gets every decision right"
    )


def new_harmful_action(view: View) -> Measure:
    return _blind(view) or _against_cold(
        view,
        lambda pair: pair.cold == "unresolved" and not _is_unanswered(view, pair.key),
        lambda pair: pair.warm is None or pair.warm in ("stale", "lure"),
        "cold leaves no decision open",
    )


def net(view: View) -> Measure:
    if view.cold is None:
        return not_applicable(NO_COLD)
    found = pairs(view)
    if not found:
        return not_applicable(NO_JOB)
    if _idle(view) and not view.record.failed:
        return _still(view)
    gain = sum((pair.warm == "right") - (pair.cold == "right") for pair in found)
    return amount(gain / len(found), len(found))


STALE_USE, HARM, HELP = "stale_use", "harm", "help"
_RIGHT = "a part of `decisions_right`: each of these is not right"
_SENSITIVE = "decisions with a stale option that oracle gets right and stale_oracle gets stale under this read policy"
METRICS = (
    metric(
        STALE_USE, "lower", "proportion",
        f"decisions whose check sees a stale value that was taken from memory / {_SENSITIVE}; not applicable if memory "
        "decided nothing", partial(used, trap="stale", origin="memory"), source="MemStrata", reads=True,
        version=4, words=Words(
            STALE, 10, thing="decisions acted on stale rules", did="acted on stale rules in {} decisions",
            answers=True, cells="acted on stale",
            case=Case(10, "acted on a stale rule"), clean_if_zero=True,
            between=Between(50, looked_up=True), contrasted=20,
        ),
        label="decisions acted on stale rules", column=columns.STALE.at(),
    ),
    metric(
        "stale_from_repo", "neither", "proportion",
        f"decisions whose check sees a stale value that was taken from the repository / {_SENSITIVE}",
        partial(used, trap="stale", origin="repo"), reads=True, version=2, words=Words(STALE, place=20),
        label="stale values read from the repository",
    ),
    metric(
        "lure_use", "lower", "proportion",
        "decisions whose check sees a neighbour's value that was taken from memory / decisions with such an option "
        "that oracle gets right; not applicable if memory decided nothing",
        partial(used, trap="lure", origin="memory"), reads=True, aside=_RIGHT, version=4,
        words=Words(STALE, place=40, clean_if_zero=True),
        label="decisions acted on a rule of elsewhere",
    ),
    metric(
        "missing", "lower", "proportion", f"decisions left unresolved / {_SENSITIVE}", missing, reads=True,
        aside=_RIGHT, version=2, words=Words(STALE, place=30),
        label="decisions left open",
    ),
    metric(
        HARM, "lower", "proportion",
        "decisions right cold and not right here / decisions right cold; one that was not reached is not right, one "
        "that was right in a job that was not ended is in neither; not applicable if memory decided nothing, or if "
        "stale_oracle harms nothing", harm,
        source="own, after SWE-ContextBench", reads=True, aside=_RIGHT, version=4,
        words=Words(WORK, place=40, clean_if_zero=True, contrasted=40),
        label="decisions right without memory and wrong with it",
    ),
    metric(
        HELP, "higher", "proportion", "decisions not right cold and right here / decisions not right cold", help_,
        reads=True, aside="`decisions_right` beside what cold reached says it",
        version=2, words=Words(WORK, place=30, contrasted=50),
        label="decisions wrong without memory and right with it",
    ),
    metric(
        "new_harmful_action", "lower", "proportion",
        "decisions unresolved cold and stale or lured here, or not reached / decisions unresolved cold",
        new_harmful_action, reads=True, aside=_RIGHT, version=4, words=Words(WORK, place=45, clean_if_zero=True),
        label="wrong actions that only memory caused",
    ),
    metric(
        "net", "higher", "difference", "(decisions helped - decisions harmed) / decisions in both arms", net,
        reads=True, aside="`decisions_right` beside what cold reached says it", version=2, words=Words(WORK),
        label="decisions helped minus harmed",
    ),
)  # fmt: skip
