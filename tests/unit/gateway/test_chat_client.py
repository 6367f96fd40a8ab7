"""A reader's call to the run's chat model: each way in which it can end is a reply, and none of them raises."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.client import ChatClient, Reply
from harness.gateway.chat.forward import Forwarder
from harness.gateway.chat.recording import Recorder, Replayer
from harness.gateway.chat.wire import Upstream
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Budget, Ledger
from tests.support.fake_upstream import KEY, Deed, FakeUpstream, Handler, completion, fake_upstream, wait_for_the_end
from tests.support.fakes import FakeEmbedder


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    with fake_upstream() as running:
        yield running


@contextmanager
def client(upstream: Upstream | None, budget: Budget | None = None) -> Iterator[ChatClient]:
    ledger = Ledger(budget)
    with Gateway(EmbeddingCache(None, FakeEmbedder()), upstream, ledger) as gateway, gateway.lend_chat() as (found, _):
        yield found


def ask(text: str = "hello there") -> dict[str, Any]:
    return {"model": "fake-chat", "messages": [{"role": "user", "content": text}]}


def say(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Deed:
    return lambda handler: handler.answer(status, body, headers)


def hang(handler: Handler) -> None:
    handler.server.upstream.over.wait(20)


PARTS = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
REFUSAL = {"role": "assistant", "content": None, "refusal": "I would rather not"}


@pytest.mark.parametrize(
    ("deed", "ending", "why"),
    [
        (say(completion("yes")), "answered", ""),
        (say(completion(None, choices=[{"index": 0, "message": REFUSAL, "finish_reason": "stop"}])), "refused", "ref"),
        (say(completion(None, choices=[{"index": 0, "message": PARTS, "finish_reason": "stop"}])), "answered", ""),
        (say(completion("  ")), "empty", "answered nothing"),
        (say({"error": {"message": "slow down"}}, 429, {"retry-after": "999"}), "failed", "429: .*slow down"),
        (say({"error": {"message": "maximum context length"}}, 400), "failed", "400: .*maximum context length"),
        (say({"error": {"message": "oops"}}, 500), "failed", "502: .*oops"),
        (say({"error": {"message": "rate limit exceeded"}}), "failed", r"502: .*failed \(200\): rate limit exceeded"),
        (say(completion(choices=None)), "failed", "502: .*without a choice"),
        (say(b"{half"), "failed", "not a JSON object"),
        (hang, "timed-out", "504: .*did not answer within 0.5 s"),
    ],
)
def test_each_end_of_a_call_is_a_reply(fake: FakeUpstream, deed: Deed, ending: str, why: str) -> None:
    fake.deeds = [deed]
    with client(Forwarder(fake.url, KEY, timeout=0.5)) as found:
        reply = found.complete(ask())
    assert reply.ending == ending
    assert re.search(why, reply.why)
    assert reply.passing is ("; --resume plays it again" in reply.why)
    assert reply.passing is (ending in ("failed", "timed-out") and not why.startswith("400"))
    if ending == "answered":
        assert reply == Reply("answered", "yes", "", "fake-chat-1", 11, 5)


@pytest.mark.parametrize(
    ("deed", "tokens"),
    [(say(completion(None)), (11, 5)), (say(completion(choices=[])), (11, 5)), (say(b"{half"), (2, 0))],
)
def test_what_was_paid_for_no_answer_is_told(fake: FakeUpstream, deed: Deed, tokens: tuple[int, int]) -> None:
    fake.deeds = [deed]
    with client(Forwarder(fake.url, KEY, timeout=5)) as found:
        reply = found.complete(ask())
    assert (reply.prompt, reply.completion) == tokens


def test_without_a_chat_model_a_call_says_so() -> None:
    with client(None) as found:
        assert found.complete(ask()) == Reply("failed", why="404: this run has no chat model")


def test_calls_of_readers_are_in_the_budget_of_the_run(fake: FakeUpstream) -> None:
    with client(Forwarder(fake.url, KEY), Budget(tokens=10)) as found:
        assert found.complete(ask()).ending == "answered"
        assert "the budget of the run" in found.complete(ask()).why
    assert len(fake.requests) == 1


def test_a_gateway_that_is_stopped_breaks_off_the_call_under_way(fake: FakeUpstream) -> None:
    fake.deeds = [wait_for_the_end]
    with (
        Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(fake.url, KEY)) as gateway,
        gateway.lend_chat() as (found, _),
        ThreadPoolExecutor(1) as pool,
    ):
        under_way = pool.submit(found.complete, ask())
        while not fake.requests:
            time.sleep(0.01)
        gateway.stop()
        assert under_way.result(60).ending == "failed"
        assert found.complete(ask()).ending == "failed"
    assert len(fake.requests) == 1


@pytest.mark.slow
def test_what_was_recorded_is_replayed_and_what_changed_is_a_miss_with_a_diff(
    fake: FakeUpstream, tmp_path: Path
) -> None:
    old, other = "Notes:\n- the port is 80 (2025-04-28)\n- tea", "Notes:\n- the port is 80 (2026-01-02)\n- tea"
    with client(Recorder(Forwarder(fake.url, KEY), tmp_path, [KEY])) as found:
        recorded = found.complete(ask(old))
    with client(Replayer(tmp_path)) as found:
        assert found.complete(ask(old)) == recorded
        missed = found.complete(ask(other))
    assert len(fake.requests) == 1, "a miss asks nobody"
    assert missed.ending == "failed" and "no recording" in missed.why
    assert (
        '-    "- the port is 80 (2025-04-28)",' in missed.why and '+    "- the port is 80 (2026-01-02)",' in missed.why
    )
    assert "tea" not in missed.why, "only what differs"
