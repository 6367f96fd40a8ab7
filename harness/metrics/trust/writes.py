"""What became of the writes of the drill `keeping`: acknowledged, there, listed, and visible when the backend says so.

A write is there if any look brings it: the listing of its scope, its own id, its own text. Where all looks at it failed
nobody knows. What only the listing leaves out is not lost; the listing is cut.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from harness.log.transcript import Called, Op, Transcript
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.pieces import READS, holds, lacks, pieces_of, receipts
from harness.model.drill import Piece
from harness.model.trial import Measure

FIRST = ("written", "own")
"""The steps before anything is changed."""
AGAIN = "again"
"""The step that looks once more for what the first looks did not bring."""
LATER = (AGAIN, "revised", "reopened")
STORED = ("answer", "look-alike", "odd", "plain", "bare", "alike")
NOTHING = "nothing was acknowledged"


class Writes:
    """The acknowledged writes of one transcript, and every look at each of them."""

    def __init__(self, transcript: Transcript, *roles: str) -> None:
        self.transcript, self.pieces = transcript, pieces_of(transcript)
        self.all = self.pieces.acknowledged(transcript.plan.of(*(roles or STORED)))

    @cached_property
    def _looks(self) -> dict[tuple[str, Op, str], list[tuple[int, Called]]]:
        found: dict[tuple[str, Op, str], list[tuple[int, Called]]] = {}
        for op in READS:
            for line, call in self.transcript.calls(op):
                for name in call.about:
                    found.setdefault((call.step, op, name), []).append((line, call))
        return found

    def looks(self, piece: Piece, steps: Collection[str], ops: Sequence[Op] = READS) -> list[tuple[int, Called]]:
        return [look for step in steps for op in ops for look in self._looks.get((step, op, piece.name), [])]

    def brought(self, piece: Piece, looks: Sequence[tuple[int, Called]]) -> bool:
        """Whether these looks together bring it under each of its ids and with its text, white space aside."""
        there: dict[str, dict[str, None]] = {}
        for _, call in looks:
            for hit in self.transcript.hits(call):
                there.setdefault(hit.memory_id, {})[hit.text] = None
        ids = self.pieces.ids[piece.name]
        return all(name in there for name in ids) and holds(
            " ".join(text for name in ids for text in there[name]), piece
        )

    def receipts(self, pieces: Sequence[Piece], looks: Mapping[str, Sequence[tuple[int, Called]]]) -> list[str]:
        """Of each the last of the looks at it, which does not bring it."""
        cases = ((looks[piece.name][-1][0] if looks[piece.name] else None, piece.name) for piece in pieces)
        return self.pieces.receipts(cases)


def _unanswered(looks: Sequence[tuple[int, Called]]) -> bool:
    return bool(looks) and all(call.fault for _, call in looks)


def not_acknowledged(transcript: Transcript) -> Measure:
    found = pieces_of(transcript)
    writes = found.writes
    pieces = [piece for piece in transcript.plan.of(*STORED) if piece.item.text.strip() and piece.name in writes]
    bad = [(writes[piece.name][0], piece.name) for piece in pieces if not writes[piece.name][1]]
    return proportion(len(bad), len(pieces), found.receipts(bad), none="nothing was written")


def kept(transcript: Transcript) -> Measure:
    writes = Writes(transcript)
    looks = {piece.name: writes.looks(piece, (*FIRST, AGAIN)) for piece in writes.all}
    lost = [piece for piece in writes.all if not writes.brought(piece, looks[piece.name])]
    unanswered = sum(_unanswered(looks[piece.name]) for piece in lost)
    lines = writes.receipts(lost, looks)
    return proportion(len(writes.all) - len(lost), len(writes.all), lines, none=NOTHING, unanswered=unanswered)


def listed(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "entries"):
        return lacking
    writes = Writes(transcript)
    looks = {piece.name: writes.looks(piece, FIRST, ("entries",)) for piece in writes.all}
    missing = [piece for piece in writes.all if not writes.brought(piece, looks[piece.name])]
    unanswered = sum(_unanswered(looks[piece.name]) for piece in missing)
    lines = writes.receipts(missing, looks)
    return proportion(len(writes.all) - len(missing), len(writes.all), lines, none=NOTHING, unanswered=unanswered)


def entries_unaccounted(transcript: Transcript) -> Measure:
    """A listing that failed could have shown such an entry: it counts as one that did."""
    if lacking := lacks(transcript, "entries"):
        return lacking
    pieces = pieces_of(transcript)
    scopes = dict.fromkeys(piece.item.scope for piece in transcript.plan.of(*STORED))
    found = {seen.hit.memory_id: seen for scope in scopes for seen in pieces.listed("written", scope)}
    failed = [line for line, call in transcript.calls("entries", "written") if call.fault]
    bad = [seen.line for seen in found.values() if not pieces.owned(seen.hit)] + failed
    of = len(found) + len(failed)
    return proportion(len(bad), of, receipts(bad), none="nothing was listed", unanswered=len(failed))


def odd_texts_exact(transcript: Transcript) -> Measure:
    writes = Writes(transcript, "odd", "alike")

    def exact(piece: Piece, looks: Sequence[tuple[int, Called]]) -> bool:
        hits = (hit for _, call in looks for hit in transcript.hits(call))
        return any(writes.pieces.own(piece, hit) and piece.item.text in hit.text for hit in hits)

    # A listing is asked first: another route is asked where it leaves the memory out, not where it changes the text.
    looks = {
        piece.name: writes.looks(piece, FIRST, ("entries",))
        if writes.brought(piece, writes.looks(piece, FIRST, ("entries",)))
        else writes.looks(piece, (*FIRST, AGAIN))
        for piece in writes.all
    }
    bad = [piece for piece in writes.all if not exact(piece, looks[piece.name])]
    unanswered = sum(_unanswered(looks[piece.name]) for piece in bad)
    lines = writes.receipts(bad, looks)
    return proportion(len(writes.all) - len(bad), len(writes.all), lines, none=NOTHING, unanswered=unanswered)


# --- settling ---------------------------------------------------------------------------------------------------------


def settled(transcript: Transcript) -> Measure:
    calls = list(transcript.calls("settle")) if Writes(transcript).all else []
    bad = [line for line, call in calls if transcript.answer(call) is not True]
    unanswered = sum(call.fault is not None for _, call in calls)
    return proportion(len(calls) - len(bad), len(calls), receipts(bad), none=NOTHING, unanswered=unanswered)


def settled_too_early(transcript: Transcript) -> Measure:
    """By each route for itself: a listing may show at once what a search does not."""
    if not any(transcript.answer(call) is True for _, call in transcript.calls("settle", "written")):
        return not_applicable("settle did not say that the writes are visible")
    writes, of, bad, unanswered = Writes(transcript), 0, list[int](), 0
    routes: tuple[Op, ...] = ("entries", "recall")
    for piece in writes.all:
        first = {op: writes.looks(piece, FIRST, (op,)) for op in routes}
        asked = [op for op in routes if first[op]]
        late = [
            line
            for op in asked
            if not _unanswered(first[op]) and not writes.brought(piece, first[op])
            for line, call in writes.looks(piece, LATER, (op,))
            if writes.brought(piece, [(line, call)])
        ]
        silent = not late and any(_unanswered(first[op]) for op in asked)
        of += bool(asked)
        unanswered += silent
        bad += late[:1] or [line for op in asked if silent for line, _ in first[op][:1]][:1]
    return proportion(len(bad), of, receipts(bad), none=NOTHING, unanswered=unanswered)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "writes_not_acknowledged", "keeping", "lower", "proportion",
        "writes of a text that is not blank for which no id came back, failed calls included / such writes; a store "
        "that refuses by saying nothing is caught here",
        not_acknowledged,
    ),
    trust(
        "writes_kept", "keeping", "higher", "proportion",
        "acknowledged writes that the listing of their scope, their ids or a question of their own text bring under "
        "each of their ids and with their text, white space aside / acknowledged writes; what a listing leaves out is "
        "asked for by id and by its own text before it is called lost; some share their first 40, 80 or 200 "
        "characters, differ by a digit or a letter's case, or are the same text",
        kept, verbatim=True, version=2,
    ),
    trust(
        "writes_listed", "keeping", "higher", "proportion",
        "acknowledged writes that the listing of their scope shows under each of their ids and with their text, white "
        "space aside / acknowledged writes",
        listed, verbatim=True,
    ),
    trust(
        "entries_unaccounted", "keeping", "lower", "proportion",
        "ids in the listings that no write was acknowledged with, such as that of a second copy / ids in the listings",
        entries_unaccounted, version=2,
    ),
    trust(
        "odd_texts_exact", "keeping", "higher", "proportion",
        "texts of quotes, markup, control characters, two directions, 10,000 characters and the like, and texts that "
        "differ by white space, case or how a letter is put together, that are listed byte for byte, alone or inside "
        "of a larger text / those acknowledged; what a listing leaves out is judged by its id and its own text",
        odd_texts_exact, verbatim=True, version=2,
    ),
    trust(
        "settled", "keeping", "higher", "proportion",
        "waits for acknowledged writes that ended with the word that all are visible / such waits", settled,
    ),
    trust(
        "settled_too_early", "keeping", "lower", "proportion",
        "acknowledged writes that the first listing or question of their own text does not bring although settle said "
        "that all are visible, and that the same look brings later / acknowledged writes that were looked for",
        settled_too_early, verbatim=True,
    ),
)  # fmt: skip
