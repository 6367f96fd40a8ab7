"""What is looked for in stored bytes, compiled once: strings in every form, vectors exactly and nearly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from harness import forms
from harness.scan.vectors import Vectors

HEAD = 48
"""Bytes of a needle that the automaton knows; the rest is compared where they stand. Keeps it small and in cache."""


class Match(NamedTuple):
    """A needle at byte `start` of what was searched. nearness: the cosine of a vector that is not the very same."""

    fact: str
    form: str
    start: int
    nearness: float | None = None


class Needles:
    """What is looked for: canaries (name -> string) and vectors (name -> little-endian float32 bytes).

    Raises ValueError for an empty canary and for vectors that cannot be told from others: of different sizes, of one
    component, zero, or not finite.
    """

    def __init__(self, canaries: Mapping[str, str], vectors: Mapping[str, bytes] = {}) -> None:
        self._vectors = Vectors(vectors)
        meanings: dict[bytes, list[tuple[str, str]]] = {}
        for name, text in sorted(canaries.items()):
            if not text:
                raise ValueError(f"the canary of {name} is empty")
            for needle, form in forms.of_text(text).items():
                meanings.setdefault(needle, []).append((name, form))
        for name, data in sorted(vectors.items()):
            for needle, form in forms.of_vector(data).items():
                meanings.setdefault(needle, []).append((name, form))
        self._meanings = meanings
        heads: dict[bytes, list[bytes]] = {}
        for needle in meanings:
            heads.setdefault(needle[:HEAD], []).append(needle)
        self._heads = list(heads.values())
        self._automaton = BytesAhoCorasick(list(heads), implementation=Implementation.ContiguousNFA)

        self.shortest = min(map(len, meanings), default=0)
        self.longest = max(map(len, meanings), default=0)

    def find(self, data: bytes | bytearray | memoryview) -> Iterator[Match]:
        """Every needle that lies wholly in `data`, wherever it starts."""
        exact = set()
        for head, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            for needle in self._heads[head]:
                if len(needle) <= HEAD or data[start : start + len(needle)] == needle:
                    for fact, form in self._meanings[needle]:
                        exact.add((fact, start))
                        yield Match(fact, form, start)
        for fact, start, cosine in self._vectors.near(data):
            if (fact, start) not in exact:
                yield Match(fact, "float32", start, cosine)
