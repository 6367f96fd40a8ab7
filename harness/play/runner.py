"""A run: lifetimes, slots, resume. What a trial observes goes to its log at once, so nothing finished is ever lost."""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, Protocol

from harness.adapter import Space
from harness.backend.client import Deadlines
from harness.backend.forkserver import ForkServers
from harness.backend.servers import Service, Services
from harness.backend.store import ChildStore, opaque
from harness.gateway import tokens
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.recording import REPLAY
from harness.gateway.chat.wire import Upstream
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Budget, Meter
from harness.log import transcript
from harness.log.blobs import Blobs
from harness.log.events import Closed, Event
from harness.log.folder import DRILLS, LOGS, Folder, RunFile, commit
from harness.log.lines import LogError, Writer
from harness.log.reader import Log, read
from harness.log.redaction import Redactor
from harness.log.transcript import Ended, Transcript
from harness.machine import bubblewrap, leftovers, sandbox
from harness.model.backend import SOUND
from harness.model.canary import asked
from harness.model.drill import DrillTrial, Plan
from harness.model.results import Suite
from harness.model.scenario import Scenario
from harness.model.trial import Selection, Trial
from harness.play import controls, drills, engine, plan, readers, trouble
from harness.play.backends import DEADLINES, Backends, Playable
from harness.play.controls import GoldStore
from harness.play.readers.explore import Explorer
from harness.play.session import Host, Part, Tools
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees
from harness.scan.copies import Copies
from harness.text.classify import Classifier

VERSION = metadata.version("coldwarm")


class Listener(Protocol):
    """Hears how a run goes on. Called from one thread, `noted` (a server starts) from any."""

    def planned(self, trials: int, reused: int) -> None: ...
    def started(self, trial: Trial | DrillTrial) -> None: ...
    def finished(self, log: Log | Transcript) -> None: ...
    def broke(self, trial: Trial | DrillTrial, why: str) -> None: ...
    def noted(self, line: str) -> None: ...


@dataclass
class StoryParts:
    """One scenario with all that its trials share."""

    scenario: Scenario
    repo: Repo
    classifier: Classifier
    explorer: Explorer


class Stopped(BaseException):  # not an error, and for nobody else to handle: the run was told to end
    """Ends a drill in the middle; its transcript stays incomplete."""


class Exhausted(Exception):  # noqa: N818  not an error: the run was told what it may cost
    """Chat calls have used up the budget; finished trials are kept, those under way are not finished. One line."""


class RunServices(NamedTuple):
    """What all trials of a run go through."""

    gateway: Gateway
    fork_servers: ForkServers
    services: Services
    work_trees: WorkTrees
    stop: threading.Event

    @property
    def stopping(self) -> bool:
        """No trial may come to its end whose chat calls were refused for the budget's sake."""
        return self.stop.is_set() or self.gateway.exhausted


@dataclass(frozen=True)
class Task:
    """A trial or drill that is to be played, and how its file is read afterwards."""

    trial: Trial | DrillTrial
    play: Callable[[RunServices], Path]
    read: Callable[[Path, Blobs], Log | Transcript]


@dataclass
class Runner:
    """Plays a selection into a folder. `only`: trial ids begin so; `keep`: stores stay below the folder.

    suite: which stories these are, for the run file. shard: the share of them that is played. chat: who answers what
    `selection.chat` asks for; closed with the run. budget: what its calls may cost. allowed_faults: how many calls of a
    backend may fail.
    """

    folder: Folder
    selection: Selection
    backends: Backends
    command: str
    stories: Sequence[tuple[Scenario, Repo]]
    cache: Path
    listener: Listener
    jobs: int = 1
    deadlines: Deadlines = DEADLINES
    only: tuple[str, ...] = ()
    keep: bool = False
    suite: Suite | None = None
    shard: plan.Shard | None = None
    chat: Upstream | None = None
    budget: Budget | None = None
    allowed_faults: Mapping[str, int] = field(default_factory=dict)

    def play(self) -> RunFile:
        """Plays every trial that has no closed log of equal digest yet; says what was asked for.

        Raises Exhausted, and FolderError where another process plays this run.
        """
        with self.folder.claimed():
            try:
                return self._play()
            finally:
                leftovers.end_processes(self.folder.work)
                if not self.keep:
                    leftovers.remove(self.folder.work)

    def _play(self) -> RunFile:
        self.folder.blobs.redactor = Redactor(
            secret for each in self.backends.playables.values() for secret in each.withheld
        )
        embedder = Embedder()
        parts = self._parts(self.backends.playables, embedder.digest)
        drilled = plan.drilled(self.selection, self._drilled())
        file = self._described([part.trial for part in parts], drilled, self.folder.earlier(), embedder)
        ids = [*(trial.id for trial in file.trials), *(trial.id for trial in file.drills)]
        now = {name for name in ids if not self.only or name.startswith(self.only)}
        self.folder.write(file)
        parts = [part for part in parts if part.trial.id in now]
        written = [
            (trial, drills.ALL[trial.drill].plan(trial.size, trial.seed)) for trial in drilled if trial.id in now
        ]
        tasks = [*self._stories(parts), *self._drills(written, embedder.digest)]
        self.listener.planned(len(parts) + len(written), len(parts) + len(written) - len(tasks))
        cache = EmbeddingCache(self.cache / "embeddings.sqlite", embedder)
        try:
            with (
                Gateway(cache, self.chat, self.budget) as gateway,
                ForkServers(self.folder.work / "forkservers", (gateway.port,)) as fork_servers,
                Services(self.folder.root / "services", gateway.url, self.listener.noted) as servers,
            ):
                self._all(tasks, RunServices(gateway, fork_servers, servers, WorkTrees(), threading.Event()))
        finally:
            cache.close()
        return file

    def _described(
        self,
        trials: Sequence[Trial],
        drilled: Sequence[DrillTrial],
        earlier: RunFile | None,
        embedder: Embedder,
    ) -> RunFile:
        """A resumed run keeps every trial that it had, whichever are played now: nothing drops out without a word."""
        only = self.only if earlier is None else (*earlier.only, *self.only) if earlier.only else ()
        asked = [trial for trial in trials if not only or trial.id.startswith(only)]
        tested = [trial for trial in drilled if not only or trial.id.startswith(only)]
        head, dirty = commit()
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
            chat=self.chat.name if self.chat else "",
            only=only,
            keep=self.keep,
            trials=tuple(dict.fromkeys([*asked, *(earlier.trials if earlier else ())])),
            drills=tuple(dict.fromkeys([*tested, *(earlier.drills if earlier else ())])),
            unplayed=self.backends.unplayed,
            allowed_faults=self.allowed_faults,
            backends_contained=sandbox.degree(),
            checks_contained=bubblewrap.degree(),
        )

    def _parts(self, playables: Mapping[str, Playable], embedder: str) -> list[Part]:
        stories = [each for at, each in enumerate(self.stories) if self.shard is None or self.shard.takes(at)]
        self._stages = {
            scenario.id: StoryParts(scenario, repo, Classifier(scenario), Explorer(repo)) for scenario, repo in stories
        }
        parts = []
        for trial in plan.trials(self.selection, [scenario for scenario, _ in stories]):
            playable = playables.get(trial.backend) if trial.backend else None
            if trial.backend is None or playable is not None:
                stage = self._stages[trial.scenario]
                backend, source = (playable.backend, playable.source) if playable else (None, "")
                parts.append(
                    plan.part(
                        trial, stage.scenario, stage.repo, stage.classifier, backend, source, embedder, self._answerer
                    )
                )
        return parts

    @property
    def _answerer(self) -> str:
        """Who answers chat calls, whether in person or by recordings: the outcome must be the same."""
        return self.chat.name.removeprefix(REPLAY) if self.chat else ""

    def _drilled(self) -> list[str]:
        """The labels of those that drills are played against: what is under test, and the sound reference."""
        labels = [
            label
            for label, playable in self.backends.playables.items()
            if playable.entry.reference is not None and (not playable.entry.control or label == SOUND)
        ]
        dealt = enumerate(labels, len(self.stories))
        return [label for at, label in dealt if self.shard is None or self.shard.takes(at)]

    def _stories(self, parts: Iterable[Part]) -> list[Task]:
        """Trials without a final log whose digests are those of today's plan."""
        logs, _ = self.folder.logs()
        done = {name: plan.identity(log.trial, log.opened.digests) for name, log in logs.items() if log.final}
        return [
            Task(part.trial, partial(self._story, part), read)
            for part in parts
            if done.get(part.trial.id) != plan.identity(part.trial, part.digests)
        ]

    def _drills(self, drilled: Iterable[tuple[DrillTrial, Plan]], embedder: str) -> list[Task]:
        """The same of drills."""
        transcripts, _ = self.folder.transcripts()
        done = {
            name: plan.identity(each.trial, each.drilled.digests) for name, each in transcripts.items() if each.final
        }
        tasks = []
        for trial, written in drilled:
            playable = self.backends.playables[trial.backend]
            digests = plan.drill_digests(written, playable.backend, playable.source, embedder, self._answerer)
            if done.get(trial.id) != plan.identity(trial, digests):
                tasks.append(Task(trial, partial(self._drill, trial, written, digests), transcript.read))
        return tasks

    # --- playing -----------------------------------------------------------------------------------------------

    def _all(self, tasks: Sequence[Task], shared: RunServices) -> None:
        """Side by side in `jobs` slots, in the order of the plan; the listener hears of each end as it comes."""
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="trial") as pool:
            open_: dict[Future[Path], Task] = {}
            waiting = list(tasks)
            try:
                while waiting or open_:
                    while waiting and len(open_) < self.jobs:
                        task = waiting.pop(0)
                        self.listener.started(task.trial)
                        open_[pool.submit(task.play, shared)] = task
                    done, _ = wait(open_, return_when=FIRST_COMPLETED)
                    if shared.gateway.exhausted:
                        raise Exhausted(f"chat calls have used up their budget: {shared.gateway.spent.tokens} tokens")
                    for future in done:
                        self._hear(open_.pop(future), future)
            except BaseException:
                shared.stop.set()
                shared.fork_servers.kill()  # nobody waits for the deadline of a call whose answer is not wanted
                raise

    def _hear(self, task: Task, future: Future[Path]) -> None:
        """A trial that could not be begun, read or shown is one trial: what it lacks is told at the end of the run."""
        try:
            self.listener.finished(task.read(future.result(), self.folder.blobs))
        except trouble.ENDS_RUN:
            raise
        except LogError as error:
            self.listener.broke(task.trial, str(error))
        except Exception as error:
            self.listener.broke(task.trial, trouble.told(error, self.folder.blobs))

    def _story(self, part: Part, shared: RunServices) -> Path:
        """Plays one trial into a log of its own; its store is removed afterwards."""
        stage = self._stages[part.trial.scenario]
        playable = self.backends.playables[part.trial.backend] if part.trial.backend else None
        tools = Tools(
            repo=stage.repo,
            explorer=stage.explorer,
            classifier=Classifier(stage.scenario, part.canaries),
            work_trees=shared.work_trees,
            blobs=self.folder.blobs,
            count=tokens.count,
            host=_host(),
            reader=readers.find(part.trial.reader),
        )
        if playable is not None and playable.entry.reference is not None:
            shared.gateway.warm(list(engine.texts(part)))  # before any clock of the trial starts
        with (
            self._place(part.trial.id) as (path, space),
            self._served(playable, space.name, shared) as (service, meter),
        ):
            host = self._home(part, playable, shared, space, service)
            with Writer(path, self.folder.blobs.redactor) as log, trouble.fenced(log, Closed, self.folder.blobs):
                for event in engine.play(part, host, tools, meter):
                    if shared.stopping:  # what comes now may be our own doing: the trial is played again
                        break
                    log.append(event)
        return path

    def _drill(self, trial: DrillTrial, written: Plan, digests: Mapping[str, str], shared: RunServices) -> Path:
        """Plays one drill into a transcript of its own; its store is removed afterwards."""
        playable = self.backends.playables[trial.backend]
        texts = ((each.item.text, each.query, asked(each.canary or "")) for each in written.pieces)
        said = [text for each in texts for text in each if text]
        shared.gateway.warm(said)  # before any clock of the drill starts
        with self._place(trial.id, DRILLS) as (path, space), self._served(playable, space.name, shared) as (service, _):
            child_store = self._child_store(playable, trial.seed, shared, space, service)
            with Writer(path, self.folder.blobs.redactor) as log:

                def emit(event: Event) -> None:
                    if shared.stopping:
                        raise Stopped
                    log.append(event)

                with suppress(Stopped), trouble.fenced(log, Ended, self.folder.blobs):
                    drills.play(
                        trial,
                        written,
                        child_store,
                        self.folder.blobs,
                        emit,
                        shared.gateway.vectors,
                        digests,
                        _host(),
                        Copies(space, self.listener.noted) if self.keep else None,
                    )
        return path

    @contextmanager
    def _place(self, trial: str, below: str = LOGS) -> Iterator[tuple[Path, Path]]:
        """Where a trial is logged, and a folder for its store, whose name says nothing; kept, it gets the trial's."""
        path, space, kept = self.folder.new_log(trial, below), self.folder.work / opaque(), self.folder.work / trial
        try:
            yield path, space
        finally:
            if self.keep and space.exists():
                leftovers.remove(kept)
                space.rename(kept)
            else:
                leftovers.remove(space)

    @contextmanager
    def _served(
        self, playable: Playable | None, key: str, shared: RunServices
    ) -> Iterator[tuple[Service | None, Meter]]:
        """The backend's server, if it has one, lent to this trial alone, and a meter for what both embed."""
        reference = playable.entry.reference if playable else None
        with shared.services.lent(reference) if reference else nullcontext() as service:
            keys = (key, service.key) if service else (key,)
            try:
                yield service, shared.gateway.register(*keys)
            finally:
                shared.gateway.unregister(*keys)

    def _home(
        self, part: Part, playable: Playable | None, shared: RunServices, folder: Path, service: Service | None
    ) -> Host | None:
        if playable is None:
            return None
        if playable.entry.reference is None:
            classifier = Classifier(part.scenario, part.canaries)
            gold = controls.wanted(playable.entry.name, part.scenario)
            return GoldStore(playable.backend, lambda: controls.GoldMemory(gold, classifier))
        return self._child_store(playable, part.trial.seed, shared, folder, service)

    def _child_store(
        self, playable: Playable, seed: int, shared: RunServices, folder: Path, service: Service | None
    ) -> ChildStore:
        assert playable.entry.reference is not None
        root = folder / "store"
        space = Space(str(root), shared.gateway.url, folder.name, Embedder.dims, seed, dict(playable.spec.settings))
        return ChildStore(
            playable.entry.reference, playable.backend, root, space, self.deadlines, shared.fork_servers.launch, service
        )


def _host() -> dict[str, str]:
    """What of this machine a result may depend on."""
    link = sqlite3.connect(":memory:")
    secure = link.execute("pragma secure_delete").fetchone()[0]
    link.close()
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "sqlite": sqlite3.sqlite_version,
        "sqlite_secure_delete": str(secure),
        "cpus": str(os.cpu_count()),
    }
