"""A run: lifetimes, slots, resume. What a trial observes goes to its log at once, so nothing finished is ever lost."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Protocol

from harness import controls, engine, plan, process, registry
from harness.adapter import Space
from harness.classify import Classifier
from harness.events import Backend, Closed
from harness.exchange import Host, Part, Tools
from harness.folder import Folder, RunFile, commit
from harness.hosts import ChildHost, GoldHost
from harness.launch import Nursery
from harness.log import Log, Writer, read
from harness.model import Selection, Spec, Trial, digest
from harness.models import tokens
from harness.models.cache import EmbeddingCache
from harness.models.embedder import Embedder
from harness.models.gateway import Gateway
from harness.process import Deadlines, MemoryFault
from harness.readers.explore import Explorer
from harness.repo import Repo
from harness.results import Suite, Unplayed
from harness.scenario import Scenario
from harness.workshop import Workshop

VERSION = metadata.version("coldwarm")
DEADLINES = Deadlines()


class Listener(Protocol):
    """Hears how a run goes on. Called from one thread."""

    def planned(self, trials: int, reused: int) -> None: ...
    def started(self, trial: Trial) -> None: ...
    def finished(self, log: Log) -> None: ...


@dataclass(frozen=True)
class Player:
    """A backend that can be played: its entry, its spec with secrets, what it says of itself, its code's digest."""

    entry: registry.Entry
    spec: Spec
    backend: Backend
    source: str = "harness"


@dataclass(frozen=True)
class Cast:
    """Who can be played, by label, and who was asked for but cannot."""

    players: Mapping[str, Player]
    unplayed: tuple[Unplayed, ...] = ()


def cast(selection: Selection, allowed: Iterable[str] = (), deadlines: Deadlines = DEADLINES) -> Cast:
    """Asks every adapter what it is, each in a child of its own. The controls with gold always play.

    Raises RegistryError for a backend that nobody knows or a setting that its adapter does not read.
    """
    players = {name: Player(*_gold(name)) for name in registry.ORACLES}
    unplayed = []
    entries = {spec.label: (spec, registry.find(spec)) for spec in selection.backends}
    if len(entries) < len({digest(spec) for spec in selection.backends}):
        raise registry.RegistryError("two backends differ in a secret only, so that no row could tell them apart")
    with tempfile.TemporaryDirectory() as home:
        for spec, entry in entries.values():
            if entry.reference is None:
                continue
            try:
                said = process.describe(entry.reference, Path(home) / str(len(players)), deadlines)
            except MemoryFault as error:
                unplayed.append(Unplayed(backend=spec.label, reason=str(error), allowed=spec.label in allowed))
                continue
            registry.check_settings(spec, said.settings)
            backend = Backend(
                name=said.name, version=said.version, support=said.support, settings=spec.shown, control=entry.control
            )
            players[spec.label] = Player(entry, spec, backend, said.source)
    return Cast(players, tuple(unplayed))


def _gold(name: str) -> tuple[registry.Entry, Spec, Backend]:
    return registry.Entry(name, None, control=True), Spec(adapter=name), controls.described(name)


@dataclass
class Stage:
    """One scenario with all that its trials share."""

    scenario: Scenario
    repo: Repo
    classifier: Classifier
    explorer: Explorer


@dataclass
class Run:
    """Plays a selection into a folder. `only`: trial ids begin so; `keep`: stores stay below the folder.

    suite: which stories these are, for the run file.
    """

    folder: Folder
    selection: Selection
    cast: Cast
    command: str
    stories: Sequence[tuple[Scenario, Repo]]
    cache: Path
    listener: Listener
    jobs: int = 1
    deadlines: Deadlines = DEADLINES
    only: tuple[str, ...] = ()
    keep: bool = False
    suite: Suite | None = None

    def play(self) -> RunFile:
        """Plays every trial that has no closed log of equal digest yet, and says what was asked for."""
        players = self.cast.players
        embedder = Embedder()
        parts = [
            part
            for part in self._parts(players, embedder.digest)
            if not self.only or part.trial.id.startswith(self.only)
        ]
        file = self._described(tuple(part.trial for part in parts), embedder)
        self.folder.write(file)
        finished = self._finished(parts)
        todo = [part for part in parts if part.trial.id not in finished]
        self.listener.planned(len(parts), len(finished))
        cache = EmbeddingCache(self.cache / "embeddings.sqlite", embedder)
        try:
            with Gateway(cache) as gateway, Nursery(self.folder.work / "nursery") as nursery:
                self._all(todo, players, gateway, nursery)
        finally:
            cache.close()
            if not self.keep:
                shutil.rmtree(self.folder.work, ignore_errors=True)
        return file

    def _described(self, trials: tuple[Trial, ...], embedder: Embedder) -> RunFile:
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
            embedder=f"{embedder.name} {embedder.digest[:12]}",
            tokens=tokens.ENCODING,
            trials=trials,
            unplayed=self.cast.unplayed,
        )

    def _parts(self, players: Mapping[str, Player], embedder: str) -> list[Part]:
        self._stages = {
            scenario.id: Stage(scenario, repo, Classifier(scenario), Explorer(repo)) for scenario, repo in self.stories
        }
        parts = []
        for trial in plan.trials(self.selection, [scenario for scenario, _ in self.stories]):
            player = players.get(trial.backend) if trial.backend else None
            if trial.backend is None or player is not None:
                stage = self._stages[trial.scenario]
                backend, source = (player.backend, player.source) if player else (None, "")
                parts.append(plan.part(trial, stage.scenario, stage.repo, stage.classifier, backend, source, embedder))
        return parts

    def _finished(self, parts: Iterable[Part]) -> set[str]:
        """Trials with a closed log whose digests are those of today's plan."""
        logs, _ = self.folder.logs()
        done = {name: plan.identity(log.trial, log.opened.digests) for name, log in logs.items() if log.closed}
        return {part.trial.id for part in parts if done.get(part.trial.id) == plan.identity(part.trial, part.digests)}

    # --- playing -----------------------------------------------------------------------------------------------

    def _all(self, parts: Sequence[Part], players: Mapping[str, Player], gateway: Gateway, nursery: Nursery) -> None:
        """Side by side in `jobs` slots, in the order of the plan; the listener hears of each end as it comes."""
        workshop, stop = Workshop(), threading.Event()
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="trial") as pool:
            open_: dict[Future[Path], Trial] = {}
            waiting = list(parts)
            try:
                while waiting or open_:
                    while waiting and len(open_) < self.jobs:
                        part = waiting.pop(0)
                        self.listener.started(part.trial)
                        player = players[part.trial.backend] if part.trial.backend else None
                        open_[pool.submit(self._one, part, player, gateway, nursery, workshop, stop)] = part.trial
                    done, _ = wait(open_, return_when=FIRST_COMPLETED)
                    for future in done:
                        del open_[future]
                        self.listener.finished(read(future.result(), self.folder.blobs))
            except BaseException:
                stop.set()
                raise

    def _one(
        self,
        part: Part,
        player: Player | None,
        gateway: Gateway,
        nursery: Nursery,
        workshop: Workshop,
        stop: threading.Event,
    ) -> Path:
        """Plays one trial into a log of its own; its store is removed afterwards."""
        path, space = self.folder.new_log(part.trial.id), self.folder.work / part.trial.id
        shutil.rmtree(space, ignore_errors=True)
        stage = self._stages[part.trial.scenario]
        tools = Tools(
            repo=stage.repo,
            explorer=stage.explorer,
            classifier=Classifier(stage.scenario, part.canaries),
            workshop=workshop,
            blobs=self.folder.blobs,
            count=tokens.count,
            host=_host(),
        )
        if player is not None and player.entry.reference is not None:
            gateway.warm(list(engine.texts(part)))  # before any clock of the trial starts
        meter = gateway.register(part.trial.id)
        try:
            with Writer(path) as log:
                for event in engine.play(part, self._home(part, player, gateway.url, nursery, space), tools, meter):
                    log.append(event)
                    if stop.is_set() and not isinstance(event, Closed):
                        break
        finally:
            gateway.unregister(part.trial.id)
            if not self.keep:
                shutil.rmtree(space, ignore_errors=True)
        return path

    def _home(self, part: Part, player: Player | None, url: str, nursery: Nursery, folder: Path) -> Host | None:
        if player is None:
            return None
        name, reference = player.entry.name, player.entry.reference
        if reference is None:
            classifier = Classifier(part.scenario, part.canaries)
            gold = controls.wanted(name, part.scenario)
            return GoldHost(player.backend, lambda: controls.GoldMemory(gold, classifier))
        root = folder / "store"
        space = Space(str(root), url, part.trial.id, Embedder.dims, part.trial.seed, dict(player.spec.settings))
        return ChildHost(reference, player.backend, root, space, self.deadlines, nursery.launch)


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
