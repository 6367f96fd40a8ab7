from __future__ import annotations

import base64
import http.client
import json
import socket
import struct
import threading
import time
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter import Space, embed
from harness.gateway import endpoint
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.wire import Refused
from harness.gateway.embedder import EmbedderError, Encoded
from harness.gateway.endpoint import MAX_BYTES, parse
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter, PhaseCount
from tests.support.fakes import FakeEmbedder

KEY = "trial-key-1"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as running:
        yield running


@pytest.fixture
def meter(gateway: Gateway) -> Iterator[Meter]:
    yield gateway.register(KEY)
    gateway.unregister(KEY)


def vector(text: str) -> list[float]:
    return [float(part) for part in FakeEmbedder().encode([text]).vectors[0]]


def space(gateway: Gateway, key: str = KEY) -> Space:
    return Space(root="", gateway=gateway.url, key=key, dims=384, seed=0)


def link(gateway: Gateway) -> http.client.HTTPConnection:
    where = urlsplit(gateway.url)
    return http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)


def ask(
    gateway: Gateway, body: Any, *, method: str = "POST", path: str = "/v1/embeddings", key: str | None = KEY
) -> tuple[int, Any]:
    connection = link(gateway)
    sent = body if isinstance(body, bytes | None) else json.dumps(body)
    connection.request(method, path, sent, {"authorization": f"Bearer {key}"} if key is not None else {})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text)


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


# --- what it refuses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\xfa", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"dimensions": ' + b"9" * 10_000 + b"}", "not JSON"),
        ([], "JSON object"),
        (None, "not JSON"),
        ({}, "input must be a string"),
        ({"input": None}, "input must be a string"),
        ({"input": 3}, "input must be a string"),
        ({"input": [1, 2, 3]}, "token arrays"),
        ({"input": ["text", None]}, "input must be a string"),
        ({"input": {"text": "x"}}, "input must be a string"),
        ({"input": []}, "empty list"),
        ({"input": ""}, "empty string (text 0"),
        ({"input": ["text", ""]}, "empty string (text 1"),
        ({"input": ["x"] * 2049}, "2049 texts, at most 2048"),
        ({"input": "x", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "x", "encoding_format": ["float"]}, "encoding_format"),
        ({"input": "x", "dimensions": 256}, "dimensions must be 384"),
        ({"input": "x", "dimensions": True}, "dimensions must be 384"),
        ({"input": "x", "dimensions": "384"}, "dimensions must be 384"),
        ({"input": "x", "model": 3}, "model must be a string"),
    ],
)
def test_bad_requests(gateway: Gateway, meter: Meter, body: Any, says: str) -> None:
    status, answer = ask(gateway, body)
    assert status == 400
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert answer["error"]["type"] == "invalid_request_error"
    assert says in answer["error"]["message"]
    assert "\n" not in answer["error"]["message"]
    assert meter.counts() == {}


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8) | st.just("base64"),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["input", "model", "encoding_format", "dimensions", "user"]), inner, max_size=5
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_accepted_or_refused(value: Any) -> None:
    try:
        wanted = parse(json.dumps(value).encode(), 384)
    except Refused as error:
        assert error.status_code == 400
    else:
        given_input = value["input"]
        assert wanted.texts == ([given_input] if isinstance(given_input, str) else given_input)
        assert all(wanted.texts)
        assert wanted.base64 == (value.get("encoding_format") == "base64")


@pytest.mark.parametrize(
    "head", [None, "", "Bearer", "Bearer ", "Bearer wrong-key", f"Basic {KEY}", KEY, "Bearer \xff"]
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/embeddings"), ("GET", "/v1/models")])
def test_unknown_key(gateway: Gateway, meter: Meter, head: str | None, method: str, path: str) -> None:
    connection = link(gateway)
    connection.request(method, path, '{"input": "x"}', {} if head is None else {"authorization": head})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 401
    assert json.loads(text)["error"]["type"] == "authentication_error"
    assert "wrong-key" not in text
    assert KEY not in text
    assert meter.counts() == {}


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", 404),
        ("POST", "/v1/nothing", 404),
        ("POST", "/embeddings", 404),
        ("GET", "/v1/embeddings", 405),
        ("POST", "/v1/models", 405),
    ],
)
def test_unknown_routes(gateway: Gateway, meter: Meter, method: str, path: str, expected: int) -> None:
    status, answer = ask(gateway, {"input": "x"}, method=method, path=path)
    assert status == expected
    assert set(answer["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("chunked", [False, True])
def test_too_long_a_body(gateway: Gateway, meter: Meter, chunked: bool) -> None:
    connection = link(gateway)
    head = {"authorization": f"Bearer {KEY}"}
    part = b"x" * 2**20
    parts = [part] * (MAX_BYTES // len(part) + 1)
    if chunked:
        connection.request("POST", "/v1/embeddings", iter(parts), head, encode_chunked=True)
    else:
        connection.request("POST", "/v1/embeddings", b"".join(parts), head)
    answer = connection.getresponse()
    assert answer.status == 413
    assert "longer than 33554432 bytes" in json.loads(answer.read())["error"]["message"]
    connection.request("POST", "/v1/embeddings", '{"input": "next"}', head)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize(
    "sent", [b"garbage\r\n\r\n", b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: -3\r\n\r\n"]
)
def test_what_is_no_http_does_no_harm(gateway: Gateway, meter: Meter, sent: bytes) -> None:
    where = urlsplit(gateway.url)
    with socket.create_connection((where.hostname, where.port), timeout=30) as raw:
        raw.sendall(sent)
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert ask(gateway, {"input": "x"})[0] == 200


def test_a_client_that_leaves_does_no_harm(
    gateway: Gateway, meter: Meter, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    where = urlsplit(gateway.url)
    head = f"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\ncontent-length: 100\r\n\r\n"
    with socket.create_connection((where.hostname, where.port), timeout=30) as raw:
        raw.sendall(head.encode() + b'{"input"')
    assert ask(gateway, {"input": "x"})[0] == 200
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


class Broken(FakeEmbedder):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def encode(self, texts: Any) -> Encoded:
        raise self.error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (EmbedderError("the embedder needs onnxruntime; install it"), "the embedder needs onnxruntime; install it"),
        (RuntimeError("secret text\nTraceback"), "the embedder failed (RuntimeError)"),
        (MemoryError(), "the embedder failed (MemoryError)"),
    ],
)
def test_embedder_that_fails(
    error: Exception, says: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with Gateway(EmbeddingCache(None, Broken(error))) as gateway:
        meter = gateway.register(KEY)
        for _ in range(2):
            status, answer = ask(gateway, {"input": "secret text"})
            assert status == 500
            assert answer["error"] == {"message": says, "type": "server_error", "param": None, "code": None}
        assert meter.counts() == {}
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


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
