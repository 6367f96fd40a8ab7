"""Forwarders that find nobody, wait, and end; and how they are set up."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlsplit

import httpx
import pytest

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.forward import SECONDS, Forwarder, explain_unreached
from harness.gateway.chat.upstreams import make_upstream
from harness.gateway.chat.wire import ChatError
from harness.gateway.gateway import Gateway
from harness.gateway.meter import ChatFault
from harness.model.trial import Chat
from tests.support.fake_upstream import ASKED, KEY, TRIAL, FakeUpstream, Handler, ask, pieces
from tests.support.fakes import FakeEmbedder


def test_no_tls_where_it_is_asked_for(upstream: FakeUpstream) -> None:
    url = upstream.url.replace("http:", "https:")
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(url, KEY, pause=0.01)) as gateway:
        gateway.register(TRIAL)
        _, answer = ask(gateway, ASKED)
    assert "it does not speak TLS as it should" in answer["error"]["message"]


def test_an_untrusted_certificate_is_named_with_what_to_do() -> None:
    error = httpx.ConnectError("x")
    error.__cause__ = OSError("y")
    error.__cause__.__context__ = untrusted = ssl.SSLCertVerificationError("z")
    untrusted.verify_message = "self-signed certificate"
    said = "its certificate is not trusted (self-signed certificate): name its authority in SSL_CERT_FILE"
    assert explain_unreached(error) == said
    assert explain_unreached(httpx.ConnectTimeout("")) == "no connection within 10 s"


def test_nobody_listens(upstream: FakeUpstream) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    with Gateway(
        EmbeddingCache(None, FakeEmbedder()), Forwarder(f"http://127.0.0.1:{port}", KEY, pause=0.01)
    ) as gateway:
        gateway.register(TRIAL)
        status, answer = ask(gateway, ASKED)
        assert status == 502
        said = f"127.0.0.1:{port} cannot be reached (3 attempts): nobody listens there; check OPENAI_BASE_URL"
        assert said in answer["error"]["message"] and answer["passing"] is True
        assert ask(gateway, None, "/v1/models")[0] == 502


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_that_hangs(upstream: FakeUpstream, begun: bool, stream: bool) -> None:
    def hang(handler: Handler) -> None:
        if begun:
            handler.begin()
            handler.say(pieces()[0])
        upstream.over.wait(30)

    upstream.deeds = [hang]
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(upstream.url, KEY, timeout=0.3)) as gateway:
        meter = gateway.register(TRIAL)
        status, answer = ask(gateway, ASKED | {"stream": stream})
        error = answer[-1]["error"] if begun and stream else answer["error"]
        assert status == (200 if begun and stream else 504)
        assert error["message"].endswith("did not answer within 0.3 s")
        assert error["code"] == "upstream_timeout"
        assert meter.chat()[""].failed == 1
        assert len(upstream.requests) == 1
    upstream.over.set()


@pytest.mark.parametrize("stream", [False, True])
def test_leaving_the_gateway_does_not_wait_for_a_hanging_upstream(upstream: FakeUpstream, stream: bool) -> None:
    upstream.deeds = [lambda handler: wait(upstream)]
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(upstream.url, KEY)) as gateway:
        meter = gateway.register(TRIAL)
        body = json.dumps(ASKED | {"stream": stream})
        where = urlsplit(gateway.url)
        link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
        link.request("POST", "/v1/chat/completions", body, {"authorization": f"Bearer {TRIAL}"})
        while not upstream.requests:
            time.sleep(0.01)
    link.close()
    assert not upstream.over.is_set()
    assert meter.faults() == {ChatFault("", 503, "the gateway was left before the model answered"): 1}
    upstream.over.set()


def wait(upstream: FakeUpstream) -> None:
    upstream.over.wait(60)


# --- how it is set up ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({}, "OPENAI_API_KEY is not set"),
        ({"OPENAI_API_KEY": " \n"}, "OPENAI_API_KEY is not set"),
        ({"OPENAI_API_KEY": "sk-\n-two-lines"}, "holds characters that no key has"),
        ({"OPENAI_API_KEY": "schlüssel"}, "holds characters that no key has"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "localhost:8080"}, "must look like https://host/v1"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "ftp://host/v1"}, "must look like https://host/v1"),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://me:pass@host/v1"}, "without user and password"),
    ],
)
def test_a_setup_that_cannot_work_is_one_line(environ: dict[str, str], says: str) -> None:
    with pytest.raises(ChatError, match=says) as caught:
        Forwarder.from_environment(environ)
    assert len(str(caught.value).splitlines()) == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "find_today", [date.today, lambda: datetime.now(UTC).date(), lambda: date.today() - timedelta(days=1)]
)
def test_today_is_the_day_of_the_story_for_a_model_inside(
    upstream: FakeUpstream, find_today: Callable[[], date]
) -> None:
    today = find_today()
    text = f"Today is {today} {today}T10:00Z, not 2024-02-29."
    said = {**ASKED, "messages": [{"role": "user", "content": text}]}
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(upstream.url, KEY)) as gateway:
        meter = gateway.register(TRIAL)
        meter.began |= {today}  # midnight may have passed since, here or there
        for meter.day in (date(2025, 3, 27), None):
            assert ask(gateway, said)[0] == 200
    heard = [body["messages"][0]["content"] for body in upstream.requests if body]
    assert heard == ["Today is 2025-03-27 2025-03-27T10:00Z, not 2024-02-29.", text]


@pytest.mark.parametrize(("allowed", "given"), [(0, SECONDS), (60, SECONDS), (900, 900)])
def test_a_model_has_as_long_as_the_call_that_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, allowed: float, given: float
) -> None:
    made = []
    monkeypatch.setattr(Forwarder, "__init__", lambda *_, timeout, **__: made.append(timeout))
    make_upstream(Chat(answers="model"), {"OPENAI_API_KEY": KEY}, seconds=allowed)
    assert made == [given]


def test_the_environment_names_the_upstream(upstream: FakeUpstream) -> None:
    assert Forwarder.from_environment({"OPENAI_API_KEY": f"{KEY}\n"}).name == "model at api.openai.com"
    found = Forwarder.from_environment({"OPENAI_API_KEY": f"{KEY}\n", "OPENAI_BASE_URL": f"{upstream.url}/"})
    with Gateway(EmbeddingCache(None, FakeEmbedder()), found) as gateway:
        gateway.register(TRIAL)
        assert ask(gateway, ASKED)[0] == 200
    assert upstream.keys == [f"Bearer {KEY}"]
