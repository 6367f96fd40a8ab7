"""Files whose contents are not unpacked: they are told, and nothing in them is called gone."""

from __future__ import annotations

import lzma
import random
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from harness.adapter import Layer
from harness.scan import packed
from harness.scan.disk import Needles, Scan, scan

KEY = "cwfedcba9876543210fedc"


def look(root: Path) -> Scan:
    return scan(root, Layer("all", ".", "file"), Needles({"key": KEY}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


OPAQUE = {
    "Parquet": (b"PAR1", b"schema" + (6).to_bytes(4, "little") + b"PAR1"),
    "an Arrow file": (b"ARROW1\0\0", b"footer ARROW1"),
    "Avro": (b"Obj\x01", b"sixteen of a sync"),
    "a Lance file": (b"", bytes(12) + b"LANC"),
    "a table of LevelDB": (b"", (0xDB4775248B80FB57).to_bytes(8, "little")),
    "a table of RocksDB": (b"", (0x88E241B785F4CFF7).to_bytes(8, "little")),
    "an archive of 7-Zip": (b"7z\xbc\xaf\x27\x1c\0\4", b"its last bytes"),
    "an archive of RAR": (b"Rar!\x1a\x07\1\0", b"its last bytes"),
    "a file of lzip": (b"LZIP\x01\x0c", b"its last bytes"),
    "a file of lzop": (b"\x89LZO\0\r\n\x1a\n", b"its last bytes"),
    "a file of compress": (b"\x1f\x9d\x90", b"its last bytes"),
    "a file of bare LZMA": (lzma.compress(b"k", lzma.FORMAT_ALONE)[:13], b"its last bytes"),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_of_a_file_of_bare_compressed_pages_nothing_is_called_gone(root: Path, name: str) -> None:
    begin, end = OPAQUE[name]
    page = bytes(cramjam.snappy.compress_raw(KEY.encode() * 9))
    (root / "data.bin").write_bytes(begin + page + end)
    found = look(root)
    assert found.files == 1 and f"'data.bin' is {name}, whose" in (found.problem or "")


@pytest.mark.parametrize("data", [b"PAR1 is how a Parquet file begins and ends: PAR1", b"PAR1", b"", b"short: LANC"])
def test_what_only_begins_or_ends_like_such_a_file_is_searched(root: Path, data: bytes) -> None:
    (root / "data.bin").write_bytes(data)
    assert look(root).problem is None


def parquet(schema: bytes, told: int) -> bytes:
    return b"PAR1" + schema + told.to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    ("data", "opaque"),
    [
        (parquet(b"s", 1), True),
        (parquet(b"schema", 6), True),
        (parquet(b"schema", 7), False),
        (parquet(b"schema", 0), False),
        (bytes(8) + b"LANC", True),
        (bytes(7) + b"LANC", False),
    ],
)
def test_such_a_file_has_room_for_what_its_end_tells(root: Path, data: bytes, opaque: bool) -> None:
    """A Parquet file tells how long its schema is, and whatever is opaque has a head and an end."""
    (root / "data.bin").write_bytes(data)
    assert (look(root).problem is not None) is opaque


@pytest.mark.parametrize("pack", [lzma.compress, lambda data: bytes(cramjam.zstd.compress(data))], ids=["xz", "zstd"])
def test_a_stream_that_is_spoilt_is_none_that_wants_more_memory(root: Path, pack: Callable[[bytes], bytes]) -> None:
    stream = pack(random.Random(1).randbytes(900))
    for at in range(6, 40):
        (root / "data.bin").write_bytes(stream[:at] + bytes([stream[at] ^ 0xFF]) + stream[at + 1 :])
        assert "memory" not in (look(root).problem or "")


def test_of_a_frame_with_a_dictionary_of_its_own_nothing_is_called_gone(root: Path) -> None:
    """A frame header that names one; a dictionary lies in another place, if anywhere."""
    (root / "data.bin").write_bytes(bytes(40) + b"\x28\xb5\x2f\xfd\x21\x07\x09" + bytes(60))
    assert "holds what is compressed with a dictionary of its own" in (look(root).problem or "")


def test_what_only_begins_like_a_frame_is_none_with_a_dictionary(root: Path) -> None:
    """A header with a bit that no header has."""
    (root / "data.bin").write_bytes(bytes(40) + b"\x28\xb5\x2f\xfd\x08" + bytes(60))
    assert look(root).problem is None


def _long(window: int) -> bytes:
    """A frame of zstd that wants a window of two to the power of that."""
    zstd = packed.zstd
    made = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window})
    return bytes(made.compress(KEY.encode() * 9) + made.flush())


def _xz(dictionary: int) -> bytes:
    return lzma.compress(KEY.encode() * 9, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": dictionary}])


@pytest.mark.parametrize("data", [_long(26), _long(27), _xz(1 << 26)], ids=["long", "longer", "xz -9"])
def test_what_the_usual_tools_make_at_their_strongest_is_unpacked(root: Path, data: bytes) -> None:
    (root / "data.bin").write_bytes(data)
    found = look(root)
    assert found.sightings and found.problem is None


@pytest.mark.parametrize("data", [_long(28), _long(30), _xz(1 << 28)], ids=["long", "longer", "xz"])
def test_of_what_wants_more_memory_nothing_is_called_gone(root: Path, data: bytes) -> None:
    (root / "data.bin").write_bytes(bytes(40) + data)
    assert "holds what takes more memory to unpack than is spent on it" in (look(root).problem or "")
