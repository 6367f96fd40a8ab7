"""Repetition: many writes at once, questions and changes made again, questions of one word, and later days.

A look that failed shows nothing: its case counts as bad, and as unanswered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from harness.log.transcript import Op, Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion
from harness.metrics.trust.fields import FIELDS, FieldCheck
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import DrillLook, DrillView, lacks, line_of, mark
from harness.metrics.trust.writes import KEEPING
from harness.model.drill import Piece
from harness.model.trial import Measure

BEFORE = ("written", "revised", "reopened", "at once")
"""Where the last look of the same kind shows a memory, it was there before the rest was written."""
ROUTES: tuple[Op, ...] = ("entries", "recall")
MISSED = (
    ("late", "not yet", "late"),
    *((f"anew {way}", "stored since", "stored anew") for way in ("forget", "forget_scope")),
    *((f"back {way}", "stored since", "stored anew later") for way in ("forget", "forget_scope")),
)
"""Role, the step that asks for it in vain, and the one that asks when it was written."""
DELETED: Mapping[str, Sequence[str]] = {
    "stored": ("stored since", "stored anew", "stored anew since", "stored anew later"),
    "stored anew": ("stored anew since", "stored anew later"),
    "passing": ("passed",),
}
"""Step that shows and then deletes -> the later ones that ask for what was not stored again."""
TOLD_AGAIN = (("source", "told", "retold"), ("confidence", "retold", "rated"))
"""Field, the step that shows its first value, and the one that shows another of the same text."""
ECHO = "echo"
"""A memory elsewhere with the last text of one that was changed."""
HEIRS = "chain heirs"
"""Texts of which each took the place of the one before."""
CHAINED = "chained gone"
"""The step that deletes what was changed several times, and asks for each of its texts."""


class Case(NamedTuple):
    """A memory, the look that tells of it, and whether it shows what it should; None if it failed or is missing."""

    name: str
    look: DrillLook | None
    good: bool | None


def _count(view: DrillView, cases: Iterable[Case], none: str, *, bad: bool = False) -> Measure:
    """The good ones, or, where these count, the `bad` ones."""
    known = list(cases)
    wrong = [case for case in known if not case.good]
    lines = view.receipts((line_of(case.look), case.name) for case in wrong)
    hits = len(wrong) if bad else len(known) - len(wrong)
    return proportion(hits, len(known), lines, none=none, unanswered=sum(case.good is None for case in known))


def _came(view: DrillView, step: str, piece: Piece) -> Case:
    """Whether a question for it brings it."""
    look = next(iter(view.looks(piece.name, [step], ["recall"])), None)
    if look is None or look.call.fault:
        return Case(piece.name, look, None)
    return Case(piece.name, look, view.rank(look.call, piece) is not None)


# --- many at once -----------------------------------------------------------------------------------------------------


class _Batch:
    """What was there before one call that forgets most of a batch, what that was, and what is there then."""

    def __init__(self, transcript: Transcript) -> None:
        self.view = DrillView.of(transcript)
        order = next(transcript.calls("forget", "forgotten"), None)
        self.going = frozenset(order[1].about) if order else frozenset()
        self.fault = order[1].fault if order else None

    def cases(self, *, going: bool) -> list[Case]:
        """Of those that were to go, or of the others, that a look showed before."""
        pieces = (piece for piece in self.view.plan.of("bulk") if (piece.name in self.going) is going)
        return [self._after(piece, going) for piece in pieces if self._is_there("at once", piece)]

    def _is_there(self, step: str, piece: Piece) -> bool | None:
        look = self.view.look(step, piece)
        if look is None or look.call.fault:
            return None
        ids = self.view.texts_by_id(look.call)
        return any(name in ids for name in self.view.ids.get(piece.name, ()))

    def _after(self, piece: Piece, going: bool) -> Case:
        there = self._is_there("forgotten", piece)
        return Case(piece.name, self.view.look("forgotten", piece), None if there is None else there is not going)


def forgotten_at_once(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "forget"):
        return lacking
    batch = _Batch(transcript)
    return _count(batch.view, batch.cases(going=True), "no call forgot what a look had shown")


def lost_by_forgetting_at_once(transcript: Transcript) -> Measure:
    """A call that failed forgot nothing, so that it shows nothing."""
    if lacking := lacks(transcript, "forget"):
        return lacking
    batch = _Batch(transcript)
    cases = batch.cases(going=False) if batch.going else []
    known = [case._replace(good=None) for case in cases] if batch.fault else cases
    return _count(batch.view, known, "nothing beside what was forgotten was seen before", bad=True)


def kept_beside_a_batch(transcript: Transcript) -> Measure:
    """What a look showed the last time before the batch, by its id."""
    view, cases = DrillView.of(transcript), list[Case]()
    first = next(transcript.calls("remember", "at once"), None)
    for piece in view.list_acknowledged(view.plan.pieces) if first else ():
        ids = view.ids[piece.name]
        looks = view.looks(piece.name, ["beside"], ROUTES)
        ops = {look.call.op for look in looks}
        before = [look for step in BEFORE for look in _telling(view, step, piece) if look.call.op in ops]
        # the crowd was written right before, and nothing looked at it until now
        if looks and (piece.role == "crowd" or _shows(view, before[-1:], ids)):
            after = _telling(view, "beside", piece)
            cases.append(Case(piece.name, looks[0], _shows(view, after, ids) if after else None))
    return _count(view, cases, "nothing was seen before the large batch")


def _telling(view: DrillView, step: str, piece: Piece) -> list[DrillLook]:
    return [look for look in view.looks(piece.name, [step], ROUTES) if not look.call.fault]


def _shows(view: DrillView, looks: Sequence[DrillLook], ids: Sequence[str]) -> bool:
    return any(name in view.texts_by_id(call) for _, call in looks for name in ids)


# --- asked again ------------------------------------------------------------------------------------------------------


def found_after_a_miss(transcript: Transcript) -> Measure:
    view = DrillView.of(transcript)
    cases = (
        _came(view, then, piece)
        for role, before, then in MISSED
        for piece in view.list_acknowledged(view.plan.of(role))
        # `is False`: a question that failed was not asked in vain
        if _came(view, before, piece).good is False
    )
    return _count(view, cases, "nothing was asked for before it was written")


def changed_after_a_hit(transcript: Transcript) -> Measure:
    """Whether the change was acknowledged is counted elsewhere: one that failed shows nothing here."""
    view = DrillView.of(transcript)
    # an update is logged under its new text; what must not come any more is the twin of that
    names = {each.piece.twin for each in view.list_written("update", "once") if each.ids}
    names |= {each.piece.name for each in view.forgotten("once")}
    once = [piece for piece in view.plan.of("once") if piece.name in names and _showed(view, ["once"], piece)]
    shown: list[tuple[Piece, Sequence[str]]] = [(piece, ("once more",)) for piece in once]
    for step, later in DELETED.items():
        shown += [(piece, later) for piece in _list_deleted(view, step) if _showed(view, [step], piece)]
    shown += [(piece, (CHAINED,)) for piece in _list_deleted(view, CHAINED)]
    cases = (_gone(view, piece, later) for piece, later in shown)
    return _count(view, cases, "nothing that a question brought was changed or deleted")


def _list_deleted(view: DrillView, step: str) -> list[Piece]:
    """By id or with their scope, as the backend said."""
    scopes = [call for _, call in view.transcript.calls("forget_scope", step) if not call.fault]
    names = [deed.piece.name for deed in view.forgotten(step)] + [name for call in scopes for name in call.about]
    return [view.plan.by_name[name] for name in names]


def _showed(view: DrillView, steps: Sequence[str], piece: Piece) -> DrillLook | None:
    """The first look that did; of a text that another took the place of, as one that holds."""
    looks, replaced = view.looks(piece.name, steps, ["recall"]), piece.role == HEIRS
    return next((look for look in looks if piece.name in view.list_shown(look.call, current=replaced)), None)


def _gone(view: DrillView, piece: Piece, steps: Sequence[str]) -> Case:
    """From every look of these steps."""
    if look := _showed(view, steps, piece):
        return Case(piece.name, look, False)
    looks = view.looks(piece.name, steps, ["recall"])
    failed = next((look for look in looks if look.call.fault), None)
    return Case(piece.name, failed or next(iter(looks), None), None if failed or not looks else True)


# --- changed again ----------------------------------------------------------------------------------------------------


def same_text_updated(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "update", *FIELDS["source"].needs):
        return lacking
    view, cases = DrillView.of(transcript), list[Case]()
    for field, before, then in TOLD_AGAIN:
        check = FieldCheck(transcript, field)
        for piece in view.plan.of(then):
            if piece.name in view.writes and check.is_right(view.plan.by_name[piece.twin or ""], before):
                look = view.look(then, piece)
                good = None if look is None or look.call.fault else check.is_right(piece, then)
                cases.append(Case(piece.name, look, good))
    return _count(view, cases, "no memory came back with its first source or confidence")


def history_tells_all_versions(transcript: Transcript) -> Measure:
    """Each text of a memory that was changed again and again, in the process that changed it and in a later one."""
    if lacking := lacks(transcript, "update", "history"):
        return lacking
    view, cases = DrillView.of(transcript), list[Case]()
    texts = view.list_acknowledged(view.plan.of("version"))
    steps = ("history", "history reopened") if transcript.supports("persistent") else ("history",)
    for step in steps if len(texts) > 1 else ():
        for piece in texts:
            looks = view.looks(piece.name, [step], ["history"])
            answered = [look for look in looks if not look.call.fault]
            good = any(mark(piece) in text for _, call in answered for text in view.texts(call)) if answered else None
            cases.append(Case(piece.name, looks[0] if looks else None, good))
    return _count(view, cases, "no memory was changed more than once")


def history_of_equal_text(transcript: Transcript) -> Measure:
    """A memory that never changed has one text, whatever another one of the same text said before."""
    if lacking := lacks(transcript, "update", "history"):
        return lacking
    view = DrillView.of(transcript)
    others = {mark(piece) for piece in view.list_acknowledged(view.plan.of("version"))}
    cases = [
        Case(piece.name, look, None if look.call.fault else not _tells(view, look, others - {mark(piece)}))
        for piece in view.list_acknowledged(view.plan.of(ECHO))
        for look in view.looks(piece.name, ["history", "history reopened"], ["history"])
    ]
    return _count(view, cases, "no memory elsewhere had the text of one that was changed", bad=True)


def _tells(view: DrillView, look: DrillLook, words: Iterable[str]) -> bool:
    return any(word in text for word in words for text in view.texts(look.call))


# --- in a word, and on later days -------------------------------------------------------------------------------------


def short_questions_answered(transcript: Transcript) -> Measure:
    view = DrillView.of(transcript)
    terms = view.list_acknowledged(view.plan.of("term"))
    return _count(view, (_came(view, "short", piece) for piece in terms), "nothing was acknowledged")


def many_found_at_once(transcript: Transcript) -> Measure:
    view = DrillView.of(transcript)
    lockers = view.list_acknowledged(view.plan.of("locker"))
    return _count(view, (_came(view, "many", piece) for piece in lockers), "nothing was acknowledged")


def kept_through_days(transcript: Transcript) -> Measure:
    """Of what its own day showed. One that is missed once counts, whatever later days show."""
    view, cases = DrillView.of(transcript), list[Case]()
    steps = list(
        dict.fromkeys(step for call in transcript.calls("recall") if (step := call[1].step).startswith("day "))
    )
    # the role of such a memory is the step of the day on which it was written
    for piece in view.list_acknowledged(piece for piece in view.plan.pieces if piece.role in steps):
        if not _came(view, piece.role, piece).good:
            continue
        asked = [step for step in steps if step != piece.role and view.looks(piece.name, [step], ["recall"])]
        told = [_came(view, step, piece) for step in asked]
        wrong = next((case for case in told if case.good is False), None)
        silent = next((case for case in told if case.good is None), None)
        cases.append(wrong or silent or Case(piece.name, None, True if told else None))
    return _count(view, cases, "no memory came on the day on which it was written")


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "forgotten_at_once", KEEPING, "higher", "proportion",
        "memories of one call to forget 515 that the listing of their scope does not show any more / those "
        "that it showed before; without listings, of ten beside the usual limits, asked for by their own text",
        forgotten_at_once, asks=("open", "remember", "entries", "recall", "forget"),
        label="memories gone of 515 deleted at once", otherwise="memories left of 515 deleted at once",
        column=columns.DELETED.at("served"),
    ),
    trust(
        "lost_by_forgetting_at_once", KEEPING, "lower", "proportion",
        "memories that a call to forget 515 others took with them / those of the same scope that nobody asked "
        "to delete, seen before", lost_by_forgetting_at_once,
        asks=("open", "remember", "entries", "recall", "forget"),
        label="memories lost with 515 others deleted at once", column=columns.DELETED.at("bystanders"),
    ),
    trust(
        "kept_beside_a_batch", KEEPING, "higher", "proportion",
        "memories that a listing shows after a batch of 1,030 was written in another scope, at the drill's own size "
        "after 1,600 more, which count, too / those that the last one before it showed; without listings, twenty of "
        "them by their own text; a store that is full and drops its oldest or least used memories loses these",
        kept_beside_a_batch,
        label="memories kept when a large batch comes", otherwise="memories lost when a large batch comes",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "found_after_a_miss", KEEPING, "higher", "proportion",
        "memories that a question of their own text brings, asked before in vain / those that were asked for before "
        "they were written, or that were deleted, alone or with their scope, and are stored again or beside others, "
        "one of each asked for by a later process",
        found_after_a_miss, verbatim=True, version=3,
        label="memories found that were asked for too early", otherwise="memories hidden by an earlier question",
        column=columns.FOUND.at("unfound"),
    ),
    trust(
        "changed_after_a_hit", KEEPING, "higher", "proportion",
        "memories that were updated or deleted and that the same question, asked right before and after with no other "
        "write between, does not bring any more, nor when the scope was written to and deleted again, nor in a later "
        "process, nor on later days of the story, the last after more than a year / those that it brought before, and "
        "each text of memories updated or replaced several times and deleted", changed_after_a_hit, version=3,
        label="changes seen by the same question", otherwise="changes hidden by an earlier answer",
        column=columns.DELETED.at("served"),
    ),
    trust(
        "same_text_updated", KEEPING, "higher", "proportion",
        "memories updated with their own text from another source, then with another confidence, that come back with "
        "exactly these / those that came back with the ones before", same_text_updated, version=2, verbatim=True,
        label="new sources and confidences of the same text kept",
        otherwise="new sources and confidences of the same text dropped",
        column=columns.SOURCES.at("lost"),
    ),
    trust(
        "history_tells_all_versions", KEEPING, "higher", "proportion",
        "texts of a memory changed twenty-six times, at last back to its second text, that its audit history brings, "
        "in the same process, which asked for it before, and, where the store outlives one, after a compaction in a "
        "later one / such texts", history_tells_all_versions, version=4, verbatim=True,
        label="earlier texts told by the history", otherwise="earlier texts missing from the history",
        column=columns.KEPT.at("fields"),
    ),
    trust(
        "history_of_equal_text", KEEPING, "lower", "proportion",
        "histories of a memory that never changed that tell an earlier text of a memory of another repository whose "
        "text is the same now / such histories, in the same process and in a later one", history_of_equal_text,
        label="histories that tell what a memory elsewhere said before", column=columns.SCOPES.at("read"),
    ),
    trust(
        "short_questions_answered", KEEPING, "higher", "proportion",
        "questions of one or two words that bring within k the one memory of the scope in which they stand / such "
        "questions about acknowledged memories", short_questions_answered, verbatim=True,
        label="short questions answered", otherwise="short questions not answered",
        column=columns.FOUND.at("unfound"),
    ),
    trust(
        "many_found_at_once", KEEPING, "higher", "proportion",
        "memories that one question brings, of sixty that fit it alike and hold alone in their scope, when a hundred "
        "are asked for / those acknowledged", many_found_at_once, verbatim=True,
        label="memories found by a question for many", otherwise="memories missed by a question for many",
        column=columns.FOUND.at("unfound"),
    ),
    trust(
        "kept_through_days", KEEPING, "higher", "proportion",
        "memories without an end that a question of their own text brings on every later day of the story on which "
        "it is asked, the last after more than a year, by processes that open the store after each other / those "
        "that it brought on the day on which they were written", kept_through_days, verbatim=True,
        label="memories kept through days of the story", otherwise="memories lost on a later day of the story",
        column=columns.KEPT.at("lost"),
    ),
)  # fmt: skip
