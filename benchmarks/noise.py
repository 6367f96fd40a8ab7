"""The harness's own time for a question, without noise and with 10,000 memories of it: the goal is less than 20 % more.

Own time is that of `Exchange.recall` (entries, tokens, git, the event) without the call of the backend itself.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.share import Clock, Quiet
from harness import paths, registry, runner
from harness.exchange import Exchange
from harness.folder import Folder
from harness.model import Selection
from tasks import loader

BACKEND = "random"
"""Brings k memories for every question, whatever the pool: equal work to be done with what came back."""
GOAL = 0.20


class Own:
    """Adds up the time inside of recalls, and of the calls within them."""

    def __init__(self) -> None:
        self.inside, self.asking, self.questions = 0.0, 0.0, 0
        self._recall, self._ask = Exchange.recall, Exchange.ask

    def ask(self, exchange: Exchange, call: Any) -> Any:
        start = time.perf_counter()
        try:
            return self._ask(exchange, call)
        finally:
            self.asking += time.perf_counter() - start

    def recall(self, exchange: Exchange, question: Any, session: Any) -> Iterator[Any]:
        self.questions += 1
        steps = self._recall(exchange, question, session)
        before = self.asking
        while True:
            start = time.perf_counter()
            try:
                event = next(steps)
            except StopIteration as end:
                self.inside += time.perf_counter() - start - (self.asking - before)
                return end.value
            self.inside += time.perf_counter() - start - (self.asking - before)
            before = self.asking
            yield event


def measure(amount: int) -> float:
    """Microseconds of own time for each question of one trial."""
    stories = loader.load(loader.find(paths.TASKS, ["forgotten-runbook"]), paths.FIXTURES, paths.cache_root())
    chosen = Selection(backends=(registry.parse(BACKEND),), writes=("append",), noise=(amount,))
    own = Own()
    Exchange.ask = lambda self, call: own.ask(self, call)  # type: ignore[method-assign]
    Exchange.recall = lambda self, question, session: own.recall(self, question, session)  # type: ignore
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Folder.create(Path(name))
            cast = runner.cast(chosen)
            quiet = Quiet(Clock())
            run = runner.Run(folder, chosen, cast, "noise", stories, paths.cache_root(), quiet, only=(BACKEND,))
            run.play()
    finally:
        Exchange.ask, Exchange.recall = own._ask, own._recall  # type: ignore[method-assign]
    return own.inside / own.questions * 1e6


def main() -> None:
    none, many = min(measure(0) for _ in range(3)), min(measure(10_000) for _ in range(2))
    print(f"{BACKEND}: own time a question {none:.0f} us without noise, {many:.0f} us with 10,000 memories: "
          f"{many / none - 1:+.0%} (goal below {GOAL:+.0%})")  # fmt: skip


if __name__ == "__main__":
    main()
