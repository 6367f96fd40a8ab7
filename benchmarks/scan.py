"""1 GB of storage searched once for 1,000 canaries in every form and 1,000 vectors: seconds, peak memory, finds.

Half of the file is random bytes, half is float32 vectors. Every needle is planted once, in a form and at an offset
drawn at random; of the vectors a third as float32, a third as float16, a third as float32 that was float16 between.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.adapter import Layer
from harness.scan.disk import Needles, scan
from harness.text import encodings

SIZE, NEEDLES, DIMS = 10**9, 1000, 384
BLOCK = DIMS * 4 * 4096
SLOT = SIZE // (2 * NEEDLES)


def needles() -> tuple[dict[str, str], dict[str, bytes]]:
    canaries = {f"canary {n}": f"cw{random.Random(n).getrandbits(80):020x}" for n in range(NEEDLES)}
    vectors = _vectors(0, NEEDLES)
    return canaries, {f"vector {n}": vectors[n].tobytes() for n in range(NEEDLES)}


def _vectors(seed: int, many: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((many, DIMS), "f4")
    unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def fill(path: Path) -> None:
    with path.open("wb") as file:
        for at in range(0, SIZE, BLOCK):
            block = np.random.default_rng(at).bytes(BLOCK) if at // BLOCK % 2 else _vectors(at + 1, 4096).tobytes()
            file.write(block[: SIZE - at])


def plant(path: Path, canaries: dict[str, str], vectors: dict[str, bytes]) -> dict[str, str]:
    """Writes every needle into a slot of its own; name -> form."""
    draw = random.Random(7)
    slots = iter(draw.sample(range(2 * NEEDLES), 2 * NEEDLES))
    planted = {}
    with path.open("r+b") as file:
        for name, value in (canaries | vectors).items():
            if isinstance(value, str):
                needle, planted[name] = draw.choice(list(encodings.encode_text(value).items()))
            else:
                half = np.frombuffer(value, "<f4").astype("<f2")
                copies = ((value, "float32"), (half.tobytes(), "float16"), (half.astype("<f4").tobytes(), "near"))
                needle, planted[name] = draw.choice(copies)
            file.seek(next(slots) * SLOT + draw.randrange(SLOT - len(needle)))
            file.write(needle)
    return planted


def search(folder: str) -> None:
    """The part that is measured, in a process of its own."""
    start = time.perf_counter()
    compiled = Needles(*needles())
    ready = time.perf_counter()
    found = scan(Path(folder), Layer("storage", "storage.bin", "file"), compiled)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    seen = [(each.fact, "near" if each.nearness else each.form, each.count) for each in found.sightings]
    print(json.dumps([ready - start, end - ready, time.process_time(), peak, seen]))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "storage.bin")
        fill(path)
        planted = plant(path, *needles())
        command = [sys.executable, "-m", "benchmarks.scan", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    compiling, took, busy, peak, seen = json.loads(done.stdout)
    right = sum(planted.get(name) == form and count == 1 for name, form, count in seen)
    print(
        f"{SIZE / 1e9:.0f} GB for {NEEDLES} canaries and {NEEDLES} vectors of {DIMS}: {took:.1f} s (goal 30) after "
        f"{compiling:.1f} s for the needles, {busy:.1f} s of processors in all; "
        f"{peak / 1e6:.0f} MB at most (goal 500); "
        f"found {right} of {len(planted)} planted, {len(seen) - right} that were not"
    )


if __name__ == "__main__":
    search(sys.argv[1]) if len(sys.argv) > 1 else main()
