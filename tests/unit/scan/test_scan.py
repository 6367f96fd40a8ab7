"""Looking for canaries in the bytes of a store: what is there is found, what cannot be looked at is said."""

from __future__ import annotations

import base64
import binascii
import bz2
import gzip
import io
import json
import lzma
import os
import random
import socket
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
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.log.parts import Sighting
from harness.machine import files
from harness.scan import disk, packed, raw, sqlite, unframed
from harness.scan.disk import Needles, Scan, scan

CANARIES = {"pin": "cw0123456789abcdef0123", "key": "cwfedcba9876543210fedc"}
PIN, KEY = CANARIES["pin"], CANARIES["key"]
NEEDLES = Needles(CANARIES)


def escaped(char: str) -> str:
    r"""As JSON, \u in capitals."""
    plain, data = json.dumps(char)[1:-1], char.encode("utf-16-be", "surrogatepass")
    units = [data[at : at + 2].hex().upper() for at in range(0, len(data), 2)]
    return "".join(f"\\u{unit}" for unit in units) if plain.startswith("\\u") else plain


LONE = '\ud83d "ü" not text'
FORMS: dict[str, Callable[[bytes, str], bytes]] = {
    # (what stands before in the same value, the canary) -> as a program would store it
    "utf-8": lambda before, text: before + text.encode("utf-8", "surrogatepass"),
    "utf-16": lambda before, text: before + b"x\0" + text.encode("utf-16-le", "surrogatepass") + b"y\0",
    "utf-16 of the other order": lambda before, text: (
        before + b"\0x" + text.encode("utf-16-be", "surrogatepass") + b"\0y"
    ),
    "json": lambda before, text: json.dumps({"t": text + "."}).encode(),
    "json in capitals": lambda before, text: "".join(map(escaped, text)).encode(),
    "json in UTF-8": lambda before, text: json.dumps([text], ensure_ascii=False).encode("utf-8", "surrogatepass"),
    "base64": lambda before, text: base64.b64encode(before + text.encode("utf-8", "surrogatepass") + b"?"),
    "base64 for URLs": lambda before, text: base64.urlsafe_b64encode(
        before + text.encode("utf-8", "surrogatepass") + b"?"
    ),
    "hex": lambda before, text: binascii.hexlify(before + text.encode("utf-8", "surrogatepass")),
    "hex in capitals": lambda before, text: (before + text.encode("utf-8", "surrogatepass")).hex().upper().encode(),
}


def threes(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(len(text) - 2)]


PLAIN_FORMS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "upper": ("another case", lambda text: text.upper().encode()),
    "upper utf-16": ("another case", lambda text: b"x\0" + text.upper().encode("utf-16-le")),
    "upper hex": ("hex", lambda text: text.encode().hex().upper().encode()),
    "utf-32": ("utf-32", lambda text: text.encode("utf-32-le")),
    "utf-32 of the other order": ("utf-32", lambda text: text.encode("utf-32-be")),
    "reversed": ("reversed", lambda text: text[::-1].encode()),
    "reversed utf-16": ("reversed", lambda text: b"\0" + text[::-1].encode("utf-16-be") + b"\0"),
    "trigrams": ("trigrams", lambda text: " ".join(threes(text)).encode()),
    "trigrams in JSON": ("trigrams", lambda text: json.dumps(threes(text)).encode()),
}  # fmt: skip
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(how=st.sampled_from(sorted(PLAIN_FORMS)), before=st.binary(max_size=90), piece=st.integers(40, 300))
def test_other_forms_are_found_wherever_they_stand(root: Path, how: str, before: bytes, piece: int) -> None:
    form, make = PLAIN_FORMS[how]
    (root / "data.bin").write_bytes(before + make(PIN) + before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        assert {(each.fact, each.form) for each in look(root).sightings} == {("pin", form)}


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


def look(root: Path, path: str = ".") -> Scan:
    return scan(root, Layer("all", path, "file"), NEEDLES)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(max_size=40), min_size=1, max_size=6), piece=st.integers(1, 80))
def test_a_canary_is_found_wherever_it_stands(root: Path, parts: list[bytes], piece: int) -> None:
    """Also across the borders of the pieces that are read, and never twice."""
    parts = [part.replace(b"cw", b"") for part in parts]
    data = PIN.encode().join(parts)
    assume(not any(data.startswith(begin) and data.endswith(end) for _, begin, end in disk._OPAQUE))
    assume(not any(magic in data for magic, *_ in packed._MAGICS))
    (root / "data.bin").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw, "PIECE", piece)
        found = look(root, "data.bin")
    wanted = [Sighting(fact="pin", path="data.bin", form="utf-8", count=len(parts) - 1, offset=len(parts[0]))]
    assert found.sightings == (wanted if len(parts) > 1 else [])
    assert (found.files, found.bytes, found.problem) == (1, len(data), None)


@settings(max_examples=200, deadline=None)
@given(
    form=st.sampled_from(sorted(FORMS)),
    text=st.sampled_from((PIN, LONE)) | st.text(min_size=8, max_size=30),
    before=st.binary(max_size=7),
    odd=st.binary(max_size=3),
)
def test_a_canary_is_found_in_every_form(form: str, text: str, before: bytes, odd: bytes) -> None:
    stored = odd + FORMS[form](before, text) + odd
    found = {match.form for match in Needles({"x": text}).find(stored)}
    assert found, (form, text)
    if text == PIN:
        assert found == {{"json": "utf-8"}.get(form.split()[0], form.split()[0])}


def test_what_is_not_there_is_not_seen() -> None:
    for make in FORMS.values():
        assert not list(NEEDLES.find(make(b"ab", PIN[:-1] + "z")))
        assert not list(NEEDLES.find(make(b"ab", PIN)[:-8]))


def test_what_two_names_share_is_seen_for_both(root: Path) -> None:
    needles = Needles({"one": PIN, "two": PIN, "part": PIN[4:]})
    assert sorted((match.fact, match.start) for match in needles.find(b"--" + PIN.encode())) == [
        ("one", 2),
        ("part", 6),
        ("two", 2),
    ]
    with pytest.raises(ValueError, match="none is empty"):
        Needles({"none": ""})


def test_a_folder_is_looked_through_to_the_bottom(root: Path) -> None:
    for name in ("a.txt", "deep/er/b.bin", "deep/.hidden"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"x{KEY}")
    (root / "empty").touch()
    found = look(root)
    assert sorted(each.path for each in found.sightings) == ["a.txt", "deep/.hidden", "deep/er/b.bin"]
    assert (found.files, found.problem) == (4, None)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Layer("far", "anywhere", "remote"), "remote"),
        (Layer("up", "../outside", "file"), "outside"),
        (Layer("up", "../../../../../..", "file"), "outside"),
        (Layer("top", "/etc", "file"), "outside"),
        (Layer("own", "{root}", "file"), "outside"),
        (Layer("null", "a\x00b", "file"), "cannot be read"),
        (Layer("long", "x" * 5000, "file"), "cannot be read"),
        (Layer("gone", "nowhere", "file"), "holds no file"),
        (Layer("link", "link", "file"), "outside"),
        (Layer("fifo", "fifo", "file"), "not a regular file"),
        (Layer("loop", "loop", "file"), ""),
    ],
)
def test_what_cannot_be_looked_at_is_never_a_pass(root: Path, layer: Layer, words: str) -> None:
    (root.parent / "outside").write_text(PIN)
    (root / "link").symlink_to(root.parent / "outside")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    found = scan(root, Layer(layer.name, layer.path.format(root=root), layer.format), NEEDLES)
    assert found.problem is not None and words in found.problem
    assert found.sightings == [] and found.files == 0
    assert len(found.problem.splitlines()) == 1 and len(found.problem) < 5100


def test_links_are_not_followed_and_the_rest_is_still_looked_at(root: Path) -> None:
    (root.parent / "outside").write_text(PIN)
    (root / "link").symlink_to(root.parent / "outside")
    (root / "real").write_text(KEY)
    found = look(root)
    assert [each.fact for each in found.sightings] == ["key"]
    assert found.problem == "link is not a regular file and was not followed"


def test_a_link_to_what_is_looked_at_anyway_is_no_problem(root: Path) -> None:
    (root / "deep").mkdir()
    (root / "deep/real").write_text(KEY)
    (root / "latest").symlink_to("deep/real")
    (root / "also").symlink_to(root / "deep")
    found = look(root)
    assert ([each.path for each in found.sightings], found.files, found.problem) == (["deep/real"], 1, None)
    assert "was not followed" in (look(root, "latest").problem or "")
    (root / "deep/up").symlink_to("..")  # the layer's own folder, again and again
    (root / "other").symlink_to("nowhere")
    assert (look(root).files, len(look(root).problems)) == (1, 2)


def test_pipes_and_sockets_are_named_and_do_not_stop_the_look(root: Path) -> None:
    os.mkfifo(root / "a-pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "b-socket"))
    (root / "real").write_text(KEY)
    found = look(root)
    assert [each.fact for each in found.sightings] == ["key"]
    assert "a-pipe is not" in (found.problem or "") and "b-socket is not" in (found.problem or "")
    with pytest.raises(OSError, match="not a regular file"), files.open_regular(root / "a-pipe"):  # took a file's place
        pass


@pytest.mark.parametrize("broken", ["folder", "file"])
def test_what_cannot_be_read_is_named_and_does_not_stop_the_look(
    root: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (root / "deep").mkdir()
    (root / "deep/file").write_text(PIN)
    (root / "real").write_text(KEY)
    name, real = (
        {"folder": "listdir", "file": "open"}[broken],
        getattr(os, {"folder": "listdir", "file": "open"}[broken]),
    )

    def refusing(path: Path, *more: int) -> object:
        if Path(path) == root / {"folder": "deep", "file": "deep/file"}[broken]:
            raise PermissionError(13, "Permission denied")
        return real(path, *more)

    monkeypatch.setattr(os, name, refusing)
    found = look(root)
    assert ([each.fact for each in found.sightings], found.files) == (["key"], 1)
    assert "cannot be read: Permission denied" in (found.problem or "")


def test_names_that_are_no_text_can_be_written_to_a_log(root: Path) -> None:
    Path(os.fsdecode(bytes(root) + b"/\xff\xfe")).write_text(KEY)
    os.mkfifo(os.fsdecode(bytes(root) + b"/pipe\xff"))
    found = look(root)
    assert [each.model_dump(mode="json")["path"] for each in found.sightings] == [r"\xff\xfe"]
    (found.problem or "").encode()


def test_many_problems_are_one_line(root: Path) -> None:
    for at in range(9):
        os.mkfifo(root / f"pipe\n{at}")
    problem = look(root).problem or ""
    assert problem.endswith("and 4 more") and len(problem.splitlines()) == 1


def test_a_file_that_vanishes_meanwhile_was_not_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is still at work when its bytes are looked at before the deletion."""
    (root / "a-journal").write_text(PIN)
    (root / "store").write_text(KEY)
    real = os.open

    def vanishing(path: Path, flags: int) -> int:
        (root / "a-journal").unlink(missing_ok=True)
        return real(path, flags)

    monkeypatch.setattr(os, "open", vanishing)
    found = look(root)
    assert ([each.fact for each in found.sightings], found.files, found.problem) == (["key"], 1, None)


def test_a_file_that_gets_shorter_meanwhile_is_read_as_far_as_it_goes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "log").write_bytes(PIN.encode() + bytes(5000) + KEY.encode())
    monkeypatch.setattr(raw, "PIECE", 1000)
    real = os.pread

    def shortening(file: int, size: int, at: int) -> bytes:
        os.truncate(root / "log", 2000)
        return real(file, size, at)

    monkeypatch.setattr(os, "pread", shortening)
    found = look(root)
    assert ([each.fact for each in found.sightings], found.problem) == (["pin"], None)


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
