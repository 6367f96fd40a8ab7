"""Ranking by meaning: is the right memory before one that begins like the question, if dates and order do not help?"""

from __future__ import annotations

from harness.log.transcript import Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import DrillView, lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.trial import Measure


def right_before_look_alike(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "ranked"):
        return lacking
    view = DrillView.of(transcript)
    asked = view.list_acknowledged(transcript.plan.of("chosen"))
    looks = {piece.name: view.looks(piece.name, ["told apart"], ["recall"]) for piece in asked}
    cases = [(piece, look) for piece in asked for look in looks[piece.name]]
    # where no question was put at all there is nothing to measure, and nothing failed
    unasked = sum(not own for own in looks.values()) if cases else 0
    bad = []
    for piece, look in cases:
        right = view.rank(look.call, piece)
        other = view.rank(look.call, view.plan.by_name[piece.twin or piece.name])
        if right is None or (other is not None and other < right):
            bad.append((look.line, piece.name))
    unanswered = unasked + sum(look.call.fault is not None for _, look in cases)
    none = "no pair of look-alikes was acknowledged and asked for"
    return proportion(len(cases) - len(bad), len(cases) + unasked, view.receipts(bad), none=none, unanswered=unanswered)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "right_before_look_alike", KEEPING, "higher", "proportion",
        "questions whose answer comes within k and before the memory that begins like the question / questions whose "
        "answer was acknowledged; both memories have one date, source, kind and confidence and were told in a drawn "
        "order, every other look-alike is of the user who asks; four answers without one stand at the end of "
        "longer memories, the longest of 700 characters, every third other question behind a preface; only of a ranked "
        "store", right_before_look_alike, version=4,
        label="answers ranked by meaning", otherwise="answers ranked behind a look-alike",
        column=columns.FOUND.at("look-alikes"),
    ),
)  # fmt: skip
