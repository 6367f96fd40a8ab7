"""How soon random sequences find the fault of an adapter that is known to have one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.backend import registry
from harness.conformance import promises
from harness.machine.workers import map_parts
from harness.promises.hunt import hunt, seek


@dataclass(frozen=True)
class Find:
    """How a hunt for one fault ended.

    Attributes:
        calls: Up to the first difference, or all.
        seconds: Likewise.
        steps: Of the shortest sequence, if the time for making it shorter was enough.
        says: What it shows; "" if every promise held.
    """

    name: str
    calls: int
    seconds: float
    says: str = ""
    steps: int | None = None


def find_all(
    faulty: Mapping[str, str],
    cache: Path,
    seconds: float,
    seed: int = 1,
    shorten: float = 0,
    jobs: int | None = None,
    notify: Callable[[Find], None] = lambda _: None,
) -> list[Find]:
    """Hunts in each adapter, in `jobs` processes side by side.

    Args:
        faulty: The name of a fault -> the adapter that has it, as module:Class.
        seconds: Of each hunt, up to its first difference.
        shorten: Seconds for making a sequence shorter.
        jobs: As many as there are processors unless said.
    """
    search = partial(_find, cache, seconds, seed, shorten)
    finds = list[Find]()
    processes = jobs or os.cpu_count() or 1
    # one hunt may take all of its seconds: with all handed out at once no process waits for it
    for each in map_parts(search, [*faulty.items()], processes, apart=True, anew=True, ahead=len(faulty)):
        finds.append(each)
        notify(each)
    return finds


def _find(cache: Path, seconds: float, seed: int, shorten: float, fault: tuple[str, str]) -> Find:
    # a function, as `map_parts` hands over one part and cannot send a lambda to another process
    return find(*fault, cache, seconds, seed, shorten)


def find(name: str, adapter: str, cache: Path, seconds: float, seed: int = 1, shorten: float = 0) -> Find:
    with promises.open_ground(registry.parse(adapter), cache) as place, place.lend() as (store, _):
        play = promises.make_player(place, store)
        started = time.monotonic()
        first = seek(play, store.backend, seed, promises.OPERATIONS, seconds, promises.LARGEST)
        took = round(time.monotonic() - started, 1)
        if first.shortest is None or first.shortest.differs is None:
            return Find(name, first.calls, took)
        difference, steps = first.shortest.differs.says, None
        if shorten:
            # a bound of one operation: nothing is drawn after the known sequence
            sequences = (first.shortest.steps,)
            shown = hunt(play, store.backend, seed, 1, shorten, promises.LARGEST, sequences)
            if shown.shortest is not None and shown.shortest.differs is not None:
                difference = shown.shortest.differs.says
                steps = len(shown.shortest.steps) if shown.shrunk else None
        return Find(name, first.calls, took, difference, steps)
