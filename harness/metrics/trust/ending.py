"""Does a memory hold until its end and no longer, whatever the zones of its end and of the question?"""

from __future__ import annotations

from functools import partial

from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.replacing import find_answer
from harness.metrics.trust.view import DrillView, lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.drill import Piece
from harness.model.trial import Measure

IDLE = (
    "no memory came decades before its end and was hidden decades behind it, so nothing tells that ends go by the time "
    "that is asked about (see expired_not_recalled and expiry_by_wall_clock)"
)


def wrong_near_the_end(transcript: Transcript, step: str, *, holds: bool) -> Measure:
    """Args: holds: Whether a memory holds at that time."""
    if lacking := lacks(transcript, "expiry"):
        return lacking
    view = DrillView.of(transcript)
    pieces = view.list_acknowledged(transcript.plan.of("ending", "ending changed"))
    if not any(_goes_by_the_question(view, piece) for piece in pieces):
        return not_applicable(IDLE)
    # what was freed of its end holds at any time, so it counts only where memories have to come
    if holds:
        pieces += view.list_acknowledged(transcript.plan.of("ending freed"))
    found = [(piece.name, *find_answer(view, step, piece)) for piece in pieces]
    bad = [(line, name) for name, line, came in found if came is not holds]
    unanswered = sum(came is None for _, _, came in found)
    none = "no memory with an end was acknowledged"
    return proportion(len(bad), len(found), view.receipts(bad), none=none, unanswered=unanswered)


def _goes_by_the_question(view: DrillView, piece: Piece) -> bool:
    return find_answer(view, "long before", piece)[1] is True and find_answer(view, "long after", piece)[1] is False


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "ended_late", KEEPING, "lower", "proportion",
        "memories that a question of their own text, for 20 hits, brings at their end or 20 minutes behind it, by "
        "turns, in story time / those with an end, some of which an update or a supersede brought; ends lie in several "
        "zones, at changes of clocks, leap days and ends of months and years; counted where ends go by the time that "
        "is asked about",
        partial(wrong_near_the_end, step="right after", holds=False), verbatim=True, version=3,
        label="memories that come back after their end", otherwise="memories that end in time",
        column=columns.DATES.at("expired"),
    ),
    trust(
        "ended_early", KEEPING, "lower", "proportion",
        "memories that the same question does not bring 20 minutes before their end, in story time / the "
        "same memories, under the same condition; twenty others that ended long before are nearer to one question; "
        "with them, two that an update or a supersede left without an end, decades behind the one that was there",
        partial(wrong_near_the_end, step="right before", holds=True), verbatim=True, version=3,
        label="memories hidden before their end", otherwise="memories that hold until their end",
        column=columns.DATES.at("early"),
    ),
)  # fmt: skip
