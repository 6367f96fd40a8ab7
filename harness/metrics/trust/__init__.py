"""What the transcripts of drills say, in numbers. Pure functions: no backend, no disk, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.drill import DrillTrial
from harness.metrics.metric import failed, not_applicable, unsupported
from harness.metrics.trust import deletion, durability, isolation, keeping, poison, rollback, sharing
from harness.metrics.trust.metric import TrustMetric
from harness.metrics.trust.residue import matrix
from harness.model import Definition, Measure, NotMeasured
from harness.results import LayerRow, Status, TrustCell
from harness.transcript import Transcript

METRICS: tuple[TrustMetric, ...] = (
    *keeping.METRICS,
    *deletion.METRICS,
    *isolation.METRICS,
    *rollback.METRICS,
    *poison.METRICS,
    *durability.METRICS,
    *sharing.METRICS,
)
DEFINITIONS: Mapping[str, Definition] = {metric.definition.name: metric.definition for metric in METRICS}
BY_CHANCE = ("torn_by_kill",)
"""Whether they have anything to measure is the machine's doing: a kill may come too early or too late for a write."""


def score(transcripts: Iterable[Transcript]) -> list[TrustCell]:
    """One cell for each transcript, in their order, with the measures of its drill."""
    return [_cell(each) for each in transcripts]


def not_run(trial: DrillTrial, reason: str) -> TrustCell:
    """The cell of a drill that left nothing to read."""
    missing = NotMeasured(status="not-run", reason=reason)
    return _made(trial, "not-run", reason, "", "", {metric.definition.name: missing for metric in _own(trial)})


def _cell(transcript: Transcript) -> TrustCell:
    trial, ended = transcript.trial, transcript.ended
    return _made(
        trial,
        ended.status if ended else "incomplete",
        transcript.reason,
        transcript.path.name,
        transcript.sha256,
        {metric.definition.name: _measure(metric, transcript) for metric in _own(trial)},
        matrix(transcript) if trial.drill == "deletion" else (),
    )


def _own(trial: DrillTrial) -> list[TrustMetric]:
    return [metric for metric in METRICS if metric.drill == trial.drill]


def _made(
    trial: DrillTrial,
    status: Status,
    reason: str,
    name: str,
    sha256: str,
    measures: Mapping[str, Measure],
    layers: tuple[LayerRow, ...] = (),
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
        transcript=name,
        transcript_sha256=sha256,
        measures=measures,
        layers=layers,
    )


def _measure(metric: TrustMetric, transcript: Transcript) -> Measure:
    ended = transcript.ended
    if ended is None:
        return failed(transcript.reason)
    if ended.status == "unsupported":
        return unsupported(transcript.reason)
    if ended.status == "failed" and metric.whole:
        return failed(transcript.reason)
    if metric.verbatim and transcript.supports("extracts"):
        return not_applicable("a model inside rewrites what it is told")
    return metric.measure(transcript)
