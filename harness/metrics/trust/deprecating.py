"""What is marked as ended: is it out of the way from then on, and there for a question about before?"""

from __future__ import annotations

from collections.abc import Iterator

from harness.adapter import Hit, Scope, Source
from harness.log.transcript import Op, Transcript
from harness.metrics import columns
from harness.metrics.metric import proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import DrillView, lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.drill import Piece
from harness.model.trial import Measure

Case = tuple[int | None, str, bool | None]
"""The line of a question, its memory, and whether it came as one that holds; None if the question failed."""
Fields = tuple[str, Source | None, float | None, Scope | None]
NONE = "no memory was marked as ended and acknowledged so"


def _ask(view: DrillView, step: str, role: str) -> Iterator[Case]:
    """The questions of a step that was played."""
    for piece in view.plan.of(role):
        for line, call in view.looks(piece.name, [step], ["recall"]):
            if call.fault:
                yield line, piece.name, None
            else:
                yield line, piece.name, any(_is_current(view, piece, hit) for hit in view.transcript.hits(call))


def _is_current(view: DrillView, piece: Piece, hit: Hit) -> bool:
    return view.brings(hit, piece) and not hit.superseded


def _list_marked(view: DrillView, step: str = "marked") -> frozenset[str]:
    """Those of which the backend said that they are marked."""
    return frozenset(deed.piece.name for deed in view.list_ended(step))


def _succeeded(view: DrillView, op: Op, step: str) -> bool:
    return any(not call.fault for _, call in view.transcript.calls(op, step))


def _measure(view: DrillView, cases: list[Case], *, expected: bool) -> Measure:
    bad = [(line, name) for line, name, came in cases if came is not expected]
    unanswered = sum(came is None for _, _, came in cases)
    return proportion(len(bad), len(cases), view.receipts(bad), none=NONE, unanswered=unanswered)


def deprecated_recalled(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "deprecate"):
        return lacking
    view = DrillView.of(transcript)
    marked = _list_marked(view)
    # a restore that failed brought nothing back, and is no reason to measure nothing
    steps = ("marked", "reopened", *(["restored"] if _succeeded(view, "restore", "restored") else []))
    cases = [case for step in steps for case in _ask(view, f"{step} since", "marked")]
    cases += _ask(view, "marked later since", "marked")
    sooner = _list_marked(view, "marked sooner")
    cases += [case for case in _ask(view, "marked sooner until", "marked") if case[1] in sooner]
    again = list(_ask(view, "marked again since", "again")) if _list_marked(view, "marked again") else []
    if _holds_again(view) and _list_marked(view, "said again marked"):
        again += _ask(view, "killed since", "said again")
    return _measure(view, [*(case for case in cases if case[1] in marked), *again], expected=False)


def deprecated_lost(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "deprecate"):
        return lacking
    view = DrillView.of(transcript)
    marked = _list_marked(view)
    # where nothing was marked, what stands beside it was put to no test
    if not marked:
        return proportion(0, 0, (), none=NONE)
    cases = list[Case]()
    for step in ("marked", "reopened"):
        cases += [case for case in _ask(view, f"{step} until", "marked") if case[1] in marked]
        cases += [*_ask(view, f"{step} standing", "standing"), *_ask(view, f"{step} standing", "namesake")]
    acknowledged = {piece.name for piece in view.list_acknowledged(view.plan.pieces)}
    cases += [*_ask(view, "unmarked", "again"), *_ask(view, "unmarked again", "once again")]
    cases += _ask(view, "marked again until", "again") if _list_marked(view, "marked again") else []
    cases += _ask(view, "restored standing", "spare") if _is_unmarked(view) else []
    cases += _ask(view, "said again standing", "said again") if _list_marked(view, "outdated marked") else []
    if _succeeded(view, "restore", "restored"):
        cases += [case for case in _ask(view, "restored until", "marked") if case[1] in marked]
    refused: list[Case] = [
        (line, call.about[0], None if call.fault else False)
        for step in ("unmarked", "unmarked again")
        for line, call in transcript.calls("update", step)
        if not any(transcript.ids(call))
    ]
    return _measure(view, [*(case for case in cases if case[1] in acknowledged), *refused], expected=True)


def _is_unmarked(view: DrillView) -> bool:
    """Whether a snapshot was restored that has no mark of what was there, and marked since."""
    there = any(came for _, _, came in _ask(view, "spare standing", "spare"))
    return there and bool(_list_marked(view, "spare marked")) and _succeeded(view, "restore", "restored")


def _holds_again(view: DrillView) -> bool:
    return any(came for _, _, came in _ask(view, "said again standing", "said again"))


def deprecated_altered(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "deprecate"):
        return lacking
    view = DrillView.of(transcript)
    marked = [piece for piece in view.plan.of("marked") if piece.name in _list_marked(view)]
    before = {piece.name: [fields for _, fields in _list_fields(view, "former until", piece)] for piece in marked}
    cases: list[Case] = [
        (line, piece.name, fields in before[piece.name])
        for piece in marked
        for step in ("marked until", "reopened until")
        for line, fields in _list_fields(view, step, piece)
        # what did not come before its mark has nothing to be compared with
        if before[piece.name]
    ]
    return _measure(view, cases, expected=True)


def _list_fields(view: DrillView, step: str, piece: Piece) -> Iterator[tuple[int, Fields]]:
    """What comes of a memory, and with what, in one question of its own text."""
    for line, call in view.looks(piece.name, [step], ["recall"]):
        for hit in view.transcript.hits(call):
            if view.brings(hit, piece):
                yield line, (hit.text, hit.source, hit.confidence, hit.scope)


def deprecated_undeleted(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "deprecate", "forget"):
        return lacking
    view = DrillView.of(transcript)
    marked = _list_marked(view)
    gone = marked & {deed.piece.name for deed in view.forgotten("gone")}
    cases = [case for case in _ask(view, "gone", "marked") if case[1] in gone]
    if _succeeded(view, "forget_scope", "emptied"):
        cases += [case for case in _ask(view, "emptied until", "marked") if case[1] in marked]
    return _measure(view, cases, expected=False)


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "deprecated_recalled", KEEPING, "lower", "proportion",
        "memories marked as ended that a question of their own text, as of three days later, brings without a mark, at "
        "once, after a compaction, if there is one, and reopening, or after a snapshot of the marked store was "
        "restored, one of them marked a second time with a later end, one with an earlier end and asked for as of a "
        "day between, one marked again after an update, and one right before a kill / such questions, if the mark was "
        "acknowledged",
        deprecated_recalled, version=6,
        label="ended memories that come back as current", otherwise="ended memories out of the way",
        column=columns.DATES.at("expired"),
    ),
    trust(
        "deprecated_lost", KEEPING, "lower", "proportion",
        "memories that hold and do not come as such after seven others were marked as ended: the marked ones as of two "
        "days before, also after a compaction, or once a snapshot of the marked store was restored, one to whose "
        "question the marked ones are nearer, one of the same text elsewhere, one that was updated after its mark, "
        "marked again, and updated again, one that was marked after a snapshot, once that was restored, and one that "
        "was told again in the same words / such questions, and updates of what is marked that are not acknowledged",
        deprecated_lost, version=6,
        label="memories lost as others were marked as ended", otherwise="memories that still hold",
        column=columns.DATES.at("early"),
    ),
    trust(
        "deprecated_altered", KEEPING, "lower", "proportion",
        "memories marked as ended that come, as of before, with another text, source, confidence or scope than before "
        "they were marked / those that come, at once or after reopening", deprecated_altered,
        verbatim=True, label="memories altered by their mark", otherwise="memories that a mark left as they were",
        column=columns.KEPT.at("fields"),
    ),
    trust(
        "deprecated_undeleted", KEEPING, "lower", "proportion",
        "memories marked as ended, then deleted, one by its id and all with their scope, that a question as of before "
        "still brings / such deletions that were acknowledged", deprecated_undeleted, version=2,
        label="deleted memories that come back as of before", otherwise="marked memories gone once deleted",
        column=columns.DELETED.at("served"),
    ),
)  # fmt: skip
