"""Forms at their edges: frames and blocks byte by byte, needles as they are written, vectors at the end of the data."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import cramjam
import lz4.block
import numpy as np
import pytest

from harness.adapter import Layer
from harness.scan import unframed
from harness.scan.disk import Needles, scan
from harness.scan.packed import Unpacking
from harness.scan.unframed import SNAPPY, Snappy, unpack_blocks
from harness.text import encodings

PIN = "cw0123456789abcdef0123"
RNG = np.random.default_rng(5)
VECTOR = RNG.standard_normal(96).astype("f4")
NEAR = VECTOR * np.float32(17.3)
NEEDLES = Needles({}, {"it": VECTOR.tobytes()})


# --- frames and blocks ---


def chunk(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "little") + body


def raw(text: bytes) -> bytes:
    """With the place of a checksum."""
    return bytes(4) + bytes(cramjam.snappy.compress_raw(text))


@pytest.mark.parametrize(
    ("chunks", "found", "rest"),
    [
        ([chunk(0, raw(b"one")), chunk(0, raw(b"two"))], b"onetwo", None),
        ([chunk(1, bytes(4) + b"plain"), chunk(0, raw(b"two"))], b"plaintwo", None),
        ([chunk(0xFE, b"padding"), chunk(0x80, b"skipped"), SNAPPY, chunk(0, raw(b"two"))], b"two", None),
        ([chunk(0, raw(b"one")), chunk(2, b"reserved"), chunk(0, raw(b"two"))], b"one", 0x02),
        ([chunk(0, raw(b"one")), chunk(0x7F, b"reserved")], b"one", 0x7F),
        ([chunk(0xFE, bytes(1 << 17)), chunk(0, raw(b"two"))], b"two", None),
        ([chunk(0xFE, bytes((1 << 17) + 1)), chunk(0, raw(b"two"))], b"", 0xFE),
        ([chunk(2, b"")], b"", 0x02),
        ([chunk(0xFE, b"")], b"", None),
    ],
)
@pytest.mark.parametrize("step", [1 << 20, 3])
def test_a_frame_is_read_chunk_by_chunk_up_to_what_is_none(
    chunks: list[bytes], found: bytes, rest: int | None, step: int
) -> None:
    """However the bytes arrive."""
    stream, data, made = Snappy(), b"".join(chunks), bytearray()
    for at in range(0, len(data), step):
        made += stream.decompress(data[at : at + step], 1 << 20)
        if stream.eof:
            break
    assert (bytes(made), stream.eof) == (found, rest is not None)
    assert stream.unused_data[:1] == (bytes([rest]) if rest is not None else b"")


def test_a_chunk_holds_no_more_than_its_format_allows() -> None:
    for size, held in ((1 << 16, True), ((1 << 16) + 1, False)):
        try:
            assert (Snappy().decompress(chunk(0, raw(bytes(size))), 1 << 20) == bytes(size)) == held
        except ValueError:
            assert not held


def test_bare_blocks_are_unpacked_up_to_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"One thing after the other. " * 10
    packed = {"lz4": lz4.block.compress(text), "snappy": bytes(cramjam.snappy.compress_raw(text))}
    for most, seen in ((len(text), True), (len(text) - 1, False)):
        monkeypatch.setattr(unframed, "_LARGEST", most)
        for form, value in packed.items():
            assert ((form, text) in list(unpack_blocks(value))) == seen
            found = Unpacking(Needles({"it": "after the other"})).value(value)
            assert [(match.form, match.start) for match in found] == [(f"utf-8 in {form}", 0)] * 10 * seen


def test_a_block_of_one_byte_is_one_and_a_block_of_none_is_not() -> None:
    assert ("lz4", b"a") in list(unpack_blocks(lz4.block.compress(b"a")))
    assert "lz4" not in dict(unpack_blocks(lz4.block.compress(b"")))
    assert not list(unpack_blocks(b"\xff\xff\xff\x7f" + bytes(20)))


def test_a_file_in_a_zip_begins_behind_its_name_and_its_extra_field() -> None:
    told = zipfile.ZipInfo("a name of a file", (2026, 2, 3, 10, 0, 0))
    told.extra, told.compress_type = b"\x99\x99\x03\0abc", zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr(told, PIN * 3)
    data, needles = file.getvalue(), Needles({"pin": PIN})
    found = list(Unpacking(needles).file(lambda at, most: data[at : at + most], [0], len(data)))
    assert "utf-8 in deflate" in {match.form for match in found}


# --- needles ---


def test_each_form_of_a_text_is_as_programs_write_it() -> None:
    forms = encodings.encode_text("\u00e9\nx")
    assert forms[b"\\u00e9\\nx"] == forms[b"\\u00E9\\nx"] == "json"
    assert not any(b"\\u0A" in each or b"\\uN" in each for each in forms)


def test_three_trigrams_tell_a_text_and_two_do_not() -> None:
    assert b"abcbcdcde" in encodings.encode_text("abcde")
    assert "trigrams" not in encodings.encode_text("abcd").values()


def test_a_pickled_list_is_sought_from_its_first_number_to_its_last() -> None:
    needle = next(each for each, form in encodings.encode_vector(VECTOR.tobytes()).items() if form == "pickled floats")
    listed = pickle.dumps(VECTOR.tolist(), protocol=2)
    assert needle[:1] == b"G" and needle == listed[listed.index(b"(") + 1 : listed.index(b"e.")]
    assert len(needle) == 9 * len(VECTOR)


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_decimal_numbers_are_sought_from_the_first_digit_to_the_last(separators: tuple[str, str]) -> None:
    listed = json.dumps(VECTOR.tolist(), separators=separators)
    assert [match.start for match in NEEDLES.find(b"some" + listed.encode())] == [5]
    other = listed[:-2] + ("1" if listed[-2] != "1" else "2") + "]"
    assert not list(NEEDLES.find(other.encode()))


def test_letters_of_any_alphabet_are_found_in_another_case() -> None:
    for stored in ("ÄRGER ÜBER ÖL", "ärger über öl"):
        assert [match.form for match in Needles({"it": "Ärger über Öl"}).find(stored.encode())] == ["another case"]


# --- vectors ---


@pytest.mark.slow
@pytest.mark.parametrize("form", ["f4", "f2", "i1"])
def test_a_vector_that_the_data_cut_off_is_none_and_breaks_nothing(form: str) -> None:
    wanted = VECTOR.copy()
    wanted[16:] = np.abs(wanted[16:])  # so that nothing, which is not negative, goes on as it does
    needles = Needles({}, {"it": wanted.tobytes()})
    data = (wanted * 3 if form != "i1" else np.round(wanted / np.abs(wanted).max() * 127)).astype(form).tobytes()
    for end in range(0, len(data), 1 + len(data) // 97):
        for before in (b"", b"1", RNG.bytes(801)):
            assert not list(needles.find(before + data[:end]))
    assert [match.start for match in needles.find(b"1234567" + data)] == [7]


def test_a_near_vector_is_in_one_value_or_in_none() -> None:
    data = NEAR.tobytes()
    assert [(number, match.start) for number, match in NEEDLES.find_each([b"some", data, b"x" + data])] == [
        (1, 0),
        (2, 1),
    ]
    assert not list(NEEDLES.find_each([data[:200], data[200:]]))


def test_a_vector_of_one_word_has_near_ones_too() -> None:
    short = RNG.standard_normal(16).astype("f4")
    (match,) = Needles({}, {"it": short.tobytes()}).find(b"head" + (short * np.float32(3)).tobytes() + b"tail")
    assert (match.start, match.form) == (4, "float32") and (match.nearness or 0) > 0.9999


def test_of_a_vector_that_is_mostly_zero_no_copies_in_few_bits_are_sought() -> None:
    """Anything might be one. In full numbers it is found."""
    sparse = np.zeros(96, "f4")
    sparse[::12] = VECTOR[:8]
    needles = Needles({}, {"it": sparse.tobytes()})
    cut = (sparse.view("u4") >> 16).astype("<u2").tobytes()
    assert not list(needles.find(cut))
    assert [match.form for match in needles.find((sparse * np.float32(3)).tobytes())] == ["float32"]


def test_without_vectors_none_is_near() -> None:
    assert not list(Needles({"pin": PIN}).find(VECTOR.tobytes()))
    assert not list(Needles({}).find(b"anything"))


@pytest.mark.parametrize("turned", [False, True])
def test_the_nearest_of_several_copies_counts(tmp_path: Path, turned: bool) -> None:
    halves = VECTOR.astype("f2").astype("f4")
    eighths = (np.round(VECTOR / np.abs(VECTOR).max() * 127)).astype("f4")
    copies = [eighths, halves][:: -1 if turned else 1]
    (tmp_path / "x").write_bytes(b"".join(each.tobytes() for each in copies))
    (seen,) = scan(tmp_path, Layer("all", ".", "file"), NEEDLES).sightings
    cosine = float(halves.astype("f8") @ VECTOR / np.linalg.norm(halves.astype("f8")) / np.linalg.norm(VECTOR))
    assert seen.count == 2 and seen.nearness == pytest.approx(cosine, abs=1e-7)


@pytest.mark.parametrize(("head", "size"), [(b"PK", 0x4B50), (b"PK", 0x24B50), (b"\x78\x9c", 0x9C78)])
def test_a_block_whose_size_reads_like_the_head_of_a_stream_is_unpacked(head: bytes, size: int) -> None:
    block = lz4.block.compress(PIN.encode() + bytes(size - len(PIN)))
    assert block.startswith(head)
    assert [match.form for match in Unpacking(Needles({"pin": PIN})).value(block)] == ["utf-8 in lz4"]


def test_what_is_searched_is_described_in_full() -> None:
    told = encodings.describe_searched()
    assert all(form in told for form in (*encodings.TEXT, *encodings.VECTOR, *encodings.PACKED))
