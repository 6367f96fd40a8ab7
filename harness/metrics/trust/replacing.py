"""What takes another's place: one for several, a text with another end, a new memory after a deletion."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from harness.log.transcript import Called, Transcript
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.pieces import Pieces, holds, lacks, pieces_of
from harness.model.drill import Piece
from harness.model.trial import Measure


def superseded_together(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "supersede")
    if lacking is not None:
        return lacking
    pieces = pieces_of(transcript)
    before, after = (_current(pieces, transcript, step) for step in ("several", "joined"))
    cases = [name for name, (_, there) in before.items() if there and _joint(transcript, name) in pieces.ids]
    bad = [(after[name][0], name) for name in cases if after[name][1] is not False]
    none = "no supersede of several memories that were there was acknowledged"
    return proportion(len(cases) - len(bad), len(cases), pieces.receipts(bad), none=none)


def _joint(transcript: Transcript, name: str) -> str:
    return transcript.plan.by_name[name].twin or ""


def _current(pieces: Pieces, transcript: Transcript, step: str) -> dict[str, tuple[int | None, bool | None]]:
    """Memory -> the look at it, and whether it shows it as one that holds; None if the look failed or is missing."""
    found: dict[str, tuple[int | None, bool | None]] = {}
    for piece in transcript.plan.of("several"):
        line = pieces.look(step, piece)
        call = None if line is None else transcript.events[line - 1]
        there = None
        if isinstance(call, Called) and call.fault is None:
            hits = (hit for hit in transcript.hits(call) if not hit.superseded)
            there = any(pieces.own(piece, hit) and holds(hit.text, piece) for hit in hits)
        found[piece.name] = line, there
    return found


# --- ends -------------------------------------------------------------------------------------------------------------


class ReplacedAnswers:
    """What questions at different story times brought. Those that failed show nothing."""

    def __init__(self, transcript: Transcript) -> None:
        self.pieces, self.plan = pieces_of(transcript), transcript.plan
        self._looks = {
            (call.step, call.about[0]): (line, call) for line, call in transcript.calls("recall") if call.about
        }

    def look(self, step: str, piece: Piece) -> tuple[int | None, bool | None]:
        """The line, and whether the memory came; None if the question failed or was not asked."""
        line, call = self._looks.get((step, piece.name), (None, None))
        return line, None if call is None or call.fault else self.pieces.rank(call, piece) is not None

    def came(self, step: str, role: str) -> bool | None:
        """Whether all of a role came, or none; None if it cannot be said."""
        seen = {self.look(step, piece)[1] for piece in self.plan.of(role)}
        return seen.pop() if len(seen) == 1 else None

    @property
    def works(self) -> bool:
        """Expired memories are hidden, and others are not."""
        return self.came("now", "ended") is False and self.came("now", "endless") is True

    def wrong(self, step: str, roles: tuple[str, ...], expected: bool) -> Iterator[tuple[tuple[int | None, str], bool]]:
        """Cases of memories that were acknowledged, and whether they are bad."""
        for piece in self.pieces.acknowledged(self.plan.of(*roles)):
            line, came = self.look(step, piece)
            yield (line, piece.name), came is not expected


ends_of = lru_cache(maxsize=4)(ReplacedAnswers)
IDLE = (
    "no memory whose end lies behind every clock was hidden, so nothing tells by which clock (see expired_not_recalled)"
)


def by_wall_clock(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "expiry")
    if lacking is not None:
        return lacking
    ends = ends_of(transcript)
    if not ends.works:
        return not_applicable(IDLE)
    cases = []
    for step, role, expected in (("later", "lasting", False), ("earlier", "ended", True)):
        if ends.came(step, "endless") and (role == "ended" or ends.came("now", "lasting")):
            cases += list(ends.wrong(step, (role,), expected))
    bad = [case for case, wrong in cases if wrong]
    none = "no memory without an end came at these story times"
    return proportion(len(bad), len(cases), ends.pieces.receipts(bad), none=none)


def expiry_lost(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "expiry")
    if lacking is not None:
        return lacking
    ends = ends_of(transcript)
    if not ends.works:
        return not_applicable(IDLE)
    cases = []
    for step, roles in (("changed", ("shorter", "exchange")), ("reopened later", ("ended", "shorter", "exchange"))):
        if ends.came(step, "endless"):
            cases += list(ends.wrong(step, roles, False))
    bad = [case for case, wrong in cases if wrong]
    return proportion(len(bad), len(cases), ends.pieces.receipts(bad), none="no memory without an end came afterwards")


# --- ids --------------------------------------------------------------------------------------------------------------


def ids_reissued(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "forget")
    if lacking is not None:
        return lacking
    pieces = pieces_of(transcript)
    gone: set[str] = set()
    for _, call in transcript.calls("forget", "doomed"):
        if all(transcript.answer(call) or [False]):
            gone.update(pieces.ids.get(call.about[0], ()))
    heirs = [
        piece
        for piece in pieces.acknowledged(transcript.plan.of("heir"))
        if gone.intersection(pieces.ids.get(piece.twin or "", ()))
    ]
    bad = [(pieces.writes[piece.name][0], piece.name) for piece in heirs if gone.intersection(pieces.ids[piece.name])]
    none = "no write after a deletion was acknowledged"
    return proportion(len(bad), len(heirs), pieces.receipts(bad), none=none)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "several_superseded", "keeping", "higher", "proportion",
        "memories superseded together, three by one, that no look shows as current / those that the same look showed "
        "before, if the supersede was acknowledged", superseded_together, verbatim=True,
    ),
    trust(
        "expiry_by_wall_clock", "keeping", "lower", "proportion",
        "memories that a question at a story time brings or hides as of today's date: one that ends in 2999 asked for "
        "in 3000 and brought, one that ended in 2000 asked for in 1999 and hidden / such questions, if one without an "
        "end comes at that time and expired ones are hidden in between", by_wall_clock, verbatim=True,
        aside="a product may go by today's date: story time is the benchmark's own",
    ),
    trust(
        "expiry_lost", "keeping", "lower", "proportion",
        "memories behind their end that come back: after an update or a supersede that brought the end, or in a fresh "
        "process / such memories, if an expired one was hidden when it was written and one without an end comes",
        expiry_lost, verbatim=True,
    ),
    trust(
        "ids_reissued", "keeping", "lower", "proportion",
        "new memories that get the id of a deleted one: in its scope, in another, after reopening / new memories right "
        "after a deletion that was acknowledged", ids_reissued,
    ),
)  # fmt: skip
