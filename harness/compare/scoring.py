"""One story or drill of a run, read and scored once: what the results need, and what the caller wants to show of it.

It runs in any process, as it needs nothing that its caller holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from harness import metrics
from harness.compare.twins import Fingerprint, compute_fingerprint
from harness.log.events import Opened
from harness.log.folder import Attempt, Folder
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.metrics import broken, faults, trust
from harness.metrics.view import View
from harness.model.cells import Cell, Faults, TrustCell
from harness.model.results import Conditions
from harness.model.scenario import Scenario
from harness.model.trial import Definition

L = TypeVar("L", Log, Transcript)
S = TypeVar("S")


class Frame(NamedTuple):
    """What is known of a run before any of it is scored.

    Attributes:
        rows: The backends that have a row in the headline.
        stories: How many have logs.
    """

    conditions: Conditions
    rows: frozenset[str]
    stories: int


@dataclass(frozen=True)
class ScoredStory:
    """All logs of a story, and what was computed of them.

    Attributes:
        views: What cells are computed from; empty if that broke.
    """

    frame: Frame
    logs: Sequence[Log]
    views: Sequence[View]
    cells: Sequence[Cell]


@dataclass(frozen=True)
class ScoredDrill:
    """A drill of one backend.

    Attributes:
        cell: None if this coldwarm knows no such drill.
        definitions: Of its measures.
    """

    transcript: Transcript
    cell: TrustCell | None
    definitions: Mapping[str, Definition]


Show: TypeAlias = Callable[[ScoredStory | ScoredDrill], S]


def show_nothing(scored: ScoredStory | ScoredDrill) -> None:
    """Shows nothing, for callers who want the results alone."""


class LogSummary(NamedTuple):
    """What is kept of a log when its cells have been computed."""

    sha256: str
    unsealed: bool
    opened: Opened
    scenario: Scenario
    faults: list[Faults]
    calls: Counter[str]
    fingerprint: Fingerprint


class TranscriptSummary(NamedTuple):
    """What is kept of a transcript."""

    cell: TrustCell
    unsealed: bool
    protocol: int
    faults: list[Faults]
    calls: Counter[str]


class Part(NamedTuple):
    """What one story or one drill says: its cells, and by trial what is kept of its logs or of its transcripts."""

    cells: list[Cell]
    played: dict[str, LogSummary]
    drilled: dict[str, TranscriptSummary]
    problems: list[str]


def score_part(
    root: Path, frame: Frame, show: Show[S], part: tuple[Literal["story", "drill"], list[Attempt]]
) -> tuple[Part, list[S]]:
    """What breaks is a line with the logs that it was about; their trials then have no results."""
    kind, attempts = part
    folder, shown = Folder(root), list[S]()
    try:
        if kind == "drill":
            return _score_drill(folder, attempts, show, shown), shown
        return _score_story(folder, attempts, frame, show, shown), shown
    except Exception as error:
        more = f" and {len(attempts) - 1} more" if len(attempts) > 1 else ""
        line = f"{attempts[0].path}{more}: this {kind} could not be scored: {broken.describe(error)}"
        return Part([], {}, {}, [line]), []


def _score_story(folder: Folder, attempts: Sequence[Attempt], frame: Frame, show: Show[S], shown: list[S]) -> Part:
    """The cells of all logs of a story, what is kept of each by trial, and a line for each that cannot be read."""
    log_by_name, problems = folder.read_story(attempts)
    logs = list(log_by_name.values())
    cells, views = metrics.score_and_view(logs)
    played = dict[str, LogSummary]()
    for name, log in log_by_name.items():
        own, calls = _count_faults(faults.of_trial, log, problems)
        # only what came to its end can carry a seal
        unsealed = log.closed is not None and not log.sealed
        print_ = compute_fingerprint(log, (view for view in views if view.log is log))
        played[name] = LogSummary(log.sha256, unsealed, log.opened, log.scenario, own, calls, print_)
    if logs:
        shown.append(show(ScoredStory(frame, logs, views, cells)))
    return Part(cells, played, {}, problems)


def _score_drill(folder: Folder, attempts: Sequence[Attempt], show: Show[S], shown: list[S]) -> Part:
    """Reads and scores the attempts of one drill."""
    transcripts, unread = folder.read_drill(attempts)
    drilled, problems = dict[str, TranscriptSummary](), list[str]()
    for name, transcript in transcripts.items():
        cell = None
        if transcript.trial.drill in trust.DRILLS:
            (cell,) = trust.score([transcript])
            own, calls = _count_faults(faults.of_drill, transcript, problems)
            unsealed = transcript.ended is not None and not transcript.sealed
            drilled[name] = TranscriptSummary(cell, unsealed, transcript.drilled.protocol, own, calls)
        else:
            problems.append(f"{transcript.path}: this coldwarm knows no drill {transcript.trial.drill}")
        shown.append(show(ScoredDrill(transcript, cell, trust.DEFINITIONS)))
    return Part([], {}, drilled, [*problems, *unread])


def _count_faults(count: Callable[[L], list[Faults]], log: L, problems: list[str]) -> tuple[list[Faults], Counter[str]]:
    """The calls that failed, and all that were made. Where they cannot be counted, a line says so: nothing is clean."""
    try:
        return count(log), faults.count_calls(log)
    except Exception as error:
        problems.append(f"{log.path}: calls that failed could not be counted: {broken.describe(error)}")
        return [], Counter()
