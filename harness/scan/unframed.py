"""Compressed bytes that the standard library does not unpack: framed Snappy, and values that are one bare block."""

from __future__ import annotations

from collections.abc import Iterator

import cramjam
import lz4.block

SNAPPY = b"\xff\x06\0\0sNaPpY"
_CHUNK = 1 << 16
"""Bytes that a chunk of framed Snappy holds at most, unpacked."""
_LARGEST = 1 << 24
"""Bytes of a chunk or value that is unpacked at once."""


class Snappy:
    """A framed stream, unpacked chunk by chunk, with the interface of `zlib.decompressobj`."""

    def __init__(self) -> None:
        self.eof, self.unused_data, self.needs_input = False, b"", True
        self._kept = b""

    def decompress(self, data: bytes, most: int = 0) -> bytes:
        """All whole chunks of what it has; `most` is the limit of a chunk, too. What is no chunk ends the stream."""
        self._kept += data
        found = bytearray()
        while len(self._kept) >= 4 and not self.eof:
            kind, size = self._kept[0], int.from_bytes(self._kept[1:4], "little")
            # no reader may pass over a chunk of a kind below 0x80 that it does not know
            if 1 < kind < 0x80 or size > _CHUNK * 2:
                self.eof, self.unused_data = True, self._kept
                break
            if len(self._kept) < 4 + size:
                break
            body, self._kept = self._kept[4 : 4 + size], self._kept[4 + size :]
            if kind == 0:
                # a checksum of four bytes stands before what is packed
                found += _unpack_snappy(body[4:], _CHUNK)
            elif kind == 1:
                found += body[4:]
        return bytes(found)


def unpack_blocks(value: bytes) -> Iterator[tuple[str, bytes]]:
    """What a value unpacks to if it is one bare block: of Snappy, or of LZ4 with its size before it."""
    for form, unpack in (("snappy", _unpack_snappy), ("lz4", _unpack_lz4)):
        try:
            yield form, unpack(value, _LARGEST)
        except (OSError, ValueError, RuntimeError, cramjam.DecompressionError, lz4.block.LZ4BlockError):
            continue


def _unpack_snappy(block: bytes, most: int) -> bytes:
    # memory is taken by the size that a block states, which may be huge
    if cramjam.snappy.decompress_raw_len(block) > most:
        raise ValueError("larger than what is unpacked")
    return bytes(cramjam.snappy.decompress_raw(block))


def _unpack_lz4(block: bytes, most: int) -> bytes:
    if not 0 < int.from_bytes(block[:4], "little") <= min(most, 255 * len(block)):  # no block packs more
        raise ValueError("no size before it")
    return bytes(lz4.block.decompress(block))
