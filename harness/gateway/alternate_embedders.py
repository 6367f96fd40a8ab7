"""Other embedders than the run's own, made of it: the same text has another vector, as near to its like as before.

The numbers of a vector are put in another order, and half of them turned round: every similarity among such vectors is
as it was, and a vector of the one embedder has nothing to do with one of the other. Shorter vectors leave out numbers.
"""

from __future__ import annotations

import math
import random
from array import array

from harness.model.backend import EmbedderName


class SwitchedEmbedder:
    """Makes vectors of those of `dims` numbers."""

    def __init__(self, name: EmbedderName, dims: int) -> None:
        draw = random.Random(f"embedder {name} {dims}")  # noqa: S311  reproducible on purpose
        self.dims = dims // 2 if name == "shorter" else dims
        self._from = draw.sample(range(dims), self.dims)
        self._signs = [draw.choice((-1.0, 1.0)) for _ in self._from]

    def turn(self, vector: bytes) -> bytes:
        """A vector as little-endian float32 bytes, L2-normalised."""
        own = array("f", vector)
        turned = [own[at] * sign for at, sign in zip(self._from, self._signs, strict=True)]
        length = math.hypot(*turned) or 1.0
        return array("f", [each / length for each in turned]).tobytes()
