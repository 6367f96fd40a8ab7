"""Compressed bytes of a store: unpacked wherever they start, as far as they go, and within bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import cramjam
import lz4.block
import lz4.frame
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.scan import packed, raw, sqlite, unframed
from harness.scan.disk import Needles
from tests.support.canaries import KEY, NEEDLES, PIN, look, make_folder

ROOM = b"What else is told in the same breath, over and over, and over again. " * 3
PACK: dict[str, Callable[[bytes], bytes]] = {
    "zlib": zlib.compress,
    "zlib at its fastest": lambda data: zlib.compress(data, 1),
    "zlib, stored": lambda data: zlib.compress(data, 0),
    "zlib of a small window": lambda data: (made := zlib.compressobj(wbits=10)).compress(data) + made.flush(),
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "deflate in a ZIP": lambda data: zipped(data),
    "lz4": lz4.frame.compress,
    "lz4 in small blocks that stand alone": lambda data: lz4.frame.compress(data, block_linked=False, block_size=4),
    "snappy": lambda data: bytes(cramjam.snappy.compress(data)),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    "zstd that does not say its size": lambda data: streamed(data),
}


def streamed(data: bytes) -> bytes:
    made = cramjam.zstd.Compressor(level=1)
    made.compress(data)
    return bytes(made.finish())


def zipped(data: bytes) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows", data)
    return file.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    how=st.sampled_from(sorted(PACK)),
    before=st.binary(max_size=300),
    piece=st.integers(100, 600),
    turns=st.integers(0, 9),
)
def test_what_is_compressed_is_unpacked_wherever_it_starts(
    root: Path, how: str, before: bytes, piece: int, turns: int
) -> None:
    """At any offset, across the borders of pieces, with anything before it and behind it."""
    stream = PACK[how](ROOM * turns + PIN.encode() + ROOM)
    (root / "data.bin").write_bytes(before + stream + before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        seen = {(each.fact, each.form.partition(" in ")[2]) for each in look(root).sightings}
    assert ("pin", how.replace(",", " ").split()[0]) in seen


def test_a_stream_that_breaks_off_is_searched_as_far_as_it_goes(root: Path) -> None:
    noise = random.Random(1).randbytes(4000)
    stream = zlib.compress(noise + PIN.encode() + noise * 3)
    (root / "data.bin").write_bytes(stream[:9000] + bytes(100))
    assert [(each.fact, each.form) for each in look(root).sightings if " in " in each.form] == [
        ("pin", "utf-8 in zlib")
    ]


@pytest.mark.slow
def test_what_unpacks_to_more_than_its_share_is_searched_within_bounds_and_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST", 1 << 20)
    (root / "bomb").write_bytes(zlib.compress(bytes(50 << 20)) + zlib.compress(PIN.encode()))
    found = look(root)
    assert found.problem == "'bomb' holds more compressed bytes than are unpacked"


def test_a_value_that_was_not_unpacked_to_its_end_is_unpacked_by_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    needles, value = Needles({"pin": PIN}), zlib.compress(bytes(5000) + PIN.encode())
    with monkeypatch.context() as within:
        within.setattr(packed, "MOST", 1)
        hurried = packed.Unpacking(needles)
        assert not list(hurried.value(value)) and hurried.unread
    assert [match.fact for match in packed.Unpacking(needles).value(value)] == ["pin"]


def in_no_hurry(data: bytes) -> bytes:
    """A block that is not the last, with the fewest codes that one can have: its first byte names its kind alone."""
    made = zlib.compressobj(wbits=-15, strategy=zlib.Z_HUFFMAN_ONLY)
    return made.compress(data) + made.flush(zlib.Z_SYNC_FLUSH)


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda data: zlib.compress(data, 0)[2:])))
@example(in_no_hurry(ROOM))
def test_no_value_that_unpacks_is_passed_over(value: bytes) -> None:
    unpacked = b""
    with suppress(zlib.error):
        unpacked = zlib.decompressobj(-15).decompress(value)
    assert packed._may_be_bare(value) or not unpacked


def test_random_bytes_show_nothing() -> None:
    data = random.Random(3).randbytes(2 << 20)
    unpacking = packed.Unpacking(NEEDLES)
    assert not list(NEEDLES.find(data)) and not list(
        unpacking.file(lambda at, most: data[at : at + most], [0], len(data))
    )


def test_a_value_that_stands_in_two_columns_is_found_in_both(root: Path) -> None:
    with closing(sqlite3.connect(root / "x.db")) as link:
        link.execute("create table rows (one blob, other blob)")
        value = zlib.compress(PIN.encode() + ROOM)
        link.execute("insert into rows values (?, ?)", [value, value])
        link.execute("insert into rows values ('empty of it', 'empty of it')")
        link.commit()
    places = {place for place, _ in sqlite.find_in_rows(root / "x.db", NEEDLES)}
    assert {"rows rows.one", "rows rows.other"} <= places


def test_rows_are_unpacked_and_trigrams_are_put_together(root: Path) -> None:
    bare = zlib.compressobj(wbits=-15)
    with closing(sqlite3.connect(root / "x.db")) as link:
        link.execute("create table rows (text blob)")
        link.execute("insert into rows values (?)", [bare.compress(PIN.encode() + ROOM) + bare.flush()])
        link.execute("create table grams (gram text, id integer)")
        link.executemany("insert into grams values (?, 1)", [[KEY[at : at + 3].upper()] for at in range(len(KEY) - 2)])
        link.commit()
    seen = {(each.fact, each.form, each.place) for each in look(root).sightings if each.place.startswith("rows")}
    assert {("pin", "utf-8 in deflate", "rows rows.text"), ("key", "trigrams", "rows grams.gram")} <= seen


def cut_in_half(stream: bytes) -> bytes:
    return stream[: len(stream) // 2]


@pytest.mark.parametrize(
    ("form", "stream"),
    [
        ("lz4", lambda data: lz4.frame.compress(data, block_size=4)),
        ("snappy", lambda data: bytes(cramjam.snappy.compress(data))),
        ("zstd", streamed),
    ],
)
def test_a_frame_that_breaks_off_is_searched_as_far_as_it_goes(
    root: Path, form: str, stream: Callable[[bytes], bytes]
) -> None:
    noise = random.Random(1).randbytes(200_000)
    (root / "data.bin").write_bytes(cut_in_half(stream(PIN.encode() + noise + noise[::-1])) + bytes(100))
    assert ("pin", f"utf-8 in {form}") in {(each.fact, each.form) for each in look(root).sightings}


@pytest.mark.parametrize(
    ("form", "block"),
    [("snappy", lambda data: bytes(cramjam.snappy.compress_raw(data))), ("lz4", lz4.block.compress)],
)
def test_a_bare_block_is_unpacked_as_the_value_of_a_row(root: Path, form: str, block: Callable[[bytes], bytes]) -> None:
    with closing(sqlite3.connect(root / "x.db")) as link:
        link.execute("create table rows (text blob)")
        link.execute("insert into rows values (?)", [block(ROOM + KEY[::-1].encode() + ROOM + PIN.encode())])
        link.commit()
    assert form in {each.form.partition(" in ")[2] for each in look(root).sightings}


@given(st.binary(max_size=400))
def test_any_value_is_read_to_its_end_without_a_word(value: bytes) -> None:
    for head in (b"", unframed.SNAPPY, b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd", b"\xff\xff\xff\x7f"):
        list(packed.Unpacking(NEEDLES).value(head + value))
