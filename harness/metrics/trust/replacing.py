"""Replacement: one memory for several, a text with another end, a new memory after a deletion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import DrillView, holds, lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.drill import Piece
from harness.model.trial import Measure


def superseded_together(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "supersede")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    before, after = (_current(view, step) for step in ("several", "joined"))
    cases = [name for name, (_, there) in before.items() if there and _joint(transcript, name) in view.ids]
    bad = [(after[name][0], name) for name in cases if after[name][1] is not False]
    unanswered = sum(after[name][1] is None for name in cases)
    none = "no supersede of several memories that were there was acknowledged"
    return proportion(len(cases) - len(bad), len(cases), view.receipts(bad), none=none, unanswered=unanswered)


def _joint(transcript: Transcript, name: str) -> str:
    return transcript.plan.by_name[name].twin or ""


def _current(view: DrillView, step: str) -> dict[str, tuple[int | None, bool | None]]:
    """Memory -> the look at it, and whether it shows it as one that holds; None if the look failed or is missing."""
    found: dict[str, tuple[int | None, bool | None]] = {}
    for piece in view.plan.of("several"):
        line, call = view.look(step, piece) or (None, None)
        there = None
        if call is not None and call.fault is None:
            hits = (hit for hit in view.transcript.hits(call) if not hit.superseded)
            there = any(view.own(piece, hit) and holds(hit.text, piece) for hit in hits)
        found[piece.name] = line, there
    return found


def updated_found(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "update")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    answers = {piece.name: find_answer(view, "turned", piece) for piece in view.list_acknowledged(view.plan.of("turn"))}
    bad = [(line, name) for name, (line, came) in answers.items() if not came]
    unanswered = sum(came is None for _, came in answers.values())
    none = "no update to another matter was acknowledged"
    return proportion(len(answers) - len(bad), len(answers), view.receipts(bad), none=none, unanswered=unanswered)


# --- ends -------------------------------------------------------------------------------------------------------------


def find_answer(view: DrillView, step: str, piece: Piece) -> tuple[int | None, bool | None]:
    """The line of the question for a memory, and whether it came; None if the question failed or was not asked."""
    looks = view.looks(piece.name, [step], ["recall"])
    line, call = looks[-1] if looks else (None, None)
    return line, None if call is None or call.fault else view.rank(call, piece) is not None


def _came(view: DrillView, step: str, role: str) -> bool | None:
    """Whether all of a role came, or none; None if it cannot be said."""
    seen = {find_answer(view, step, piece)[1] for piece in view.plan.of(role)}
    return seen.pop() if len(seen) == 1 else None


def _works(view: DrillView) -> bool:
    """Expired memories are hidden, and others are not."""
    return _came(view, "now", "ended") is False and _came(view, "now", "endless") is True


def _wrong(
    view: DrillView, step: str, roles: tuple[str, ...], expected: bool
) -> Iterator[tuple[tuple[int | None, str], bool | None]]:
    """Cases of memories that were acknowledged, and whether they are bad; None if nobody knows."""
    for piece in view.list_acknowledged(view.plan.of(*roles)):
        line, came = find_answer(view, step, piece)
        yield (line, piece.name), None if came is None else came is not expected


def _share_wrong(view: DrillView, cases: Sequence[tuple[tuple[int | None, str], bool | None]], none: str) -> Measure:
    bad = [case for case, wrong in cases if wrong is not False]
    unanswered = sum(wrong is None for _, wrong in cases)
    return proportion(len(bad), len(cases), view.receipts(bad), none=none, unanswered=unanswered)


IDLE = (
    "no memory whose end lies behind every clock was hidden, so nothing tells by which clock (see expired_not_recalled)"
)


def by_wall_clock(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "expiry")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    if not _works(view):
        return not_applicable(IDLE)
    cases = []
    for step, role, expected in (("later", "lasting", False), ("earlier", "ended", True)):
        # that one which ends in 2999 is hidden in 3000 says something only if it comes now
        if _came(view, step, "endless") and (role == "ended" or _came(view, "now", "lasting")):
            cases += list(_wrong(view, step, (role,), expected))
    return _share_wrong(view, cases, "no memory without an end came at these story times")


def expiry_lost(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "expiry")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    if not _works(view):
        return not_applicable(IDLE)
    cases = []
    for step, roles in (("changed", ("shorter", "exchange")), ("reopened later", ("ended", "shorter", "exchange"))):
        if _came(view, step, "endless"):
            cases += list(_wrong(view, step, roles, False))
    return _share_wrong(view, cases, "no memory without an end came afterwards")


# --- ids --------------------------------------------------------------------------------------------------------------


def ids_reissued(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "forget")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    gone = {each for deed in view.forgotten("doomed") for each in deed.ids}
    heirs = [
        piece
        for piece in view.list_acknowledged(transcript.plan.of("heir"))
        if gone.intersection(view.ids.get(piece.twin or "", ()))
    ]
    bad = [(view.writes[piece.name].line, piece.name) for piece in heirs if gone.intersection(view.ids[piece.name])]
    none = "no write after a deletion was acknowledged"
    return proportion(len(bad), len(heirs), view.receipts(bad), none=none)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "several_superseded", KEEPING, "higher", "proportion",
        "memories superseded together, three by one, that no look shows as current / those that the same look showed "
        "before, if the supersede was acknowledged", superseded_together, verbatim=True, version=2,
        label="memories replaced together", otherwise="memories not replaced together",
        column=columns.KEPT.at("undone"),
    ),
    trust(
        "updated_found", KEEPING, "higher", "proportion",
        "memories whose text an update exchanged for one on another matter, every other one twice, and that a question "
        "of the last text brings within k / such memories whose last update was acknowledged", updated_found, version=2,
        label="updated memories found by their new text", otherwise="updated memories not found by their new text",
        column=columns.FOUND.at("unfound"),
    ),
    trust(
        "expiry_by_wall_clock", KEEPING, "lower", "proportion",
        "memories that a question at a story time brings or hides as of today's date: one that ends in 2999 asked for "
        "in 3000 and brought, one that ended in 2000 asked for in 1999 and hidden / such questions, if one without an "
        "end comes at that time and expired ones are hidden in between", by_wall_clock, verbatim=True, version=2,
        aside="a product may go by today's date: story time is the benchmark's own",
        label="expiries judged by today's date",
    ),
    trust(
        "expiry_lost", KEEPING, "lower", "proportion",
        "memories behind their end that come back: after an update or a supersede that brought the end, or in a fresh "
        "process / such memories, if an expired one was hidden when it was written and one without an end comes",
        expiry_lost, verbatim=True, version=2,
        label="ends forgotten", otherwise="ends remembered", column=columns.DATES.at("expired"),
    ),
    trust(
        "ids_reissued", KEEPING, "lower", "proportion",
        "new memories that get the id of a deleted one: in its scope, in another, after reopening / new memories right "
        "after a deletion that was acknowledged", ids_reissued,
        label="ids given out again", otherwise="new ids", column=columns.KEPT.at("wrong"),
    ),
)  # fmt: skip
