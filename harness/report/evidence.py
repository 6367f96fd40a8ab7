"""What the page shows of logs and transcripts themselves. Of these no more than one story or drill is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from harness.compare.statements import headline
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.metrics import broken, deletion, footprint
from harness.metrics.footprint import Sample
from harness.model.results import Results
from harness.report.receipts import BadCase, describe
from harness.report.timeline import Teller, Timelines


class Evidence(NamedTuple):
    """What the page shows of the logs themselves.

    Attributes:
        layers: Of the primary trials of each backend, by its label.
        samples: What was timed and weighed, of all.
        receipts: Of the drills, by cell.
        problems: A line for each log that cannot be shown.
    """

    timelines: Timelines
    layers: dict[str, list[deletion.LayerVerdict]]
    samples: list[Sample]
    receipts: dict[str, list[BadCase]]
    problems: list[str]


def gather(results: Results, stories: Iterable[Sequence[Log]], transcripts: Iterable[Transcript]) -> Evidence:
    """Reads every log once for the page.

    Args:
        stories: All logs of the run, those of one story together.
    """
    drilled = {cell.id: cell for cell in results.trust}
    primary = {cell.trial for cell in results.cells if headline(cell, results.run.conditions)}
    teller, samples = Teller(results), list[Sample]()
    layers, receipts = dict[str, list[deletion.LayerVerdict]](), dict[str, list[BadCase]]()
    problems: list[str] = []

    def shown(log: Log | Transcript, show: Callable[[], None]) -> None:
        try:
            show()
        except Exception as error:
            problems.append(f"{log.path}: cannot be shown in full: {broken.describe(error)}")

    def story(log: Log) -> None:
        samples.extend(footprint.of_trial(log))
        if log.trial.backend and log.trial.id in primary:
            layers.setdefault(log.trial.backend, []).extend(deletion.layers(log))

    def drill(transcript: Transcript) -> None:
        samples.extend(footprint.of_drill(transcript))
        if cell := drilled.get(transcript.trial.id):
            receipts[cell.id] = list(describe(cell, transcript, results.trust_definitions))

    for logs in filter(None, stories):
        shown(logs[0], partial(teller.hear, logs))
        for log in logs:
            shown(log, partial(story, log))
    for transcript in transcripts:
        shown(transcript, partial(drill, transcript))
    return Evidence(teller.timelines(), layers, samples, receipts, problems)
