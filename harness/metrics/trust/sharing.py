"""One store, several agents: does each see what another wrote or deleted, in turn and at once?

In turn, a memory counts if its own text found it where it was written. At once, every acknowledged write counts, as a
second process may be the reason why its own writer does not find it; the control is that own texts find memories at
all. A missing look counts as the worst.
"""

from __future__ import annotations

from functools import partial

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics import columns
from harness.metrics.metric import failed, proportion
from harness.metrics.trust import correcting
from harness.metrics.trust.agents import CALM, OTHER, SHARED, SHARING, UNSEEN, Agents
from harness.metrics.trust.metric import ASKS, TrustMetric, trust
from harness.metrics.trust.view import lacks
from harness.metrics.trust.wrong import share_wrong
from harness.model.trial import Measure

# --- in turn ----------------------------------------------------------------------------------------------------------


def _explain_no_turn(transcript: Transcript) -> Measure | None:
    """Why nothing can be said of the agents in turn: the last of them did not get to its end."""
    if any(event.what == "closed" and event.step == "first reads again" for _, event in transcript.of(Handled)):
        return None
    return failed(transcript.reason or "the first agent did not read again")


def handed_over(transcript: Transcript) -> Measure:
    if refused := _explain_no_turn(transcript):
        return refused
    agents = Agents.of(transcript)
    # what belongs to one user alone is not to reach another
    shared = [deed for deed in agents.list_known("first writes") if deed.piece.role != "own"]
    missed = [deed for deed in shared if not agents.finds("second reads", deed.piece)]
    unanswered = sum(agents.unknown("second reads", deed.piece, "a") for deed in missed)
    return agents.share(missed, shared, "second reads", turned=True, none=UNSEEN, unanswered=unanswered)


def deleted_for_all(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "forget") or _explain_no_turn(transcript):
        return refused
    agents = Agents.of(transcript)
    known = {deed.piece.name for deed in agents.list_known("first writes")}
    deleted = [deed for deed in agents.forgotten("third deletes") if deed.piece.name in known]
    # not `finds`: a look that failed or is missing shows nothing, and does not prove the deletion
    there = [deed for deed in deleted if not agents.hides("first reads again", deed.piece)]
    unanswered = sum(agents.unknown("first reads again", deed.piece, "a") for deed in there)
    none = "no deletion of a memory that its writer had found was acknowledged"
    return agents.share(there, deleted, "first reads again", turned=True, none=none, unanswered=unanswered)


def kept_for_writer(transcript: Transcript) -> Measure:
    if refused := _explain_no_turn(transcript):
        return refused
    agents = Agents.of(transcript)
    kept = agents.list_spared(agents.list_known("first writes"), "third deletes")
    missed = [deed for deed in kept if not agents.finds("first reads again", deed.piece)]
    unanswered = sum(agents.unknown("first reads again", deed.piece, "a") for deed in missed)
    return agents.share(missed, kept, "first reads again", turned=True, none=UNSEEN, unanswered=unanswered)


# --- at once ----------------------------------------------------------------------------------------------------------


def lost(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents.of(transcript)
    kept = agents.list_spared(agents.both, "both delete")
    # either is enough: what the listing leaves out, its own text may still bring
    gone = [deed for deed in kept if not (agents.times_listed(deed.piece) or agents.finds("reopened", deed.piece))]
    unanswered = sum(agents.unknown("reopened", deed.piece, "a") for deed in gone)
    return agents.share(gone, kept, "reopened", none=UNSEEN, unanswered=unanswered)


def doubled(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process", "entries"):
        return refused
    agents = Agents.of(transcript)
    # a text that was stored under several ids is listed several times rightly
    there = [deed for deed in agents.both if len(deed.ids) == 1 and agents.times_listed(deed.piece)]
    twice = [deed for deed in there if agents.times_listed(deed.piece) > 1]
    return agents.share(twice, there, "reopened", none="no memory was listed that was acknowledged under one id")


def failing(transcript: Transcript) -> Measure:
    """A refusal is an answer: it is told apart from what is lost, late or stale in silence."""
    if refused := lacks(transcript, "multi_process"):
        return refused
    calls = [(line, call) for line, call in transcript.of(Called) if call.step in SHARED]
    bad = [f"L{line}" for line, call in calls if call.fault is not None]
    return proportion(len(bad), len(calls), bad, none="nothing was called while two processes had the store open")


def not_read_back(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents.of(transcript)
    missed = [deed for deed in agents.both if not agents.finds("both write", deed.piece, deed.who)]
    unanswered = sum(agents.unknown("both write", deed.piece, deed.who) for deed in missed)
    return agents.share(missed, agents.both, "both write", none=UNSEEN, unanswered=unanswered)


def seen_late(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents.of(transcript)
    written = agents.both
    late = [
        deed
        for deed in written
        if agents.finds("both write", deed.piece, deed.who)
        and not agents.finds("both write", deed.piece, OTHER[deed.who])
        and (agents.finds("settled", deed.piece, OTHER[deed.who]) or agents.finds("reopened", deed.piece))
    ]
    unknown = [
        deed
        for deed in written
        if deed not in late and agents.unknown("both write", deed.piece, deed.who, OTHER[deed.who])
    ]
    return agents.share([*late, *unknown], written, "both write", none=UNSEEN, unanswered=len(unknown))


def unseen(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents.of(transcript)
    written = agents.both
    never = [
        deed
        for deed in written
        if not any(agents.finds(step, deed.piece, OTHER[deed.who]) for step in ("both write", "settled"))
    ]
    unanswered = sum(agents.unknown("settled", deed.piece, OTHER[deed.who]) for deed in never)
    return agents.share(never, written, "settled", none=UNSEEN, unanswered=unanswered)


def stale(transcript: Transcript, step: str) -> Measure:
    """A deletion counts if the other had the memory before it, and whoever deleted it does not find it any more."""
    if refused := lacks(transcript, "multi_process", "forget"):
        return refused
    agents = Agents.of(transcript)
    deleted = [
        deed
        for deed in agents.forgotten("both delete")
        if agents.finds("to be deleted", deed.piece, OTHER[deed.who])
        and agents.hides("both delete", deed.piece, deed.who)
    ]
    there = [
        deed
        for deed in deleted
        if not agents.hides(step, deed.piece, OTHER[deed.who]) or agents.sees(step, deed.piece.name, "get")
    ]
    unanswered = sum(agents.unknown(step, deed.piece, OTHER[deed.who]) for deed in there)
    none = "no deletion took effect where it was acknowledged on a memory that the other had found"
    return agents.share(there, deleted, step, none=none, unanswered=unanswered)


def wrong(transcript: Transcript) -> Measure:
    agents = Agents.of(transcript)
    deeds = agents.list_spared([*agents.list_known("first writes"), *agents.both], "both delete")
    cases = [
        (deed, agents.looks(deed.piece.name, CALM, ("recall",))) for deed in agents.list_spared(deeds, "third deletes")
    ]
    return share_wrong(agents, cases, UNSEEN)


def unfindable(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process", "entries"):
        return refused
    agents = Agents.of(transcript)
    there = [deed for deed in agents.both if agents.times_listed(deed.piece)]
    missed = [deed for deed in there if not agents.finds("reopened", deed.piece)]
    unanswered = sum(agents.unknown("reopened", deed.piece, "a") for deed in missed)
    return agents.share(missed, there, "reopened", none="no memory was listed at the end", unanswered=unanswered)


_SOON = "how soon a process sees what another did is a matter of time"
DRILL = SHARING
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "handed_over", DRILL, "higher", "proportion",
        "shared memories that a second agent, in a process of its own, finds by their own text / shared memories that "
        "their writer found", handed_over, whole=False, version=2,
        label="memories found by a second agent", otherwise="memories not found by a second agent",
        column=columns.KEPT.at("hidden"),
    ),
    trust(
        "deleted_for_writer", DRILL, "higher", "proportion",
        "memories deleted by a third agent that their writer, in a fresh process, no longer finds by their own text / "
        "acknowledged deletions of memories that their writer had found", deleted_for_all, whole=False,
        asks=(*ASKS, "forget"), version=2,
        label="deletions by another that the writer sees",
        otherwise="memories deleted by another that the writer still finds", column=columns.DELETED.at("served"),
    ),
    trust(
        "kept_for_writer", DRILL, "higher", "proportion",
        "memories, shared and of one user, that nobody deleted and that their writer finds again, in a fresh process, "
        "after a second and a third agent / such memories that it found when it wrote them", kept_for_writer,
        whole=False, version=2,
        label="memories kept for their writer", otherwise="memories lost to their writer",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "lost_between_handles", DRILL, "lower", "proportion",
        "memories written by one of two processes on one store that are not listed after both were closed / "
        "acknowledged writes that nobody deleted, if own texts bring memories at all", lost, version=2,
        label="memories lost with two processes", otherwise="memories kept with two processes",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "wrong_between_agents", DRILL, "lower", "proportion",
        "memories in whose place a question of their own text, of another agent or later, shows another one: its text "
        "under their id, or itself, which its own text does not bring, first / acknowledged writes that nobody "
        "deleted, if own texts bring memories at all", wrong, verbatim=True, whole=False,
        label="memories another one stands for with several agents",
        otherwise="memories no other stands for with several agents", column=columns.KEPT.at("wrong"),
    ),
    trust(
        "doubled_between_handles", DRILL, "lower", "proportion",
        "such memories listed more than once at the end / memories listed at the end that were acknowledged under one "
        "id", doubled,
        label="memories doubled with two processes", otherwise="memories there once with two processes",
        column=columns.KEPT.at("extra"),
    ),
    trust(
        "failing_between_handles", DRILL, "lower", "proportion",
        "calls that fail while two processes have the store open / calls then", failing,
        label="calls that fail with two processes", otherwise="calls answered with two processes",
        column=columns.KEPT.at("refused"),
    ),
    trust(
        "own_writes_unseen", DRILL, "lower", "proportion",
        "writes that their own process does not find by their own text at once, while another writes / acknowledged "
        "writes, if own texts bring memories at all", not_read_back,
        varies=_SOON, version=2,
        label="own writes not seen at once", otherwise="own writes seen at once", column=columns.KEPT.at("hidden"),
    ),
    trust(
        "seen_late", DRILL, "lower", "proportion",
        "writes that their own process found at once, and the other only after settling or reopening / acknowledged "
        "writes, if own texts bring memories at all", seen_late,
        varies=_SOON, version=2,
        label="writes seen late by the other process", otherwise="writes seen at once by the other process",
        column=columns.KEPT.at("hidden"),
    ),
    trust(
        "unseen_while_open", DRILL, "lower", "proportion",
        "writes that the other process found neither at once nor after settling / acknowledged writes, if own texts "
        "bring memories at all", unseen,
        varies=_SOON, version=2,
        label="writes not seen by the other process", otherwise="writes seen by the other process",
        column=columns.KEPT.at("hidden"),
    ),
    trust(
        "stale_after_other_deletes", DRILL, "lower", "proportion",
        "memories that one process deleted and the other still finds, or reads by id, at once / acknowledged deletions "
        "that the deleting process confirms, of memories that the other had found", partial(stale, step="both delete"),
        varies=_SOON, asks=(*ASKS, "forget"), version=3,
        label="memories deleted by one process, found by the other at once", column=columns.DELETED.at("late"),
    ),
    trust(
        "stale_after_settling", DRILL, "lower", "proportion",
        "memories that one process deleted and the other still finds after settling / acknowledged deletions that the "
        "deleting process confirms, of memories that the other had found", partial(stale, step="deleted"),
        asks=(*ASKS, "forget"), version=3,
        label="memories deleted by one process, still found by the other", column=columns.DELETED.at("served"),
    ),
    trust(
        "unfindable_between_handles", DRILL, "lower", "proportion",
        "memories that one of two processes wrote and that a recall of their own text does not bring within k after "
        "both were closed / such memories listed then, if own texts bring memories at all", unfindable, version=2,
        label="memories not found after two processes wrote", otherwise="memories found after two processes wrote",
        column=columns.FOUND.at("unfound"),
    ),
    *correcting.METRICS,
)  # fmt: skip
