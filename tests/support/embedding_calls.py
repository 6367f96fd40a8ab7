"""Calls of the embeddings of a gateway, over real HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from harness.adapter import Space
from harness.gateway.gateway import Gateway
from tests.support.fakes import FakeEmbedder

KEY = "trial-key-1"


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
