"""Cached embedding requests a second, client and server together on one core: python -m benchmarks.gateway"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from harness.adapter import Space, embed
from harness.models.cache import EmbeddingCache
from harness.models.embedder import Embedder
from harness.models.gateway import Gateway

CALLS = 1000
TEXTS = [f"The service {name} is deployed with scripts/ship, step {step}." for name in "abcdefgh" for step in range(40)]
Call = Callable[[str], None]


@contextmanager
def fresh(space: Space) -> Iterator[Call]:
    """A connection per call, as `embed` makes them."""

    def call(text: str) -> None:
        embed(space, [text])

    yield call


@contextmanager
def kept(space: Space) -> Iterator[Call]:
    """One connection for all calls, as SDKs do."""
    where = urlsplit(space.gateway)
    link = http.client.HTTPConnection(where.hostname or "", where.port)
    head = {"authorization": f"Bearer {space.key}", "content-type": "application/json"}

    def call(text: str) -> None:
        link.request("POST", "/v1/embeddings", json.dumps({"input": text, "encoding_format": "base64"}), head)
        link.getresponse().read()

    yield call
    link.close()


def client(space: Space) -> None:
    for name, connect in (("new connection", fresh), ("kept connection", kept)):
        with connect(space) as call:
            spent = []
            for number in range(CALLS):
                start = time.perf_counter()
                call(TEXTS[number % len(TEXTS)])
                spent.append(time.perf_counter() - start)
        print(f"{name}: {CALLS / sum(spent):.0f} cached requests/s, median {statistics.median(spent) * 1000:.2f} ms")


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        cache = EmbeddingCache(Path(folder) / "embeddings.sqlite", Embedder())
        start = time.perf_counter()
        cache.warm(TEXTS[:1])
        print(f"load and first text: {time.perf_counter() - start:.2f} s")
        start = time.perf_counter()
        cache.warm(TEXTS)
        print(f"embed: {(len(TEXTS) - 1) / (time.perf_counter() - start):.0f} texts/s")
        with Gateway(cache) as gateway:
            gateway.register("benchmark")
            space = Space(root=folder, gateway=gateway.url, key="benchmark", dims=384, seed=0)
            child = multiprocessing.get_context("spawn").Process(target=client, args=(space,))
            child.start()
            child.join()
        cache.close()


if __name__ == "__main__":
    main()
