"""Chat calls through the gateway that arrive: at a fake upstream on loopback, over real HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.gateway.gateway import Gateway
from harness.gateway.meter import ChatCount, Meter
from tests.support.fake_upstream import ASKED, KEY, SAID, TRIAL, FakeUpstream, Handler, ask, completion, pieces
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


def said(events: list[Any]) -> str:
    return "".join(event["choices"][0]["delta"].get("content", "") for event in events[:-1])


# --- what arrives -------------------------------------------------------------------------------------------------


def test_a_call_arrives_as_it_was_sent_with_another_key(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    body = ASKED | {"temperature": 0.1, "response_format": {"type": "json_object"}, "unknown": [1, "ünï \ud800"]}
    before = gateway.ledger.spent.tokens
    assert ask(gateway, body) == (200, completion())
    assert upstream.requests == [body]
    assert upstream.keys == [f"Bearer {KEY}"]
    assert "x-trial-secret" not in upstream.headers[0]
    assert meter.chat() == {"ingest": ChatCount(calls=1, prompt=11, completion=5)}
    assert meter.models() == {"fake-chat-1": 1}
    assert meter.faults() == {}
    assert gateway.ledger.spent.tokens == before + 16


@pytest.mark.parametrize("wanted", [False, True])
def test_a_stream_arrives_with_usage_only_where_it_is_wanted(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, wanted: bool
) -> None:
    options = {"stream_options": {"include_usage": True}} if wanted else {}
    status, events = ask(gateway, ASKED | {"stream": True} | options)
    assert status == 200
    assert events[-1] == "[DONE]"
    rest = [event for event in events[:-1] if event["choices"]]
    assert said([*rest, "[DONE]"]) == SAID
    assert [event["usage"]["prompt_tokens"] for event in events[:-1] if not event["choices"]] == (
        [11] if wanted else []
    )
    assert upstream.requests == [ASKED | {"stream": True, "stream_options": {"include_usage": True}}]
    assert meter.chat() == {"ingest": ChatCount(calls=1, prompt=11, completion=5)}


def test_a_stream_is_passed_on_piece_by_piece(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    def slowly(handler: Handler) -> None:
        first, *rest = pieces("one", "two")
        handler.begin()
        handler.say(first)
        assert upstream.over.wait(30)
        for event in (*rest, b"[DONE]"):
            handler.say(event)

    upstream.deeds = [slowly]
    where = urlsplit(gateway.url)
    with closing(http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)) as link:
        link.request(
            "POST", "/v1/chat/completions", json.dumps(ASKED | {"stream": True}), {"authorization": f"Bearer {TRIAL}"}
        )
        answer = link.getresponse()
        assert json.loads(answer.readline().removeprefix(b"data: "))["choices"][0]["delta"]["role"] == "assistant"
        upstream.over.set()  # only now the upstream says the rest
        assert b"[DONE]" in answer.read()


def test_separators_of_unicode_are_text(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    upstream.deeds = [lambda handler: handler.stream(*pieces("a\u2028b\x85c\x0bd"))]
    assert said(ask(gateway, ASKED | {"stream": True})[1]) == "a\u2028b\x85c\x0bd"


def test_tool_calls_in_a_stream_count(gateway: Gateway, meter: Meter, upstream: FakeUpstream) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}
    deltas = [{"tool_calls": [call]}, {"tool_calls": [{"index": 0, "function": {"arguments": '{"q": 1}'}}]}]
    rows = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    upstream.deeds = [lambda handler: handler.stream(*rows)]
    assert ask(gateway, ASKED | {"stream": True})[1][-1] == "[DONE]"
    assert meter.chat()["ingest"].completion > 3
    assert meter.chat()["ingest"].counted == 1


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": 2}, {"prompt_tokens": "many"}])
def test_what_the_upstream_does_not_count_is_counted_here(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, usage: Any
) -> None:
    upstream.deeds = [plain_answer(completion("hello there", usage=usage))]
    assert ask(gateway, ASKED)[0] == 200
    assert meter.chat() == {"ingest": ChatCount(calls=1, prompt=PROMPT, completion=PROMPT, counted=1)}


def test_models_are_the_embedder_and_what_the_upstream_lists(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream
) -> None:
    status, answer = ask(gateway, None, "/v1/models")
    assert (status, [row["id"] for row in answer["data"]]) == (
        200,
        ["fake-hashed-ngrams", "fake-chat-1", "fake-chat-2"],
    )
    assert upstream.keys == [f"Bearer {KEY}"]
    assert meter.chat() == {}


def test_a_model_that_changes_its_name_is_seen(
    gateway: Gateway, meter: Meter, upstream: FakeUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    for model in ("one", "one", "two"):
        upstream.deeds = [plain_answer(completion(model=model))]
        ask(gateway, ASKED | {"model": "unsteady"})
    assert meter.models() == {"one": 2, "two": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "asked for the model unsteady, two answers now, before one"
    ]
