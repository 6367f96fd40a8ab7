"""Mutants of the reference store, put to what judges any backend: the checks of the contract, random sequences of
operations, then the drills with one story. Each is an adapter in a file of its own, played in child processes."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.mutants import forks
from benchmarks.mutants.changes import Module, Mutant
from benchmarks.mutants.forks import Over, Task
from benchmarks.mutants.units import Broken, Heard
from harness import paths
from harness.backend import client, registry
from harness.backend.client import Deadlines, MemoryFault
from harness.backend.registry import AdapterEntry
from harness.conformance import CHECKS, open_setting
from harness.conformance.promises import LARGEST
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from harness.machine import leftovers
from harness.metrics.trust import BY_CHANCE
from harness.model.backend import Backend
from harness.model.trial import Measured, Spec
from harness.play.backends import Playable
from harness.play.sequences import SequencePlayer
from harness.promises.hunt import hunt
from harness.selftest import fault_player, measures
from harness.selftest.fault_player import FaultPlayer

DEADLINES = Deadlines(open=300.0, call=120.0, item=1.0)
"""Patient: a busy machine must not tell a mutant apart."""
SEED, OPERATIONS, SECONDS = 1, 1000, 120.0
"""Of the random sequences; the seconds are for a machine that cannot play so many."""
BUSY, CLOCK = 300.0, 1800.0
ADAPTER = "mutated:Reference"
Values = dict[str, list[Any]]


def judge(module: Module, mutants: Sequence[Mutant], jobs: int, notify: Heard) -> None:
    """Tells of each mutant the check, sequence or measure that told it apart, or None. Raises Broken.

    All are put to the contract first, which tells most apart, and those that are left to what takes longer.
    """
    sound = module.path.read_text("utf-8")
    ((_, told),) = forks.each([("sound", Task(_task(sound, lambda: _check([])), BUSY, CLOCK))], 1)
    if told is not None:
        raise Broken(f"the reference itself is told apart: {_says(told)}")
    kills, left = Counter[str](), list[Mutant]()

    def tasks() -> Iterator[tuple[Mutant, Task]]:
        for mutant in mutants:
            first = [name for name, _ in kills.most_common()]
            yield mutant, Task(_task(module.text(mutant), partial(_check, first)), BUSY, CLOCK)

    for mutant, found in forks.each(tasks(), jobs):
        if found is None:
            left.append(mutant)
        else:
            kills[_says(found).partition(": ")[2]] += 1
            notify(mutant, _says(found))
    if not left:
        return
    plays = [(at, Task(_task(sound, _play_drills), BUSY, CLOCK)) for at in (1, 2)]
    base = [answer for _, answer in forks.each(plays, jobs)]
    if any(isinstance(each, Over) for each in base):
        raise Broken("the drills of the reference itself do not end")
    steady = {name: value for name, value in base[0].items() if base[1][name] == value}
    later = ((each, Task(_task(module.text(each), lambda: _hunt() or _drill(steady)), BUSY, CLOCK)) for each in left)
    for mutant, found in forks.each(later, jobs):
        notify(mutant, found and _says(found))


def _says(found: str | Over) -> str:
    return found.why if isinstance(found, Over) else found


def _task(source: str, work: Callable[[], Any]) -> Callable[[], Any]:
    """The work with an adapter of this source to be found as ADAPTER."""

    def run() -> Any:
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            Path(folder, "mutated.py").write_text(source, "utf-8")
            os.environ["COLDWARM_ADAPTER_PATH"] = folder
            return work()

    return run


def _check(first: Sequence[str]) -> str | None:
    """Args: first: Checks that told many apart."""
    order = sorted(CHECKS, key=lambda check: first.index(check.name) if check.name in first else len(first))
    try:
        with open_setting(registry.parse(ADAPTER), None, DEADLINES, _embeddings()) as place:
            for check in order:
                if place.judge(check).status == "broken":
                    return f"contract: {check.name}"
    except MemoryFault:
        return "contract: it does not open"
    return None


def _embeddings() -> Path:
    cache = paths.cache_root()
    cache.mkdir(parents=True, exist_ok=True)
    return cache / "embeddings.sqlite"


def _play_drills() -> Values:
    """Measure -> its status, and its value if there is one."""
    with (
        leftovers.make_temporary() as root,
        closing(EmbeddingCache(_embeddings(), Embedder())) as embeddings,
        Gateway(embeddings, StandIn()) as gateway,
    ):
        said = client.describe(ADAPTER, root / "describe", DEADLINES)
        backend = Backend(name=ADAPTER, version=said.version, support=said.support)
        playable = Playable(AdapterEntry(ADAPTER, ADAPTER, control=False), Spec(adapter=ADAPTER), backend, said.source)
        story = fault_player.load_story(paths.cache_root())
        player = FaultPlayer(story, root, gateway, {ADAPTER: playable}, deadlines=DEADLINES)
        found = measures.score(player.play(ADAPTER), player.controls)
    return {
        name: [each.status, round(each.value, 9) if isinstance(each, Measured) else None]
        for name, each in found.items()
        if measures.DEFINITIONS[name].unit != "seconds" and name not in BY_CHANCE
    }


def _drill(steady: Mapping[str, list[Any]]) -> str | None:
    """A figure that may vary from run to run tells apart where the sound store shows none."""
    try:
        found = _play_drills()
    except MemoryFault:
        return "drills: it does not open"
    moved = [
        name
        for name, value in steady.items()
        if found[name] != value and (value[1] == 0 or not measures.DEFINITIONS[name].varies)
    ]
    return f"drills: {moved[0]}" if moved else None


def _hunt() -> str | None:
    with open_setting(registry.parse(ADAPTER), None, DEADLINES, _embeddings()) as place, place.lend() as (store, _):
        player = SequencePlayer(store, lambda texts: place.children.warm(texts, store.backend.name))
        found = hunt(player, store.backend, SEED, OPERATIONS, SECONDS, LARGEST)
    return None if found.verdict == "held" else f"promises: {found.verdict}"
