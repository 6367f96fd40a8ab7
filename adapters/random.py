"""Control: k of the memories that hold here, drawn by chance. What a ranking has to beat."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from adapters._base import RowAdapter, RowMemory
from harness.adapter import Memory, Space


class RandomMemory(RowMemory):
    def __init__(self, path: Path, seed: int) -> None:
        self.seed = seed
        super().__init__(path)

    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        drawn = sha256(f"{self.seed} {len(visible)} {query}".encode("utf-8", "surrogatepass")).digest()
        chosen = random.Random(drawn).sample(visible, min(k, len(visible)))  # noqa: S311 - repeatable, not secret
        return [(name, None) for name in chosen]


class Random(RowAdapter):
    name = "random"
    native = (*RowAdapter.native, "ranked")  # the drawn order counts as one: the chance level of rank measures
    unsupported: ClassVar = {**RowAdapter.unsupported, "abstains": "always draws k"}

    def open(self, space: Space) -> Memory:
        return RandomMemory(self.path(space), space.seed)
