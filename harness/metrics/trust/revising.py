"""What is changed more than once: is the last text the one that comes back?

See `harness.play.drills.revising`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.log.transcript import WRITES, Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion
from harness.metrics.trust.metric import ASKS, TrustMetric, trust
from harness.metrics.trust.view import READS, DrillLook, DrillView, lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.drill import Piece
from harness.model.trial import Measure

CHAINED = "chained"
STEPS = (CHAINED, "chained later")
ROLE = "chain "


def list_chains(view: DrillView) -> Iterator[Sequence[Piece]]:
    """The texts of each memory whose changes were all answered. One that was not acknowledged was not made."""
    answered = {
        name for op in WRITES for _, call in view.transcript.calls(op, CHAINED) if not call.fault for name in call.about
    }
    for role in dict.fromkeys(piece.role for piece in view.plan.pieces if piece.role.startswith(ROLE)):
        pieces = list(view.plan.of(role))
        if pieces[0].name in view.ids and answered.issuperset(piece.name for piece in pieces):
            yield pieces


def last_text_served(transcript: Transcript) -> Measure:
    # either of the two changes a text, so it takes the lack of both
    if lacking := lacks(transcript, "update") and lacks(transcript, "supersede"):
        return lacking
    view, of, bad, unanswered = DrillView.of(transcript), 0, list[tuple[int | None, str]](), 0
    for pieces in list_chains(view):
        for step in STEPS:
            if looks := view.looks(pieces[-1].name, [step], READS):
                wrong = next((look for look in looks if not look.call.fault and not _is_last(view, look, pieces)), None)
                silent = next((look for look in looks if look.call.fault), None)
                asked = {look.call.request.get("query") for look in looks}
                # a question that was not asked could have brought an earlier text
                left = silent is not None or not asked.issuperset(piece.item.text for piece in pieces)
                of, unanswered = of + 1, unanswered + (wrong is None and left)
                bad += [(look.line, pieces[-1].name) for look in [wrong or silent] if look]
    none = "no text was changed"
    return proportion(of - len(bad), of, view.receipts(bad), none=none, unanswered=unanswered)


def _is_last(view: DrillView, look: DrillLook, pieces: Sequence[Piece]) -> bool:
    """It shows no earlier text as one that holds, and the last one if that was asked for."""
    last, shown = pieces[-1], view.list_shown(look.call, current=True)
    # a listing or a read by id has no query, and has to show the last text
    asked = look.call.request.get("query", last.item.text) == last.item.text
    earlier = {piece.name for piece in pieces if piece.item.text != last.item.text}
    return not earlier & shown and (not asked or last.name in shown)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "last_text_served", KEEPING, "higher", "proportion",
        "memories changed two or three times (updated again, updated back to an earlier text, superseded by one that "
        "is superseded in turn), or once, in case or in the last word only, whose last text, and no earlier one as "
        "current, comes by a question of each of their texts, by id and in the listing, in the same process and, where "
        "the store outlives one, in a later one / such memories whose changes did not fail",
        last_text_served, version=3, verbatim=True, asks=(*ASKS, "update", "supersede"),
        label="texts served as they were changed last", otherwise="earlier texts served for the last one",
        column=columns.KEPT.at("undone"),
    ),
)  # fmt: skip
