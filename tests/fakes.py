"""Stand-ins for what a unit test must not wait for."""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from harness.models.embedder import Encoded


class FakeEmbedder:
    """Hashed words and character trigrams: deterministic across processes, no model. Sees 16 words of a text.

    `seen` counts how often each text was embedded. While `gate` is cleared, `encode` waits.
    """

    def __init__(self, dims: int = 384, digest: str = "fake") -> None:
        self.name = "fake-hashed-ngrams"
        self.dims = dims
        self.digest = digest
        self.seen: Counter[str] = Counter()
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def encode(self, texts: Sequence[str]) -> Encoded:
        if "" in texts:
            raise ValueError("an empty text has no embedding")
        self.seen.update(texts)
        self.entered.set()
        self.gate.wait(30)
        words = [text.split() for text in texts]
        vectors = np.stack([self._vector(kept[:16]) for kept in words])
        return Encoded(vectors, [min(len(kept), 16) for kept in words], [max(len(kept) - 16, 0) for kept in words])

    def _vector(self, words: list[str]) -> np.ndarray:
        vector = np.zeros(self.dims, np.float32)
        for word in words:
            padded = f" {word.casefold()} "
            for part in [padded, *(padded[at : at + 3] for at in range(len(padded) - 2))]:
                spot = zlib.crc32(part.encode("utf-8", "surrogatepass"))
                vector[spot % self.dims] += 1 if spot & 1 << 20 else -1
        return vector / max(float(np.linalg.norm(vector)), 1e-9)
