"""What the page shows of logs and transcripts themselves, made where these are scored, so that none is read twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, TypeAlias

from harness.compare import cost_model, statements
from harness.compare.cost_model import Cost
from harness.compare.rows import is_headline
from harness.compare.scoring import ScoredDrill, ScoredStory
from harness.log.folder import Folder
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.metrics import broken, deletion, footprint
from harness.metrics.footprint import Sample
from harness.model.results import Results
from harness.report.model.receipts import BadCase, describe
from harness.report.timeline import timelines as timeline
from harness.report.timeline.repeat import Replay
from harness.report.timeline.timelines import StoryTimelines, Timelines


class StoryEvidence(NamedTuple):
    """Of one story. layers: of its primary trials, by backend; costs: of its
    chat calls, a row a condition; problems: a line for each log that cannot be shown."""

    told: StoryTimelines | None
    layers: dict[str, list[deletion.LayerVerdict]]
    samples: list[Sample]
    costs: list[Cost]
    problems: list[str]


class DrillEvidence(NamedTuple):
    """Of one drill."""

    id: str
    receipts: list[BadCase]
    samples: list[Sample]
    problems: list[str]


Evidences: TypeAlias = list[StoryEvidence | DrillEvidence]


class Evidence(NamedTuple):
    """What the page shows of the logs themselves.

    Attributes:
        layers: Of the primary trials of each backend, by its label.
        samples: What was timed and weighed, of all.
        costs: A row for each condition, whether it called a chat model or not.
        receipts: Of the drills, by cell.
        problems: A line for each log that cannot be shown.
    """

    timelines: Timelines
    layers: dict[str, list[deletion.LayerVerdict]]
    samples: list[Sample]
    costs: list[Cost]
    receipts: dict[str, list[BadCase]]
    problems: list[str]


def read(folder: Folder, processes: int = 1) -> tuple[Results, Evidences]:
    """The results of a run, and what the page shows of each story and drill: every log is read once."""
    return statements.score_run(folder, partial(show, replay=Replay.of(folder.read())), processes)


def show(scored: ScoredStory | ScoredDrill, replay: Replay) -> StoryEvidence | DrillEvidence:
    return _show_story(scored, replay) if isinstance(scored, ScoredStory) else _show_drill(scored, replay)


def _guard(log: Log | Transcript, problems: list[str], make: Callable[[], None]) -> None:
    try:
        make()
    except Exception as error:
        problems.append(f"{log.path}: cannot be shown in full: {broken.describe(error)}")


def _show_story(story: ScoredStory, replay: Replay) -> StoryEvidence:
    timelines, problems, samples = list[StoryTimelines | None](), list[str](), list[Sample]()
    paid = list[Cost]()
    layers = dict[str, list[deletion.LayerVerdict]]()
    primary = {cell.trial for cell in story.cells if is_headline(cell, story.frame.conditions)}

    def look(log: Log) -> None:
        samples.extend(footprint.of_trial(log))
        if log.trial.backend and log.trial.id in primary:
            layers.setdefault(log.trial.backend, []).extend(deletion.layers(log))

    _guard(story.logs[0], problems, lambda: timelines.append(timeline.tell_story(story, replay)))
    _guard(story.logs[0], problems, lambda: paid.extend(cost_model.cost_story(story.views)))
    for log in story.logs:
        _guard(log, problems, partial(look, log))
    return StoryEvidence(timelines[0] if timelines else None, layers, samples, paid, problems)


def _show_drill(drill: ScoredDrill, replay: Replay) -> DrillEvidence:
    transcript, receipts, samples, problems = drill.transcript, list[BadCase](), list[Sample](), list[str]()

    def look() -> None:
        samples.extend(footprint.of_drill(transcript))
        if drill.cell:
            receipts.extend(describe(drill.cell, transcript, drill.definitions, replay))

    _guard(transcript, problems, look)
    return DrillEvidence(transcript.trial.id, receipts, samples, problems)


def gather(results: Results, parts: Iterable[StoryEvidence | DrillEvidence]) -> Evidence:
    """All of it. A story or drill that the results do not name is not shown."""
    drilled = {cell.id for cell in results.trust}
    samples, problems, timelines, paid = list[Sample](), list[str](), list[StoryTimelines](), list[Cost]()
    layers, receipts = dict[str, list[deletion.LayerVerdict]](), dict[str, list[BadCase]]()
    for part in parts:
        samples += part.samples
        problems += part.problems
        if isinstance(part, DrillEvidence):
            if part.id in drilled:
                receipts[part.id] = part.receipts
            continue
        timelines += [part.told] if part.told else []
        paid += part.costs
        for backend, verdicts in part.layers.items():
            layers.setdefault(backend, []).extend(verdicts)
    return Evidence(timeline.assemble(results, timelines), layers, samples, cost_model.join(paid), receipts, problems)
