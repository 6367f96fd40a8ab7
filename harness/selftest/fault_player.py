"""How planted faults are played: every drill small, and one story, as a run plays them, in child processes.

The measures of the story are those of the trusting reader, of a curated memory, unless the fault is one of a way of
writing that says otherwise. What was played before under the same conditions is taken from a cache of its own. No score
is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from harness import paths
from harness.backend.client import Deadlines
from harness.backend.registry import ORACLES, AdapterEntry
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.log.folder import Folder
from harness.log.reader import Log, Outline
from harness.log.transcript import Transcript
from harness.log.trial_cache import TrialCache
from harness.model.drill import DrillTrial
from harness.model.trial import DEFAULT_BUDGET, DEFAULT_K, SCRIPTED, Trial, WritePolicy, digest
from harness.play import drills, sources
from harness.play.backends import Playable
from harness.play.children import Children
from harness.play.environment import Environment, Settings, Stores
from harness.play.reuse import Reuse
from harness.play.story import Story
from harness.play.trial import load, play_trial
from harness.play.writing import WAYS, Way
from harness.selftest import local
from harness.selftest.local import LocalStores, PaperWorkTrees, require_whole
from harness.selftest.proof import SEED
from tasks import loader

SCENARIO = "stale-deploy-rule/forgotten-runbook"
NOISE = 40
"""Memories beside the story: 5 k of them at least, below which no rank is measured."""
STORY_SEED = 3
"""Of the noise and the canaries of the story: with these the reference is silent about one unknown thing, so that a
store that never is can be worse."""
DEADLINES = Deadlines(open=60.0, call=5.0, item=0.02)
STORY = "story"
"""The family of the measures that read the log of a story."""
EVERY = frozenset(drills.ALL) - {"promises"} | {STORY}
"""Families that every fault may be played with. Random sequences are for those that they have to find: what they find
of the others stands in docs/promises.md.
"""
PAPER = PaperWorkTrees()
"""A check would see the value that was chosen: no measure of the story is of the work itself."""


class Play(NamedTuple):
    """A trial that was played.

    Attributes:
        key: Of its entry in the cache; None: it may not be kept.
        day: When an earlier self-test played it; None: it was played now.
    """

    log: Transcript | Log
    key: str | None
    day: date | None


class FaultPlayer:
    """What the plays of a process share, one after the other.

    Args:
        playables: By name; a release whose stores are taken over by its own.
        kept: Plays of earlier self-tests; None: everything is played, and nothing is kept.
        fresh: Everything is played, and kept.
    """

    def __init__(
        self,
        story: Story,
        root: Path,
        gateway: Gateway,
        playables: Mapping[str, Playable],
        *,
        kept: TrialCache | None = None,
        fresh: bool = False,
        deadlines: Deadlines = DEADLINES,
    ) -> None:
        self._story, self._root, self._gateway = story, root, gateway
        self._folder = Folder(root)
        controls = {each: local.make_playable(each) for each in ORACLES}
        self._settings = Settings(root, {**controls, **playables}, {story.scenario.id: story}, deadlines=deadlines)
        self._reuse = None
        if kept is not None:
            # part of each key: an edit of this module plays faults anew, and no run takes such a play for its own
            player = _digest_module(__name__)
            self._reuse = Reuse(kept, self._settings, fresh=fresh, player=player, repeatable=is_repeatable)

    @cached_property
    def controls(self) -> list[Play]:
        """The story without a memory, and with the gold."""
        trials = [_make_trial(None, self._story, None), *(_make_trial(each, self._story, "append") for each in ORACLES)]
        return list(self._play(trials, lambda: nullcontext(LocalStores())))

    def play(
        self,
        name: str,
        older: str = "",
        families: Container[str] = EVERY,
        write: WritePolicy = "curated",
        way: type[Way] | None = None,
    ) -> list[Play]:
        """Each drill of these at its least size, random sequences at their own; then the story.

        Args:
            older: The release whose stores it takes over; without one, drills of that are left out.
            families: Drills, and `STORY`, that are played.
            way: Writes instead of the sound way of that name.
        """
        drilled = [
            DrillTrial(backend=name, drill=each.name, seed=SEED, k=DEFAULT_K, older=older if each.hands_over else "",
                       size=each.size if each.name == "promises" else each.least)
            for each in drills.ALL.values()
            if each.name in families and (older or not each.hands_over)
        ]  # fmt: skip
        story_trials = [_make_trial(name, self._story, write)] * (STORY in families)
        ways = {**WAYS, write: way} if way else WAYS
        return list(self._play([*drilled, *story_trials], self._open_children, ways))

    def _play(
        self,
        trials: Sequence[Trial | DrillTrial],
        lend: Callable[[], AbstractContextManager[Stores]],
        ways: Mapping[WritePolicy | None, type[Way]] = WAYS,
    ) -> Iterator[Play]:
        """Plays faults in this order; stores are lent for what no earlier self-test has left."""
        environment = None
        with ExitStack() as stack:
            for trial in trials:
                if kept := self._restore(trial):
                    yield kept
                    continue
                # no child is started where every play is kept
                if environment is None:
                    stores = stack.enter_context(lend())
                    settings = replace(self._settings, ways=ways)
                    environment = stack.enter_context(Environment(settings, stores=stores, work_trees=PAPER))
                log = require_whole(load(trial, play_trial(trial, environment), environment.blobs))
                if self._reuse:
                    self._reuse.keep(trial, log)
                yield Play(log, self._reuse.key(trial) if self._reuse else None, None)

    def _restore(self, trial: Trial | DrillTrial) -> Play | None:
        if self._reuse is None or not (day := self._reuse.find([trial]).get(trial.id)):
            return None
        # an entry that is damaged is no play
        if not (path := self._reuse.restore(trial, self._folder)):
            return None
        return Play(require_whole(load(trial, path, self._folder.blobs)), self._reuse.key(trial), day)

    def _open_children(self) -> AbstractContextManager[Stores]:
        return Children.opened(self._gateway, self._root, self._settings.deadlines, Embedder.dims)


def describe(name: str, reference: str, way: str = "") -> Playable:
    """An adapter of ours under another name, as it describes itself in this process.

    Args:
        way: The module of the way in which is written to it, if that is a faulty one: it is part of its source.
    """
    made = local.make_playable(reference)
    source = _digest_module(reference.partition(":")[0])
    source = digest([source, _digest_module(way)]) if way else source
    return replace(
        made,
        entry=AdapterEntry(name, reference, control=False),
        backend=made.backend.model_copy(update={"name": name}),
        source=source,
    )


@cache
def _digest_module(name: str) -> str:
    """Once a process: hundreds of faults stand in some fifty modules."""
    return sources.digest_module(name)


def load_story(cache: Path, name: str = SCENARIO) -> Story:
    ((scenario, repo),) = loader.load(loader.find(paths.TASKS, (name,)), paths.FIXTURES, cache)
    return Story(scenario, repo)


def is_repeatable(log: Outline) -> bool:
    """Whether a play came to an end that is not ours: here a crash is expected, and who judges it
    forgets a wrong one.
    """
    return log.sealed and log.final


def _make_trial(backend: str | None, story: Story, policy: WritePolicy | None) -> Trial:
    return Trial(
        backend=backend, scenario=story.scenario.id, write_policy=policy, noise=NOISE, seed=STORY_SEED, reader=SCRIPTED,
        k=DEFAULT_K, budget=DEFAULT_BUDGET,
    )  # fmt: skip
