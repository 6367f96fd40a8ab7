"""The harness's own share of a Chroma trial: all that is not the adapter, embedding, starting children, or checks."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from harness import paths
from harness.backend import client, registry
from harness.log.folder import Folder
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.model.trial import Selection
from harness.play import runner
from harness.play.backends import describe_all
from harness.play.runner import AnyTrial
from harness.repo import checks
from tasks import loader

GOAL = 0.10


class Clock:
    """Adds up the seconds of calls that are not the harness's own work."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, call: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


class Quiet:
    """A listener that keeps the logs and times the trials; the last trial of the plan is the one that is measured."""

    def __init__(self, others: Clock) -> None:
        self.others = others
        self.took: dict[str, float] = {}
        self.logs: dict[str, Log] = {}

    def planned(self, trials: int, reused: int) -> None: ...

    def started(self, trial: AnyTrial) -> None:
        self.others.seconds = 0.0
        self.took[trial.id] = -time.perf_counter()

    def broke(self, trial: AnyTrial, why: str) -> None:
        raise RuntimeError(f"{trial.id}: {why}")

    def noted(self, line: str) -> None:
        """No server is started here."""

    def finished(self, log: Log | Transcript) -> None:
        assert isinstance(log, Log)
        self.took[log.trial.id] += time.perf_counter()
        self.logs[log.trial.id] = log


def main() -> None:
    stories = loader.load(loader.find(paths.TASKS, ["forgotten-runbook"]), paths.FIXTURES, paths.cache_root())
    chosen = Selection(backends=(registry.parse("chroma"),), writes=("append",), noise=(100,))
    others = Clock()
    client.open_memory = others.around(client.open_memory)
    client.storage = others.around(client.storage)
    client.RemoteMemory.close = others.around(client.RemoteMemory.close)  # type: ignore[method-assign]
    checks._work = others.around(checks._work)  # checks run as subprocesses
    quiet = Quiet(others)
    with tempfile.TemporaryDirectory() as name:
        folder = Folder.create(Path(name))
        run = runner.Runner(folder, chosen, describe_all(chosen), "share", stories, paths.cache_root(), quiet)
        run.play()
    trial = next(name for name in quiet.took if name.startswith("chroma"))
    adapter = sum(event.took or 0 for event in quiet.logs[trial].events)
    whole = quiet.took[trial]
    own = whole - adapter - others.seconds
    print(
        f"chroma trial at noise 100: {whole:.2f} s; in the adapter (embedding included) {adapter:.2f} s, "
        f"starting and ending children and checks {others.seconds:.2f} s, the harness {own:.2f} s "
        f"= {own / whole:.1%} (goal {GOAL:.0%})"
    )


if __name__ == "__main__":
    main()
