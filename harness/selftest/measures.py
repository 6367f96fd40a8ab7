"""The measures against planted faults: the reference and each faulty backend, played as in a run, then scored.

What an earlier self-test played under the same conditions is not played again; every score is computed anew. A play
that leads to a breach is not kept, so that no flaw of a moment stays.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from harness import metrics, paths
from harness.backend import registry
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.log.trial_cache import TrialCache
from harness.machine import leftovers
from harness.machine.workers import map_parts
from harness.metrics import trust
from harness.model.backend import SOUND
from harness.model.trial import Definition, Measure, ReadPolicy, Spec, WritePolicy, digest
from harness.selftest import fault_player, faults, planted_ways
from harness.selftest.fault_player import EVERY, STORY, FaultPlayer, Play
from harness.selftest.faults import FaultRow, Matrix, PlantedFault

MEMORY, ROOM = Path("/dev/shm"), 2**30  # noqa: S108  a folder of its own is made there
"""Where a sync costs nothing, and how many bytes must be free there: a play syncs some thousand times."""
DEFINITIONS: Mapping[str, Definition] = {**trust.DEFINITIONS, **metrics.DEFINITIONS}
FAMILIES: Mapping[str, str] = {
    **{metric.definition.name: metric.drill for metric in trust.METRICS},
    **dict.fromkeys(metrics.DEFINITIONS, STORY),
}


BESIDE = 36
"""One in so many of the drills that need not flag a fault is played with it, unless all are asked for."""


class Contender(NamedTuple):
    """A backend that is measured.

    Attributes:
        older: The adapter of the release whose stores it takes over; empty: it takes over none.
        families: What it plays.
        write, story, read, way: As those of `PlantedFault`.
    """

    name: str
    adapter: str
    older: str
    families: frozenset[str]
    write: WritePolicy = "curated"
    story: str = ""
    read: ReadPolicy = "trusting"
    way: str = ""


class Bench(NamedTuple):
    """What all plays of a self-test share; it can be sent to a process."""

    contenders: tuple[Contender, ...]
    cache: Path
    fresh: bool

    @property
    def kept(self) -> TrialCache:
        """A place of its own: work is believed here, so that no play may be taken for one of a run."""
        return TrialCache(paths.find_proofs(self.cache) / "measures")


class Reached(NamedTuple):
    """What one contender reaches, and the plays behind it by family."""

    measures: Mapping[str, Measure]
    keys: Mapping[str, str | None]
    days: Mapping[str, date | None]


def prove(
    planted: Sequence[PlantedFault],
    cache: Path,
    jobs: int | None = None,
    notify: Callable[[str], None] = lambda _: None,
    *,
    fresh: bool = False,
    every_drill: bool = False,
    renew: bool = False,
) -> Matrix:
    """Measures the reference, then every fault, in `jobs` processes side by side; `notify` is told who was measured.

    Args:
        jobs: One more than there are processors unless said, as a play waits for its child now and then.
        fresh: Everything is played anew.
        every_drill: Every fault plays every drill, not only those of `choose_families`.
        renew: What a fault moved is what it may move.
    """
    sound = registry.find(Spec(adapter=SOUND)).reference
    assert sound is not None
    # it takes over stores of its own, too: what a fault of an upgrade is compared with
    contenders = [Contender(SOUND, sound, sound, EVERY.union(*map(choose_families, planted)))]
    for name, each in {_name_sound(each): each for each in planted if each.way}.items():
        contenders.append(Contender(name, sound, "", frozenset({STORY}), each.write, each.story, each.read))
    for each in planted:
        families = choose_families(each) | (EVERY if every_drill and not each.way else frozenset())
        written = each.write, each.story, each.read, each.way
        contenders.append(Contender(each.name, each.adapter, each.older, families, *written))
    bench = Bench(tuple(contenders), cache, fresh)
    found = dict[str, Reached]()
    processes = jobs or (os.cpu_count() or 1) + 1
    every = len(contenders)
    try:
        # `anew`, as `_open_player` registers what it closes at the end of its process; `ahead`, as the other processes
        # would wait beside a fault that takes a minute
        measured = map_parts(partial(_measure, bench), contenders, processes, apart=True, anew=True, ahead=every)
        for contender, reached in zip(contenders, measured, strict=True):
            found[contender.name] = reached
            notify(contender.name)
    finally:  # whoever was killed has left its folder where memory is taken by it
        leftovers.sweep(MEMORY.glob(f"{leftovers.PREFIX}*"))
    rows = _judge(planted, found)
    if renew:
        rows = _judge([faults.renew(row, found[row.fault.name].days, DEFINITIONS, FAMILIES) for row in rows], found)
    _forget_breaches(bench.kept, rows, found)
    days = {(name, family): day for name, each in found.items() for family, day in each.days.items()}
    return Matrix(found[SOUND].measures, rows, days)


def _judge(planted: Sequence[PlantedFault], found: Mapping[str, Reached]) -> tuple[FaultRow, ...]:
    return tuple(
        faults.judge(each, found[_name_sound(each)].measures, found[each.name].measures, DEFINITIONS, FAMILIES)
        for each in planted
    )


def _name_sound(fault: PlantedFault) -> str:
    """The reference that plays what the fault plays."""
    return f"{SOUND}-{fault.write}-{fault.story.rpartition('/')[2]}-{fault.read}" if fault.way else SOUND


def choose_families(fault: PlantedFault) -> frozenset[str]:
    """The drills (and the story) that have to flag a fault, and one in `BESIDE` of the others, drawn by its name.

    Each of the others shows that a fault moves nothing that it should not. Hundreds of faults spread over them, so that
    each drill still meets some fifteen of them. No drill is written in a way.
    """
    if fault.way:
        return frozenset({STORY})
    named = {FAMILIES.get(name, name) for name in (*fault.must, *fault.never, *fault.untold)}
    drawn = {each for each in EVERY if int(digest([fault.name, each])[:8], 16) % BESIDE == 0}
    return frozenset(named | drawn)


def _forget_breaches(kept: TrialCache, rows: Sequence[FaultRow], found: Mapping[str, Reached]) -> None:
    """What was compared in vain is played again the next time, that of the reference, too."""
    for row in rows:
        for family in {FAMILIES[each.key] for each in row.breaches if each.key in FAMILIES}:
            for name in (row.fault.name, _name_sound(row.fault)):
                if key := found[name].keys.get(family):
                    kept.forget(key)
    kept.prune()


def _measure(bench: Bench, contender: Contender) -> Reached:
    player = _open_player(bench, contender.story or fault_player.SCENARIO)
    way = getattr(planted_ways, contender.way) if contender.way else None
    plays = player.play(contender.name, contender.older, contender.families, contender.write, way)
    families = {_name_family(each): each for each in plays}
    controls = player.controls if STORY in families else ()  # they are played when they are asked for
    return Reached(
        score(plays, controls, contender.read),
        {family: each.key for family, each in families.items()},
        {family: each.day for family, each in families.items()},
    )


def _name_family(play: Play) -> str:
    return play.log.trial.drill if isinstance(play.log, Transcript) else STORY


def score(plays: Sequence[Play], controls: Sequence[Play], read: ReadPolicy = "trusting") -> Mapping[str, Measure]:
    """Every measure of the drills and of the story that one backend has played.

    Args:
        controls: Of the story.
        read: Whose measures of the story are taken.
    """
    logs = [each.log for each in plays]
    found: dict[str, Measure] = {}
    for cell in trust.score(each for each in logs if isinstance(each, Transcript)):
        found |= cell.measures
    for story in (each.log for each in plays if isinstance(each.log, Log)):
        for scored in metrics.score([story, *(each.log for each in controls if isinstance(each.log, Log))]):
            if scored.backend == story.trial.backend and scored.read_policy == read:
                found |= scored.measures
    return found


@lru_cache
def _open_player(bench: Bench, scenario: str) -> FaultPlayer:
    """One for all plays of a story in a process, which ends with it."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        tempfile.tempdir = str(MEMORY)
    stack = ExitStack()
    atexit.register(stack.close)
    root = stack.enter_context(leftovers.make_temporary())
    embeddings = stack.enter_context(closing(EmbeddingCache(bench.cache / "embeddings.sqlite", Embedder())))
    gateway = stack.enter_context(Gateway(embeddings, StandIn()))
    references = [(each.name, each.adapter, planted_ways.__name__ if each.way else "") for each in bench.contenders]
    references += [(each.older, each.older, "") for each in bench.contenders if each.older]
    playables = {name: fault_player.describe(name, *rest) for name, *rest in dict.fromkeys(references)}
    story = fault_player.load_story(bench.cache, scenario)
    player = FaultPlayer(story, root, gateway, playables, kept=bench.kept, fresh=bench.fresh)
    # first: garbage that is frozen would stay for good
    gc.collect()
    gc.freeze()  # what all plays share is not looked through after each of them
    return player
