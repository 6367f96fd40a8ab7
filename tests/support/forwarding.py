"""A gateway that passes chat calls on to a fake upstream, its meter, and a deed of the upstream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat import route
from harness.gateway.chat.forward import Forwarder
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter
from tests.support.fake_upstream import KEY, TRIAL, FakeUpstream, fake_upstream
from tests.support.fakes import FakeEmbedder

PROMPT = 2  # tokens of what is asked, as counted here


@contextmanager
def forwarding() -> Iterator[tuple[FakeUpstream, Gateway]]:
    with fake_upstream() as fake:
        chat = Forwarder(fake.url, KEY, timeout=30, pause=0.01)
        with Gateway(EmbeddingCache(None, FakeEmbedder()), chat) as gateway:
            yield fake, gateway


@contextmanager
def metered(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    monkeypatch.setattr(route, "MOST_SILENT", 10**9)  # tests that share a gateway fail in a row
    meter = gateway.register(TRIAL)
    meter.phase = "ingest"
    yield meter
    gateway.unregister(TRIAL)


def plain_answer(body: Any) -> Any:
    return lambda handler: handler.answer(200, body)
