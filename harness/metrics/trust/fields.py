"""The text and the fields of a memory: are they kept when it is written, updated, superseded and reopened?

A field is judged in every answer that holds the memory's very text: one route that loses a field is a loss. A memory
that did not come back at all counts once, among the writes, and not for each field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypedDict

from harness.adapter import Hit, Item, Scope, Source
from harness.log.transcript import Op, Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.metric import not_applicable, proportion, unsupported
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import READS, DrillView, holds, lacks, line_of, receipts, scope_of
from harness.metrics.trust.writes import FIRST, KEEPING, STORED, is_unanswered
from harness.model.dates import same_moment
from harness.model.drill import Piece
from harness.model.trial import Measure

NONE_EQUAL = "no memory came back as it was written"
# a number with what is joined to it (1.2.3, 0644, 10:30, 5ms); a digit inside a word begins none
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\w.:-]*")
# 1,030 and 1030 are one number
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
PARTS = ("repo", "org", "branch", "user")


class _Naming(TypedDict):
    label: str
    otherwise: str
    column: Place


class Field(NamedTuple):
    """One field of a memory, and how it is compared.

    Attributes:
        needs: What the backend has to declare.
        filtered: The filter of a field that no trait declares. Who neither has it nor ever shows the field has none.
        same: Whether a hit has it as the item had it.
    """

    needs: tuple[str, ...]
    written: Callable[[Item], Any]
    back: Callable[[Hit], Any]
    same: Callable[[Transcript, Hit, Item], bool]
    filtered: str | None = None


def _source(hit: Hit) -> Source | None:
    return hit.source if hit.source != Source() else None


def _same_scope(transcript: Transcript, hit: Hit, item: Item) -> bool:
    """Only the parts of a scope that the backend claims to tell apart."""
    parts = [part for part in PARTS if transcript.supports(f"scope_{part}")]
    # a hit may have no scope: it then agrees with what names none of these parts
    return all(getattr(hit.scope, part, None) == getattr(item.scope, part) for part in parts)


FIELDS: Mapping[str, Field] = {
    "source": Field(
        ("source",), lambda item: item.source, _source, lambda _, hit, item: _source(hit) == item.source
    ),
    "date": Field(
        ("created",), lambda item: item.at, lambda hit: hit.created,
        lambda _, hit, item: same_moment(hit.created, item.at),
    ),
    "confidence": Field(
        (), lambda item: item.confidence, lambda hit: hit.confidence,
        lambda _, hit, item: hit.confidence == item.confidence,
        filtered="filter_confidence",
    ),
    "scope": Field(("scope_repo",), lambda item: item.scope, lambda hit: hit.scope, _same_scope),
}  # fmt: skip


def survives_writing(transcript: Transcript, field: str) -> Measure:
    """Memories whose field is the same in every answer; one without that comes back with counts too, as wrong."""
    compared = FIELDS[field]
    lacking = lacks(transcript, *compared.needs)
    if lacking is not None:
        return lacking
    view, of, bad = DrillView.of(transcript), 0, list[tuple[int | None, str]]()
    answers = [(piece, view.equal(piece, *FIRST)) for piece in transcript.plan.of(*STORED)]
    shown = [compared.back(each.hit) is not None for _, seen in answers for each in seen]
    if shown and not any(shown) and compared.filtered and not transcript.supports(compared.filtered):
        return unsupported(f"{field}: no answer shows one, and {compared.filtered} is not declared")
    for piece, seen in answers:
        if not seen or (compared.written(piece.item) is None and all(compared.back(each.hit) is None for each in seen)):
            continue
        of += 1
        # a memory counts once, however many of its answers are wrong
        bad += [(each.line, piece.name) for each in seen if not compared.same(transcript, each.hit, piece.item)][:1]
    return proportion(of - len(bad), of, view.receipts(bad), none=NONE_EQUAL)


class FieldCheck:
    """One field in one transcript."""

    def __init__(self, transcript: Transcript, field: str) -> None:
        self.transcript, self.field, self.view = transcript, FIELDS[field], DrillView.of(transcript)

    def is_right(self, piece: Piece, *steps: str) -> bool:
        """It came back, each time with its own field or, if it has none, without."""
        seen = self.view.equal(piece, *steps)
        return bool(seen) and all(self.field.same(self.transcript, each.hit, piece.item) for each in seen)

    def find_wrong(self, piece: Piece, step: str) -> tuple[int | None, str]:
        """The answer that is wrong, else the one that had to show what did not come back."""
        seen = self.view.equal(piece, step)
        lines = (each.line for each in seen if not self.field.same(self.transcript, each.hit, piece.item))
        return next(lines, line_of(self.view.look(step, piece))), piece.name

    def count_unanswered(self, cases: Sequence[Piece], step: str) -> int:
        """Those that no answer shows, and of which every look failed."""
        unseen = (piece.name for piece in cases if not self.view.equal(piece, step))
        return sum(is_unanswered(self.view.looks(name, [step])) for name in unseen)

    def measure_cases(self, cases: Sequence[Piece], step: str, none: str) -> Measure:
        bad = [self.find_wrong(piece, step) for piece in cases if not self.is_right(piece, step)]
        lines, unanswered = self.view.receipts(bad), self.count_unanswered(cases, step)
        return proportion(len(cases) - len(bad), len(cases), lines, none=none, unanswered=unanswered)


def survives_change(transcript: Transcript, field: str, op: Op, role: str) -> Measure:
    lacking = lacks(transcript, op, *FIELDS[field].needs)
    if lacking is not None:
        return lacking
    check, plan = FieldCheck(transcript, field), transcript.plan
    cases = [
        piece
        for piece in plan.of(role)
        if piece.name in check.view.writes and _was_whole(check, plan.by_name[piece.twin or ""])
    ]
    return check.measure_cases(cases, "revised", f"no {field} was right before")


def date_after_update(transcript: Transcript, *, first: bool) -> Measure:
    """Either date is true of an updated memory: when it was first made, and when its text was written.

    Args:
        first: Counts those that come back with the first; else those that come back with one of both.
    """
    if lacking := lacks(transcript, "update", *FIELDS["date"].needs):
        return lacking
    check, plan = FieldCheck(transcript, "date"), transcript.plan
    cases = [
        (piece, plan.by_name[piece.twin or ""])
        for piece in plan.of("edit")
        if piece.name in check.view.writes and _was_whole(check, plan.by_name[piece.twin or ""])
    ]

    def fits(piece: Piece, twin: Piece) -> bool:
        seen = check.view.equal(piece, "revised")
        true = (twin.item.at,) if first else (piece.item.at, twin.item.at)
        return bool(seen) and all(any(same_moment(each.hit.created, at) for at in true) for each in seen)

    good = [piece.name for piece, twin in cases if fits(piece, twin)]
    # to have the first date is neither good nor bad: its receipts are the hits; else they are what is wrong
    lines = [check.find_wrong(piece, "revised") for piece, _ in cases if (piece.name in good) == first]
    unanswered = check.count_unanswered([piece for piece, _ in cases], "revised")
    none = "no date was right before"
    return proportion(len(good), len(cases), check.view.receipts(lines), none=none, unanswered=unanswered)


def _was_whole(check: FieldCheck, twin: Piece) -> bool:
    """It had the field, and came back with it."""
    return check.field.written(twin.item) is not None and check.is_right(twin, *FIRST)


def survives_reopening(transcript: Transcript, field: str) -> Measure:
    lacking = lacks(transcript, "persistent", *FIELDS[field].needs)
    if lacking is not None:
        return lacking
    check = FieldCheck(transcript, field)
    with_field = (piece for piece in transcript.plan.pieces if check.field.written(piece.item) is not None)
    cases = [piece for piece in with_field if check.is_right(piece, "revised")]
    return check.measure_cases(cases, "reopened", f"no {field} was right before closing")


def source_survives_deletion(transcript: Transcript) -> Measure:
    """Of what comes back: what does not is counted as lost."""
    if lacking := lacks(transcript, "forget", *FIELDS["source"].needs):
        return lacking
    check = FieldCheck(transcript, "source")
    right_before = (
        piece for piece in transcript.plan.of("bulk") if piece.item.source and check.is_right(piece, "at once")
    )
    cases = [piece for piece in right_before if check.view.equal(piece, "forgotten")]
    return check.measure_cases(cases, "forgotten", "no source was right before the deletion")


def texts_whole(transcript: Transcript) -> Measure:
    """By each operation apart. An id that was updated may show either text; one of several for a text, only a part."""
    view = DrillView.of(transcript)
    texts: dict[str, list[Piece]] = {}
    for name, ids in view.ids.items():
        if len(ids) == 1:
            texts.setdefault(ids[0], []).append(transcript.plan.by_name[name])
    whole: dict[tuple[str, Op], tuple[int | None, str] | None] = {}
    for op in READS:
        for line, call in transcript.calls(op):
            for hit in transcript.hits(call):
                if hit.memory_id in texts:
                    _note_answer(whole, (hit.memory_id, op), line, [hit.text], texts[hit.memory_id])
    for line, call in transcript.calls("history"):
        texts_told, name = transcript.answer(call), str(call.request["memory_id"])
        if texts_told and name in texts:
            _note_answer(whole, (name, "history"), line, texts_told, texts[name])
    bad = [case for case in whole.values() if case is not None]
    return proportion(len(whole) - len(bad), len(whole), view.receipts(bad), none=NONE_EQUAL)


def _note_answer(
    whole: dict[tuple[str, Op], tuple[int | None, str] | None],
    case: tuple[str, Op],
    line: int,
    shown_texts: Sequence[str],
    pieces: Sequence[Piece],
) -> None:
    """One answer that does not show it whole is enough."""
    if whole.get(case) is None:
        shown = any(text == piece.item.text or holds(text, piece) for text in shown_texts for piece in pieces)
        whole[case] = None if shown else (line, pieces[-1].name)


def numbers_as_told(transcript: Transcript) -> Measure:
    """A model inside may leave a number out, and give one to another memory; it may not make another of it."""
    if not transcript.supports("extracts"):
        return not_applicable("nothing inside rewrites texts, so that they are compared themselves (see texts_whole)")
    numbers_by_scope: dict[Scope, set[str]] = {}
    for piece in transcript.plan.pieces:
        numbers_by_scope.setdefault(piece.item.scope, set()).update(_numbers(piece.item.text))
    view, cases = DrillView.of(transcript), dict[tuple[Scope, str], int | None]()
    for op in READS:
        for line, call in transcript.calls(op):
            scope = scope_of(call)
            for hit in transcript.hits(call):
                # a later answer does not make good a wrong one
                if view.owns(hit) and (numbers := _numbers(hit.text)) and cases.get((scope, hit.memory_id)) is None:
                    cases[scope, hit.memory_id] = None if numbers <= numbers_by_scope.get(scope, set()) else line
    bad = [line for line in cases.values() if line is not None]
    none = "no memory with a number came back"
    return proportion(len(cases) - len(bad), len(cases), receipts(bad), none=none)


def _numbers(text: str) -> set[str]:
    """With what belongs to them, such as dots, signs and units; without separators of thousands."""
    # a full stop, colon or dash behind a number belongs to the sentence
    return {each.rstrip(".:-") for each in NUMBER.findall(THOUSANDS.sub("", text))}


PLACES: Mapping[str, Place] = {
    "source": columns.SOURCES.at("lost"),
    "date": columns.DATES.at("wrong"),
    "confidence": columns.KEPT.at("fields"),
    "scope": columns.KEPT.at("fields"),
}
"""Sources and dates have columns of their own."""


def _call(field: str, when: str) -> _Naming:
    plural = f"{field}s" if field != "confidence" else "confidences"
    return {"label": f"{plural} kept {when}", "otherwise": f"{plural} lost {when}", "column": PLACES[field]}


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "texts_whole", KEEPING, "higher", "proportion",
        "memories whose whole text, white space aside, every answer of one operation (listing, get, recall, history) "
        "shows that brings them under their id, each operation counted apart / memories that it brings so",
        texts_whole, verbatim=True,
        label="texts returned whole", otherwise="texts cut or changed", column=columns.KEPT.at("altered"),
    ),
    trust(
        "numbers_as_told", KEEPING, "higher", "proportion",
        "memories each of whose numbers (versions, modes, times, signs and units with them) stands so in a text that "
        "was told in the asked scope, in every answer / memories with a number; only where a model inside rewrites",
        numbers_as_told,
        label="rewritten memories with numbers as told", otherwise="rewritten memories with other numbers",
        column=columns.KEPT.at("altered"),
    ),
    trust(
        "source_survives_writing", KEEPING, "higher", "proportion",
        "memories with exactly the source (commit, path, line, session) that they were written with, in every answer / "
        "memories with a source that came back with equal text, and those without one that came back with one",
        partial(survives_writing, field="source"), version=2, **_call("source", "when written"),
    ),
    trust(
        "date_survives_writing", KEEPING, "higher", "proportion",
        "memories dated with the moment that they were written with, in every answer / memories that came back with "
        "equal text; the dates are in another order than the writes",
        partial(survives_writing, field="date"), version=2, **_call("date", "when written"),
    ),
    trust(
        "confidence_survives_writing", KEEPING, "higher", "proportion",
        "memories with the confidence that they were written with, in every answer / memories with a confidence that "
        "came back with equal text, and those without one that came back with one; a backend that never shows one and "
        "declares no filter by it has no field for it",
        partial(survives_writing, field="confidence"), version=3, **_call("confidence", "when written"),
    ),
    trust(
        "scope_survives_writing", KEEPING, "higher", "proportion",
        "memories that come back under the scope that they were written with, as far as the backend claims to tell "
        "its parts apart, in every answer / memories that came back with equal text",
        partial(survives_writing, field="scope"), version=2, **_call("scope", "when written"),
    ),
    *(
        trust(
            f"{field}_survives_update", KEEPING, "higher", "proportion",
            f"updated memories that come back with the new text and exactly the new {field}, or without one if the new "
            f"one has none / updates of memories whose {field} was right before",
            partial(survives_change, field=field, op="update", role="edit"), version=2,
            **_call(field, "after an update"),
        )
        for field in FIELDS
        if field != "date"
    ),
    trust(
        "source_survives_deletion", KEEPING, "higher", "proportion",
        "memories that come back with exactly their source after a call to forget 515 others of their scope / those "
        "that came with it before, and come still",
        source_survives_deletion, asks=("open", "remember", "entries", "recall", "forget"),
        **_call("source", "when others are deleted"),
    ),
    trust(
        "date_survives_update", KEEPING, "higher", "proportion",
        "updated memories that come back with the new text and, in every answer, with the date of that text or of the "
        "first one / updates of memories whose date was right before; a store may say when a memory was first made",
        partial(date_after_update, first=False), version=3, **_call("date", "after an update"),
    ),
    trust(
        "first_date_after_update", KEEPING, "neither", "proportion",
        "updated memories that come back with the new text and the date of the first one / updates of memories whose "
        "date was right before; a reader who prefers the newest date takes such a text for an old one",
        partial(date_after_update, first=True), version=2, label="updated texts under their first date",
    ),
    *(
        trust(
            f"{field}_survives_supersede", KEEPING, "higher", "proportion",
            f"successors that come back with their text and exactly their {field} / successors of memories whose "
            f"{field} was right before",
            partial(survives_change, field=field, op="supersede", role="successor"), version=2,
            **_call(field, "after a replacement"),
        )
        for field in FIELDS
    ),
    *(
        trust(
            f"{field}_survives_reopening", KEEPING, "higher", "proportion",
            f"memories whose {field} is right before closing and in a fresh process / those whose {field} is right "
            "before",
            partial(survives_reopening, field=field), version=2, **_call(field, "after reopening"),
        )
        for field in FIELDS
    ),
)  # fmt: skip
