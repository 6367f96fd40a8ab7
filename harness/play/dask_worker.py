"""What a worker of a Dask cluster does: it shows that it is as the run expects, opens its environment once, and plays.

What it may play it offers as Dask resources of the run. So a worker that is refused, or lacks an SDK, is given no
trial of it, whenever it joins; a server is one resource, so that no two trials are given to it at once.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin

from harness import paths
from harness.backend.registry import RegistryError
from harness.gateway.embedder import Embedder
from harness.gateway.meter import Ledger
from harness.log import parcel
from harness.machine import bubblewrap, containment, leftovers
from harness.model.drill import DrillTrial
from harness.model.scenario import Scenario
from harness.model.trial import Chat, Selection, Trial
from harness.play.backends import Playable, describe_all
from harness.play.environment import Control, Environment, Settings
from harness.play.sources import digest_code
from harness.play.story import Story
from harness.play.trial import load, play_trial
from harness.play.trouble import ExecutorError
from harness.repo.checkout import Repo, build
from harness.repo.clone import Clone
from harness.repo.several import join

CODE = digest_code()[:12]
"""Of the sources that this process has imported, and not of what they were edited to since."""
VERSION = metadata.version("coldwarm")
Tell = Callable[[Mapping[str, Any]], None]


def list_facts() -> dict[str, str]:
    """What a worker must have in common with the command that began the run."""
    return {
        "coldwarm": VERSION,
        "playing code": CODE,
        "Python": ".".join(map(str, sys.version_info[:2])),
        "embedder": Embedder.digest[:12],
        "containment of backends": containment.describe(),
        "containment of checks": bubblewrap.describe_containment(),
    }


@dataclass(frozen=True)
class Ticket:
    """What a worker is to show before it may play in a run. It holds the secrets of backends."""

    facts: Mapping[str, str]
    playables: Mapping[str, Playable]
    chat: Chat | None


@dataclass(frozen=True)
class Admission:
    """What came of it.

    Attributes:
        refused: Why it may play nothing; empty: it may.
        lacks: Backend -> why this worker cannot play it.
        playables: As this worker describes them; they hold its secrets, and are not sent.
    """

    refused: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    playables: Mapping[str, Playable] = field(default_factory=dict)


@dataclass(frozen=True)
class Sent:
    """The settings of a run as they are sent: fixtures as patches, as the worker has no folder of the command's.

    A pinned repository is not sent: the worker opens it at the same path or URL.
    """

    settings: Settings
    stories: tuple[tuple[Scenario, tuple[str, ...]], ...]
    fixtures: Mapping[str, tuple[Path | Clone, Mapping[str, bytes]]]

    @classmethod
    def make(cls, settings: Settings) -> Sent:
        stories = settings.stories.values()
        return cls(
            replace(settings, stories={}),
            tuple((each.scenario, tuple(part.digest for part in each.repo.parts)) for each in stories),
            {part.digest: (part.origin, part.patches) for each in stories for part in each.repo.parts},
        )

    def unpack(self, root: Path) -> Settings:
        """Raises FixtureError and OSError."""
        cache, repos = paths.cache_root(), dict[str, Repo]()
        for digest, (origin, patches) in self.fixtures.items():
            folder = root / "fixtures" / digest / origin.name
            for path, data in patches.items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            repos[digest] = build(origin if isinstance(origin, Clone) else folder, cache)
        stories = {
            scenario.id: Story(scenario, join(*map(repos.__getitem__, digests))) for scenario, digests in self.stories
        }
        return replace(self.settings, root=root / "run", stories=stories, cache=cache)


async def admit(ticket: bytes) -> Admission:
    """Whether this worker is as the run expects. Describing backends takes seconds; it stays reachable meanwhile."""
    return replace(await asyncio.to_thread(_admit, ticket), playables={})


_admissions: dict[bytes, Admission] = {}
_lock = threading.Lock()


def _admit(sent: bytes) -> Admission:
    """Once for a ticket."""
    with _lock:
        if sent not in _admissions:
            # of one run at a time: a ticket holds secrets, and a worker outlives many runs
            _admissions.clear()
            _admissions[sent] = _judge(sent)
        return _admissions[sent]


def _judge(sent: bytes) -> Admission:
    own = list_facts()
    try:
        ticket: Ticket = pickle.loads(sent)  # noqa: S301  who may talk to a scheduler may run anything on its workers
        # inside the `try`, as another coldwarm may not send all of these facts
        wanted = {name: ticket.facts[name] for name in own}
    except Exception as error:
        return Admission(f"its coldwarm cannot read what this run sends ({type(error).__name__}: {error})")
    for name, fact in own.items():
        if fact != wanted[name]:
            return Admission(f"its {name} is {fact}, that of this run {wanted[name]}")
    lacks, playables = dict[str, str](), dict[str, Playable]()
    for label, theirs in ticket.playables.items():
        try:
            found = describe_all(Selection(backends=(theirs.spec,), chat=ticket.chat))
        except RegistryError as error:
            lacks[label] = str(error)
            continue
        if label not in found.playables:
            lacks[label] = found.unplayed[0].reason
            continue
        ours = found.playables[label]
        if ours.backend.version != theirs.backend.version:
            return Admission(f"it has {label} {ours.backend.version}, this run {theirs.backend.version}")
        if (ours.backend, ours.source, ours.served) != (theirs.backend, theirs.source, theirs.served):
            return Admission(f"its adapter of {label} has other sources than that of this run")
        # secrets of either machine may turn up in what is logged here
        playables[label] = replace(ours, withheld=(*theirs.withheld, *ours.withheld), older=theirs.older)
    return Admission(lacks=lacks, playables=playables)


class _Ledger(Ledger):
    """Knows no budget, and tells the command that does."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def add(self, prompt: int, completion: int, asked: str, answered: str) -> None:
        super().add(prompt, completion, asked, answered)
        self._tell({"spent": [prompt, completion, asked, answered]})


class Player(WorkerPlugin):  # type: ignore[misc]  # its types are not read
    """A worker's part in a run. It is sent whole, and opened on each worker, those that join late included."""

    def __init__(self, run: str, ticket: bytes, sent: bytes) -> None:
        self._run, self._ticket, self._sent = run, ticket, sent
        self.refused, self.threads = "", 0

    async def setup(self, worker: Worker) -> None:
        # not in `__init__`: the plugin is sent by pickle, and no lock can be
        self._open, self._playing, self._ended = ExitStack(), 0, threading.Condition()
        self._tell: Tell = lambda message: worker.log_event(self._run, message)
        try:
            admission = await asyncio.to_thread(self._enter)
            self.refused = admission.refused
        except Exception as error:
            self.refused = f"it cannot open its environment: {' '.join(str(error).split())}"
        if self.refused:
            self._tell({"noted": f"worker {worker.address} is refused: {self.refused}"})
            return
        for label, why in admission.lacks.items():
            self._tell({"noted": f"worker {worker.address} does not play {label}: {why}"})
        self.threads = worker.state.nthreads
        offered = dict.fromkeys([self._run, *(f"{self._run} {label}" for label in admission.playables)], self.threads)
        await worker.set_resources(**offered, **{f"{self._run} server": 1})
        # last: on hearing it the command has the scheduler look for tasks that fit what is offered by now
        self._tell({"joined": worker.address, "threads": self.threads})

    async def teardown(self, worker: Worker) -> None:
        await asyncio.to_thread(self._leave)

    def play(self, trial: Trial | DrillTrial) -> bytes:
        """The parcel of what was played. In any thread."""
        with self._under_way():
            path, blobs = play_trial(trial, self._environment), self._environment.blobs
            try:
                return parcel.pack(trial.id, load(trial, path, blobs))
            finally:
                path.unlink(missing_ok=True)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """A trial, which the environment outlives."""
        with self._ended:
            # under the lock, so that `_leave` misses no trial that has begun
            if self._environment.control.stopping:
                raise ExecutorError("the run has ended on this worker")
            self._playing += 1
        try:
            yield
        finally:
            with self._ended:
                self._playing -= 1
                self._ended.notify_all()

    def _enter(self) -> Admission:
        admission = _admit(self._ticket)
        if not admission.refused:
            root = self._open.enter_context(leftovers.make_temporary())
            settings = pickle.loads(self._sent).unpack(root)  # noqa: S301  as above
            control = Control(noted=lambda line: self._tell({"noted": line}))
            control.ledger = _Ledger(self._tell)
            environment = Environment(replace(settings, playables=admission.playables), control)
            self._environment = self._open.enter_context(environment)
        return admission

    def _leave(self) -> None:
        if hasattr(self, "_environment"):
            with self._ended:
                self._environment.control.stop.set()
                while self._playing:  # what it opens meanwhile is ended, too, and nothing is left behind
                    self._environment.stores.kill()
                    self._ended.wait(0.1)
        self._open.close()
