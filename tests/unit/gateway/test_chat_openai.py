"""The chat half of the gateway as the real `openai` client sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.forward import Forwarder
from harness.gateway.chat.standin import MODEL, StandIn
from harness.gateway.gateway import Gateway
from tests.support.fake_upstream import KEY, SAID, SYSTEM, FakeUpstream, pieces, prompt
from tests.support.fakes import FakeEmbedder

pytestmark = pytest.mark.backend
openai = pytest.importorskip("openai")
TRIAL = "trial-key-1"
MESSAGES: Any = [{"role": "user", "content": "hello"}]
EXTRACT: Any = [SYSTEM, {"role": "user", "content": prompt("user: The port is 80. Jonas reviews.\n")}]


@pytest.fixture
def client(upstream: FakeUpstream) -> Iterator[Any]:
    """With the retries that it makes unless told otherwise."""
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(upstream.url, KEY, pause=0.01)) as gateway:
        gateway.register(TRIAL)
        with openai.OpenAI(base_url=gateway.url, api_key=TRIAL) as made:
            yield made


def test_whole_and_streamed(client: Any) -> None:
    whole = client.chat.completions.create(model="m", messages=MESSAGES, response_format={"type": "json_object"})
    assert whole.choices[0].message.content == SAID
    assert whole.usage.total_tokens == 16
    with client.chat.completions.create(model="m", messages=MESSAGES, stream=True) as events:
        assert "".join(event.choices[0].delta.content or "" for event in events) == SAID
    with client.chat.completions.create(
        model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    ) as events:
        assert [event.usage.total_tokens for event in events if event.usage] == [16]
    assert "fake-chat-1" in [model.id for model in client.models.list()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "raised"),
    [(401, "AuthenticationError"), (404, "NotFoundError"), (429, "RateLimitError"), (500, "InternalServerError")],
)
def test_errors_are_its_own_and_it_does_not_try_again(
    client: Any, upstream: FakeUpstream, status: int, raised: str
) -> None:
    def refuse(handler: Any) -> None:
        handler.answer(status, {"error": {"message": "not today"}}, {"retry-after": "600"})

    upstream.deeds = [refuse] * 9
    for stream in (False, True):
        with pytest.raises(getattr(openai, raised), match="not today"):
            client.chat.completions.create(model="m", messages=MESSAGES, stream=stream)
    assert len(upstream.requests) == 2


def test_half_a_stream_is_an_error(client: Any, upstream: FakeUpstream) -> None:
    upstream.deeds = [lambda handler: handler.stream(*pieces("one", end=False), done=False)]
    with pytest.raises(openai.APIError, match="ended its stream before the answer was complete"):
        list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
    assert len(upstream.requests) == 1


def test_the_stand_in() -> None:
    with Gateway(EmbeddingCache(None, FakeEmbedder()), StandIn()) as gateway:
        gateway.register(TRIAL)
        with openai.OpenAI(base_url=gateway.url, api_key=TRIAL) as client:
            whole = client.chat.completions.create(model="m", messages=EXTRACT, response_format={"type": "json_object"})
            told = [memory["text"] for memory in json.loads(whole.choices[0].message.content)["memory"]]
            assert told == ["The port is 80.", "Jonas reviews."]
            assert whole.model == MODEL
            events = list(client.chat.completions.create(model="m", messages=EXTRACT, stream=True))
            assert "".join(event.choices[0].delta.content or "" for event in events) == whole.choices[0].message.content
            assert {event.model for event in events} == {MODEL}
            with pytest.raises(openai.BadRequestError, match="is a stand-in"):
                client.chat.completions.create(model="m", messages=MESSAGES)
