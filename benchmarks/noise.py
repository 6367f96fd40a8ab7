"""The harness's own time for a question, without noise and with 10,000 memories of it: the goal is less than 20 % more.

Own time is all that the harness does from asking until the events of the question are in the log: entries, tokens, git,
blobs, the log itself; only the call of the backend is left out. The backend draws k of all memories, in this process:
equal work to be done with what came back, and no work of its own that would leave the processor's caches cold for ours.
The tokens of a text are counted once a process: each noise is played twice, as by two backends of a run.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.share import Clock
from harness import paths
from harness.adapter import Ack, Hit, Item, Scope
from harness.gateway import tokens
from harness.log.blobs import Blobs
from harness.log.events import Event
from harness.log.lines import Writer
from harness.log.parts import Found
from harness.model.scenario import Session
from harness.model.trial import Trial
from harness.play import controls, engine, noise
from harness.play.controls import GoldMemory, GoldStore
from harness.play.readers.explore import Explorer
from harness.play.session import MemorySession, Part, Query, Tools
from harness.repo.checks import WorkTrees
from harness.text.classify import Classifier
from tasks import loader

STORY, MANY, K, RUNS, GOAL = "forgotten-runbook", 10_000, 5, 7, 0.20


class Drawing(GoldMemory):
    """Draws k of all that it was told, by the question."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__({}, classifier)
        self._pool: list[Hit] = []

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        first = len(self._pool)
        self._pool += [Hit(str(n), it.text, None, it.source, it.at, it.scope) for n, it in enumerate(items, first)]
        return [Ack((hit.memory_id,)) for hit in self._pool[first:]]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return random.Random(query).sample(self._pool, min(k, len(self._pool)))


class Own:
    """Adds up the processor time from asking until what came back is in the log, without the calls of the backend.

    Whoever plays a trial appends each event before the next one is made, so a recall ends when its last one is written.
    """

    def __init__(self) -> None:
        self.seconds, self.calls, self.questions = 0.0, Clock(), 0

    def watched(self, recall: Any) -> Any:
        def timed(memory_session: MemorySession, question: Query, session: Session) -> Generator[Event, None, Found]:
            start, called = time.thread_time(), self.calls.seconds
            found: Found = yield from recall(memory_session, question, session)
            self.seconds += time.thread_time() - start - (self.calls.seconds - called)
            self.questions += 1
            return found

        return timed


class Bench:
    """One story, ready to be played with any amount of noise."""

    def __init__(self) -> None:
        ((self.story, self.repo),) = loader.load(loader.find(paths.TASKS, [STORY]), paths.FIXTURES, paths.cache_root())
        self.explorer, self.work_trees = Explorer(self.repo), WorkTrees()

    def measure(self, amount: int, seed: int) -> float:
        """Microseconds of own time for each question of one trial, mean."""
        classifier = Classifier(self.story)
        trial = Trial(
            backend="drawing", scenario=self.story.id, write_policy="append", noise=amount, seed=seed,
            reader="scripted", k=K, budget=800,
        )  # fmt: skip
        memories = noise.generate(self.story, self.repo, classifier, amount, trial.seed)
        part = Part(trial, self.story, memories, engine.make_canaries(self.story, trial.seed), {})
        host, own = GoldStore(controls.describe("drawing"), lambda: Drawing(classifier)), Own()
        with tempfile.TemporaryDirectory() as name, Writer(Path(name, "trial.jsonl")) as log:
            tools = Tools(
                self.repo, self.explorer, classifier, self.work_trees, Blobs(Path(name, "blobs")), tokens.count
            )
            recall, ask = MemorySession.recall, MemorySession.ask
            MemorySession.recall, MemorySession.ask = own.watched(recall), own.calls.around(ask)  # type: ignore[method-assign]
            try:
                for event in engine.play(part, host, tools):
                    log.append(event)
            finally:
                MemorySession.recall, MemorySession.ask = recall, ask  # type: ignore[method-assign]
        return own.seconds / own.questions * 1e6


def main() -> None:
    bench = Bench()
    bench.measure(0, 0)  # git is asked once for each source, whatever the noise
    rounds = [[bench.measure(amount, seed) for amount in (0, MANY, MANY)] for seed in range(1, RUNS + 1)]
    none, first, again = (min(values) for values in zip(*rounds, strict=True))
    print(f"own time a question, best of {RUNS}: {none:.0f} us without noise; with {MANY} memories of it "
          f"{first:.0f} us ({first / none - 1:+.0%}) in the first trial that meets them, "
          f"{again:.0f} us ({again / none - 1:+.0%}) in the next (goal below {GOAL:+.0%})")  # fmt: skip


if __name__ == "__main__":
    main()
