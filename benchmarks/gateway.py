"""Cached embedding requests a second, and what the gateway adds to a chat call: python -m benchmarks.gateway

Client, gateway and, for chat, a fake upstream that answers at once share one core.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from harness.adapter import Space, embed
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.forward import Forwarder
from harness.gateway.chat.recording import Recorder, Replayer
from harness.gateway.chat.standin import StandIn
from harness.gateway.chat.wire import Upstream
from harness.gateway.embedder import Embedder
from harness.gateway.gateway import Gateway
from tests.support.fake_upstream import SYSTEM, fake_upstream, prompt

CALLS = 1000
CHATS = 200
ROUNDS = 5
KEY = "benchmark"
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


def chat(url: str, key: str) -> list[float]:
    """Seconds of each of some chat calls as large as Mem0's, over one connection."""
    where = urlsplit(url)
    head = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    system = {**SYSTEM, "content": SYSTEM["content"] * 750}  # 33,000 characters
    spent = []
    with closing(http.client.HTTPConnection(where.hostname or "", where.port)) as link:
        link.connect()
        for number in range(CHATS):
            said = prompt(f"user: {TEXTS[number]} Call {number}.\n", TEXTS[number : number + 10])
            body = json.dumps({"model": "fake", "messages": [system, {"role": "user", "content": said}]})
            start = time.perf_counter()
            link.request("POST", f"{where.path}/chat/completions", body, head)
            answer = link.getresponse()
            answer.read()
            spent.append(time.perf_counter() - start)
            assert answer.status == 200, answer.status
    return spent


def upstream(pipe: Connection) -> None:
    with fake_upstream() as fake:
        pipe.send(fake.url)
        pipe.recv()


def chats(cache: EmbeddingCache, folder: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    near, far = spawn.Pipe()
    child = spawn.Process(target=upstream, args=(far,))
    child.start()
    url = near.recv()
    ways: dict[str, Callable[[Path], Upstream]] = {
        "forwarded": lambda _: Forwarder(url, KEY),
        "forwarded and recorded": lambda records: Recorder(Forwarder(url, KEY), records),
        "replayed": Replayer,
        "by the stand-in": lambda _: StandIn(),
    }
    bare: list[float] = []
    medians: dict[str, list[float]] = {name: [] for name in ways}
    busy: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS):
        bare.append(statistics.median(chat(url, KEY)))
        for name, make in ways.items():
            with Gateway(cache, make(folder / str(turn))) as gateway, spawn.Pool(1) as pool:
                gateway.register(KEY)
                pool.apply(os.getpid)  # the child has started
                start = time.process_time()
                medians[name].append(statistics.median(pool.apply(chat, (gateway.url, KEY))))
                busy[name].append((time.process_time() - start) / CHATS)
    print(f"chat, the fake upstream itself: median {_ms(bare)}")
    for name, seen in medians.items():
        added = [each - least for each, least in zip(seen, bare, strict=True)]
        adds = f"; the gateway adds {_ms(added)}" if name.startswith("forwarded") else ""
        print(f"chat, {name}: median {_ms(seen)}, processor time of the gateway {_ms(busy[name])}{adds}")
    near.send("done")
    child.join()


def _ms(seconds: list[float]) -> str:
    """The median of the rounds, and their range: another program may have had the core for one of them."""
    low, middle, high = (each * 1000 for each in (min(seconds), statistics.median(seconds), max(seconds)))
    return f"{middle:.2f} ms ({low:.2f} to {high:.2f})"


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
            gateway.register(KEY)
            space = Space(root=folder, gateway=gateway.url, key=KEY, dims=384, seed=0)
            child = multiprocessing.get_context("spawn").Process(target=client, args=(space,))
            child.start()
            child.join()
        chats(cache, Path(folder) / "recordings")
        cache.close()


if __name__ == "__main__":
    main()
