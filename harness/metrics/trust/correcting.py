"""Corrections: does a process see what another one changed, and does the history tell what both wrote?

A change counts if the other had the memory before it, and whoever made it is not shown the old text any more.
"""

from __future__ import annotations

from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.agents import OTHER, SHARING, Agents
from harness.metrics.trust.metric import ASKS, TrustMetric, trust
from harness.metrics.trust.view import DrillDeed, lacks, mark
from harness.model.trial import Measure

CHANGED = "corrected"
EARLIER = "played before the drill asked for it"


def _list_changed(agents: Agents) -> list[DrillDeed]:
    """The acknowledged updates and ends, with the memory as it was before and who changed it."""
    updates = [
        deed._replace(piece=agents.plan.by_name[deed.piece.twin or ""])
        for deed in agents.list_written("update", CHANGED)
        if deed.ids
    ]
    return [*updates, *agents.list_ended(CHANGED)]


def _holds(agents: Agents, step: str, deed: DrillDeed, who: str) -> bool | None:
    """Whether a process is shown the old text as one that holds; None if its look failed or is missing."""
    look = agents.find_question(step, deed.piece, who)
    if look is None or look.call.fault:
        return None
    return deed.piece.name in agents.list_shown(look.call, current=True)


def stale_after_other_changes(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    # either operation can make the change: refused only without both
    if refused := lacks(transcript, "update") and lacks(transcript, "deprecate"):
        return refused
    agents = Agents.of(transcript)
    if not agents.plan.of("edited", "ended"):
        return not_applicable(EARLIER)
    changed = [
        deed
        for deed in _list_changed(agents)
        if _holds(agents, "to be corrected", deed, OTHER[deed.who]) and _holds(agents, CHANGED, deed, deed.who) is False
    ]
    stale = [deed for deed in changed if _holds(agents, CHANGED, deed, OTHER[deed.who]) is not False]
    unanswered = sum(_holds(agents, CHANGED, deed, OTHER[deed.who]) is None for deed in stale)
    none = "no change took effect where it was acknowledged on a memory that the other had found"
    return agents.share(stale, changed, CHANGED, none=none, unanswered=unanswered)


def versions_of_two_told(transcript: Transcript) -> Measure:
    """Each text that was acknowledged, by each of both."""
    if refused := lacks(transcript, "multi_process", "update", "history"):
        return refused
    agents = Agents.of(transcript)
    if not agents.plan.of("edited"):
        return not_applicable(EARLIER)
    of, bad, unanswered = 0, list[str](), 0
    for line, call in transcript.calls("history", "versions"):
        for piece in agents.list_acknowledged(agents.plan.by_name[name] for name in call.about):
            of += 1
            if call.fault or not any(mark(piece) in text for text in agents.texts(call)):
                bad.append(transcript.receipt(line, piece.name))
                unanswered += call.fault is not None
    return proportion(of - len(bad), of, bad, none="no memory was updated by two processes", unanswered=unanswered)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "stale_after_other_changes", SHARING, "lower", "proportion",
        "memories that one process updated or marked as ended and that the other, after settling, still finds as they "
        "were / such changes that were acknowledged and that the changing process confirms, of memories that the other "
        "had found", stale_after_other_changes, asks=(*ASKS, "update", "deprecate"), version=2,
        label="memories changed by one process, still found as they were by the other",
        otherwise="memories changed by one process, seen so by the other", column=columns.KEPT.at("undone"),
    ),
    trust(
        "versions_of_two_told", SHARING, "higher", "proportion",
        "texts of memories updated by two processes in turn that the history tells to either / such texts that were "
        "acknowledged", versions_of_two_told, asks=(*ASKS, "update", "history"), verbatim=True, version=2,
        label="texts of two processes told by the history", otherwise="texts of two processes missing from the history",
        column=columns.KEPT.at("fields"),
    ),
)  # fmt: skip
