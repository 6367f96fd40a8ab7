"""What the page shows of the logs themselves, gathered story by story: no more than one story's logs are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.compare import headline
from harness.log import Log
from harness.metrics import deletion, footprint
from harness.metrics.footprint import Sample
from harness.report.timeline import Teller, Timelines
from harness.results import Results
from harness.transcript import Transcript


class Evidence(NamedTuple):
    """layers: of the primary trials of each backend, by its label. samples: what was timed and weighed, of all."""

    timelines: Timelines
    layers: dict[str, list[deletion.LayerVerdict]]
    samples: list[Sample]


def gather(results: Results, stories: Iterable[Sequence[Log]], transcripts: Sequence[Transcript]) -> Evidence:
    """`stories`: all logs of the run, those of one story together."""
    primary = {cell.trial for cell in results.cells if headline(cell, results.run.conditions)}
    teller, layers, samples = Teller(results), dict[str, list[deletion.LayerVerdict]](), list[Sample]()
    for logs in stories:
        teller.hear(logs)
        for log in logs:
            samples += footprint.of_trial(log)
            if log.trial.backend and log.trial.id in primary:
                layers.setdefault(log.trial.backend, []).extend(deletion.layers(log))
    samples += [sample for transcript in transcripts for sample in footprint.of_drill(transcript)]
    return Evidence(teller.timelines(), layers, samples)
