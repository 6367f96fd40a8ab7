"""The measures against planted faults: the reference and each faulty backend, played as in a run, in child processes.

Every drill is played small, and one story, whose measures are those of the trusting reader of a curated memory.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from harness import metrics, paths
from harness.backend import client, registry
from harness.backend.client import Deadlines
from harness.backend.registry import ORACLES, AdapterEntry
from harness.backend.store import opaque
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.log import transcript
from harness.log.reader import read
from harness.machine import leftovers
from harness.metrics import trust
from harness.model.backend import SOUND, Backend
from harness.model.drill import DrillTrial
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, SCRIPTED, Definition, Measure, Spec, Trial, WritePolicy
from harness.play import drills
from harness.play.backends import Playable
from harness.play.children import Children
from harness.play.drills.stage import Drill
from harness.play.environment import Environment, Settings
from harness.play.story import Story
from harness.play.trial import play_trial
from harness.selftest import faults, local
from harness.selftest.faults import Matrix, PlantedFault
from harness.selftest.local import LocalStores
from harness.selftest.playing import PaperWorkTrees, whole
from harness.selftest.proof import SEED
from tasks import loader

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
OLDER = "older"
"""What the release is called whose stores are taken over."""
PAPER = PaperWorkTrees()
"""A check would see the value that was chosen: no measure of the story is of the work itself."""
DEFINITIONS: Mapping[str, Definition] = {**trust.DEFINITIONS, **metrics.DEFINITIONS}
FAMILIES: Mapping[str, str] = {
    **{metric.definition.name: metric.drill for metric in trust.METRICS},
    **dict.fromkeys(metrics.DEFINITIONS, STORY),
}


def prove(
    planted: Sequence[PlantedFault], cache: Path, jobs: int | None = None, heard: Callable[[str], None] = lambda _: None
) -> Matrix:
    """Plays the reference, then every fault, in `jobs` processes side by side; `heard` is told whose plays are done.

    Args:
        jobs: One more than there are processors unless said, as a play waits for its child now and then.
    """
    sound = registry.find(Spec(adapter=SOUND)).reference
    assert sound is not None
    asked = {SOUND: (sound, sound), **{fault.name: (fault.adapter, fault.older) for fault in planted}}
    found = {}
    with ProcessPoolExecutor(min(jobs or (os.cpu_count() or 1) + 1, len(asked)), get_context("spawn")) as pool:
        waiting = {name: pool.submit(_measures, name, *adapters, cache) for name, adapters in asked.items()}
        try:
            for name, measures in waiting.items():
                found[name] = measures.result()
                heard(name)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    reference = found[SOUND]
    rows = (faults.judge(each, reference, found[each.name], DEFINITIONS, FAMILIES) for each in planted)
    return Matrix(reference, tuple(rows))


def _measures(name: str, adapter: str, older: str, cache: Path) -> Mapping[str, Measure]:
    return _bench(cache).measures(name, adapter, older)


@lru_cache
def _bench(cache: Path) -> FaultPlayer:
    """One for all plays of a process, which ends with it."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        tempfile.tempdir = str(MEMORY)
    stack = ExitStack()
    atexit.register(stack.close)
    root = stack.enter_context(leftovers.temporary())
    embeddings = stack.enter_context(closing(EmbeddingCache(cache / "embeddings.sqlite", Embedder())))
    bench = FaultPlayer(_story(cache), root, stack.enter_context(Gateway(embeddings, StandIn())))
    gc.collect()
    gc.freeze()  # what all plays share is not looked through after each of them
    return bench


def _story(cache: Path) -> Story:
    ((scenario, repo),) = loader.load(loader.find(paths.TASKS, (SCENARIO,)), paths.FIXTURES, cache)
    return Story(scenario, repo)


def _is_scripted(drill: Drill) -> bool:
    """What random sequences find of the planted faults is told by `docs/promises.md`."""
    return drill.name != "promises"


class FaultPlayer:
    """What the plays of a process share, one after the other."""

    def __init__(self, story: Story, root: Path, gateway: Gateway) -> None:
        self._story, self._root, self._gateway = story, root, gateway
        with Environment(self._settings(*map(local.playable, ORACLES)), stores=LocalStores(), work_trees=PAPER) as home:
            controls = [_trial(None, story, None), *(_trial(name, story, "append") for name in ORACLES)]
            self._controls = [whole(read(play_trial(trial, home), home.blobs)) for trial in controls]

    def _settings(self, *playables: Playable) -> Settings:
        return Settings(
            root=self._root,
            playables={each.backend.name: each for each in playables},
            stories={self._story.scenario.id: self._story},
            deadlines=DEADLINES,
        )

    def measures(self, name: str, adapter: str, older: str = "") -> Mapping[str, Measure]:
        """Every measure of every drill and of the story.

        Args:
            older: The release whose stores it takes over; without one, drills of that are left out.
        """
        found: dict[str, Measure] = {}
        with Children.opened(self._gateway, self._root, DEADLINES, Embedder.dims) as children:
            playables = [self._describe(OLDER, older, children)] if older else []
            playables.append(self._describe(name, adapter, children))
            with Environment(self._settings(*playables), stores=children, work_trees=PAPER) as environment:
                for drill in filter(_is_scripted, drills.ALL.values()):
                    if older or not drill.hands_over:
                        found |= self._play_drill(name, drill, environment)
                found |= self._load(name, environment)
        return found

    def _describe(self, name: str, adapter: str, children: Children) -> Playable:
        home = self._root / "work" / opaque() / "home"
        said = client.describe(adapter, home, DEADLINES, children.fork_servers.launch)
        backend = Backend(name=name, version=said.version, support=said.support)
        return Playable(AdapterEntry(name, adapter, control=False), Spec(adapter=adapter), backend, said.source)

    def _play_drill(self, name: str, drill: Drill, environment: Environment) -> Mapping[str, Measure]:
        older = OLDER if drill.hands_over else ""
        trial = DrillTrial(backend=name, drill=drill.name, size=drill.least, seed=SEED, k=DEFAULT_K, older=older)
        path = play_trial(trial, environment)
        (cell,) = trust.score([whole(transcript.read(path, environment.blobs))])
        path.unlink()
        return cell.measures

    def _load(self, name: str, environment: Environment) -> Mapping[str, Measure]:
        path = play_trial(_trial(name, self._story, "curated"), environment)
        cells = metrics.score([whole(read(path, environment.blobs)), *self._controls])
        path.unlink()
        return next(cell for cell in cells if cell.backend == name and cell.read_policy == "trusting").measures


def _trial(backend: str | None, story: Story, policy: WritePolicy | None) -> Trial:
    return Trial(
        backend=backend, scenario=story.scenario.id, write_policy=policy, noise=NOISE, seed=STORY_SEED, reader=SCRIPTED,
        k=DEFAULT_K, budget=DEFAULT_BUDGET,
    )  # fmt: skip
