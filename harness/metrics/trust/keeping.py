"""Is what was written there, whole, under its own name, and ahead of what only looks like it?

Fields are judged in every answer that brings a memory with its very text: one route that loses a field is a loss. What
did not come back at all is counted once, among the writes, not again by each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from harness.adapter import Hit, Item, Source
from harness.drill import Piece
from harness.metrics.metric import amount, failed, not_applicable, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.pieces import Pieces, holds, lacks, receipts, squeezed
from harness.metrics.view import same_moment
from harness.model import Measure
from harness.transcript import Called, Handled, Op, Transcript

FIRST = ("written", "own")
"""The steps before anything is changed."""
STORED = ("answer", "look-alike", "odd", "plain", "bare")
NOTHING = "nothing was acknowledged"
NONE_EQUAL = "no memory came back as it was written"
PARTS = ("repo", "org", "branch", "user")


# --- writes -----------------------------------------------------------------------------------------------------------


def writes_not_acknowledged(transcript: Transcript) -> Measure:
    writes = Pieces(transcript).writes
    pieces = [piece for piece in transcript.plan.of(*STORED) if piece.item.text.strip() and piece.name in writes]
    bad = [writes[piece.name][0] for piece in pieces if not writes[piece.name][1]]
    return proportion(len(bad), len(pieces), receipts(bad), none="nothing was written")


def writes_kept(transcript: Transcript) -> Measure:
    pieces = Pieces(transcript)
    written = pieces.acknowledged(transcript.plan.of(*STORED))
    listed = {
        scope: {seen.hit.memory_id: seen.hit.text for seen in pieces.listed("written", scope)}
        for scope in dict.fromkeys(piece.item.scope for piece in written)
    }
    lost = []
    for piece in written:
        there, ids = listed[piece.item.scope], pieces.ids[piece.name]
        together = " ".join(there.get(name, "") for name in ids)
        if not (all(name in there for name in ids) and holds(together, piece)):
            lost.append(pieces.writes[piece.name][0])
    return proportion(len(written) - len(lost), len(written), receipts(lost), none=NOTHING)


def entries_unaccounted(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "entries")
    if lacking is not None:
        return lacking
    pieces = Pieces(transcript)
    scopes = dict.fromkeys(piece.item.scope for piece in transcript.plan.of(*STORED))
    listed = {seen.hit.memory_id: seen for scope in scopes for seen in pieces.listed("written", scope)}
    bad = [seen.line for seen in listed.values() if not pieces.owned(seen.hit)]
    return proportion(len(bad), len(listed), receipts(bad), none="nothing was listed")


def odd_texts_exact(transcript: Transcript) -> Measure:
    pieces = Pieces(transcript)
    written = pieces.acknowledged(transcript.plan.of("odd"))
    bad = []
    for piece in written:
        found = [seen for seen in pieces.listed("written", piece.item.scope) if pieces.own(piece, seen.hit)]
        if not any(piece.item.text in seen.hit.text for seen in found):
            bad.append(pieces.writes[piece.name][0])
    return proportion(len(written) - len(bad), len(written), receipts(bad), none=NOTHING)


# --- recall -----------------------------------------------------------------------------------------------------------


def _asked(transcript: Transcript, step: str) -> Iterator[tuple[int, Called, Piece]]:
    """The questions of a step about a memory that was acknowledged."""
    pieces = Pieces(transcript)
    for line, call in transcript.calls("recall", step):
        piece = transcript.plan.by_name[call.about[0]]
        if piece.name in pieces.ids:
            yield line, call, piece


def found_within(transcript: Transcript, step: str, needs: Sequence[str], places: int | None) -> Measure:
    """Questions that brought their memory, among so many first hits if told."""
    lacking = lacks(transcript, *needs)
    if lacking is not None:
        return lacking
    pieces, cases = Pieces(transcript), list(_asked(transcript, step))
    ranks = [(line, pieces.rank(call, piece)) for line, call, piece in cases]
    bad = [line for line, rank in ranks if rank is None or (places is not None and rank >= places)]
    return proportion(len(cases) - len(bad), len(cases), receipts(bad), none=NOTHING)


def recalls_malformed(transcript: Transcript) -> Measure:
    ranked, of, bad = transcript.supports("ranked"), 0, []
    for line, call in transcript.calls("recall"):
        hits, k = transcript.hits(call), call.request["k"]
        breach = call.fault is not None and call.fault.kind == "breach"
        of += bool(hits) or breach
        too_many = ranked and isinstance(k, int) and len(hits) > k
        if breach or too_many or len({hit.memory_id for hit in hits}) < len(hits):
            bad.append(line)
    return proportion(len(bad), of, receipts(bad), none="no recall brought anything")


def unknown_answered_with_silence(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "abstains")
    if lacking is not None:
        return lacking
    pieces = Pieces(transcript)
    known = {piece.name for _, call, piece in _asked(transcript, "asked") if pieces.rank(call, piece) is not None}
    cases = [(line, call) for line, call in transcript.calls("recall", "unknown") if call.about[0] in known]
    bad = [line for line, call in cases if call.fault is not None or transcript.hits(call)]
    return proportion(len(cases) - len(bad), len(cases), receipts(bad), none="no question that has an answer got it")


# --- fields -----------------------------------------------------------------------------------------------------------


def _source(hit: Hit) -> Source | None:
    return hit.source if hit.source != Source() else None


def _same_source(hit: Hit, item: Item) -> bool:
    return _source(hit) == item.source


def _same_date(hit: Hit, item: Item) -> bool:
    return same_moment(hit.created, item.at)


def _same_confidence(hit: Hit, item: Item) -> bool:
    return hit.confidence == item.confidence


def field_kept(
    transcript: Transcript,
    needs: Sequence[str],
    written: Callable[[Item], Any],
    back: Callable[[Hit], Any],
    same: Callable[[Hit, Item], bool],
) -> Measure:
    """Memories whose field is the same in every answer; one without that comes back with counts too, as wrong."""
    lacking = lacks(transcript, *needs)
    if lacking is not None:
        return lacking
    pieces, of, bad = Pieces(transcript), 0, []
    for piece in transcript.plan.of(*STORED):
        seen = pieces.equal(piece, *FIRST)
        if not seen or (written(piece.item) is None and all(back(each.hit) is None for each in seen)):
            continue
        of += 1
        bad += [each.line for each in seen if not same(each.hit, piece.item)][:1]
    return proportion(of - len(bad), of, receipts(bad), none=NONE_EQUAL)


def scope_survives_writing(transcript: Transcript) -> Measure:
    """Only the parts of a scope that the backend claims to tell apart."""
    parts = [part for part in PARTS if transcript.supports(f"scope_{part}")]

    def same(hit: Hit, item: Item) -> bool:
        return all(getattr(hit.scope, part, None) == getattr(item.scope, part) for part in parts)

    return field_kept(transcript, ("scope_repo",), lambda item: item.scope, lambda hit: hit.scope, same)


def _right(pieces: Pieces, piece: Piece, *steps: str) -> bool:
    """It came back, each time with its own source or, if it has none, without."""
    seen = pieces.equal(piece, *steps)
    return bool(seen) and all(_same_source(each.hit, piece.item) for each in seen)


def _wrong_line(pieces: Pieces, piece: Piece, step: str) -> int:
    """The answer that is wrong, else the write of what did not come back."""
    wrong = (each.line for each in pieces.equal(piece, step) if not _same_source(each.hit, piece.item))
    return next(wrong, pieces.writes[piece.name][0])


def source_after(transcript: Transcript, op: Op, role: str) -> Measure:
    lacking = lacks(transcript, op, "source")
    if lacking is not None:
        return lacking
    pieces, cases = Pieces(transcript), []
    for piece in transcript.plan.of(role):
        twin = transcript.plan.by_name[piece.twin or ""]
        if piece.name in pieces.writes and twin.item.source is not None and _right(pieces, twin, *FIRST):
            cases.append(piece)
    bad = [_wrong_line(pieces, piece, "revised") for piece in cases if not _right(pieces, piece, "revised")]
    return proportion(len(cases) - len(bad), len(cases), receipts(bad), none="no source was right before")


def source_survives_reopening(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "persistent", "source")
    if lacking is not None:
        return lacking
    pieces = Pieces(transcript)
    cases = [piece for piece in transcript.plan.pieces if piece.item.source and _right(pieces, piece, "revised")]
    bad = [_wrong_line(pieces, piece, "reopened") for piece in cases if not _right(pieces, piece, "reopened")]
    return proportion(len(cases) - len(bad), len(cases), receipts(bad), none="no source was right before closing")


def kept_after_reopening(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "persistent")
    if lacking is not None:
        return lacking
    pieces = Pieces(transcript)

    def there(step: str) -> set[str]:
        """Texts may stand inside of larger ones."""
        scopes = {piece.item.scope for piece in transcript.plan.of("answer")}
        hits = [seen.hit for scope in scopes for seen in pieces.listed(step, scope)]
        texts = [(hit, squeezed(hit.text)) for hit in hits]
        return {
            piece.name
            for piece in transcript.plan.pieces
            if any(pieces.own(piece, hit) and squeezed(piece.item.text) in text for hit, text in texts)
        }

    before, after = there("revised"), there("reopened")
    lost = [pieces.writes[name][0] for name in before - after if name in pieces.writes]
    return proportion(len(before & after), len(before), receipts(lost), none="nothing was listed before closing")


# --- the calls themselves ---------------------------------------------------------------------------------------------


def calls_failed(transcript: Transcript) -> Measure:
    events: list[tuple[int, Called | Handled]] = [*transcript.of(Called), *transcript.of(Handled)]
    bad = [line for line, event in events if event.fault is not None]
    return proportion(len(bad), len(events), receipts(bad), none="nothing was called")


def recall_seconds(transcript: Transcript) -> Measure:
    """Only answered recalls of the trial's k."""
    times = [
        call.took
        for _, call in transcript.calls("recall")
        if call.fault is None and call.took is not None and call.request["k"] == transcript.trial.k
    ]
    return amount(median(times), len(times)) if times else not_applicable("no recall was answered and timed")


def bytes_per_memory(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "persistent")
    if lacking is not None:
        return lacking
    looks = list(transcript.looks("closed"))
    memories = len(Pieces(transcript).acknowledged(transcript.plan.of(*STORED)))
    if not memories:
        return not_applicable(NOTHING)
    if not looks:
        return failed("no look at the disk was taken")
    if not any(look.bytes for _, look in looks):
        return not_applicable(next((look.problem for _, look in looks if look.problem), "no declared layer has bytes"))
    unread = any(look.problem for _, look in looks)
    total = sum(look.bytes for _, look in looks)
    return amount(total / memories, memories, "at-least" if unread else "exact", [f"L{line}" for line, _ in looks])


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "writes_not_acknowledged", "keeping", "lower", "proportion",
        "writes of a text that is not blank for which no id came back, failed calls included / such writes; a store "
        "that refuses by saying nothing is caught here",
        writes_not_acknowledged,
    ),
    trust(
        "writes_kept", "keeping", "higher", "proportion",
        "acknowledged writes that the listing of their scope shows under each of their ids and with their text, white "
        "space aside / acknowledged writes; without listings, that a question of their own text brings so",
        writes_kept, verbatim=True,
    ),
    trust(
        "entries_unaccounted", "keeping", "lower", "proportion",
        "ids in the listings that no write was acknowledged with, such as that of a second copy / ids in the listings",
        entries_unaccounted,
    ),
    trust(
        "odd_texts_exact", "keeping", "higher", "proportion",
        "texts of quotes, markup, control characters, two directions, 10,000 characters and the like that are listed "
        "byte for byte, alone or inside of a larger text / those acknowledged",
        odd_texts_exact, verbatim=True,
    ),
    trust(
        "self_reachability", "keeping", "higher", "proportion",
        "sampled memories that a question of their own text brings within k / those acknowledged; look-alikes stand "
        "in sibling scopes, some of them with the very same text",
        partial(found_within, step="own", needs=(), places=None),
    ),
    trust(
        "own_text_first", "keeping", "higher", "proportion",
        "sampled memories that a question of their own text brings first / those acknowledged; only of a ranked store",
        partial(found_within, step="own", needs=("ranked",), places=1),
    ),
    trust(
        "answer_among_look_alikes", "keeping", "higher", "proportion",
        "questions in other words whose one answer in the asked scope comes within k / questions whose answer was "
        "acknowledged; seven look-alikes in the words of the question stand in sibling scopes, so that a store that "
        "cuts at k before it applies the scope finds nothing",
        partial(found_within, step="asked", needs=("ranked", "scope_repo"), places=None),
    ),
    trust(
        "recalls_malformed", "keeping", "lower", "proportion",
        "recalls in breach of the contract, with more than k hits (if ranked) or with one id twice / recalls that "
        "brought anything or were in breach; k is 1, the trial's, and 20",
        recalls_malformed,
    ),
    trust(
        "unknown_answered_with_silence", "keeping", "higher", "proportion",
        "questions to which nothing is known that bring nothing / such questions, each counted only if the question "
        "that it is paired with, which has an answer, brought it",
        unknown_answered_with_silence,
    ),
    trust(
        "source_survives_writing", "keeping", "higher", "proportion",
        "memories with exactly the source (commit, path, line, session) that they were written with, in every answer / "
        "memories with a source that came back with equal text, and those without one that came back with one",
        partial(
            field_kept, needs=("source",), written=lambda item: item.source, back=_source, same=_same_source,
        ),
    ),
    trust(
        "date_survives_writing", "keeping", "higher", "proportion",
        "memories dated with the moment that they were written with, in every answer / memories that came back with "
        "equal text; the dates are in another order than the writes",
        partial(
            field_kept, needs=("created",), written=lambda item: item.at, back=lambda hit: hit.created, same=_same_date,
        ),
    ),
    trust(
        "confidence_survives_writing", "keeping", "higher", "proportion",
        "memories with the confidence that they were written with, in every answer / memories with a confidence that "
        "came back with equal text, and those without one that came back with one",
        partial(
            field_kept, needs=(), written=lambda item: item.confidence, back=lambda hit: hit.confidence,
            same=_same_confidence,
        ),
    ),
    trust(
        "scope_survives_writing", "keeping", "higher", "proportion",
        "memories that come back under the scope that they were written with, as far as the backend claims to tell "
        "its parts apart, in every answer / memories that came back with equal text",
        scope_survives_writing,
    ),
    trust(
        "source_survives_update", "keeping", "higher", "proportion",
        "updated memories that come back with the new text and exactly the new source, or without one if the new one "
        "has none / updates of memories whose source was right before",
        partial(source_after, op="update", role="edit"),
    ),
    trust(
        "source_survives_supersede", "keeping", "higher", "proportion",
        "successors that come back with their text and exactly their source / successors of memories whose source was "
        "right before",
        partial(source_after, op="supersede", role="successor"),
    ),
    trust(
        "kept_after_reopening", "keeping", "higher", "proportion",
        "memories listed with their text by a fresh process on the same store / those listed before it was closed",
        kept_after_reopening,
    ),
    trust(
        "source_survives_reopening", "keeping", "higher", "proportion",
        "memories whose source is right before closing and in a fresh process / those whose source is right before",
        source_survives_reopening,
    ),
    trust(
        "calls_failed", "keeping", "lower", "proportion",
        "calls and openings that crashed, ran out of time, broke the contract or were refused although declared / "
        "calls and openings; what is declared as unsupported is not called",
        calls_failed, whole=False,
    ),
    trust(
        "recall_seconds", "keeping", "lower", "seconds",
        "median time inside the adapter of a recall at the trial's k, the endpoint's embedding of the question "
        "included, beside the trial's number of memories; a timing, which differs between equal runs",
        recall_seconds,
    ),
    trust(
        "bytes_per_memory", "keeping", "lower", "bytes",
        "bytes of all files of the declared layers after closing / acknowledged memories; the edited and superseded "
        "ones count once; equal runs may differ by a few pages where ids are drawn at random",
        bytes_per_memory,
    ),
)  # fmt: skip
