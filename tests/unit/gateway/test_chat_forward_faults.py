"""Chat calls through the gateway that go wrong: what the client is told, what is counted, and what is kept back."""

from __future__ import annotations

import gzip
import http.client
import json
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.gateway.chat.wire import read_message
from harness.gateway.gateway import Gateway
from harness.gateway.meter import ChatCount, ChatFault, Meter
from tests.support.fake_upstream import ASKED, KEY, TRIAL, FakeUpstream, Handler, ask, completion, pieces
from tests.support.forwarding import PROMPT, forwarding, metered, plain_answer


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[FakeUpstream, Gateway]]:
    with forwarding() as both:
        yield both


@pytest.fixture
def upstream(running: tuple[FakeUpstream, Gateway]) -> FakeUpstream:
    running[0].forget()
    return running[0]


@pytest.fixture
def gateway(running: tuple[FakeUpstream, Gateway]) -> Gateway:
    return running[1]


@pytest.fixture
def meter(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    with metered(gateway, monkeypatch) as meter:
        yield meter


# --- what goes wrong ----------------------------------------------------------------------------------------------


def plain(status: int, message: str = "", **headers: str) -> Any:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.answer(status, {"error": {"message": message}} if message else b"<html>", sent)


def answers(status: int, body: Any) -> Any:
    return lambda handler: handler.answer(status, body)


def cut(handler: Handler) -> None:
    handler.answer(200, b'{"id": "x", "choices"', {"content-length": "5000"})
    handler.close_connection = True


def hang_up(handler: Handler) -> None:
    handler.close_connection = True


@pytest.mark.parametrize(
    ("deed", "status", "says"),
    [
        (plain(401, f"Incorrect API key provided: {KEY}"), 401, "refuses OPENAI_API_KEY (401): Incorrect"),
        (plain(403), 403, "refuses OPENAI_API_KEY (403): it gave no reason"),
        (plain(400, "no such\nmodel"), 400, "refuses the request (400): no such model"),
        (plain(500, "boom"), 502, "failed (500): boom"),
        (plain(503), 502, "failed (503): it gave no reason"),
        (answers(503, {"message": "at rest", "object": "error"}), 502, "failed (503): at rest"),
        (answers(400, {"detail": [{"msg": "no top_k"}]}), 400, "refuses the request (400): no top_k"),
        (answers(503, b'{"error":' * 500 + b"1" + b"}" * 500), 502, "failed (503): it gave no reason"),
        (
            plain(301, location="http://127.0.0.1:9/"),
            502,
            "sends elsewhere (301), to http://127.0.0.1:9/: name that in",
        ),
        (
            plain(404),
            404,
            "has nothing there (404): it gave no reason; check OPENAI_BASE_URL and the name of the model",
        ),
        (
            plain(429, "slow down", retry_after="3600"),
            429,
            "no more calls (1 attempts, retry after 3600): slow down",
        ),
        (plain(429, "x", retry_after=formatdate(time.time() + 9000)), 429, "no more calls (1 attempts, retry after"),
        (hang_up, 502, "broke off before it answered"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_faults_are_one_clear_error_and_never_tried_again(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, deed: Any, status: int, says: str, stream: bool
) -> None:
    fails(gateway, meter, upstream, deed, status, says, 0, ASKED | {"stream": stream})


@pytest.mark.parametrize(
    ("deed", "says", "spent"),
    [
        (plain(200), "what is not a JSON object but '<html>'; check OPENAI_BASE_URL", PROMPT),
        (plain_answer(completion(7)), "answered nothing", 16),  # type: ignore[arg-type]
        (plain_answer([]), "what is not a JSON object", PROMPT),
        (plain_answer(b"[" * 100_000), "what is not a JSON object", PROMPT),
        (plain_answer({}), "answered without a choice", PROMPT),
        (plain_answer(completion(choices=[])), "answered without a choice", 16),
        (plain_answer(completion(choices=None)), "answered without a choice", 16),
        (plain_answer({"error": {"message": "rate limit exceeded"}}), "failed (200): rate limit exceeded", PROMPT),
        (plain_answer(completion(None)), "answered nothing", 16),
        (plain_answer(completion(" \n")), "answered nothing", 16),
        (plain_answer(b""), "what is not a JSON object", PROMPT),
        (cut, "broke off within its answer", PROMPT),
    ],
)
def test_an_answer_that_is_none(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, deed: Any, says: str, spent: int
) -> None:
    fails(gateway, meter, upstream, deed, 502, says, spent, ASKED)


def fails(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, deed: Any, status: int, says: str, spent: int, asked: Any
) -> None:
    upstream.deeds = [deed]
    got, answer = ask(gateway, asked)
    assert (got, set(answer["error"])) == (status, {"message", "type", "param", "code"})
    message = answer["error"]["message"]
    assert says in message
    assert "\n" not in message
    assert KEY not in message
    assert len(upstream.requests) == 1
    count = meter.chat()["ingest"]
    assert (count.calls, count.failed, count.prompt + count.completion) == (1, 1, spent)
    assert meter.faults() == {ChatFault("ingest", status, message): 1}
    assert meter.models() == {}
    assert ask(gateway, asked)[0] == 200  # and nothing is stuck


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        (lambda handler: handler.stream(*pieces("one ", "two", end=False), done=False), "ended its stream before"),
        (lambda handler: handler.stream(*pieces("one "), b"{", *pieces("two")), "what is not a JSON object"),
        (lambda handler: handler.stream(*pieces("one ", end=False), {"error": {"message": "gone"}}), "broke off: gone"),
        (lambda handler: handler.stream(*pieces()), "answered nothing"),
        (lambda handler: broken(handler), "broke off within its answer"),
    ],
)
def test_a_stream_that_goes_wrong_ends_in_an_error(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, deed: Any, says: str
) -> None:
    upstream.deeds = [deed]
    status, events = ask(gateway, ASKED | {"stream": True})
    assert status == 200
    assert says in events[-1]["error"]["message"]
    assert "[DONE]" not in events
    count = meter.chat()["ingest"]
    assert (count.calls, count.failed) == (1, 1)
    assert count.prompt in (PROMPT, 11)  # what was said until then is paid for
    assert len(upstream.requests) == 1


def broken(handler: Handler) -> None:
    """A stream in pieces of announced length, cut within one."""
    handler.send_response(200)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    event = b"data: " + json.dumps(pieces("one")[0]).encode() + b"\n\n"
    handler.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\nff\r\ndata: {")
    handler.wfile.flush()
    handler.close_connection = True


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        (lambda handler: handler.stream(done=False), "ended its stream before the answer was complete"),
        (lambda handler: handler.stream(), "answered without a choice"),
        (plain(200), "ended its stream before the answer was complete"),
        (plain_answer(completion()), "ended its stream before the answer was complete"),
    ],
)
def test_a_stream_that_never_begins_is_an_error_from_the_first_byte(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, deed: Any, says: str
) -> None:
    fails(gateway, meter, upstream, deed, 502, says, PROMPT, ASKED | {"stream": True})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("after", [None, "0", "0.01", formatdate(0), "soon"])
def test_a_refused_call_is_tried_again(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, after: str | None, stream: bool
) -> None:
    upstream.deeds = [plain(429, **({"retry_after": after} if after else {}))] * 2
    assert ask(gateway, ASKED | {"stream": stream})[0] == 200
    assert len(upstream.requests) == 3
    assert meter.chat() == {"ingest": ChatCount(calls=1, prompt=11, completion=5)}


def test_but_not_for_ever(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    upstream.deeds = [plain(429)] * 9
    status, answer = ask(gateway, ASKED)
    assert (status, answer["error"]["type"], answer["error"]["code"]) == (429, "rate_limit_error", "rate_limited")
    assert "(3 attempts)" in answer["error"]["message"]
    assert len(upstream.requests) == 3


def test_a_client_that_leaves_ends_the_call_and_is_counted(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream
) -> None:
    def talk(handler: Handler) -> None:
        handler.begin()
        try:
            while not upstream.over.wait(0.01):
                handler.say(pieces("words and ", end=False)[1])
        except OSError:
            upstream.over.set()  # the gateway hung up

    upstream.deeds = [talk]
    where = urlsplit(gateway.url)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    link.request(
        "POST", "/v1/chat/completions", json.dumps(ASKED | {"stream": True}), {"authorization": f"Bearer {TRIAL}"}
    )
    answer = link.getresponse()
    answer.readline()
    answer.close()
    link.close()
    assert upstream.over.wait(30)
    for _ in range(500):
        if meter.faults():
            break
        time.sleep(0.01)
    assert [fault.status for fault in meter.faults()] == [499]
    count = meter.chat()["ingest"]
    assert (count.calls, count.failed, count.prompt, count.counted) == (1, 1, PROMPT, 1)
    assert count.completion > 0


@cache
def _pack_blanks(encoding: str) -> bytes:
    """256 MiB of blanks: a block that stands alone, again and again. Nobody who keeps a bound reads up to its end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    head, block = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH), packer.compress(b" " * 2**20)
    packed = head + (block + packer.flush(zlib.Z_FULL_FLUSH)) * 256
    return gzip.compress(packed) if "," in encoding else packed


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize(("encoding", "says"), [("gzip", "more than"), ("gzip, gzip", "encoding 'gzip, gzip'")])
def test_an_answer_is_bounded_after_decoding(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, encoding: str, says: str, status: int
) -> None:
    body = _pack_blanks(encoding)
    upstream.deeds = [lambda handler: handler.answer(status, body, {"content-encoding": encoding})]
    tracemalloc.start()
    try:
        found, answer = ask(gateway, ASKED)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()
    assert found in (502, status) and says in answer["error"]["message"]


def _send_gzip(*bodies: bytes) -> list[Callable[[Handler], None]]:
    return [partial(_answer_gzip, body) for body in bodies]


def _answer_gzip(body: bytes, handler: Handler) -> None:
    handler.answer(200, body, {"content-encoding": "gzip"})


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_an_answer_that_is_compressed_is_read(gateway: Gateway, meter: Meter, upstream: FakeUpstream, cut: int) -> None:
    text = json.dumps(completion("fine")).encode()
    whole, rest = gzip.compress(text[:cut]), gzip.compress(text[cut:])
    upstream.deeds = _send_gzip(gzip.compress(text), whole + rest, whole + b"\0\0" + rest)
    for _ in upstream.deeds[:]:
        assert read_message(ask(gateway, ASKED)[1])["content"] == "fine"


@pytest.mark.parametrize("left", [1, 30, -1])
def test_a_compressed_answer_that_breaks_off_is_told_as_such(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, left: int
) -> None:
    whole = gzip.compress(json.dumps(completion("fine")).encode())
    upstream.deeds = _send_gzip(whole[:left], gzip.compress(b"") + whole[:left])
    for _ in upstream.deeds[:]:
        status, answer = ask(gateway, ASKED)
        assert (status, answer["error"]["code"]) == (502, "half_an_answer")
        assert answer["error"]["message"].endswith("ended its answer early: the compressed data breaks off")


def test_what_stands_behind_a_compressed_answer_is_told(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    upstream.deeds = _send_gzip(gzip.compress(json.dumps(completion("fine")).encode()) + b"and more")
    status, answer = ask(gateway, ASKED)
    assert status == 502 and "not compressed as it says" in answer["error"]["message"]


def test_a_key_that_is_echoed_is_cut_out(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    upstream.deeds = [plain_answer(completion(f"You sent {KEY}.")), plain(401, f"no: {KEY}")]
    assert read_message(ask(gateway, ASKED)[1])["content"] == "You sent [redacted]."
    assert KEY not in json.dumps(ask(gateway, ASKED)[1])
