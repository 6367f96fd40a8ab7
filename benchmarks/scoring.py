"""Reading and scoring 100,000 events as a run leaves them: seconds, and the goal of 5.

The events are those of one real trial (`bm25`, noise 100) with its bounds, its log copied until there are enough.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.share import opened
from harness import metrics
from harness.log.folder import Folder
from harness.log.lines import Writer
from harness.log.reader import read
from harness.play.trial import play_trial

EVENTS = 100_000


def main() -> None:
    gc.set_threshold(100_000, 50, 50)  # as the command line sets it
    with tempfile.TemporaryDirectory() as name, opened(Path(name), "bm25") as (environment, trials):
        folder = environment.folder
        for trial in trials:
            play_trial(trial, environment)
        real = next((folder.root / "logs").glob("bm25*"))
        bounds = [path for path in (folder.root / "logs").iterdir() if path != real]
        lines = len(real.read_bytes().splitlines())
        copies = [
            real,
            *(Path(shutil.copy(real, real.with_name(f"copy{i}.jsonl"))) for i in range(1, EVENTS // lines + 1)),
        ]
        first, *body, closed = read(real, folder.blobs).events
        with Writer(long := real.with_name("long.jsonl")) as log:
            for event in (first, *body * (EVENTS // len(body)), closed):
                log.append(event)
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
