"""What the transcripts of drills say, in numbers. Pure functions: no backend, no disk, no clock.

Every module beside this one that defines DRILL adds that drill's METRICS, with its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.log.receipts import read
from harness.log.transcript import Transcript
from harness.machine.modules import find_defining
from harness.metrics import broken, faults
from harness.metrics.metric import UNANSWERED, explain_unmeasured, failed, make_missing, not_applicable
from harness.metrics.trust import deletion, promises
from harness.metrics.trust.metric import DrillWords, TrustMetric
from harness.metrics.trust.residue import matrix
from harness.model.cells import BrokenPromise, LayerRow, Status, TrustCell
from harness.model.drill import DrillName, DrillTrial
from harness.model.trial import Definition, Measure, Measured, NotMeasured

_MODULES = sorted(
    find_defining("DRILL", __name__, __path__), key=lambda module: (module.DRILL.place, module.DRILL.name)
)
DRILLS: Mapping[DrillName, DrillWords] = {module.DRILL.name: module.DRILL for module in _MODULES}
METRICS: tuple[TrustMetric, ...] = tuple(metric for module in _MODULES for metric in module.METRICS)
DEFINITIONS: Mapping[str, Definition] = {metric.definition.name: metric.definition for metric in METRICS}
BY_CHANCE = frozenset(metric.definition.name for metric in METRICS if metric.by_chance)
"""Measures of which it is the machine's doing whether there is anything to measure."""


def score(transcripts: Iterable[Transcript]) -> list[TrustCell]:
    """One cell for each transcript, in their order, with the measures of its drill."""
    return [_score(each) for each in transcripts]


def make_unscored(trial: DrillTrial, reason: str, transcript: Transcript | None = None) -> TrustCell:
    """The cell of a drill that left nothing to read, or whose transcript could not be scored."""
    return _make(trial, transcript, *make_missing(_own(trial), reason, transcript))


def _score(transcript: Transcript) -> TrustCell:
    return broken.guard(_cell, transcript, lambda why: make_unscored(transcript.trial, why, transcript))


def _cell(transcript: Transcript) -> TrustCell:
    trial = transcript.trial
    return _make(
        trial,
        transcript,
        transcript.status,
        transcript.reason,
        {metric.definition.name: _measure(metric, transcript) for metric in _own(trial)},
        matrix(transcript) if trial.drill == deletion.DRILL.name else (),
        transcript.drilled.backend.version,
        transcript.drilled.older.version if transcript.drilled.older else None,
        promises.find_promise(transcript) if trial.drill == promises.DRILL.name else None,
    )


def _own(trial: DrillTrial) -> list[TrustMetric]:
    return [metric for metric in METRICS if metric.drill == trial.drill]


def _make(
    trial: DrillTrial,
    transcript: Transcript | None,
    status: Status,
    reason: str,
    measures: Mapping[str, Measure],
    layers: tuple[LayerRow, ...] = (),
    version: str | None = None,
    older: str | None = None,
    promise: BrokenPromise | None = None,
) -> TrustCell:
    return TrustCell(
        id=trial.id,
        backend=trial.backend,
        drill=trial.drill,
        size=trial.size,
        seed=trial.seed,
        k=trial.k,
        status=status,
        reason=reason,
        transcript=transcript.path.name if transcript else "",
        transcript_sha256=transcript.sha256 if transcript else "",
        version=version,
        older=older,
        measures=measures,
        layers=layers,
        promise=promise,
    )


def _measure(metric: TrustMetric, transcript: Transcript) -> Measure:
    if unmeasured := explain_unmeasured(transcript):
        return unmeasured
    if transcript.status == "failed" and metric.whole:
        return failed(transcript.reason)
    if metric.verbatim and transcript.supports("extracts"):
        return not_applicable("a model inside rewrites what it is told")
    found = broken.guard(metric.measure, transcript, failed)
    if isinstance(found, Measured):
        return found
    lost = [call for call in faults.drop_provoked(faults.calls(transcript)) if call.op in metric.asks]
    # cases that are missing because a call failed do not make the measure inapplicable
    if found.status == "not-applicable" and lost:
        receipts = (f"L{lost[0].line}",)
        return NotMeasured(status="failed", reason=f"{found.reason}; {_why(lost[0])}", receipts=receipts)
    if found.reason == UNANSWERED:
        lines = {place.line for place in map(read, found.receipts) if place}
        told = [call for call in faults.calls(transcript) if call.fault and call.line in lines]
        return found.model_copy(update={"reason": "; ".join([UNANSWERED, *map(_why, told[:1])])})
    return found


def _why(call: faults.Call) -> str:
    """What was seen of a call that failed."""
    assert call.fault is not None
    # joined behind the cut, which would take it off a long message
    contract = " (an id that is not there is to be answered with nothing)" if call.op == "get" else ""
    return f"{call.op} {call.fault.kind}: {' '.join(call.fault.message.split())}"[:300] + contract
