"""What the transcripts of drills say, in numbers. Pure functions: no backend, no disk, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.metrics.metric import failed, unsupported
from harness.metrics.trust.metric import TrustMetric
from harness.model import Definition, Measure
from harness.results import TrustCell
from harness.transcript import Transcript

METRICS: tuple[TrustMetric, ...] = ()
DEFINITIONS: Mapping[str, Definition] = {metric.definition.name: metric.definition for metric in METRICS}


def score(transcripts: Iterable[Transcript]) -> list[TrustCell]:
    """One cell for each transcript, in their order, with the measures of its drill."""
    return [_cell(each) for each in transcripts]


def _cell(transcript: Transcript) -> TrustCell:
    trial, ended = transcript.trial, transcript.ended
    own = [metric for metric in METRICS if metric.drill == trial.drill]
    return TrustCell(
        id=trial.id,
        backend=trial.backend,
        drill=trial.drill,
        size=trial.size,
        seed=trial.seed,
        k=trial.k,
        status=ended.status if ended else "incomplete",
        reason=transcript.reason,
        transcript=transcript.path.name,
        transcript_sha256=transcript.sha256,
        measures={metric.definition.name: _measure(metric, transcript) for metric in own},
    )


def _measure(metric: TrustMetric, transcript: Transcript) -> Measure:
    ended = transcript.ended
    if ended is None:
        return failed(transcript.reason)
    if ended.status == "unsupported":
        return unsupported(transcript.reason)
    if ended.status == "failed" and metric.whole:
        return failed(transcript.reason)
    return metric.measure(transcript)
