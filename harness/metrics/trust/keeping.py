"""Is what was written ahead of what only looks like it, there after reopening, and in the same size?

Whether it was stored at all is said by `writes.py`, whether whole by `fields.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics import columns
from harness.metrics.metric import amount, failed, not_applicable, proportion
from harness.metrics.trust import (
    deprecating,
    ending,
    fields,
    filtering,
    growing,
    ranking,
    repeating,
    replacing,
    revising,
    speed,
    writes,
)
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import DrillLook, DrillView, holds, lacks, line_of, receipts
from harness.metrics.trust.writes import KEEPING, NOTHING, acknowledged, brought, look_receipts
from harness.model.drill import Piece
from harness.model.trial import Measure
from harness.text.classify import cut
from harness.text.stored_texts import StoredTexts

TIE = 1e-6
"""Scores that differ by no more than rounding are equal."""


# --- a large batch ----------------------------------------------------------------------------------------------------


def batch_kept(transcript: Transcript) -> Measure:
    """What a listing leaves out is lost, unless all that was asked for of it is there: then the listing is cut."""
    view = DrillView.of(transcript)
    written = [piece for piece in transcript.plan.of("bulk") if piece.name in view.writes]
    looks = {piece.name: view.looks(piece.name, ("at once",)) for piece in written}
    if not transcript.supports("entries"):
        # without listings only a sample was asked for: of the others nothing is known
        written = [piece for piece in written if looks[piece.name]]
    surest = "entries" if transcript.supports("entries") else "recall"
    calls = (call for call in _list_calls(looks.values()) if call.op == surest)
    there = {hit.memory_id: hit.text for call in calls for hit in transcript.hits(call)}
    missed = [piece for piece in written if not _shows(view, piece, there)]
    known = [piece for piece in missed if piece.name in view.ids]
    again = [piece for piece in known if any(call.op != "entries" for _, call in looks[piece.name])]
    back = {piece.name for piece in again if brought(view, piece, looks[piece.name])}
    cut = bool(again) and len(back) == len(again)
    lost = [piece for piece in missed if piece.name not in back and not (cut and piece in known)]
    return proportion(
        len(written) - len(lost), len(written), look_receipts(view, lost, looks), none="no large batch was written"
    )


def _list_calls(looks: Iterable[Sequence[DrillLook]]) -> list[Called]:
    """Each call once: a listing is about all of the batch."""
    return list({line: call for each in looks for line, call in each}.values())


def _shows(view: DrillView, piece: Piece, there: Mapping[str, str]) -> bool:
    ids = view.ids.get(piece.name, ())
    return bool(ids) and holds(" ".join(there.get(name, "") for name in ids), piece)


# --- recall -----------------------------------------------------------------------------------------------------------


def _list_recalls(transcript: Transcript, step: str | None = None) -> list[tuple[int, Called]]:
    """Filtered ones behind the others."""
    return [*transcript.calls("recall", step), *transcript.calls("recall_where", step)]


def _list_questions(transcript: Transcript, step: str) -> Iterator[tuple[int, Called, Piece]]:
    """The questions of a step about a memory that was acknowledged."""
    view = DrillView.of(transcript)
    for line, call in transcript.calls("recall", step):
        piece = transcript.plan.by_name[call.about[0]]
        if piece.name in view.ids:
            yield line, call, piece


def found_within(
    transcript: Transcript, steps: Sequence[str], needs: Sequence[str], places: int | None, wordless: bool = False
) -> Measure:
    """Questions that brought their memory, among so many first hits if told.

    Args:
        wordless: Of texts without a letter or digit, in which a search by words has nothing to go by; else of others.
    """
    lacking = lacks(transcript, *needs)
    if lacking is not None:
        return lacking
    view, questions = DrillView.of(transcript), [each for step in steps for each in _list_questions(transcript, step)]
    # `is not` of two truth values: keeps the questions of the wanted sort
    cases = [each for each in questions if wordless is not any(map(str.isalnum, each[2].item.text))]
    ranks = [(line, piece.name, view.rank(call, piece)) for line, call, piece in cases]
    bad = [(line, name) for line, name, rank in ranks if rank is None or (places is not None and rank >= places)]
    unanswered = sum(call.fault is not None for _, call, _ in cases)
    lines = view.receipts(bad)
    return proportion(len(cases) - len(bad), len(cases), lines, none=NOTHING, unanswered=unanswered)


def recalls_malformed(transcript: Transcript) -> Measure:
    ranked, of, bad = transcript.supports("ranked"), 0, []
    for line, call in _list_recalls(transcript):
        hits, k = transcript.hits(call), call.request["k"]
        breach = call.fault is not None and call.fault.kind == "breach"
        # an empty answer has nothing that could be malformed
        of += bool(hits) or breach
        # one that does not rank brings all that it has, however few are asked for
        too_many = ranked and isinstance(k, int) and len(hits) > k
        if breach or too_many or len({hit.memory_id for hit in hits}) < len(hits):
            bad.append(line)
    return proportion(len(bad), of, receipts(bad), none="no recall brought anything")


def scores_out_of_order(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "ranked")
    if lacking is not None:
        return lacking
    of, bad = 0, []
    for line, call in _list_recalls(transcript):
        scores = [hit.score for hit in transcript.hits(call) if hit.score is not None]
        if len(scores) > 1:
            of += 1
            bad += [line] * any(later > earlier + TIE for earlier, later in pairwise(scores))
    return proportion(len(bad), of, receipts(bad), none="no recall brought two memories with scores")


def unknown_answered_with_silence(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "abstains")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    known = {
        piece.name for _, call, piece in _list_questions(transcript, "asked") if view.rank(call, piece) is not None
    }
    # a store that never answers is silent here, too, and that is no merit
    cases = [(line, call) for line, call in _list_recalls(transcript, "unknown") if call.about[0] in known]
    bad = [line for line, call in cases if call.fault is not None or transcript.hits(call)]
    unanswered = sum(call.fault is not None for _, call in cases)
    none = "no question that has an answer got it"
    return proportion(len(cases) - len(bad), len(cases), receipts(bad), none=none, unanswered=unanswered)


def answers_invented(transcript: Transcript) -> Measure:
    """Asked in other words than those of any memory, as whoever says the question again says nothing of his own."""
    view, stored = DrillView.of(transcript), StoredTexts()
    for deed in view.writes.values():
        stored.add([deed.piece.item.text], [deed.ids])
    calls = [each for step in ("asked", "unknown", "narrow", "wide") for each in transcript.calls("recall", step)]
    hits = [(line, hit) for line, call in calls for hit in transcript.hits(call)]
    bad = [line for line, hit in hits if not stored.holds(hit.memory_id, hit.text, cut(hit.text, stored.known))]
    return proportion(len(bad), len(hits), receipts(bad), none="no question in other words brought anything")


# --- reopening --------------------------------------------------------------------------------------------------------


def kept_after_reopening(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "persistent")
    if lacking is not None:
        return lacking
    view = DrillView.of(transcript)
    scopes = {piece.item.scope for piece in transcript.plan.of("answer", "alike")}

    def there(step: str) -> set[str]:
        return view.list_held(step, scopes, transcript.plan.pieces)

    before, after = there("revised"), there("reopened")
    plan = transcript.plan.by_name
    lost = [(line_of(view.look("reopened", plan[name])), name) for name in before - after if name in view.writes]
    looks = [call for op in ("entries", "recall") for _, call in transcript.calls(op, "reopened")]
    unanswered = len(before) if looks and all(call.fault for call in looks) else 0
    none = "nothing was listed before closing"
    return proportion(len(before & after), len(before), view.receipts(lost), none=none, unanswered=unanswered)


# --- the calls themselves ---------------------------------------------------------------------------------------------


def calls_failed(transcript: Transcript) -> Measure:
    events: list[tuple[int, Called | Handled]] = [*transcript.of(Called), *transcript.of(Handled)]
    bad = [line for line, event in events if event.fault is not None]
    return proportion(len(bad), len(events), receipts(bad), none="nothing was called")


def bytes_per_memory(transcript: Transcript) -> Measure:
    lacking = lacks(transcript, "persistent")
    if lacking is not None:
        return lacking
    looks = list(transcript.looks("closed"))
    memories = len(acknowledged(DrillView.of(transcript)))
    if not memories:
        return not_applicable(NOTHING)
    if not looks:
        return failed("no look at the disk was taken")
    declared = [look for _, look in looks if look.declared]
    # the bytes of a remote store lie elsewhere, whatever files there are here
    far = bool(declared) and all(look.layer.format == "remote" for look in declared)
    if far or not any(look.bytes for _, look in looks):
        return not_applicable(next((look.problem for _, look in looks if look.problem), "no declared layer has bytes"))
    unread = any(look.problem for _, look in looks)
    total = sum(look.bytes for _, look in looks)
    return amount(total / memories, memories, "at-least" if unread else "exact", [f"L{line}" for line, _ in looks])


def undeclared_bytes(transcript: Transcript) -> Measure:
    looks = list(transcript.looks("closed"))
    if lacking := lacks(transcript, "persistent"):
        return lacking
    # `all` also holds where there was no look
    if all(look.declared for _, look in looks):
        return failed("no look at the disk was taken") if not looks else not_applicable("only layers were looked at")
    beside = [(line, look) for line, look in looks if not look.declared]
    total, astray = (sum(look.bytes for _, look in each) for each in (looks, beside))
    lines = [f"L{line}" for line, look in beside if look.bytes]
    return proportion(astray, total, lines, none="no place has bytes")


DRILL = KEEPING
# modules are found by their DRILL: the measures of those without one are gathered here
METRICS: tuple[TrustMetric, ...] = (
    *writes.METRICS,
    trust(
        "batch_kept", DRILL, "higher", "proportion",
        "memories of one batch of 1,030 that were acknowledged and that the listing of their scope shows with their "
        "text / the batch; without listings, the same of ten beside the usual limits, asked for by their own text",
        batch_kept, verbatim=True,
        label="memories kept of a batch of 1,030", otherwise="memories lost of a batch of 1,030",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "self_reachability", DRILL, "higher", "proportion",
        "sampled memories that a question of their own text brings within k, ten of a batch of 1,030 among them / "
        "those acknowledged; look-alikes stand in sibling scopes, some of them with the very same text; six are asked "
        "for behind a beginning with quotes, colons, operators, flags, brackets or lines; one was written a minute "
        "before by a clock ahead; a text without a letter or digit is counted apart",
        partial(found_within, steps=("own", "syntax", "found at once"), needs=(), places=None), version=5,
        label="memories found by their own text", otherwise="memories not found by their own text",
        column=columns.FOUND.at("unfound"),
    ),
    trust(
        "own_text_first", DRILL, "higher", "proportion",
        "sampled memories that a question of their own text brings first / those acknowledged; only of a ranked store; "
        "a text without a letter or digit is counted apart",
        partial(found_within, steps=("own",), needs=("ranked",), places=1), version=2,
        label="memories found first by their own text", otherwise="memories not found first by their own text",
        column=columns.FOUND.at("look-alikes"),
    ),
    trust(
        "wordless_text_found", KEEPING, "higher", "proportion",
        "sampled memories of punctuation alone that a question of their own text brings within k / those acknowledged",
        partial(found_within, steps=("own",), needs=(), places=None, wordless=True),
        aside="a search by words has nothing to go by, and nobody asks for such a text",
        label="texts without a word found by themselves",
    ),
    trust(
        "answer_among_look_alikes", DRILL, "higher", "proportion",
        "questions in other words whose one answer in the asked scope comes within k / questions whose answer was "
        "acknowledged; seven look-alikes in the words of the question stand in sibling scopes, so that a store that "
        "cuts at k before it applies the scope finds nothing",
        partial(found_within, steps=("asked",), needs=("ranked", "scope_repo"), places=None),
        label="answers found among look-alikes", otherwise="answers missed among look-alikes",
        column=columns.FOUND.at("look-alikes"),
    ),
    trust(
        "recalls_malformed", DRILL, "lower", "proportion",
        "recalls, filtered or not, in breach of the contract, with more than k hits (if ranked) or one id twice / "
        "recalls with hits or in breach; k is 1, the trial's, and up to 40",
        recalls_malformed, version=2,
        label="answers that break the contract", otherwise="answers that keep the contract",
        column=columns.FOUND.at("breach"),
    ),
    trust(
        "scores_out_of_order", DRILL, "lower", "proportion",
        "recalls, filtered or not, in which a later memory has a higher score than the one before it / recalls "
        "that bring two memories with scores; only of a ranked store", scores_out_of_order, version=2,
        label="answers with scores out of order", otherwise="answers with scores in order",
        column=columns.FOUND.at("breach"),
    ),
    trust(
        "unknown_answered_with_silence", DRILL, "higher", "proportion",
        "questions to which nothing is known that bring nothing / such questions, also of a user, as of another day, "
        "and kept to a kind, a file or a confidence, each counted only if the question that it is paired with, which "
        "has an answer, brought it",
        unknown_answered_with_silence, version=2,
        aside="no column promises silence about what is not known",
        label="unknown questions met with silence",
    ),
    trust(
        "answers_invented", DRILL, "lower", "proportion",
        "memories brought by questions in other words that show neither what was stored under their id nor, under an "
        "id that was never acknowledged, anything that was stored (`hits_invented`) / memories that these bring",
        answers_invented, verbatim=True,
        label="answers that nobody stored", otherwise="answers that were stored",
        column=columns.SOURCES.at("invented"),
    ),
    trust(
        "kept_after_reopening", DRILL, "higher", "proportion",
        "memories listed with their text by a fresh process on the same store / those listed before it was closed, "
        "some with equal texts in one scope or in narrower ones",
        kept_after_reopening, version=2,
        label="memories kept after reopening", otherwise="memories lost by reopening", column=columns.KEPT.at("lost"),
    ),
    trust(
        "calls_failed", DRILL, "lower", "proportion",
        "calls and openings that raised an exception, crashed, ran out of time, broke the contract or were refused "
        "although declared / calls and openings; what is declared as unsupported is not called",
        calls_failed, whole=False,
        label="calls that failed", otherwise="calls that were answered", column=columns.KEPT.at("refused"),
    ),
    *speed.METRICS,
    trust(
        "bytes_per_memory", DRILL, "lower", "bytes",
        "bytes of all files that are found after closing, whether an adapter declares them or not / acknowledged "
        "memories; the edited and superseded ones count once; equal runs may differ by a few pages where ids are drawn "
        "at random",
        bytes_per_memory, version=2,
        aside="a size has no best value", varies="pages and ids that are drawn at random",
        label="disk space per memory",
    ),
    trust(
        "undeclared_bytes", DRILL, "lower", "proportion",
        "bytes of files that the adapter does not declare (its homes, temporary folders and output, files in the root "
        "and beside it) after closing / bytes of all files that are found",
        undeclared_bytes,
        aside="where bytes lie is no promise to a user", varies="output and temporary files may differ",
        label="data in undeclared files",
    ),
    *fields.METRICS,
    *replacing.METRICS,
    *deprecating.METRICS,
    *filtering.METRICS,
    *growing.METRICS,
    *ending.METRICS,
    *ranking.METRICS,
    *repeating.METRICS,
    *revising.METRICS,
)  # fmt: skip
