"""Vectors from the run's one embedder, over a connection that each thread keeps open."""

from __future__ import annotations

import base64
import http.client
import json
import os
import threading
from array import array
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from harness.adapter.contract import Space

BATCH = 1024
"""Texts in one request."""


def embed(space: Space, texts: Sequence[str]) -> list[list[float]]:
    """Vectors of `space.dims` floats, one per text, L2-normalised, from the run's one embedder."""
    return [vector for at in range(0, len(texts), BATCH) for vector in _embed(space, texts[at : at + BATCH])]


def _embed(space: Space, texts: Sequence[str]) -> list[list[float]]:
    where = urlsplit(space.gateway)
    body = json.dumps({"model": "local", "input": list(texts), "encoding_format": "base64"}).encode()
    head = {"authorization": f"Bearer {space.key}", "content-type": "application/json"}
    status, text = _post(where.hostname or "", where.port, f"{where.path}/embeddings", body, head)
    if status != 200:
        raise RuntimeError(f"embeddings endpoint answered {status}: {text[:200]!r}")
    return [array("f", base64.b64decode(row["embedding"])).tolist() for row in json.loads(text)["data"]]


_OWN = threading.local()
"""`link`: the connection that this thread keeps open from call to call, and whose it is and where it leads."""


def _post(host: str, port: int | None, path: str, body: bytes, head: Mapping[str, str]) -> tuple[int, bytes]:
    """Status and body of the answer. A kept connection that was closed meanwhile has been asked nothing: once more."""
    place = (os.getpid(), host, port)  # after a fork it is the parent's
    kept, link = getattr(_OWN, "link", (None, None))
    if kept != place:
        link = http.client.HTTPConnection(host, port, timeout=600)
    assert link is not None
    # not kept while it is in use: after an exception the rest of an answer may still be on its way
    _OWN.link = (None, None)
    try:
        try:
            link.request("POST", path, body, dict(head))
            answer = link.getresponse()
        except ConnectionError:
            link.close()
            if kept != place:
                raise
            link.request("POST", path, body, dict(head))
            answer = link.getresponse()
        found = answer.status, answer.read()
    except BaseException:
        link.close()
        raise
    _OWN.link = (place, link)
    return found
