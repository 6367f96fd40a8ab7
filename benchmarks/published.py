"""BM25 on LoCoMo by `coldwarm import` and by memory-core-eval, in turn: processor seconds, and the goal of an eighth.

`python -m benchmarks.published LOCOMO MCEVAL [TIMES]`: the user's `locomo10.json`, and the program `mceval` of an
environment that holds memory-core-eval 0.2.0. Both start a process anew each time, with compiled modules.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

GOAL = 8


def main() -> None:
    locomo, peer = (Path(each).resolve() for each in sys.argv[1:3])
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(locomo, folder / "locomo10.json")
        ours = [sys.executable, "-m", "harness", "import", "locomo", str(locomo)]
        ours += ["-b", "bm25,variant=okapi", "--out", str(folder / "ours")]
        theirs = [str(peer), "run", "--adapter", "bm25", "--dataset", "locomo", "--out-dir", str(folder / "theirs")]
        measure(ours, folder)  # compiles what was never imported
        ratios = [compare(ours, theirs, folder) for _ in range(times)]
    print(f"median of {times}: 1/{statistics.median(ratios):.1f} of the processor time (goal 1/{GOAL})")


def compare(ours: Sequence[str], theirs: Sequence[str], folder: Path) -> float:
    mine, other = measure(ours, folder), measure(theirs, folder)
    print(f"coldwarm import {mine:.2f} s, memory-core-eval {other:.2f} s: 1/{other / mine:.1f}", flush=True)
    return other / mine


def measure(command: Sequence[str], folder: Path) -> float:
    """Seconds of processors of a command and of all that it started."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["MCEVAL_CACHE_DIR"] = str(folder)
    before = os.times()
    with (folder / "said.txt").open("wb") as said:
        code = subprocess.run(command, stdout=said, stderr=said, env=env).returncode
    if code:
        sys.exit(f"{command[0]}: exited with {code}: {(folder / 'said.txt').read_text()[-500:]}")
    now = os.times()
    return now.children_user + now.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
