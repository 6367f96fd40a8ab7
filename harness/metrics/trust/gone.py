"""The answers of the interface in the drill `deletion`: what is gone, what is not, and what went with it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.log.transcript import Transcript
from harness.metrics.metric import failed, not_applicable, proportion
from harness.metrics.trust.reach import LIVE, Reach, ReachRoute, ReachStep
from harness.metrics.trust.view import lacks, mark
from harness.model.trial import Measure

UNSEEN = "no route brought a target before the deletion"


def measure_gone(
    transcript: Transcript,
    *,
    role: str,
    routes: Sequence[ReachRoute],
    needs: Sequence[str] = (),
    step: ReachStep = "after",
    current: bool = False,
) -> Measure:
    """Targets of a role that no route brings at a step, of those that a route brought before, or brings then.

    Args:
        current: What comes back marked as superseded counts as gone.
    """
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal((role,), *needs, step=step):
        return refused
    return _measure_gone(reach, reach.targets(role), routes, step, current)


def _measure_gone(
    reach: Reach, names: Sequence[str], routes: Sequence[ReachRoute], step: ReachStep, current: bool = False
) -> Measure:
    known = {name: used for name in names if (used := reach.routes(name, routes, step))}
    broken = [
        look.line for name in names for route in routes if (look := reach.at("before", route, name)) and look.failed
    ]
    if broken and not known:
        return failed(f"L{broken[0]}: the looks before the deletion failed")
    # a dict keeps the routes in order; the order of a set changes with each process
    left = {
        name: [
            reach.find_left(step, route, name, current=current)
            for route in dict.fromkeys((*used, *reach.list_failing(step, name, routes)))
        ]
        for name, used in known.items()
    }
    seen = {name for name in known if any(reach.was_brought(step, route, name, current=current) for route in routes)}
    lines = list(dict.fromkeys(line for each in left.values() for line in each if line))
    bad = {name for name, each in left.items() if any(each)}
    return proportion(len(known) - len(bad), len(known), lines, none=UNSEEN, unanswered=len(bad - seen))


def honest(transcript: Transcript) -> Measure:
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal(("forget",)):
        return refused
    said = [name for name, done in reach.deletion_answers.items() if done]
    if not said:
        return not_applicable("the backend called no deletion done")
    return _measure_gone(reach, said, LIVE, "after")


def unknown_called_deleted(transcript: Transcript) -> Measure:
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal(("forget",)):
        return refused
    # a request about no memory of the plan names ids that nobody has, or none
    calls = [(line, call) for line, call in transcript.calls("forget", "deleted") if not call.about]
    if calls and (fault := calls[0][1].fault):
        return failed(f"L{calls[0][0]}: {fault.message}")
    hits = [f"L{line}" for line, call in calls if not call.fault and any(transcript.answer(call))]
    none = "no memory was stored, so that there was no id to shape another after"
    return proportion(len(hits), len(calls), hits, none=none)


def expired_not_recalled(transcript: Transcript) -> Measure:
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal((), "expiry", step="before"):
        return refused
    pairs = {piece.twin: piece.name for piece in transcript.plan.of("lasting") if piece.twin}
    known = [name for name, lasting in pairs.items() if reach.was_seen("before", "search", lasting)]
    left = {name: line for name in known if (line := reach.find_left("before", "search", name))}
    unanswered = sum(not reach.was_seen("before", "search", name) for name in left)
    none = "no memory that expires in 2999 was recalled either"
    return proportion(len(known) - len(left), len(known), list(left.values()), none=none, unanswered=unanswered)


def history_tells(transcript: Transcript) -> Measure:
    """Of what was changed once before any deletion; an empty history of such a memory is no history."""
    if refused := lacks(transcript, "history", "update"):
        return refused
    pieces = transcript.plan.by_name
    changed = {
        call.about[0]: pieces[call.about[1]].item.text
        for _, call in transcript.calls("update", "before")
        if len(call.about) > 1 and any(transcript.ids(call))
    }
    answers: dict[str, dict[str, bool | None]] = {}
    for line, call in transcript.calls("history", "before"):
        name = call.about[0]
        if name in changed:
            texts = transcript.answer(call) or []
            # a changed text keeps its canary, so that the new one is ruled out by its words
            earlier = any(mark(pieces[name]) in text and changed[name] not in text for text in texts)
            answers.setdefault(name, {})[f"L{line}"] = None if call.fault else earlier
    # of several ids, one whose history tells it is enough, and a call that failed shows no absence
    missed = [each for each in answers.values() if True not in each.values()]
    lines = [line for each in missed for line in each]
    unanswered = sum(None in each.values() for each in missed)
    none = "no memory has had two texts"
    return proportion(len(answers) - len(missed), len(answers), lines, none=none, unanswered=unanswered)


def over_deletion(transcript: Transcript, role: str, needs: Sequence[str] = ()) -> Measure:
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal(("forget", "update", "supersede", "scope"), "entries", *needs):
        return refused
    if undone := reach.explain_undone():
        return undone
    listed = [piece.name for piece in transcript.plan.of(role) if reach.was_seen("before", "listing", piece.name)]
    lost = [name for name in listed if not reach.was_seen("after", "listing", name)]
    lines = list(dict.fromkeys(reach.receipt("after", "listing", name) for name in lost))
    unanswered = sum(bool(reach.list_failing("after", name, ["listing"])) for name in lost)
    none = "no bystander was listed before the deletion"
    return proportion(len(lost), len(listed), lines, none=none, unanswered=unanswered)


def listed_whole(transcript: Transcript) -> Measure:
    """Before anything is deleted: a listing that stops at a page hides what a deletion leaves."""
    reach = Reach.of(transcript)
    if refused := reach.explain_refusal(("forget", "update", "supersede", "scope"), "entries", step="before"):
        return refused
    names = [piece.name for piece in transcript.plan.of("scope") if reach.first_ids.get(piece.name)]
    shown = [name for name in names if reach.was_seen("before", "listing", name)]
    lines = [reach.receipt("before", "listing", name) for name in names if name not in shown]
    return proportion(len(shown), len(names), list(dict.fromkeys(lines)), none="no write was acknowledged")
