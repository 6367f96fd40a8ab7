"""Questions limited to a kind, a file or a confidence: do all memories that fit come back, and no others?"""

from __future__ import annotations

from collections.abc import Iterator

from harness.adapter import FILTERS, Filter, fits, read_filter
from harness.log.transcript import Called, Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion, unsupported
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import DrillView
from harness.metrics.trust.writes import KEEPING
from harness.model.drill import Piece
from harness.model.trial import Measure

THEN = "kinds then"
"""The questions as of a day on which nothing had ended."""
STEPS = ("kinds", "other kinds", "kinds back", "kinds again", THEN, "kinds restored")
CHANGES = {"refile": "other kinds", "follower": "other kinds", "unfile": "kinds back"}
"""Role of what takes another's place -> the first questions after it."""
APART = ("elsewhere", "lapsed")
"""Roles of what fits and is not to come all the same."""


def _list_stored(view: DrillView, step: str) -> list[Piece]:
    """What was acknowledged, as it was told last before the questions of a step."""
    told = view.list_acknowledged(view.plan.of("unfit", "partly", "fit", "refiled", "dropped", "retired", *APART))
    for role, since in CHANGES.items():
        if STEPS.index(step) >= STEPS.index(since):
            changed = {piece.twin: piece for piece in view.list_acknowledged(view.plan.of(role))}
            told = [changed.get(piece.name, piece) for piece in told]
    return told


def _list_dropped(view: DrillView, step: str) -> set[str]:
    """What was deleted, or marked as ended, before the questions of a step, as the backend said."""
    if step == STEPS[0]:
        return set()
    marks = (call for _, call in view.transcript.calls("deprecate", STEPS[1]) if view.transcript.answer(call) == [True])
    ended = {name for call in marks for name in call.about} if step != THEN else set[str]()
    return ended | {deed.piece.name for deed in view.forgotten(STEPS[1])}


def _ask(view: DrillView, *, fitting: bool) -> Iterator[tuple[int, str, bool | None]]:
    """Each question with each memory that fits it, or does not, and whether it came; None: the question failed."""
    for step in STEPS:
        stored, dropped = _list_stored(view, step), _list_dropped(view, step)
        for line, call in view.transcript.calls("recall_where", step):
            where = _read_filter(call)
            for piece in stored:
                if (step, piece.role) == (THEN, "lapsed"):  # lifetimes that run by the clock of the machine are over
                    continue
                holds = piece.role not in APART and piece.name not in dropped
                if (holds and fits(piece.item, where)) == fitting:
                    # what is marked as ended may come, if the hit says that it is
                    hits = (hit for hit in view.transcript.hits(call) if piece.role != "retired" or not hit.warned)
                    came = any(view.brings(hit, piece) for hit in hits)
                    yield line, piece.name, None if call.fault else came


def _read_filter(call: Called) -> Filter:
    where = call.request["where"]
    assert isinstance(where, dict), "a drill logs what a question is kept to"
    return read_filter(where)


def _measure(transcript: Transcript, *, fitting: bool) -> Measure:
    if not any(map(transcript.supports, FILTERS)):
        why = transcript.drilled.backend.find_support(FILTERS[0]).note
        return unsupported(f"{FILTERS[0]}: {why or 'not offered'}")
    view = DrillView.of(transcript)
    cases = list(_ask(view, fitting=fitting))
    bad = [(line, name) for line, name, came in cases if came is not fitting]
    unanswered = sum(came is None for _, _, came in cases)
    none = "no memory was acknowledged that a filter could be asked for"
    return proportion(len(bad), len(cases), view.receipts(bad), none=none, unanswered=unanswered)


def filtered_wrong(transcript: Transcript) -> Measure:
    return _measure(transcript, fitting=False)


def filtered_missed(transcript: Transcript) -> Measure:
    return _measure(transcript, fitting=True)


_ASKED = (
    "a question that is kept to kinds, a file, a confidence, or two or three of them, at once, after updates, after an "
    "update back, after compaction and reopening, as of a day before a mark, and after a restore"
)
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "filtered_missed", KEEPING, "lower", "proportion",
        f"memories that fit {_ASKED}, and do not come, though more are asked for than fit / such memories and "
        "questions", filtered_missed, version=5,
        label="memories that a filter loses", otherwise="memories that a filter lets through",
        column=columns.FOUND.at("unfound"), varies="an approximate index that several threads build misses others",
    ),
    trust(
        "filtered_wrong", KEEPING, "lower", "proportion",
        f"memories that do not fit {_ASKED}, or fit and hold elsewhere, have ended, or were deleted or marked as "
        "ended, and come all the same / such memories and questions", filtered_wrong, version=5,
        label="memories that come past a filter", otherwise="memories that a filter keeps out",
        column=columns.FOUND.at("breach"),
    ),
)  # fmt: skip
