"""Near-identical copies of vectors in bytes: renormalised, scaled, rounded, or kept in fewer bits.

Every byte offset is a window that may hold a vector, in numbers of four, two or one bytes. The top bits of the numbers,
which are their signs, are read first, sixteen at a time, and looked up in tables of what the wanted vectors may show;
what passes all tables is compared in full. A component so small that the error at a cosine of NEAR may turn its sign
counts as either sign. So this finds every copy whose error is spread over the components, as that of rounding is, not
one whose error sits in a few of them. Numbers of one byte (int8, with or without sign) stand for an even scale of any
width and zero, so their deviations from the mean are compared: a scale of its own for each component is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

NEAR = 0.999
"""The least cosine of a copy."""
WORD, WORDS = 16, 8
"""Components looked up at once, and how often at most."""
SIGMAS = 4.0
"""How many standard deviations of the error at NEAR a component needs to have a sign that is sure."""
LOOSE = 1e-4
"""Of vectors that let more windows than this share through, as those with many zeros do, no copies in fewer bits are
sought: anything might be one, and comparing takes too long. Those of the bundled model let through far fewer."""
BLOCK = 2048
"""Windows compared in full at once: bounds the memory."""
Windows = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.float64]


def _float32(windows: Windows) -> Numbers:
    return windows.view("<f4").astype("f8")


def _float16(windows: Windows) -> Numbers:
    return windows.view("<f2").astype("f8")


def _bfloat16(windows: Windows) -> Numbers:
    return (windows.view("<u2").astype("u4") << 16).view("f4").astype("f8")


def _to_signed(windows: Windows) -> Numbers:
    return _subtract_mean(windows.view("i1").astype("f8"))


def _to_unsigned(windows: Windows) -> Numbers:
    return _subtract_mean(windows.astype("f8"))


def _subtract_mean(values: Numbers) -> Numbers:
    centred: Numbers = values - values.mean(axis=1, keepdims=True)
    return centred


LAYOUTS: Mapping[int, tuple[tuple[str, Callable[[Windows], Numbers]], ...]] = {
    4: (("float32", _float32),),
    2: (("float16", _float16), ("bfloat16", _bfloat16)),
    1: (("int8 floats", _to_signed), ("int8 floats", _to_unsigned)),
}
"""Bytes of a number -> what it may be."""


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
        norms = np.linalg.norm(stacked.astype("f8"), axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            raise ValueError("a vector is zero or not finite")
        self._units = stacked / norms
        self._centred = _subtract_mean(self._units.astype("f8"))
        # equal components leave a vector of length 0
        self._centred /= np.maximum(np.linalg.norm(self._centred, axis=1, keepdims=True), np.finfo("f8").tiny)
        self._tables = {width: self._lookups(width) for width in LAYOUTS}

    def _lookups(self, width: int) -> list[npt.NDArray[np.uint8]]:
        """A table for each word. Every window is looked up in the first two, which therefore are bits of one."""
        words = min(WORDS, self._dims // WORD)
        if not words or not self._names:
            return []
        shifts = [0.0 * self._units[:, :1]]
        if width == 1:  # an even scale from the least to the largest component turns its top bit in the middle
            shifts.append((self._units.min(axis=1, keepdims=True) + self._units.max(axis=1, keepdims=True)) / 2)
        tables = [self._table(at * WORD, shifts) for at in range(words)]
        if width == 1:  # without a sign the top bit is set for what is large
            tables = [table | table[::-1] for table in tables]
        if width < 4 and np.prod([table.mean() for table in tables]) > LOOSE:
            return []
        # where there is one word only, the second table admits everything
        first, second = [*tables, np.ones(1 << WORD, bool)][:2]
        return [first | second.astype("u1") << 1, *tables[2:]]

    def _table(self, first: int, shifts: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.bool_]:
        """Which signs (bit i: component first + i is negative) any wanted vector may show, with zero at any shift."""
        weights = (1 << np.arange(WORD)).astype("u4")
        part = np.concatenate([self._units[:, first : first + WORD] - shift for shift in shifts])
        # unit vectors with cosine c lie sqrt(2 (1 - c)) apart, spread over all components
        sure = np.abs(part) > SIGMAS * np.sqrt(2 * (1 - NEAR) / self._dims)
        table = np.zeros(1 << WORD, bool)
        for signs, unsure in zip((part < 0) & sure, ~sure, strict=True):
            codes = np.array([signs @ weights], "u4")
            for weight in weights[unsure]:
                codes = np.concatenate([codes, codes | weight])
            table[codes] = True
        return table

    def near(self, data: bytes | bytearray | memoryview) -> Iterator[tuple[str, str, int, int, float]]:
        """Name, form, byte offset, size in bytes and cosine of every copy in `data`."""
        raw = np.frombuffer(data, "u1")
        for width, tables in self._tables.items():
            size = width * self._dims
            if not tables or len(raw) < size:
                continue
            for phase in range(width):
                words = _read_signs(raw, phase, width)
                for shift in range(8):
                    starts = 8 * width * _find_candidates(words, shift, tables) + (width * shift + phase)
                    starts = starts[starts + size <= len(raw)]
                    for at in range(0, len(starts), BLOCK):
                        yield from self._compare(raw, starts[at : at + BLOCK], width)

    def _compare(
        self, raw: Windows, starts: npt.NDArray[np.int64], width: int
    ) -> Iterator[tuple[str, str, int, int, float]]:
        windows = raw[starts[:, None] + np.arange(width * self._dims)]
        wanted = self._centred if width == 1 else self._units
        for form, read in LAYOUTS[width]:
            with np.errstate(all="ignore"):  # most windows are no vectors: what is not finite is not near
                values = read(windows)  # tiny ones underflow
                cosines = values @ wanted.T / np.linalg.norm(values, axis=1, keepdims=True)
                rows, columns = np.nonzero(np.isfinite(cosines) & (cosines >= NEAR))
            for row, column in zip(rows, columns, strict=True):
                # rounding may take it above 1
                cosine = min(1.0, float(cosines[row, column]))
                yield self._names[column], form, int(starts[row]), width * self._dims, cosine


def _find_candidates(words: npt.NDArray[np.int64], shift: int, tables: Sequence[Windows]) -> npt.NDArray[np.int64]:
    """Indices of the windows at 8 * index + shift numbers that every table admits."""
    codes = words >> shift & 0xFFFF
    # an index is eight numbers on from the one before, so the next word stands two further on
    seen = tables[0][codes]
    found = np.flatnonzero((seen[:-2] & seen[2:] >> 1).view(bool))
    for number, table in enumerate(tables[1:], 2):
        found = found[found + 2 * number < len(codes)]
        found = found[table[codes[found + 2 * number]].astype(bool)]
    return found


def _read_signs(raw: Windows, phase: int, width: int) -> npt.NDArray[np.int64]:
    """At index i the signs of the 24 numbers from byte 8 * width * i + phase on, the first in the lowest bit."""
    # little-endian: the sign is in the last byte of a number
    packed = np.packbits(raw[phase + width - 1 :: width] >> 7, bitorder="little")
    bits = np.concatenate([packed, np.zeros(4, "u1")]).astype("i8")
    words: npt.NDArray[np.int64] = bits[:-2] | bits[1:-1] << 8 | bits[2:] << 16
    return words
