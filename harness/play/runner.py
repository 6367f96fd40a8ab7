"""A run: what is played, in which order, and what of it was played before. Nothing finished is ever lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Protocol, TypeAlias

from harness.adapter import Server
from harness.gateway import tokens
from harness.gateway.chat.recording import REPLAY
from harness.gateway.embedder import choose
from harness.gateway.meter import Budget
from harness.log.folder import Folder, RunFile, commit
from harness.log.lines import LogError
from harness.log.reader import Log, Outline
from harness.log.transcript import Transcript
from harness.log.trial_cache import TrialCache
from harness.machine import bubblewrap, containment, files, leftovers
from harness.model.backend import SOUND
from harness.model.drill import DrillTrial
from harness.model.prices import Prices
from harness.model.results import Suite
from harness.model.scenario import Scenario
from harness.model.trial import Selection, Trial
from harness.play import plan, trouble
from harness.play.backends import DEADLINES, Backends
from harness.play.environment import Control, Settings
from harness.play.executor import Executor, Submit, Threads
from harness.play.reuse import Reuse
from harness.play.story import Story
from harness.play.trial import compute_identity, load
from harness.repo.checkout import Repo

AnyTrial: TypeAlias = Trial | DrillTrial
VERSION = metadata.version("coldwarm")
AHEAD = 100
"""Trials that may be passed over: those of a story or two, whose noise is held meanwhile."""


class Listener(Protocol):
    """Hears how a run goes on. Called from one thread, `noted` (a server starts) from any."""

    def planned(self, trials: int, reused: int) -> None: ...
    def started(self, trial: AnyTrial) -> None: ...
    def finished(self, log: Log | Transcript) -> None: ...
    def broke(self, trial: AnyTrial, why: str) -> None: ...
    def noted(self, line: str) -> None: ...


class Exhausted(Exception):  # noqa: N818  not an error: the run was told what it may cost
    """Chat calls have used up the budget; finished trials are kept, those under way are not finished. One line."""


@dataclass
class Runner:
    """Plays a selection into a folder.

    Attributes:
        only: Trial ids begin so.
        call_seconds: What a call of a backend may take, if not as usual.
        keep: Stores stay below the folder.
        suite: Which stories these are, for the run file.
        shard: The share of them that is played.
        chat: Who answers what `selection.chat` asks for; closed with the run.
        budget: What its calls may cost.
        allowed_faults: How many calls of a backend may fail.
        prices: Of the tokens of chat models, for the report; None: those that the folder has, if any.
        trial_cache: Where trials that other runs finished are kept; None: everything is played, and kept nowhere.
        fresh: Everything is played, and kept for other runs.
    """

    folder: Folder
    selection: Selection
    backends: Backends
    command: str
    stories: Sequence[tuple[Scenario, Repo]]
    cache: Path
    listener: Listener
    executor: Executor = field(default_factory=partial(Threads, 1))
    call_seconds: float | None = None
    only: tuple[str, ...] = ()
    keep: bool = False
    suite: Suite | None = None
    shard: plan.Shard | None = None
    chat: str = ""
    budget: Budget | None = None
    allowed_faults: Mapping[str, int] = field(default_factory=dict)
    prices: Prices | None = None
    trial_cache: TrialCache | None = None
    fresh: bool = False
    _unbegun: dict[str, str] = field(default_factory=dict, init=False)

    def play(self) -> RunFile:
        """Plays every trial that has no closed log of equal digest yet; says what was asked for.

        Raises Exhausted, and FolderError where another process plays this run.
        """
        with self.folder.claim():
            try:
                return self._play()
            finally:
                leftovers.end_processes(self.folder.work)
                if not self.keep:
                    leftovers.remove(self.folder.work)

    def _play(self) -> RunFile:
        settings = self._settings()
        self.folder.blobs.redactor = settings.redactor
        scenarios = [story.scenario for story in settings.stories.values()]
        trials = [
            trial
            for trial in plan.list_trials(self.selection, scenarios, self.backends.apart)
            if trial.backend is None or trial.backend in settings.playables
        ]
        drilled = plan.list_drills(self.selection, self._list_drilled(), self.backends.taking_over)
        file = self._describe(trials, drilled, self.folder.earlier())
        ids = [*(trial.id for trial in file.trials), *(trial.id for trial in file.drills)]
        now = {name for name in ids if not self.only or name.startswith(self.only)}
        # before anything is played: a run that is killed says what was asked for
        self.folder.write(file)
        self._write_locks()
        planned: list[AnyTrial] = [*trials, *drilled]
        asked = [trial for trial in planned if trial.id in now]
        done = self._done()
        waiting = [
            trial for trial in asked if trial.id not in done or done[trial.id] != compute_identity(trial, settings)
        ]
        reuse = Reuse(self.trial_cache, settings, fresh=self.fresh) if self.trial_cache else None
        file, waiting = self._reuse(reuse, file, waiting)
        self.listener.planned(len(asked), len(asked) - len(waiting))
        if told := file.describe_reused():
            self.listener.noted(f"{told}; --fresh plays them anew")
        control = Control(self.budget, self.listener.noted)
        with self.executor.opened(settings, control) as submit:
            self._all(waiting, settings.stories, submit, control, reuse)
        if self._unbegun:
            file = file.model_copy(update={"unbegun": dict(sorted(self._unbegun.items()))})
            self.folder.write(file)
        if reuse:
            reuse.end()
        return file

    def _reuse(self, reuse: Reuse | None, file: RunFile, waiting: list[AnyTrial]) -> tuple[RunFile, list[AnyTrial]]:
        """The file, with which trials are taken from another run, and those that are left to play.

        The file names a trial before its log is there, so that no kill leaves one that is not marked.
        """
        again = {trial.id for trial in waiting}
        before = {name: day for name, day in file.reused.items() if name not in again}
        found = reuse.find(waiting) if reuse else {}
        file = file.model_copy(update={"reused": before | found})
        self.folder.write(file)
        taken = {trial.id for trial in waiting if reuse and trial.id in found and reuse.restore(trial, self.folder)}
        if taken != {*found}:
            file = file.model_copy(update={"reused": before | {name: found[name] for name in taken}})
            self.folder.write(file)
        return file, [trial for trial in waiting if trial.id not in taken]

    def _settings(self) -> Settings:
        dealt = [each for at, each in enumerate(self.stories) if self.shard is None or self.shard.takes(at)]
        return Settings(
            root=self.folder.root,
            playables=self.backends.playables,
            stories={scenario.id: Story(scenario, repo) for scenario, repo in dealt},
            cache=self.cache,
            chat=self.selection.chat,
            answerer=self.chat.removeprefix(REPLAY),  # in person or by recordings: the outcome must be the same
            deadlines=DEADLINES.allow(self.call_seconds),
            keep=self.keep,
        )

    def _describe(
        self,
        trials: Sequence[Trial],
        drilled: Sequence[DrillTrial],
        earlier: RunFile | None,
    ) -> RunFile:
        """A resumed run keeps every trial that it had, whichever are played now: nothing drops out without a word."""
        # a run that was begun as a whole stays whole, whatever is asked of it now
        only = self.only if earlier is None else (*earlier.only, *self.only) if earlier.only else ()
        asked = [trial for trial in trials if not only or trial.id.startswith(only)]
        tested = [trial for trial in drilled if not only or trial.id.startswith(only)]
        head, dirty = commit()
        embedder = choose()
        # a run file is passed on, and holds no secret
        shown = tuple(spec.model_copy(update={"settings": spec.shown}) for spec in self.selection.backends)
        return RunFile(
            id=self.folder.root.name,
            version=VERSION,
            commit=head,
            dirty=dirty,
            command=self.command,
            selection=self.selection.model_copy(update={"backends": shown}),
            suite=self.suite,
            shard=str(self.shard) if self.shard else None,
            embedder=f"{embedder.name} {embedder.digest[:12]}",
            tokens=tokens.ENCODING,
            chat=self.chat,
            only=only,
            call_seconds=self.call_seconds,
            keep=self.keep,
            trials=tuple(dict.fromkeys([*asked, *(earlier.trials if earlier else ())])),
            drills=tuple(dict.fromkeys([*tested, *(earlier.drills if earlier else ())])),
            unplayed=self.backends.unplayed,
            interpreters={spec.label: spec.python for spec in self.selection.backends if spec.python},
            allowed_faults=self.allowed_faults,
            reused=earlier.reused if earlier else {},
            prices=self.prices or (earlier.prices if earlier else None),
            backends_contained=containment.describe(),
            checks_contained=bubblewrap.describe_containment(),
        )

    def _write_locks(self) -> None:
        """What is installed for backends with an environment of their own."""
        for label, playable in self.backends.playables.items():
            if playable.spec.lock:
                path = self.folder.lock(label)
                files.write(path, playable.spec.lock)

    def _list_drilled(self) -> list[str]:
        """The labels of those that drills are played against: what is under test, and the sound reference."""
        labels = [
            label
            for label, playable in self.backends.playables.items()
            if playable.entry.reference is not None and (not playable.entry.control or label == SOUND)
        ]
        # goes on where the stories ended, so that shards stay alike in size
        dealt = enumerate(labels, len(self.stories))
        return [label for at, label in dealt if self.shard is None or self.shard.takes(at)]

    def _done(self) -> dict[str, str]:
        """What has a final log: its id -> its identity as it was played."""
        finished = (each for each in self.folder.outlines() if each.final or self._is_allowed(each))
        return {each.trial.id: plan.compute_identity(each.trial, each.opening.digests) for each in finished}

    def _is_allowed(self, outline: Outline) -> bool:
        """Whether calls to a chat model that got no answer may stay so, as some were allowed to fail."""
        trial = outline.trial
        asking = (trial.reader, f"writer:{trial.writer}") if isinstance(trial, Trial) else ()
        return outline.end is not None and outline.unanswered and any(map(self.allowed_faults.get, asking))

    def _all(
        self,
        waiting: Sequence[AnyTrial],
        stories: Mapping[str, Story],
        submit: Submit,
        control: Control,
        reuse: Reuse | None = None,
    ) -> None:
        """Side by side in the executor's slots, in this order; the listener hears of each end as it comes.

        A trial whose server another one has is passed over while there are others: it would only hold a slot.
        """
        under_way: dict[Future[Path], AnyTrial] = {}
        trials = list(waiting)
        left = Counter(trial.scenario for trial in waiting if isinstance(trial, Trial))
        while trials or under_way:
            while trials and len(under_way) < self.executor.slots:
                trial = trials.pop(self._find_next(trials, under_way.values()))
                self.listener.started(trial)
                under_way[submit(trial)] = trial
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            # before any of these is heard: it may have ended for want of calls that were refused
            if control.ledger.used_up:
                raise Exhausted(f"chat calls have used up their budget: {control.ledger.spent.tokens} tokens")
            for future in done:
                trial = under_way.pop(future)
                ended = None
                if isinstance(trial, Trial):
                    left[trial.scenario] -= 1
                    ended = None if left[trial.scenario] else stories[trial.scenario]
                self._hear(trial, future, reuse, ended)

    def _find_next(self, trials: Sequence[AnyTrial], under_way: Iterable[AnyTrial]) -> int:
        if not self.executor.alone:
            return 0
        lent = [server for each in under_way if (server := self._find_server(each))]
        # where all wait for lent servers, the first is as good as any
        return next((at for at, each in enumerate(trials[:AHEAD]) if self._find_server(each) not in lent), 0)

    def _find_server(self, trial: AnyTrial) -> Server | None:
        return self.backends.playables[trial.backend].server if trial.backend else None

    def _hear(self, trial: AnyTrial, future: Future[Path], reuse: Reuse | None, ended: Story | None) -> None:
        """A trial that could not be begun, read or shown is one trial: what it lacks is told at the end of the run.

        Args:
            ended: The story whose last trial it is.
        """
        try:
            try:
                played = load(trial, future.result(), self.folder.blobs)
                # what another machine played depends on what is installed there
                if reuse and self.executor.here:
                    reuse.keep(trial, played)  # asks for the noise
            finally:
                # read or not: its noise is held until then
                if ended:
                    ended.let_go()
            self.listener.finished(played)
        except trouble.ENDS_RUN:
            raise
        except LogError as error:
            self.listener.broke(trial, str(error))
        except Exception as error:
            self._unbegun[trial.id] = trouble.describe(error, self.folder.blobs)
            self.listener.broke(trial, self._unbegun[trial.id])
