"""The harness's own share of a Chroma trial, in processor seconds, as those do not grow when a machine is busy.

Its own is what the thread that plays computes, but for starting and ending children and checks; the whole is what this
process and all below it compute. What is made once a story (noise, embeddings, tokens of a text) is made before.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import paths
from harness.backend import client, registry
from harness.log.reader import read
from harness.model.trial import Selection, Trial
from harness.play import engine, plan
from harness.play.backends import describe_all
from harness.play.environment import Environment, Settings
from harness.play.story import Story
from harness.play.trial import play_trial
from harness.repo import checks
from tasks import loader

GOAL = 0.05
SEEDS = (1, 2, 3, 4, 5)
"""The first one is not counted: it meets what is made once."""


class Clock:
    """Adds up the processor seconds that calls take in the thread that makes them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, call: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - start

        return timed


@contextmanager
def opened(root: Path, *backends: str, seeds: tuple[int, ...] = (1,)) -> Iterator[tuple[Environment, list[Trial]]]:
    """Where trials of one story at noise 100 are played, and these in the order of play."""
    stories = loader.load(loader.find(paths.TASKS, ["forgotten-runbook"]), paths.FIXTURES, paths.cache_root())
    specs = tuple(registry.parse(each) for each in backends)
    chosen = Selection(backends=specs, writes=("append",), noise=(100,), seeds=seeds)
    settings = Settings(
        root=root,
        playables=describe_all(chosen).playables,
        stories={scenario.id: Story(scenario, repo) for scenario, repo in stories},
        cache=paths.cache_root(),
    )
    with Environment(settings) as environment:
        yield environment, plan.list_trials(chosen, [scenario for scenario, _ in stories])


def main() -> None:
    others = Clock()
    client.open_memory = others.around(client.open_memory)
    client.ask_storage = others.around(client.ask_storage)
    client.RemoteMemory.close = others.around(client.RemoteMemory.close)  # type: ignore[method-assign]
    checks._work = others.around(checks._work)  # checks run as subprocesses
    whole = thread = 0.0
    with (
        tempfile.TemporaryDirectory() as name,
        opened(Path(name), "bm25", "chroma", seeds=SEEDS) as (environment, all_),
    ):
        for trial in all_:
            told = plan.make_part(trial, environment.settings.stories[trial.scenario], None, "", "")
            environment.stores.warm(engine.list_texts(told), "chroma")
            counted = trial.backend == "chroma" and trial.seed != SEEDS[0]
            others.seconds, began, before = 0.0, time.thread_time(), spent()
            path = play_trial(trial, environment)
            if counted:
                thread += time.thread_time() - began - others.seconds
                whole += spent() - before
            log = read(path, environment.blobs)
            if log.status != "complete":
                sys.exit(f"trial {trial.id} is {log.status}, so there is no share: {log.reason}")
    times = len(SEEDS) - 1
    print(
        f"chroma trial at noise 100, mean of {times}, processor seconds: {whole / times:.2f}, "
        f"the harness {thread / times:.3f} = {thread / whole:.1%} (goal {GOAL:.0%})"
    )


def spent() -> float:
    """Processor seconds of this process and all below it so far, those that have ended included."""
    stats = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, fields = file.read_text().rpartition(") ")
        except OSError:  # it has just ended
            continue
        stats[int(file.parent.name)] = [int(each) for each in fields.split()[1:15]]
    below = {os.getpid()}
    while found := {pid for pid, (parent, *_) in stats.items() if parent in below} - below:
        below |= found
    ticks = sum(sum(stats[pid][10:14]) for pid in below)
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
