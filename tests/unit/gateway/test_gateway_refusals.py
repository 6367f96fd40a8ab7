"""What the gateway refuses of calls for embeddings, and what does it no harm."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.wire import Refused
from harness.gateway.embedder import EmbedderError, Encoded
from harness.gateway.endpoint import MAX_BYTES, parse
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter
from tests.support.embedding_calls import KEY, ask, link
from tests.support.fakes import FakeEmbedder


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as running:
        yield running


@pytest.fixture
def meter(gateway: Gateway) -> Iterator[Meter]:
    yield gateway.register(KEY)
    gateway.unregister(KEY)


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
