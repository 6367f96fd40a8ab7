"""The writes of the drill `keeping`: acknowledged, present, listed, and visible when the backend says so.

A write is present if any look finds it: the listing of its scope, its id, or its own text. If all looks failed, nobody
knows. A memory that only the listing leaves out is not lost; the listing is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.log.transcript import Op, Transcript
from harness.metrics import columns
from harness.metrics.metric import not_applicable, proportion
from harness.metrics.trust.metric import DrillWords, TrustMetric, trust
from harness.metrics.trust.view import READS, DrillLook, DrillView, holds, lacks, receipts
from harness.model.drill import Piece
from harness.model.trial import Measure

FIRST = ("written", "own")
"""The steps before anything is changed."""
AGAIN = "again"
"""The step that looks once more for what the first looks did not bring."""
LONG, DOCUMENT = "at length", "document"
"""The step of what is longer than the others, and its role."""
LATER = (AGAIN, "revised", "reopened")
STORED = ("answer", "look-alike", "odd", "note", "guarded", "plain", "bare", "alike")
NOTHING = "nothing was acknowledged"


def acknowledged(view: DrillView) -> list[Piece]:
    return view.list_acknowledged(view.plan.of(*STORED))


def brought(view: DrillView, piece: Piece, looks: Sequence[DrillLook]) -> bool:
    """Whether these looks together bring it under each of its ids and with its text, white space aside."""
    answers = [view.texts_by_id(call) for _, call in looks]
    ids = view.ids[piece.name]
    # each text once: a part that two looks bring would break the whole when joined
    texts = {name: dict.fromkeys(text for answer in answers for text in answer.get(name, ())) for name in ids}
    return all(texts.values()) and holds(" ".join(text for name in ids for text in texts[name]), piece)


def look_receipts(view: DrillView, pieces: Sequence[Piece], looks: Mapping[str, Sequence[DrillLook]]) -> list[str]:
    """Of each the last of the looks at it, which does not bring it."""
    return view.receipts((looks[each.name][-1].line if looks[each.name] else None, each.name) for each in pieces)


def is_unanswered(looks: Sequence[DrillLook]) -> bool:
    return bool(looks) and all(call.fault for _, call in looks)


def not_acknowledged(transcript: Transcript) -> Measure:
    view = DrillView.of(transcript)
    writes = view.writes
    pieces = [
        piece for piece in transcript.plan.of(*STORED, DOCUMENT) if piece.item.text.strip() and piece.name in writes
    ]
    bad = [(writes[piece.name].line, piece.name) for piece in pieces if not writes[piece.name].ids]
    return proportion(len(bad), len(pieces), view.receipts(bad), none="nothing was written")


def writes_kept(transcript: Transcript) -> Measure:
    view = DrillView.of(transcript)
    pieces = [*acknowledged(view), *view.list_acknowledged(view.plan.of(DOCUMENT))]
    looks = {piece.name: view.looks(piece.name, (*FIRST, AGAIN, LONG)) for piece in pieces}
    lost = [piece for piece in pieces if not brought(view, piece, looks[piece.name])]
    unanswered = sum(is_unanswered(looks[piece.name]) for piece in lost)
    lines = look_receipts(view, lost, looks)
    return proportion(len(pieces) - len(lost), len(pieces), lines, none=NOTHING, unanswered=unanswered)


def writes_listed(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "entries"):
        return lacking
    view = DrillView.of(transcript)
    pieces = acknowledged(view)
    looks = {piece.name: view.looks(piece.name, FIRST, ("entries",)) for piece in pieces}
    missing = [piece for piece in pieces if not brought(view, piece, looks[piece.name])]
    unanswered = sum(is_unanswered(looks[piece.name]) for piece in missing)
    lines = look_receipts(view, missing, looks)
    return proportion(len(pieces) - len(missing), len(pieces), lines, none=NOTHING, unanswered=unanswered)


def entries_unaccounted(transcript: Transcript) -> Measure:
    """A listing that failed could have shown such an entry: it counts as one that did."""
    if lacking := lacks(transcript, "entries"):
        return lacking
    view = DrillView.of(transcript)
    looks = {"written": STORED, "at once": ("bulk",)}
    scopes = {(step, piece.item.scope): None for step, roles in looks.items() for piece in transcript.plan.of(*roles)}
    # one case an id, however many listings show it
    found = {seen.hit.memory_id: seen for each in scopes for seen in view.list_seen(*each)}
    failed = [line for step in looks for line, call in transcript.calls("entries", step) if call.fault]
    bad = [seen.line for seen in found.values() if not view.owns(seen.hit)] + failed
    of = len(found) + len(failed)
    return proportion(len(bad), of, receipts(bad), none="nothing was listed", unanswered=len(failed))


def odd_texts_exact(transcript: Transcript) -> Measure:
    view = DrillView.of(transcript)
    pieces = view.list_acknowledged(transcript.plan.of("odd", "note", "guarded", "alike"))

    def exact(piece: Piece, looks: Sequence[DrillLook]) -> bool:
        hits = (hit for _, call in looks for hit in transcript.hits(call))
        return any(view.own(piece, hit) and piece.item.text in hit.text for hit in hits)

    def altered(piece: Piece) -> bool:
        """What one route leaves out another may show; what it brings is to be the text."""
        routes = [view.looks(piece.name, (*FIRST, AGAIN), (op,)) for op in READS]
        # where no route brings it whole, all that came of it is judged together
        told = [each for each in routes if brought(view, piece, each)] or [looks[piece.name]]
        return not all(exact(piece, each) for each in told)

    looks = {piece.name: view.looks(piece.name, (*FIRST, AGAIN)) for piece in pieces}
    bad = [piece for piece in pieces if altered(piece)]
    unanswered = sum(is_unanswered(looks[piece.name]) for piece in bad)
    lines = look_receipts(view, bad, looks)
    return proportion(len(pieces) - len(bad), len(pieces), lines, none=NOTHING, unanswered=unanswered)


# --- settling ---------------------------------------------------------------------------------------------------------


def settled(transcript: Transcript) -> Measure:
    calls = list(transcript.calls("settle")) if acknowledged(DrillView.of(transcript)) else []
    bad = [line for line, call in calls if transcript.answer(call) is not True]
    unanswered = sum(call.fault is not None for _, call in calls)
    return proportion(len(calls) - len(bad), len(calls), receipts(bad), none=NOTHING, unanswered=unanswered)


def settled_too_early(transcript: Transcript) -> Measure:
    """By each route for itself: a listing may show at once what a search does not."""
    if not any(transcript.answer(call) is True for _, call in transcript.calls("settle", "written")):
        return not_applicable("settle did not say that the writes are visible")
    view, of, bad, unanswered = DrillView.of(transcript), 0, list[int](), 0
    routes: tuple[Op, ...] = ("entries", "recall")
    for piece in acknowledged(view):
        first = {op: view.looks(piece.name, FIRST, (op,)) for op in routes}
        asked = [op for op in routes if first[op]]
        late = [
            look.line
            for op in asked
            if not is_unanswered(first[op]) and not brought(view, piece, first[op])
            for look in view.looks(piece.name, LATER, (op,))
            if brought(view, piece, [look])
        ]
        silent = not late and any(is_unanswered(first[op]) for op in asked)
        of += bool(asked)
        unanswered += silent
        bad += late[:1] or [line for op in asked if silent for line, _ in first[op]][:1]
    return proportion(len(bad), of, receipts(bad), none=NOTHING, unanswered=unanswered)


KEEPING = DrillWords(
    "keeping",
    10,
    "Kept",
    "Is what was written there, found, ranked, and unaltered?",
)
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "writes_not_acknowledged", KEEPING, "lower", "proportion",
        "writes of a text that is not blank for which no id came back, failed calls included / such writes; a store "
        "that refuses by saying nothing is caught here; a document of 68,000 characters is one of them",
        not_acknowledged, version=2,
        label="writes without an id", otherwise="writes acknowledged", column=columns.KEPT.at("refused"),
    ),
    trust(
        "writes_kept", KEEPING, "higher", "proportion",
        "acknowledged writes that the listing of their scope, their ids or a question of their own text bring under "
        "each of their ids and with their text, white space aside / acknowledged writes; what a listing leaves out is "
        "asked for by id and by its own text before it is called lost; some share their first 40, 80 or 200 "
        "characters, differ by a digit or a letter's case, or are the same text; one is a document of 68,000 "
        "characters",
        writes_kept, verbatim=True, version=3,
        label="acknowledged writes kept", otherwise="acknowledged writes lost", column=columns.KEPT.at("lost"),
    ),
    trust(
        "writes_listed", KEEPING, "higher", "proportion",
        "acknowledged writes that the listing of their scope shows under each of their ids and with their text, white "
        "space aside / acknowledged writes",
        writes_listed, verbatim=True,
        label="acknowledged writes listed", otherwise="acknowledged writes missing from the listing",
        column=columns.KEPT.at("hidden"),
    ),
    trust(
        "entries_unaccounted", KEEPING, "lower", "proportion",
        "ids in the listings that no write was acknowledged with, such as that of a second copy / ids in the listings, "
        "that of a batch of 1,030 among them",
        entries_unaccounted, version=3,
        label="listed memories nobody wrote", otherwise="listed memories that somebody wrote",
        column=columns.KEPT.at("extra"),
    ),
    trust(
        "odd_texts_exact", KEEPING, "higher", "proportion",
        "texts of quotes, markup, control characters, two directions, 10,000 characters and the like, notes of "
        "versions, commands, modes, signs, units, patterns, paths, negations, tables, code and other languages, and "
        "texts that differ by white space, case or how a letter is put together, that come back byte for byte, alone "
        "or inside of a larger text, by each operation (listing, get, recall) that brings them with all their words / "
        "those acknowledged; a backend that declares that it masks is told no address and no credential",
        odd_texts_exact, verbatim=True, version=3,
        label="odd texts and notes returned exactly", otherwise="odd texts and notes altered",
        column=columns.KEPT.at("altered"),
    ),
    trust(
        "settled", KEEPING, "higher", "proportion",
        "waits for acknowledged writes that ended with the word that all are visible / such waits", settled,
        label="waits that ended in time", otherwise="waits that did not end", column=columns.KEPT.at("refused"),
    ),
    trust(
        "settled_too_early", KEEPING, "lower", "proportion",
        "acknowledged writes that the first listing or question of their own text does not bring although settle said "
        "that all are visible, and that the same look brings later / acknowledged writes that were looked for",
        settled_too_early, verbatim=True,
        label="writes called visible and not found", otherwise="writes visible when called so",
        column=columns.KEPT.at("hidden"),
    ),
)  # fmt: skip
