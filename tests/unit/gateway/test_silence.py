"""A chat endpoint that gives no answers is not waited for call by call, and is not a backend's fault."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.gateway import meter as meters
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.forward import Forwarder
from harness.gateway.chat.route import MOST_SILENT
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter
from harness.log.events import Closed
from harness.log.lines import Writer
from harness.log.reader import read
from harness.play import trouble
from tests.support.fake_upstream import (
    ASKED,
    KEY,
    TRIAL,
    FakeUpstream,
    Handler,
    ask,
    completion,
    fake_upstream,
    wait_for_the_end,
)
from tests.support.fakes import FakeEmbedder
from tests.support.logs import Tape


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    with fake_upstream() as running:
        yield running


@pytest.fixture
def gateway(fake: FakeUpstream) -> Iterator[Gateway]:
    with Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(fake.url, KEY, timeout=0.3)) as running:
        yield running


def answer_late(handler: Handler) -> None:
    wait_for_the_end(handler)
    handler.answer(200, completion())


@pytest.mark.slow
def test_after_so_many_calls_without_an_answer_the_endpoint_is_left_alone(fake: FakeUpstream, gateway: Gateway) -> None:
    meter = gateway.register(TRIAL)
    fake.deeds = [wait_for_the_end] * (MOST_SILENT - 1)
    fake.deeds += [lambda handler: handler.answer(502, {})]
    told = [ask(gateway, ASKED)[0] for _ in range(MOST_SILENT + 2)]
    assert told == [504] * (MOST_SILENT - 1) + [502, 503, 503]
    assert len(fake.requests) == MOST_SILENT
    assert f"{MOST_SILENT} calls in a row got no answer" in meter.given_up


@pytest.mark.slow
def test_an_answer_begins_the_count_anew_and_a_refused_request_is_an_answer(
    fake: FakeUpstream, gateway: Gateway
) -> None:
    meter = gateway.register(TRIAL)
    for deed in (lambda handler: handler.answer(200, {"choices": []}), wait_for_the_end):
        fake.deeds = [deed] * (MOST_SILENT - 1)
        for _ in range(MOST_SILENT):
            ask(gateway, ASKED)
        assert not meter.given_up
    fake.deeds = [lambda handler: handler.answer(400, {})] * MOST_SILENT
    assert [ask(gateway, ASKED)[0] for _ in range(MOST_SILENT + 1)] == [400] * MOST_SILENT + [200]


@pytest.mark.slow
def test_the_next_trial_tries_once(fake: FakeUpstream, gateway: Gateway) -> None:
    gateway.register(TRIAL)
    fake.deeds = [wait_for_the_end] * (MOST_SILENT + 1)
    for _ in range(MOST_SILENT):
        ask(gateway, ASKED)
    gateway.unregister(TRIAL)
    meter = gateway.register(TRIAL)
    assert not meter.given_up and ask(gateway, ASKED)[0] == 504 and meter.given_up


def test_who_fails_while_the_model_is_silent_is_not_to_blame(
    fake: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meters, "SILENT", 0.05)
    began = time.monotonic()
    with (
        Gateway(EmbeddingCache(None, FakeEmbedder()), Forwarder(fake.url, KEY)) as gateway,
        ThreadPoolExecutor(1) as pool,
    ):
        meter = gateway.register(TRIAL)
        assert not meter.find_outage(began)
        fake.deeds = [answer_late]
        under_way = pool.submit(ask, gateway, ASKED)
        while not fake.requests:
            time.sleep(0.01)
        time.sleep(0.1)
        assert "has not answered" in meter.find_outage(time.monotonic() - 0.1)
        assert not meter.find_outage(time.monotonic() - 1000), "it waited for a small part of the time only"
        fake.over.set()
        assert under_way.result()[0] == 200 and not meter.find_outage(began)


def test_a_trial_whose_calls_were_given_up_is_played_again(tmp_path: Path) -> None:
    meter, tape = Meter(), Tape(tmp_path)
    trouble.check_endpoint(meter)
    meter.given_up = "the chat model is away"
    with Writer(tmp_path / "one.jsonl") as log:
        log.append(tape.events[0])
        with trouble.fence(log, Closed, tape.blobs):
            trouble.check_endpoint(Meter(), meter)
    told = read(tmp_path / "one.jsonl", tape.blobs)
    assert told.closed and told.closed.fault and told.closed.fault.kind == "machine" and not told.final
    assert told.closed.fault.message == "the chat model is away; --resume plays it again"
