"""One session of pytest with backends to play: its trials, the run that plays them, and each trial as a test."""

from __future__ import annotations

import os
import shlex
import warnings
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness import paths
from harness.backend import interpreters, registry
from harness.compare import statements
from harness.gateway.embedder import EmbedderError
from harness.gateway.gateway import GatewayError
from harness.log.blobs import BlobError
from harness.log.folder import Folder, FolderError
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.machine.shortage import Lacking
from harness.metrics import faults
from harness.model.backend import SOUND
from harness.model.cells import Faults
from harness.model.drill import DrillTrial
from harness.model.results import Results
from harness.model.scenario import Scenario
from harness.model.trial import USUAL_WRITES, Selection, Trial
from harness.play import backends as casting
from harness.play import drills, plan, runner
from harness.play.backends import Backends
from harness.repo.checkout import FixtureError, Repo
from harness.repo.programs import find_missing
from harness.report.progress import PlainProgress
from harness.report.timeline.repeat import Replay
from harness.report.words import make_plain
from tasks import loader, suite

PLACES = "COLDWARM_ADAPTER_PATH"
SCENARIO = "stale-deploy-rule/forgotten-runbook"
"""What is played unless a story is named: recall, a rule that goes stale, jobs, sources and a deletion in seconds."""
SMALLEST = 20
"""Memories in a drill."""
FIXTURES = {"coldwarm_results", "coldwarm_cells", "coldwarm_measure"}


class NotBegun(Exception):  # noqa: N818  an error of the test, not of ours
    """What was asked for could not begin; why, in one line."""


class Plays:
    """Plays before the first test, in one run, so that no test's place, time or output matters to another."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._environment = pytest.MonkeyPatch()
        # Adapters are imported in child processes, which do not have the module path of pytest.
        places = [os.environ.get(PLACES), config.invocation_params.dir, config.rootpath, *config.getini("pythonpath")]
        self._places = os.pathsep.join(dict.fromkeys(str(place) for place in places if place))
        self._environment.setenv(PLACES, self._places)
        given = config.option.coldwarm_suite, config.option.coldwarm_fixtures
        self._tasks = paths.find_suite(given[0] or paths.TASKS)
        self._fixtures = Path(given[1] or paths.FIXTURES)
        # The command that plays a trial again names them as they were given.
        named = zip(("--suite", "--fixtures"), given, strict=True)
        self._suite = tuple(word for option, value in named if value for word in (option, value))
        try:
            self._selection = _select(config.option)
            self._entries = {spec.label: registry.find(spec) for spec in self._selection.backends}
            self._stories = self._load()
            self._lacking = {story.id: lack for story, _ in self._stories if (lack := find_missing(story))}
            self._allowed = dict(map(registry.parse_allowance, config.option.coldwarm_allow_faults))
        except (registry.RegistryError, loader.ScenarioError, FixtureError, Lacking, OSError, ValueError) as error:
            # Not registered yet, so pytest will not call `pytest_unconfigure`.
            self._environment.undo()
            raise pytest.UsageError(_describe_error(error)) from None
        self._out = Path(config.option.coldwarm_out or paths.RUNS)
        self._folder: Folder | None = None
        self._played: dict[str, Log | Transcript] = {}
        self._reasons: dict[str, str] = {}
        self._trouble, self._whole = "", False
        self._results: Results | None = None

    @property
    def labels(self) -> list[str]:
        """The backends that were asked for."""
        return list(dict.fromkeys(spec.label for spec in self._selection.backends))

    def results(self) -> Results:
        """What all trials say. They are played first, unless they were."""
        if self._results is None:
            if not self._whole:
                self._play(())
            if self._folder is None or self._trouble:
                raise NotBegun(self._trouble)
            try:
                self._results = statements.compute_results(self._folder)
            except (FolderError, BlobError) as error:
                raise NotBegun(_describe_error(error)) from None
        return self._results

    def judge(self, trial: Trial | DrillTrial) -> Log | Transcript:
        """What was played of a trial. Raises Unplayed with the reason if nothing was."""
        if trial.id not in self._played and (reason := self._trouble or self._reasons.get(trial.backend or "")):
            raise NotBegun(reason)
        if trial.id not in self._played:
            raise NotBegun(f"it has no readable log; {self.again(trial)}")
        return self._played[trial.id]

    def list_failing(self, log: Log | Transcript) -> list[Faults]:
        """The calls of a trial that failed; none if all that its backend has failed in are allowed."""
        name = log.trial.backend or ""
        total = sum(
            each.count for one in self._played.values() if one.trial.backend == name for each in _list_failed(one)
        )
        return _list_failed(log) if total > self._allowed.get(name, 0) else []

    def again(self, trial: Trial | DrillTrial) -> str:
        """The command that plays this trial again and keeps its store."""
        return f"{PLACES}={shlex.quote(self._places)} {Replay(self._selection, self._suite).command(trial)}"

    def find_lack(self, trial: Trial | DrillTrial) -> list[str]:
        """The programs that the tests of a trial's story need and that are not installed here."""
        return [] if isinstance(trial, DrillTrial) else self._lacking.get(trial.scenario, [])

    # --- hooks ------------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)  # before -k, -m and --lf choose among the items
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        _ = self.planned  # what cannot be asked for ends the session here; in a collector it would be its failure
        # pytest collects from its arguments alone, so the node of the trials is collected and reported here.
        parent = Trials.from_parent(session, name="coldwarm", nodeid="coldwarm", owner=self)
        report = parent.ihook.pytest_make_collect_report(collector=parent)
        parent.ihook.pytest_collectreport(report=report)
        items[:0] = report.result

    # Before pytest's own loop, to which it leaves the tests by returning nothing.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        asked = any(FIXTURES & {*getattr(item, "fixturenames", ())} for item in session.items)
        chosen = tuple(item.name for item in session.items if isinstance(item, TrialItem))
        # As pytest's own loop decides: after errors of collection no test runs.
        broken = session.testsfailed and not self._config.option.continue_on_collection_errors
        if (asked or chosen) and not broken and not self._config.option.collectonly:
            # The fixtures tell of all trials, whichever of them -k has left.
            self._play(() if asked else chosen)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._folder is not None:
            root = shlex.quote(str(self._folder.root))
            terminalreporter.write_line(f"tables, page and receipts: coldwarm report {root}")

    def pytest_unconfigure(self) -> None:
        self._environment.undo()

    # --- playing ----------------------------------------------------------------------------------------------------

    def _load(self) -> list[tuple[Scenario, Repo]]:
        if self._selection.scenarios == ("none",):
            return []
        return loader.load(loader.find(self._tasks, self._selection.scenarios), self._fixtures, paths.cache_root())

    @cached_property
    def planned(self) -> list[Trial | DrillTrial]:
        """What is to be played, in the order of play. Raises pytest.UsageError."""
        trials = plan.list_trials(self._selection, [scenario for scenario, _ in self._stories]) if self._stories else []
        tested = [label for label, entry in self._entries.items() if entry.reference and not entry.control]
        # Only such a drill needs the backends to be described here, which starts a process for each.
        hands_over = any(drills.ALL[name].hands_over for name in self._selection.drills)
        try:
            taking_over = self._backends.taking_over if hands_over else {}
        except (registry.RegistryError, EmbedderError) as error:
            raise pytest.UsageError(_describe_error(error)) from None
        # The sound reference plays along, as it shows that a drill can be passed.
        planned = plan.list_drills(self._selection, list(dict.fromkeys([*tested, SOUND])), taking_over)
        if lone := plan.explain_unplanned(self._selection, planned):
            raise pytest.UsageError(lone)
        return [*trials, *planned]

    @cached_property
    def _backends(self) -> Backends:
        """Backends as every adapter describes itself. Raises RegistryError and EmbedderError."""
        return casting.describe_all(self._selection)

    def _play(self, only: tuple[str, ...]) -> None:
        """Plays the trials of these ids, or all; what was played before is not played again."""
        # The command stands in run.json, which holds no secret.
        command = " ".join(["pytest", *map(registry.redact, self._config.invocation_params.args)])
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        # pytest captures what is printed here, and progress is to be seen while trials play.
        with capture.global_and_fixture_disabled() if capture else nullcontext(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of our own libraries are not the tests'
            listener = PlainProgress(Console(highlight=False, soft_wrap=True, quiet=self._config.get_verbosity() < 0))
            try:
                playables = self._backends
                self._reasons = {each.backend: each.reason for each in playables.unplayed}
                self._folder = self._folder or Folder.create(self._out)
                stories = [each for each in self._stories if each[0].id not in self._lacking]
                runner.Runner(
                    self._folder, self._selection, playables, command, stories, paths.cache_root(), listener,
                    only=only, allowed_faults=self._allowed,
                    suite=suite.identity([story for story, _ in stories], self._tasks, self._selection.split),
                ).play()  # fmt: skip
            except (FolderError, registry.RegistryError) as error:
                raise pytest.UsageError(_describe_error(error)) from None
            except (EmbedderError, GatewayError, OSError) as error:
                # Reported by each trial that has no log; those that were played still count.
                self._trouble = _describe_error(error)
            finally:
                listener.ended()
        self._whole = not only
        if self._folder is not None:
            self._played = {**self._folder.logs()[0], **self._folder.transcripts()[0]}


def _list_failed(log: Log | Transcript) -> list[Faults]:
    """Without what a drill provoked."""
    found = faults.of_drill(log) if isinstance(log, Transcript) else faults.of_trial(log)
    return [each for each in found if not each.provoked]


def _select(option: Any) -> Selection:
    """Raises RegistryError or ValueError, one line, for what cannot be asked for."""
    try:
        drilled = drills.choose_drills(option.coldwarm_drill)
    except drills.DrillError as error:
        raise ValueError(f"--coldwarm-drill: {error}") from None
    if min(option.coldwarm_noise or [0]) < 0:
        raise ValueError("--coldwarm-noise: there is no less than 0")
    if option.coldwarm_drill_size is not None and option.coldwarm_drill_size < SMALLEST:
        raise ValueError(f"--coldwarm-drill-size: a drill needs at least {SMALLEST} memories")
    return Selection(
        backends=interpreters.name_releases(map(registry.parse, option.coldwarm_backend)),
        scenarios=tuple(option.coldwarm_scenario or ([] if option.coldwarm_suite else [SCENARIO])),
        writes=tuple(option.coldwarm_write or USUAL_WRITES),
        noise=tuple(option.coldwarm_noise or [0]),
        drills=drilled,
        drill_size=option.coldwarm_drill_size,
    )


# --- the tests --------------------------------------------------------------------------------------------------------


class Trials(pytest.Collector):
    """Where the trials stand among the tests: `coldwarm::<trial id>`."""

    def __init__(self, *, owner: Plays, **node: Any) -> None:
        super().__init__(**node)
        self._owner = owner

    def collect(self) -> list[pytest.Item]:
        planned = self._owner.planned
        return [TrialItem.from_parent(self, name=trial.id, trial=trial, owner=self._owner) for trial in planned]


class TrialItem(pytest.Item):
    """A trial or drill as a test: it passes if it came to its end and its backend failed in no more calls than may."""

    def __init__(self, *, trial: Trial | DrillTrial, owner: Plays, **node: Any) -> None:
        super().__init__(**node)
        self._trial, self._owner = trial, owner
        self.add_marker(pytest.mark.coldwarm)

    def setup(self) -> None:
        if lack := self._owner.find_lack(self._trial):
            pytest.skip(f"its tests need {' and '.join(lack)}, not installed here")
        try:
            self._said = self._owner.judge(self._trial)
        except NotBegun as error:
            reason = str(error)
        else:
            return
        pytest.fail(make_plain(f"{self.name} could not be played: {reason}"), pytrace=False)  # in a setup: an error

    def runtest(self) -> None:
        said = self._said
        end = said.end
        fault = end.fault if end else None
        why = f"{fault.kind} in {fault.op}: {' '.join(fault.message.split())}" if fault else ""
        if end is not None and end.status == "unsupported":
            pytest.skip(f"unsupported: {make_plain(why, 300)}")
        failing = self._owner.list_failing(said)
        if end is None or end.status == "failed":
            told = [f"{self.name} did not come to its end", make_plain(why, 2000) or "its log has no last event"]
            receipt = [f"log: {said.path}", f"repeat: {self._owner.again(self._trial)}"]
            pytest.fail("\n".join([*told, *receipt]), pytrace=False)
        if failing:
            told = [f"{self.name} came to its end, but calls failed, so that its figures are of the others"]
            told += [
                f"{each.op} {each.count} of {each.calls}, {each.kind}: {make_plain(each.message)}" for each in failing
            ]
            receipt = [f"log: {said.path}, first at {failing[0].receipt}", f"repeat: {self._owner.again(self._trial)}"]
            pytest.fail("\n".join([*told, *receipt]), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def _describe_error(error: Exception) -> str:
    return make_plain(" ".join(str(error).split()))
