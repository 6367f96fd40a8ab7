"""The measures against planted faults: the reference and each faulty backend, played as in a run, in child processes.

Every drill is played small, and one story, whose measures are those of the trusting reader of a curated memory.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from harness import metrics, paths
from harness.adapter import Space
from harness.backend import client, registry
from harness.backend.client import Deadlines
from harness.backend.forkserver import ForkServers, Launcher
from harness.backend.registry import ORACLES
from harness.backend.store import ChildStore, opaque
from harness.gateway import tokens
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter
from harness.log import transcript
from harness.log.blobs import Blobs
from harness.log.events import Closed, Opened
from harness.log.lines import Writer
from harness.log.reader import Log
from harness.machine import leftovers
from harness.metrics import trust
from harness.model.backend import SOUND, Backend
from harness.model.drill import DrillName, DrillTrial, Plan
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, SCRIPTED, Definition, Measure, Spec, Trial, WritePolicy
from harness.play import controls, drills, engine, plan
from harness.play.controls import GoldStore
from harness.play.session import Host, Tools
from harness.selftest import faults
from harness.selftest.faults import Matrix, PlantedFault
from harness.selftest.playing import PaperWorkTrees
from harness.selftest.proof import SEED, Told
from harness.text.classify import Classifier
from tasks import loader

SIZES: Mapping[DrillName, int] = {
    "keeping": 60, "deletion": 80, "isolation": 60, "rollback": 60, "poison": 60, "durability": 40, "sharing": 40,
}  # fmt: skip
"""Memories in the store of each drill: no more than its measures need. Half of `deletion` must exceed a page of 20."""
SCENARIO = "stale-deploy-rule/forgotten-runbook"
MEMORY, ROOM = Path("/dev/shm"), 2**30  # noqa: S108  a folder of its own is made there
"""Where a sync costs nothing, and how many bytes must be free there: a play syncs some thousand times."""
STORY = "story"
"""The family of the measures that read the log of a story."""
NOISE = 40
"""Memories beside the story: 5 k of them at least, below which no rank is measured."""
STORY_SEED = 3
"""Of the noise and the canaries of the story: with these the reference is silent about one unknown thing, so that a
store that never is can be worse."""
DEADLINES = Deadlines(open=60.0, call=5.0, item=0.02)
DEFINITIONS: Mapping[str, Definition] = {**trust.DEFINITIONS, **metrics.DEFINITIONS}
FAMILIES: Mapping[str, str] = {
    **{metric.definition.name: metric.drill for metric in trust.METRICS},
    **dict.fromkeys(metrics.DEFINITIONS, STORY),
}


def prove(
    planted: Sequence[PlantedFault], cache: Path, jobs: int | None = None, heard: Callable[[str], None] = lambda _: None
) -> Matrix:
    """Plays the reference, then every fault, in `jobs` processes side by side; `heard` is told whose plays are done.

    jobs: one more than there are processors unless said, as a play waits for its child now and then.
    """
    sound = registry.find(Spec(adapter=SOUND)).reference
    assert sound is not None
    asked = {SOUND: sound, **{fault.name: fault.adapter for fault in planted}}
    found = {}
    with ProcessPoolExecutor(min(jobs or (os.cpu_count() or 1) + 1, len(asked)), get_context("spawn")) as pool:
        waiting = {name: pool.submit(_measures, name, adapter, cache) for name, adapter in asked.items()}
        try:
            for name, measures in waiting.items():
                found[name] = measures.result()
                heard(name)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    reference = found[SOUND]
    rows = (faults.judged(each, reference, found[each.name], DEFINITIONS, FAMILIES) for each in planted)
    return Matrix(reference, tuple(rows))


def _measures(name: str, adapter: str, cache: Path) -> Mapping[str, Measure]:
    return _bench(cache).measures(name, adapter)


@lru_cache
def _bench(cache: Path) -> FaultPlayer:
    """One for all plays of a process, which ends with it."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        tempfile.tempdir = str(MEMORY)
    stack = ExitStack()
    atexit.register(stack.close)
    root = stack.enter_context(leftovers.temporary())
    embeddings = stack.enter_context(closing(EmbeddingCache(cache / "embeddings.sqlite", Embedder())))
    bench = FaultPlayer(_told(cache), root, stack.enter_context(Gateway(embeddings, StandIn())))
    gc.collect()
    gc.freeze()  # what all plays share is not looked through after each of them
    return bench


def _told(cache: Path) -> Told:
    (file,) = loader.find(paths.TASKS, (SCENARIO,))
    ((scenario, repo),) = loader.load([file], paths.FIXTURES, cache)
    return Told(file, scenario, repo)


class FaultPlayer:
    """What the plays of a process share, one after the other."""

    def __init__(self, told: Told, root: Path, gateway: Gateway) -> None:
        self._told, self._root, self._gateway = told, root, gateway
        self._blobs = Blobs(root / "blobs")
        self._controls = [self._logged(None, None), *(self._logged(name, _gold(told, name)) for name in ORACLES)]

    def measures(self, name: str, adapter: str) -> Mapping[str, Measure]:
        """Every measure of every drill and of the story."""
        found: dict[str, Measure] = {}
        with ForkServers(self._root / "work" / opaque(), (self._gateway.port,)) as fork_servers:
            said = client.describe(adapter, self._root / "work" / opaque() / "home", DEADLINES, fork_servers.launch)
            backend = Backend(name=name, version=said.version, support=said.support)
            for drill in drills.ALL:
                with self._host(adapter, backend, fork_servers.launch) as (host, _):
                    found |= self._drill(name, host, drill)
            with self._host(adapter, backend, fork_servers.launch) as (host, meter):
                found |= self._story(name, host, meter)
        return found

    def _drill(self, name: str, host: ChildStore, drill: DrillName) -> Mapping[str, Measure]:
        trial = DrillTrial(backend=name, drill=drill, size=SIZES[drill], seed=SEED, k=DEFAULT_K)
        written = _plan(drill)
        self._gateway.warm([piece.item.text for piece in written.pieces if piece.item.text])
        path = self._root / f"{trial.id}.jsonl"
        with Writer(path) as log:
            drills.play(trial, written, host, self._blobs, log.append, self._gateway.vectors, {}, {})
        (cell,) = trust.score([transcript.read(path, self._blobs)])
        path.unlink()
        return cell.measures

    def _story(self, name: str, host: ChildStore, meter: Meter) -> Mapping[str, Measure]:
        cells = metrics.score([self._logged(name, host, meter), *self._controls])
        return next(cell for cell in cells if cell.backend == name and cell.read_policy == "trusting").measures

    def _logged(self, name: str | None, host: Host | None, meter: Meter | None = None) -> Log:
        """The log of a story, never written down. Its work is believed: a check would see the value that was chosen."""
        told = self._told
        policy: WritePolicy | None = None if host is None else "append" if host.backend.control else "curated"
        trial = Trial(
            backend=name, scenario=told.scenario.id, write_policy=policy, noise=NOISE, seed=STORY_SEED, reader=SCRIPTED,
            k=DEFAULT_K, budget=DEFAULT_BUDGET,
        )  # fmt: skip
        part = plan.part(trial, told.scenario, told.repo, told.classifier, host.backend if host else None, "", "")
        self._gateway.warm(list(engine.texts(part)))
        tools = Tools(
            told.repo,
            told.explorer,
            Classifier(told.scenario, part.canaries),
            PaperWorkTrees(),
            self._blobs,
            tokens.count,
        )
        events = tuple(engine.play(part, host, tools, meter))
        opened, closed = events[0], events[-1]
        assert isinstance(opened, Opened) and isinstance(closed, Closed)
        return Log(self._root / trial.id, "", opened, events, closed, told.scenario, self._blobs)

    @contextmanager
    def _host(self, adapter: str, backend: Backend, launch: Launcher) -> Iterator[tuple[ChildStore, Meter]]:
        """A new store of a backend, removed afterwards, and what counts its embeddings."""
        key = opaque()
        folder = self._root / "work" / key
        space = Space(str(folder / "store"), self._gateway.url, key, Embedder.dims, SEED)
        meter = self._gateway.register(key)
        try:
            yield ChildStore(adapter, backend, folder / "store", space, DEADLINES, launch), meter
        finally:
            self._gateway.unregister(key)
            shutil.rmtree(folder, ignore_errors=True)


@lru_cache
def _plan(drill: DrillName) -> Plan:
    return drills.ALL[drill].plan(SIZES[drill], SEED)


def _gold(told: Told, name: str) -> GoldStore:
    wanted = controls.wanted(name, told.scenario)
    return GoldStore(controls.described(name), lambda: controls.GoldMemory(wanted, told.classifier))
