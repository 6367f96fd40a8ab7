"""The embeddings of the gateway: what it answers, what it counts, and what is embedded before anybody asks."""

from __future__ import annotations

import base64
import socket
import struct
import threading
import time
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.adapter import embed
from harness.gateway import endpoint
from harness.gateway.cache import EmbeddingCache
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter, PhaseCount
from tests.support.embedding_calls import KEY, ask, link, space, vector
from tests.support.fakes import FakeEmbedder


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as running:
        yield running


@pytest.fixture
def meter(gateway: Gateway) -> Iterator[Meter]:
    yield gateway.register(KEY)
    gateway.unregister(KEY)


# --- what it answers ----------------------------------------------------------------------------------------------


def test_embed_gets_the_vectors(gateway: Gateway, meter: Meter) -> None:
    texts = ["one fact", "another fact", "one fact", "nul \0 and ünï \ud800"]
    assert embed(space(gateway), texts) == [vector(text) for text in texts]


@pytest.mark.parametrize("texts", ["just one text", ["a", "b c", "a"]])
@pytest.mark.parametrize("encoding", [None, "float", "base64"])
def test_formats(gateway: Gateway, meter: Meter, texts: str | list[str], encoding: str | None) -> None:
    asked = {"model": "any-name", "input": texts, "dimensions": 384, "user": "u", "unknown": 1}
    status, answer = ask(gateway, asked | ({"encoding_format": encoding} if encoding else {}))
    listed = [texts] if isinstance(texts, str) else texts
    assert status == 200
    assert answer["object"] == "list"
    assert answer["model"] == "fake-hashed-ngrams"
    assert [row["index"] for row in answer["data"]] == list(range(len(listed)))
    got = [row["embedding"] for row in answer["data"]]
    if encoding == "base64":
        got = [list(struct.unpack("<384f", base64.b64decode(part))) for part in got]
    assert got == [vector(text) for text in listed]
    words = sum(len(text.split()) for text in listed)
    assert answer["usage"] == {"prompt_tokens": words, "total_tokens": words}


def test_the_most_texts_that_are_allowed(gateway: Gateway, meter: Meter) -> None:
    texts = [f"text {number}" for number in range(2048)]
    assert embed(space(gateway), texts)[-1] == vector(texts[-1])
    assert meter.counts()[""].texts == 2048


def test_models(gateway: Gateway, meter: Meter) -> None:
    status, answer = ask(gateway, None, method="GET", path="/v1/models")
    assert status == 200
    assert [row["id"] for row in answer["data"]] == ["fake-hashed-ngrams"]
    assert meter.counts() == {}


def test_one_connection_serves_many_requests(gateway: Gateway, meter: Meter) -> None:
    connection = link(gateway)
    head = {"authorization": f"Bearer {KEY}"}
    used = set()
    for body in ['{"input": "one"}', "no json", '{"input": "two"}', '{"input": ""}'] * 3:
        connection.request("POST", "/v1/embeddings", body, head)
        assert isinstance(connection.sock, socket.socket)
        used.add(connection.sock.getsockname())
        assert connection.getresponse().read()
    connection.close()
    assert len(used) == 1
    assert meter.counts()[""].calls == 6


@pytest.mark.backend
def test_openai_client(gateway: Gateway, meter: Meter) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=gateway.url, api_key=KEY, max_retries=0) as client:
        for extra in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}, {"dimensions": 384}):
            answer = client.embeddings.create(model="text-embedding-3-small", input=["one fact", "two"], **extra)
            got = [row.embedding for row in answer.data]
            if extra.get("encoding_format") == "base64":
                got = [array("f", base64.b64decode(part)).tolist() for part in got]
            assert got == [vector("one fact"), vector("two")]
            assert answer.usage.prompt_tokens == 3
        assert [model.id for model in client.models.list()] == ["fake-hashed-ngrams"]
        with pytest.raises(openai.BadRequestError, match="must not hold an empty string"):
            client.embeddings.create(model="any", input="")
        with pytest.raises(openai.AuthenticationError, match="unknown key"):
            client.with_options(api_key="wrong").embeddings.create(model="any", input="text")
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model="any", input="text")
    assert meter.counts() == {"": PhaseCount(calls=4, texts=8, tokens=12)}


# --- what it counts -----------------------------------------------------------------------------------------------


def test_counts_by_key_and_phase_cached_or_not(gateway: Gateway, meter: Meter) -> None:
    other = gateway.register("trial-key-2")
    long = " ".join(f"w{number}" for number in range(20))
    meter.phase = "ingest"
    embed(space(gateway), ["a fact", long])
    embed(space(gateway), ["a fact"])
    meter.phase = "probe"
    embed(space(gateway), ["a fact"])
    embed(space(gateway, "trial-key-2"), [long, long])
    gateway.unregister("trial-key-2")
    assert meter.counts() == {
        "ingest": PhaseCount(calls=2, texts=3, tokens=20, cut_texts=1, cut_tokens=4),
        "probe": PhaseCount(calls=1, texts=1, tokens=2),
    }
    assert other.counts() == {"": PhaseCount(calls=1, texts=2, tokens=32, cut_texts=2, cut_tokens=8)}
    with pytest.raises(RuntimeError, match="answered 401"):
        embed(space(gateway, "trial-key-2"), ["text"])


@pytest.mark.parametrize("key", ["", KEY])
def test_keys_are_new_and_not_empty(gateway: Gateway, meter: Meter, key: str) -> None:
    with pytest.raises(ValueError, match="new and not empty") as caught:
        gateway.register(key)
    assert KEY not in str(caught.value)


def test_counts_of_concurrent_calls_add_up(gateway: Gateway, meter: Meter) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: embed(space(gateway), [f"text {number % 5}", "same"]), range(40)))
    assert meter.counts() == {"": PhaseCount(calls=40, texts=80, tokens=120)}


def test_a_slow_embedding_holds_up_nobody_and_counts_where_it_arrived() -> None:
    fake = FakeEmbedder()
    with Gateway(EmbeddingCache(None, fake)) as gateway:
        meter = gateway.register(KEY)
        embed(space(gateway), ["known"])
        fake.entered.clear()
        fake.gate.clear()
        meter.phase = "slow"
        slow = threading.Thread(target=embed, args=(space(gateway), ["unknown"]))
        slow.start()
        assert fake.entered.wait(10)
        meter.phase = "quick"
        embed(space(gateway), ["known"])
        embed(space(gateway), ["known"] * 100)
        assert set(meter.counts()) == {"", "quick"}
        fake.gate.set()
        slow.join(10)
        assert meter.counts()["slow"] == PhaseCount(calls=1, texts=1, tokens=1)


# --- what is embedded before anybody asks --------------------------------------------------------------------------


def test_texts_are_embedded_beforehand_unless_a_backend_is_known_never_to_ask() -> None:
    fake = FakeEmbedder()
    with Gateway(EmbeddingCache(None, fake)) as gateway:
        gateway.warm(["before anything is known"], "words")
        meter = gateway.register(KEY)
        gateway.note_end("words", meter)
        gateway.warm(["it played and did not ask"], "words")
        gateway.warm(["another one"], "vectors")
        assert set(fake.seen) == {"before anything is known", "another one"}

        embed(space(gateway), ["asked after all"])
        gateway.note_end("words", meter)
        gateway.note_end("words", gateway.register("another trial"))  # silent again: seen to ask is seen to ask
        gateway.warm(["now it is told"], "words")
        assert fake.seen["now it is told"] == 1


def test_a_call_that_nobody_waits_for_any_more_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_LATE", 0.0)
    embedder = FakeEmbedder()
    with Gateway(EmbeddingCache(None, embedder)) as running:
        meter = running.register(KEY)
        assert embed(space(running), ["in time"])
        assert meter.unanswered() == 0
        embedder.gate.clear()
        connection = link(running)
        connection.request("POST", "/v1/embeddings", '{"input": "late"}', {"authorization": f"Bearer {KEY}"})
        while not embedder.seen["late"]:
            time.sleep(0.002)
        connection.close()
        embedder.gate.set()
        assert meter.unanswered() == 1
        assert meter.counts()[""].calls == 1
        assert ask(running, '{"input": ""}')[0] == 400
        assert meter.unanswered() == 1, "a wrong call is not ours to answer"
