"""What is stored compressed: streams found by their first bytes, wherever they start, unpacked within bounds, searched.

A stream that breaks off, as one whose page was half written over, is searched as far as it goes.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import cramjam
import lz4.frame
import numpy as np
import numpy.typing as npt

from harness.scan import unframed
from harness.scan.needles import Match, Needles

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

FIRST, STEP = 256, 1 << 16
"""Bytes that are unpacked first, as most that look like a stream are none, and at a time after that."""
BLOCK = 1 << 20
"""Unpacked bytes that are searched at once."""
MEMORY = 1 << 27
"""What a stream may want for its dictionary: enough for `xz -9`, and for what `zstd` unpacks by itself."""
HEADER = 18
"""Bytes of the longest header of a frame of zstd."""
MOST = 1 << 28
"""Bytes that are unpacked from one file, however much its streams hold."""
SECONDS = 20.0
"""For the streams of one file."""

ReadBytes = Callable[[int, int], bytes]
"""(offset, most) -> bytes."""


class Start(NamedTuple):
    """Where a stream begins, and what unpacks it."""

    form: str
    at: int
    made: Callable[[], Any]


def _list_heads() -> npt.NDArray[np.bool_]:
    """Which two bytes may begin a stream. Of zlib: every window size, no dictionary, a valid check."""
    table = np.zeros(1 << 16, bool)
    for method in range(0x08, 0x80, 0x10):
        for flags in range(256):
            if (method << 8 | flags) % 31 == 0 and not flags & 0x20:
                table[method << 8 | flags] = True
    for two in (b"\x1f\x8b", b"BZ", b"\xfd7", b"PK", b"\x04\x22", b"\x28\xb5", b"\xff\x06"):
        table[two[0] << 8 | two[1]] = True
    return table


_HEADS = _list_heads()
_HEAD_BYTES = _HEADS.tobytes()  # for one value, as asking an array takes longer


def _make_bare() -> Any:
    # negative window bits: a stream without header and checksum
    return zlib.decompressobj(-15)


def _make_zstd() -> Any:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MEMORY.bit_length() - 1})


class Unpacking:
    """The streams of one file, with what they may still use up. unread: what was not unpacked, in words."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._left, self._until = MOST, time.monotonic() + SECONDS
        self.unread = ""

    def file(self, source: ReadBytes, pieces: Iterable[int], piece: int) -> Iterator[Match]:
        """Matches in a file whose pieces begin there, by the offset of the stream; a stream inside of a stream is its
        own.
        """
        done = 0
        for at in pieces:
            # a head that begins at the end of a piece goes on in the next
            data = source(at, piece + 64)
            if self._is_spent():
                return
            for start in _find_starts(data, at, piece):
                if start.at < done:
                    continue
                if self._is_spent():
                    return
                done = yield from self._stream(start, source)

    def value(self, value: bytes) -> Iterator[Match]:
        """A value that is a stream from its first byte on, bare ones included."""
        if self._is_spent():
            return
        known = len(value) > 2 and _HEAD_BYTES[value[0] << 8 | value[1]]
        start = _find_begin(value[:30], 0) if known else None
        if start or _may_be_bare(value):
            bare = Start("deflate", 0, _make_bare)
            yield from self._stream(start or bare, lambda at, most: value[at : at + most])
        for form, data in () if start else unframed.unpack_blocks(value):
            self._left -= len(data)
            yield from self._search(Start(form, 0, bytes), data, len(data))

    def _is_spent(self) -> bool:
        spent = self._left <= 0 or time.monotonic() > self._until
        if spent:
            self.unread = "more compressed bytes than are unpacked"
        return spent

    def _stream(self, start: Start, source: ReadBytes) -> Generator[Match, None, int]:
        """Matches of one stream; returns where it ends, or where it begins if it is none."""
        unpacker, at, step, found = start.made(), start.at, FIRST, bytearray()
        overlap = self._needles.longest
        while not unpacker.eof and not self._is_spent():
            try:
                # zlib hands back what it did not take; bz2 and lzma keep it, and say when they need more.
                data = getattr(unpacker, "unconsumed_tail", b"") or b""
                if not data and getattr(unpacker, "needs_input", True):
                    data = source(at, step)
                    if not data:
                        break
                    at += len(data)
                part = unpacker.decompress(data, step * 4)
            except _BROKEN as error:
                self.unread = self.unread or _explain_unread(start.form, source(start.at, HEADER), error)
                break
            self._left -= len(part)
            found += part
            step = STEP
            # blocks overlap by the longest needle; what begins in the overlap is found with the next
            while len(found) >= BLOCK + overlap:
                yield from self._search(start, bytes(found[: BLOCK + overlap]), BLOCK)
                del found[:BLOCK]
        if len(found) >= self._needles.shortest:
            yield from self._search(start, bytes(found), len(found))
        return at - len(unpacker.unused_data or b"") if unpacker.eof else start.at

    def _search(self, start: Start, data: bytes, below: int) -> Iterator[Match]:
        for match in self._needles.find(data):
            if match.start < below:
                yield match._replace(form=f"{match.form} in {start.form}", start=start.at)


def _find_starts(data: bytes, at: int, below: int) -> Iterator[Start]:
    """Streams that may begin in the first `below` bytes."""
    raw = np.frombuffer(data, "u1").astype("u2")
    for found in np.flatnonzero(_HEADS[raw[:-1] << 8 | raw[1:]]).tolist() if len(raw) > 2 else ():
        if found >= below:
            return
        start = _find_begin(data[found : found + 30], at + found)
        if start:
            yield start


_MAGICS: tuple[tuple[bytes, str, Callable[[], Any]], ...] = (
    (b"\x1f\x8b\x08", "gzip", lambda: zlib.decompressobj(31)),
    (b"BZh", "bz2", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", "xz", lambda: lzma.LZMADecompressor(memlimit=MEMORY)),
    (b"\x04\x22\x4d\x18", "lz4", lz4.frame.LZ4FrameDecompressor),
    (b"\x28\xb5\x2f\xfd", "zstd", _make_zstd),
    (unframed.SNAPPY, "snappy", unframed.Snappy),
)
# what the libraries raise for broken data differs: bz2 OSError and EOFError, lz4 RuntimeError
_BROKEN = (
    zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError, MemoryError, cramjam.DecompressionError,
    zstd.ZstdError,
)  # fmt: skip


def unpack_value(value: bytes, form: str) -> bytes:
    """What a value that is a stream or block of this form unpacks to, as far as it goes; nothing if it is none."""
    start = _find_begin(value[:30], 0) or Start("deflate", 0, _make_bare)
    if start.form != form:
        return b"".join(data for name, data in unframed.unpack_blocks(value) if name == form)
    unpacker, found = start.made(), bytearray()
    with suppress(*_BROKEN):
        for at in range(start.at, len(value), FIRST):
            if unpacker.eof or len(found) > MOST:
                break
            found += unpacker.decompress(value[at : at + FIRST])
    return bytes(found)


def _find_begin(head: bytes, at: int) -> Start | None:
    for magic, form, made in _MAGICS:
        if head.startswith(magic):
            return Start(form, at, made)
    if head.startswith(b"PK\x03\x04") and len(head) == 30 and head[8:10] == b"\x08\0":  # a file in a ZIP archive
        names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        return Start("deflate", at + 30 + names, _make_bare)
    return Start("zlib", at, lambda: zlib.decompressobj(15)) if _is_plausible(head) else None


def _explain_unread(form: str, head: bytes, error: Exception) -> str:
    """What a stream is that may be whole and was not unpacked; empty: it breaks off, or is none."""
    if form == "zstd" and _wants_dictionary(head):
        return "what is compressed with a dictionary of its own"
    # neither library has an error of its own for a limit of memory
    if isinstance(error, (zstd.ZstdError, lzma.LZMAError)) and "memory" in str(error).lower():
        return "what takes more memory to unpack than is spent on it"
    return ""


def _wants_dictionary(head: bytes) -> bool:
    """Whether a frame of zstd names one: it lies elsewhere, if at all."""
    try:
        return bool(zstd.get_frame_info(head).dictionary_id)
    except zstd.ZstdError:
        return False


def _is_plausible(head: bytes) -> bool:
    """Whether zlib may begin so: its header, then a block."""
    return len(head) >= 7 and head[0] & 0x8F == 8 and _may_be_bare(head[2:7])


def _may_be_bare(head: bytes) -> bool:
    """Whether the first block of deflate is of a kind that exists; if it is stored, its length stands there twice. Of
    any other, nothing is unpacked."""
    kind = head[0] & 6 if head else 6
    if kind:
        return kind != 6
    return int.from_bytes(head[1:3], "little") ^ int.from_bytes(head[3:5], "little") == 0xFFFF
