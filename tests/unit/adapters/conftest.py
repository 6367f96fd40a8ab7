"""An embeddings endpoint whose vectors are easy to reason about, and a space for one store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from adapters._postgres import TOP
from harness.adapter import Space
from harness.gateway.cache import EmbeddingCache
from harness.gateway.embedder import Encoded
from harness.gateway.gateway import Gateway

REAL_LETTA = [
    pytest.mark.slow,
    pytest.mark.backend,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not (TOP / "bin" / "letta").exists() and "LETTA_BASE_URL" not in os.environ,
        reason="no Letta server: make letta installs it, LETTA_BASE_URL names a running one",
    ),
]


class Words:
    """Words hashed into buckets: equal words, equal directions."""

    name, dims, digest = "words", 64, "words-1"

    def encode(self, texts: Sequence[str]) -> Encoded:
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()) or [text]:
                row[int.from_bytes(blake2b(word.encode(), digest_size=2).digest()) % self.dims] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Encoded(rows, [1] * len(texts), [0] * len(texts))


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(EmbeddingCache(None, Words())) as running:
        running.register("key")
        yield running


@pytest.fixture
def space(gateway: Gateway, tmp_path: Path) -> Space:
    root = tmp_path / "space"
    root.mkdir()
    return Space(str(root), gateway.url, "key", Words.dims, seed=7)
