"""What is looked for in stored bytes, compiled once: strings in every form, vectors exactly and nearly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from harness.scan.vectors import Vectors
from harness.text import encodings

_LOWER = bytes(range(256)).lower()
HEAD = 48
"""Bytes of a needle that the automaton knows; the rest is compared where they stand. Keeps it small and in cache."""


class Match(NamedTuple):
    """A needle at byte `start` of what was searched.

    Attributes:
        nearness: The cosine of a vector that is not the very same.
    """

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
            for needle, form in encodings.encode_text(text).items():
                meanings.setdefault(needle, []).append((name, form))
        for name, data in sorted(vectors.items()):
            for needle, form in encodings.encode_vector(data).items():
                meanings.setdefault(needle, []).append((name, form))
        self._meanings = meanings
        self._grams = {
            name: {each.lower() for each in encodings.split_trigrams(text)} for name, text in canaries.items()
        }
        heads: dict[bytes, list[bytes]] = {}
        for needle in meanings:
            heads.setdefault(needle[:HEAD].translate(_LOWER), []).append(needle)
        self._heads = list(heads.values())
        # base64 in another case is another text, and numbers have no case
        self._folded = [
            [
                (needle.translate(_LOWER), fact)
                for needle in known
                for fact, form in meanings[needle]
                if form in encodings.TEXT and form not in encodings.CASED
            ]
            for known in self._heads
        ]
        self._automaton = BytesAhoCorasick(list(heads), implementation=Implementation.ContiguousNFA)

        self.shortest = min(map(len, meanings), default=0)
        self.longest = max(map(len, meanings), default=0)
        self.plain: set[bytes] = set()
        """Short values that held none, unpacked either: the next look at a store meets most of them again."""

    def find_spelled(self, grams: Collection[bytes]) -> list[str]:
        """The canaries all of whose trigrams are among these: chance has them all for one of 20 in 10^9 at most."""
        return [name for name, own in self._grams.items() if len(own) > 2 and own <= set(grams)]

    def find(self, data: bytes | bytearray | memoryview) -> Iterator[Match]:
        """Every needle that lies wholly in `data`, wherever it starts, in whatever case."""
        return (match for _, match in self.find_each([bytes(data)]))

    def find_each(self, values: Sequence[bytes]) -> Iterator[tuple[int, Match]]:
        """Matches in each of these values: the number of the value, and the match in it."""
        exact = set()
        for number, value in enumerate(values):
            for match in self._exact(value):
                exact.add((number, match.fact, match.start))
                yield number, match
        # Near vectors are looked for in all values at once: most of the time in a small one goes into beginning.
        ends = list(accumulate(map(len, values)))
        for fact, form, at, size, cosine in self._vectors.near(b"".join(values)):
            number = bisect_right(ends, at)
            start = at - (ends[number] - len(values[number]))
            # a window that runs on into the next value is none
            if at + size <= ends[number] and (number, fact, start) not in exact:
                yield number, Match(fact, form, start, cosine)

    def _exact(self, data: bytes) -> Iterator[Match]:
        lower = data.translate(_LOWER)
        for head, start, _ in self._automaton.find_matches_as_indexes(lower, overlapping=True):
            known = self._heads[head]
            here = [needle for needle in known if data.startswith(needle, start)]
            for needle in here:
                for fact, form in self._meanings[needle]:
                    yield Match(fact, form, start)
            # what stands there as it is written is not told again as another case
            for folded, fact in () if here else self._folded[head]:
                if lower.startswith(folded, start):
                    yield Match(fact, "another case", start)


@lru_cache(maxsize=8)
def compile_needles(canaries: tuple[tuple[str, str], ...], vectors: tuple[tuple[str, bytes], ...] = ()) -> Needles:
    """Compiles the search for these pairs. Every look of a drill searches for the same, and so does that drill of every
    other backend.
    """
    return Needles(dict(canaries), dict(vectors))
