"""Reading and scoring 100,000 events as a run leaves them: seconds, and the goal of 5.

The events are those of one real trial (`bm25`, noise 100) with its bounds, its log copied until there are enough.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.share import Clock, Quiet
from harness import metrics, paths
from harness.backend import registry
from harness.log.folder import Folder
from harness.log.reader import read
from harness.model.trial import Selection
from harness.play import runner
from harness.play.backends import describe_all
from tasks import loader

EVENTS = 100_000


def main() -> None:
    gc.set_threshold(100_000, 50, 50)  # as the command line sets it
    stories = loader.load(loader.find(paths.TASKS, ["forgotten-runbook"]), paths.FIXTURES, paths.cache_root())
    chosen = Selection(backends=(registry.parse("bm25"),), writes=("append",), noise=(100,))
    with tempfile.TemporaryDirectory() as name:
        folder = Folder.create(Path(name))
        run = runner.Runner(
            folder, chosen, describe_all(chosen), "scoring", stories, paths.cache_root(), Quiet(Clock())
        )
        run.play()
        real = next((folder.root / "logs").glob("bm25*"))
        bounds = [path for path in (folder.root / "logs").iterdir() if path != real]
        lines = len(real.read_bytes().splitlines())
        copies = [
            real,
            *(Path(shutil.copy(real, real.with_name(f"copy{i}.jsonl"))) for i in range(1, EVENTS // lines + 1)),
        ]
        opened, *body, closed = real.read_bytes().splitlines(keepends=True)
        long = real.with_name("long.jsonl")
        long.write_bytes(opened + b"".join(body * (EVENTS // len(body))) + closed)
        measure("one log", [long, *bounds], folder)
        measure("many logs", [*copies, *bounds], folder)


def measure(name: str, paths: list[Path], folder: Folder) -> None:
    start = time.perf_counter()
    logs = [read(Path(path), folder.blobs) for path in paths]
    loaded = time.perf_counter()
    cells = metrics.score(logs)
    scored = time.perf_counter()
    print(
        f"{name}: {sum(len(log.events) for log in logs)} events, {len(cells)} cells of {len(metrics.DEFINITIONS)} "
        f"measures: read {loaded - start:.2f} s, score {scored - loaded:.2f} s, "
        f"together {scored - start:.2f} s (goal 5)"
    )


if __name__ == "__main__":
    main()
