"""Near-identical copies of vectors in bytes: renormalised, scaled, or rounded and stored as float32 again.

Every byte offset is a window that may hold a vector. The signs of its components are read first, sixteen at a time,
and looked up in tables of what the wanted vectors may show; what passes all tables is compared in full. A component
so small that the error at a cosine of NEAR may turn its sign counts as either sign. So this finds every copy whose
error is spread over the components, as that of rounding is, not one whose error sits in a few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

NEAR = 0.999
"""The least cosine of a copy."""
WORD, WORDS = 16, 8
"""Components looked up at once, and how often at most."""
SIGMAS = 4.0
"""How many standard deviations of the error at NEAR a component needs to have a sign that is sure."""
BLOCK = 2048
"""Windows compared in full at once: bounds the memory."""
Array = npt.NDArray[np.float32]


class Vectors:
    """The wanted vectors: name -> little-endian float32 bytes. Those of less than WORD components have no near ones."""

    def __init__(self, vectors: Mapping[str, bytes]) -> None:
        self._names = sorted(vectors)
        if len({len(data) for data in vectors.values()}) > 1:
            raise ValueError("the vectors are of different sizes")
        if any(len(data) % 4 or len(data) < 8 for data in vectors.values()):
            raise ValueError("a vector is not a row of at least two float32 numbers")
        self._dims = max(map(len, vectors.values()), default=0) // 4
        stacked = np.frombuffer(b"".join(vectors[name] for name in self._names), "<f4").reshape(-1, max(1, self._dims))
        norms = np.linalg.norm(stacked.astype("f8"), axis=-1, keepdims=True)
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            raise ValueError("a vector is zero or not finite")
        self._units = stacked / norms
        self._tables = [self._table(at * WORD) for at in range(min(WORDS, self._dims // WORD))]
        # Every window is looked up in the first two tables, which therefore are bits of one.
        first, second = [*self._tables, np.ones(1 << WORD, bool), np.ones(1 << WORD, bool)][:2]
        self._first = first | second.astype("u1") << 1

    def _table(self, first: int) -> npt.NDArray[np.bool_]:
        """Which signs (bit i: component first + i is negative) any wanted vector may show."""
        weights = (1 << np.arange(WORD)).astype("u4")
        part = self._units[:, first : first + WORD]
        sure = np.abs(part) > SIGMAS * np.sqrt(2 * (1 - NEAR) / self._dims)
        table = np.zeros(1 << WORD, bool)
        for signs, unsure in zip((part < 0) & sure, ~sure, strict=True):
            codes = np.array([signs @ weights], "u4")
            for weight in weights[unsure]:
                codes = np.concatenate([codes, codes | weight])
            table[codes] = True
        return table

    def near(self, data: bytes | bytearray | memoryview) -> Iterator[tuple[str, int, float]]:
        """Name, byte offset and cosine of every copy in `data`."""
        raw = np.frombuffer(data, "u1")
        if not self._tables or len(raw) < 4 * self._dims:
            return
        for phase in range(4):
            words = _signs(raw, phase)
            for shift in range(8):
                starts = 32 * self._candidates(words, shift) + (4 * shift + phase)
                starts = starts[starts + 4 * self._dims <= len(raw)]
                for at in range(0, len(starts), BLOCK):
                    yield from self._compare(raw, starts[at : at + BLOCK])

    def _candidates(self, words: npt.NDArray[np.int64], shift: int) -> npt.NDArray[np.int64]:
        """Indices of the windows at 8 * index + shift floats that every table admits."""
        codes = words >> shift & 0xFFFF
        seen = self._first[codes]
        found = np.flatnonzero((seen[:-2] & seen[2:] >> 1).view(bool))
        for number, table in enumerate(self._tables[2:], 2):
            found = found[found + 2 * number < len(codes)]
            found = found[table[codes[found + 2 * number]]]
        return found

    def _compare(self, raw: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> Iterator[tuple[str, int, float]]:
        with np.errstate(all="ignore"):  # most windows are no vectors: what is not finite is not near
            windows = raw[starts[:, None] + np.arange(4 * self._dims)].view("<f4").astype("f8")  # tiny ones underflow
            cosines = windows @ self._units.T / np.linalg.norm(windows, axis=1, keepdims=True)
            rows, columns = np.nonzero(np.isfinite(cosines) & (cosines >= NEAR))
        for row, column in zip(rows, columns, strict=True):
            yield self._names[column], int(starts[row]), min(1.0, float(cosines[row, column]))


def _signs(raw: npt.NDArray[np.uint8], phase: int) -> npt.NDArray[np.int64]:
    """At index i the signs of the 24 floats from byte 32 * i + phase on, the first in the lowest bit."""
    packed = np.packbits(raw[phase + 3 :: 4] >> 7, bitorder="little")
    bits = np.concatenate([packed, np.zeros(4, "u1")]).astype("i8")
    words: npt.NDArray[np.int64] = bits[:-2] | bits[1:-1] << 8 | bits[2:] << 16
    return words
