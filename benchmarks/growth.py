"""How each backend grows: one row for each backend and number of memories, every row in a process of its own.

`python -m benchmarks.growth [SIZE ...] [BACKEND ...]`. Memories are written in five calls, as a story does. Work is in
processor seconds of this process and all below it, the adapter's included; a recall is what its adapter took. Nothing
is embedded inside a row: a first process does that, once.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.share import spent
from harness import paths
from harness.adapter import Item, Scope
from harness.backend import registry
from harness.model.trial import Selection
from harness.play.backends import describe_all
from harness.play.drills.fillers import PARTS, PEOPLE, TOOLS, TRAITS, UNRELATED
from harness.play.environment import Environment, Settings

BACKENDS = ("none", "notes", "bm25", "vector_file", "reference", "chroma", "mem0")
SIZES = (1_000, 10_000, 100_000)
CALLS, QUESTIONS, GONE, K = 5, 21, 10, 5
ASKS = ("vector_file", "reference", "chroma", "mem0")
"""Those that embed."""
HOME, AT = Scope("storefront", "acme"), "2026-02-02T09:00:00+00:00"


class Row(NamedTuple):
    """Processor seconds, but for `recall` (milliseconds), `disk` (MB) and `parent` (MB at its peak)."""

    backend: str
    memories: int
    remember: str
    first: str
    recall: str
    listing: str
    forget: str
    reopen: str
    disk: str
    parent: str


def items(amount: int) -> Iterator[Item]:
    """Distinct, and the same at every size."""
    draw = random.Random("growth")
    for n in range(amount):
        part, other = draw.sample(PARTS, 2)
        words = {"part": part, "other": other, "person": draw.choice(PEOPLE), "tool": draw.choice(TOOLS), "n": n}
        said = draw.choice(UNRELATED).format(**words, trait=draw.choice(TRAITS), days=draw.randrange(2, 90))
        yield Item(f"{said} (entry {n})", HOME, AT, "episodic")


def queries(amount: int) -> list[str]:
    return [f"What is known of entry {n * amount // QUESTIONS}?" for n in range(QUESTIONS)]


def try_(call: Callable[[], Any]) -> tuple[Any, str]:
    """What it gives, and the seconds, or the fault in place of them."""
    began = spent()
    try:
        value = call()
    except Exception as error:  # what a backend cannot do is its row
        return None, str(error)[:100]
    return value, f"{spent() - began:.2f}"


def measure(name: str, amount: int) -> Row:
    spec = registry.parse(name)
    playable = describe_all(Selection(backends=(spec,))).playables[spec.label]
    with tempfile.TemporaryDirectory() as root:
        settings = Settings(root=Path(root), playables={name: playable}, cache=paths.cache_root())
        with (
            Environment(settings) as environment,
            environment.place("growth", "logs") as (_, folder),
            environment.stores.lend(playable, 1, folder) as (store, _),
        ):
            return _play(name, amount, store)


def _play(name: str, amount: int, store: Any) -> Row:
    memory, told, ids = store.open(), list(items(amount)), list[str]()

    def remember() -> None:
        for at in range(CALLS):
            acks = memory.remember(told[amount * at // CALLS : amount * (at + 1) // CALLS])
            ids.extend(each for ack in acks for each in ack.ids)
        memory.settle(20.0)

    def recall() -> list[float]:
        return [(memory.recall(query, HOME, K, AT), memory.took)[1] for query in queries(amount)]

    def reopen() -> Any:
        memory.kill()
        return store.open()

    _, writing = try_(remember)
    del told[:]
    took, failed = try_(recall)
    listed, listing = try_(lambda: len(memory.entries(HOME)))
    _, forget = try_(lambda: memory.forget(HOME, ids[:: max(1, len(ids) // GONE)][:GONE])) if ids else (None, "-")
    memory, reopening = try_(reopen)
    again = memory and try_(lambda: len(memory.entries(HOME)))[0]
    if memory:
        memory.close()
    return Row(
        name,
        amount,
        writing,
        f"{took[0] * 1000:.1f}" if took else failed,
        f"{median(took[1:]) * 1000:.1f}" if took else failed,
        f"{listing} ({listed}, {again} later)",
        forget,
        reopening,
        f"{sum(file.stat().st_size for file in store.root.rglob('*') if file.is_file()) / 1e6:.1f}",
        f"{_peak():.0f}",
    )


def _peak() -> float:
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def embed(amount: int) -> None:
    """All that rows of this size will write and ask, into the cache."""
    playables = describe_all(Selection(backends=(registry.parse("vector_file"),))).playables
    with tempfile.TemporaryDirectory() as root:
        settings = Settings(root=Path(root), playables=playables, cache=paths.cache_root())
        with Environment(settings) as environment:
            texts = [*queries(amount), *(item.text for item in items(amount))]
            for at in range(0, len(texts), 1000):
                environment.stores.warm(texts[at : at + 1000], "vector_file")


def main(*asked: str) -> None:
    if asked and asked[0] == "row":
        print(" | ".join(map(str, measure(asked[1], int(asked[2])))), flush=True)
        return
    if asked and asked[0] == "embed":
        embed(int(asked[1]))
        return
    sizes = [int(each) for each in asked if each.isdecimal()] or SIZES
    names = [each for each in asked if not each.isdecimal()] or BACKENDS
    print(" | ".join(Row._fields), flush=True)
    for size, name in product(sizes, names):
        for job in (("embed", str(size)),) * (name in ASKS) + (("row", name, str(size)),):
            subprocess.run([sys.executable, "-m", "benchmarks.growth", *job], check=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
