"""What a scan reads, unpacks and says at the very edge of its bounds."""

from __future__ import annotations

import errno
import io
import os
import random
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.scan import disk, packed, raw, sqlite
from harness.scan.disk import Needles, Scan, Survey, looks, scan
from harness.scan.needles import Match, compile_needles
from harness.scan.packed import Unpacking

PIN = "cw0123456789abcdef0123"
NEEDLES = Needles({"pin": PIN})


def look(root: Path, name: str = ".") -> Scan:
    return scan(root, Layer("all", name, "file"), NEEDLES)


def write_holes(monkeypatch: pytest.MonkeyPatch, *extents: tuple[int, int]) -> None:
    """As on a file system that tells where something was written."""
    monkeypatch.setattr(raw, "find_written", lambda file, size: iter(extents))


# --- files ---


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    seen = [str(path.relative_to(tmp_path)) for path in raw.files(tmp_path, lambda path, why: None)]
    assert seen == ["a", "b/1", "b/2", "c"]
    spared = [path.name for path in raw.files(tmp_path, lambda path, why: None, {tmp_path / "a", tmp_path / "b"})]
    assert spared == ["c"]


def test_files_beyond_the_bound_are_not_searched_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "FILES", 2)
    for name in "ab":
        (tmp_path / name).write_text(PIN)
    assert (look(tmp_path).files, look(tmp_path).problem) == (2, None)
    for name in "cd":
        (tmp_path / name).write_text(PIN)
    found = look(tmp_path)
    assert (found.files, found.problem) == (2, "only the first 2 files were searched")


def test_bytes_beyond_the_bound_are_not_searched_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST", 50)
    (tmp_path / "a").write_bytes(bytes(20))
    (tmp_path / "b").write_bytes(bytes(8) + PIN.encode())
    assert (look(tmp_path).problem, len(look(tmp_path).sightings)) == (None, 1)
    (tmp_path / "c").write_bytes(PIN.encode())
    found = look(tmp_path)
    assert found.problem == "'c' was searched in its first 0 of 22 bytes only" and len(found.sightings) == 1
    (tmp_path / "d").write_bytes(b"d")
    assert (look(tmp_path).problem or "").endswith("'d' was searched in its first 0 of 1 bytes only")


def test_holes_are_no_part_of_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST", 50)
    (tmp_path / "a").write_bytes(bytes(400) + PIN.encode() + bytes(100))
    write_holes(monkeypatch, (0, 10), (400, 430), (440, 450))
    assert (look(tmp_path).problem, [each.offset for each in look(tmp_path).sightings]) == (None, [400])
    write_holes(monkeypatch, (0, 20), (400, 431))
    assert look(tmp_path).problem == "'a' was searched in its first 430 of 522 bytes only"


def test_what_could_not_be_read_has_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text(PIN)

    def broken(file: int, size: int, at: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    found = look(tmp_path)
    assert (found.files, found.bytes) == (0, 0) and found.problem == "'a' cannot be read: Input/output error"


def test_the_sixth_problem_is_counted(tmp_path: Path) -> None:
    for at in range(6):
        os.mkfifo(tmp_path / f"pipe{at}")
    assert (look(tmp_path).problem or "").endswith("pipe4 is not a regular file and was not followed; and 1 more")


def test_a_database_that_is_not_there_is_not_called_another_format(tmp_path: Path) -> None:
    (tmp_path / "other").write_text(PIN)
    assert scan(tmp_path, Layer("db", "nowhere.db", "sqlite"), NEEDLES).problem == "nowhere.db holds no file"


def test_what_no_layer_covers_is_looked_at_last(tmp_path: Path) -> None:
    for name in ("layer", "beside"):
        (tmp_path / name).write_text(PIN)
    layer = Layer("one", "layer", "file")
    (one, rest) = looks(Survey(tmp_path, tmp_path, NEEDLES), [layer])
    assert one[:2] == (layer, True) and [each.path for each in one[2].sightings] == ["layer"]
    assert rest[:2] == (disk.UNDECLARED, False) and [each.path for each in rest[2].sightings] == ["beside"]


def test_what_an_adapter_may_not_name_is_said_in_the_words_of_the_system(tmp_path: Path) -> None:
    assert look(tmp_path, "a\0b").problem == "'a\\x00b' cannot be read: embedded null byte"


# --- bytes ---


def test_no_byte_behind_the_size_is_searched(tmp_path: Path) -> None:
    """A file that grows meanwhile is searched as it was: what is there when it is opened counts."""
    (tmp_path / "a").write_bytes(
        b"-" * 9 + PIN.encode() + zlib.compress(random.Random(1).randbytes(500) + PIN.encode())
    )
    with (tmp_path / "a").open("rb") as file:
        assert [each.start for each in raw.search(file.fileno(), 31, NEEDLES)] == [9]
        assert not list(raw.search(file.fileno(), 30, NEEDLES))
        size = os.fstat(file.fileno()).st_size
        assert len(list(raw.find_unpacked(file.fileno(), size, Unpacking(NEEDLES)))) == 1
        assert not list(raw.find_unpacked(file.fileno(), size - 30, Unpacking(NEEDLES)))


def test_pieces_begin_where_something_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "PIECE", 8)
    (tmp_path / "a").write_bytes(bytes(100) + PIN.encode() + bytes(3))
    write_holes(monkeypatch, (99, 125))
    with (tmp_path / "a").open("rb") as file:
        assert [each.start for each in raw.search(file.fileno(), 125, NEEDLES)] == [100]
        assert list(raw._pieces(file.fileno(), 125)) == [96, 104, 112, 120]


@pytest.mark.parametrize(
    ("data", "holes", "size", "written"),
    [
        ([0, 20], [8, 24], 24, [(0, 8), (20, 24)]),
        ([0], [24], 10, [(0, 10)]),  # it grew meanwhile
        ([0, 12], [8, 24], 10, [(0, 8)]),
        ([0, 10], [8, 24], 10, [(0, 8)]),
        ([4, errno.ENXIO], [8], 24, [(4, 8)]),  # nothing but a hole is left
        ([errno.EINVAL], [], 24, [(0, 24)]),  # it cannot tell
        ([4, errno.EINVAL], [8], 24, [(4, 8), (8, 24)]),
        ([], [], 0, []),
    ],
)
def test_what_is_written_is_what_the_file_system_says(
    monkeypatch: pytest.MonkeyPatch, data: list[int], holes: list[int], size: int, written: list[tuple[int, int]]
) -> None:
    answers = {os.SEEK_DATA: iter(data), os.SEEK_HOLE: iter(holes)}

    def lseek(file: int, at: int, how: int) -> int:
        answer = next(answers[how])
        if answer in (errno.ENXIO, errno.EINVAL):
            raise OSError(answer, "no")
        return answer

    monkeypatch.setattr(os, "lseek", lseek)
    monkeypatch.setattr(errno, "ENXIO", 6)
    assert list(raw.find_written(-1, size)) == written


def test_the_first_byte_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with (tmp_path / "a").open("rb") as file:
        assert list(raw.find_written(file.fileno(), 3)) == [(0, 3)]


# --- needles ---


def test_needles_are_compiled_once() -> None:
    made = compile_needles((("pin", PIN),))
    assert [match.fact for match in made.find(PIN.encode())] == ["pin"]
    assert compile_needles((("pin", PIN),)) is made


# --- what is compressed ---


@settings(max_examples=40, deadline=None)
@given(before=st.integers(0, 700), step=st.integers(5, 90), block=st.integers(170, 300))
def test_a_stream_is_searched_in_blocks_without_a_gap_or_a_repetition(before: int, step: int, block: int) -> None:
    noise = random.Random(before).randbytes(before)
    stream = zlib.compress(noise + PIN.encode() + noise[::-1])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST", step), ("STEP", step), ("BLOCK", block)):
            patch.setattr(packed, name, value)
        found = list(Unpacking(NEEDLES).value(stream))
    assert found == [Match("pin", "utf-8 in zlib", 0)]


def test_a_stream_that_holds_nothing_else_and_lacks_its_end_is_searched() -> None:
    for canary, data in ((PIN, zlib.compress(PIN.encode())), ("abc", zlib.compress(b"abc")[:7])):
        assert [match.form for match in Unpacking(Needles({"it": canary})).value(data)] == ["utf-8 in zlib"]


@pytest.mark.parametrize("at", [90, 127, 128, 250])
def test_a_stream_may_begin_anywhere_in_a_piece(at: int) -> None:
    data = b"\xff" * at + zlib.compress(PIN.encode())
    found = Unpacking(NEEDLES).file(lambda start, most: data[start : start + most], range(0, len(data), 128), 128)
    assert [match.start for match in found] == [at]


def test_a_stream_behind_one_that_breaks_off_is_found(tmp_path: Path) -> None:
    """What only began like a stream takes no bytes from the next."""
    broken, whole = zlib.compress(PIN[::-1].encode())[:12], zlib.compress(PIN.encode())
    (tmp_path / "a").write_bytes(broken + b"\xff" * 8 + whole)
    (found,) = look(tmp_path).sightings
    assert (found.form, found.offset) == ("utf-8 in zlib", 20)


def test_the_share_of_a_file_is_used_up_to_its_last_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = random.Random(1).randbytes(100) + PIN.encode()
    for share, seen in ((2 * len(plain) + 1, 2), (2 * len(plain), 2), (len(plain) + 1, 2), (len(plain), 1)):
        monkeypatch.setattr(packed, "MOST", share)
        unpacking = Unpacking(NEEDLES)
        found = [list(unpacking.value(zlib.compress(plain))) for _ in range(2)]
        assert [bool(each) for each in found] == [True, seen == 2]
        assert not list(unpacking.value(b"nothing")) and unpacking.capped == (share <= 2 * len(plain))


def test_bare_blocks_are_of_the_share_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import lz4.block

    value = lz4.block.compress(PIN.encode() * 20)
    monkeypatch.setattr(packed, "MOST", len(PIN) * 20)
    unpacking = Unpacking(NEEDLES)
    assert list(unpacking.value(value)) and not unpacking.capped
    assert not list(unpacking.value(value)) and unpacking.capped


# --- rows ---


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


def fill(path: Path, *statements: str, rows: Sequence[tuple[object, ...]] = (), into: str = "t") -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as link:
        for each in statements:
            link.execute(each)
        link.execute("begin")
        for row in rows:
            link.execute(f"insert into {into} values ({', '.join('?' * len(row))})", row)
        link.execute("commit")


def rows(path: Path) -> Iterator[tuple[str, Match]]:
    return sqlite.rows(path, Needles({"pin": PIN}))


def test_every_row_of_many_batches_is_searched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BATCH", 100)
    fill(path, "create table t (x)", rows=[(f"{at} {PIN if at % 3 == 0 else 'x' * 22}",) for at in range(50)])
    assert [(place, match.start) for place, match in rows(path)] == [
        ("rows t.x", len(f"{at} ")) for at in range(0, 50, 3)
    ]


def test_rows_are_read_within_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, "create table t (x)", rows=[("x" * 20,)] * 9000)
    assert list(rows(path)) == []
    monkeypatch.setattr(sqlite, "SECONDS", -1.0)
    with pytest.raises(sqlite.Unreadable, match="table t: interrupted"):
        list(rows(path))


def test_a_value_of_megabytes_is_read(path: Path) -> None:
    fill(path, "create table t (x)", rows=[("x" * 3_000_000 + PIN,)])
    assert [(place, match.start) for place, match in rows(path)] == [("rows t.x", 3_000_000)]


def test_a_column_that_is_computed_is_not_read_and_the_rest_is(path: Path) -> None:
    fill(path, f"create table t (x, y as ('{PIN}') virtual, z as (x || '!') stored)")
    fill(path, rows=[(PIN,)], into="t (x)")
    places = [place for place, match in rows(path)]
    assert sorted(places) == ["rows sqlite_master.sql", "rows t.x", "rows t.z"]


def test_the_first_table_that_cannot_be_read_is_named_and_the_others_are_read(path: Path) -> None:
    fill(path, *(f"create table {name} (x)" for name in "abc"), rows=[(PIN,)], into="c")
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    data[page] = data[2 * page] = 0x77
    path.write_bytes(data)
    found: list[str] = []
    with pytest.raises(sqlite.Unreadable, match="table a: database disk image is malformed"):
        found += (place for place, _ in rows(path))
    assert found == ["rows c.x"]


def test_a_large_database_is_not_copied_for_its_log_and_that_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as link:
        for each in ("pragma journal_mode = wal", "create table t (x)", f"insert into t values ('{PIN}')"):
            link.execute(each)
        size = max(path.stat().st_size, path.with_name("x.db-wal").stat().st_size)
        monkeypatch.setattr(sqlite, "COPIED", size)
        assert [place for place, _ in rows(path)] == ["rows t.x"]
        monkeypatch.setattr(sqlite, "COPIED", size - 1)
        with pytest.raises(sqlite.Unreadable, match=f"{size:,} bytes are too many to copy"):
            list(rows(path))


def test_what_was_not_unpacked_is_no_plain_value_for_the_next_look(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needles, value = Needles({"pin": PIN}), zlib.compress(bytes(5000) + PIN.encode())
    fill(path, "create table t (x)", rows=[(value,)])
    with monkeypatch.context() as within:
        within.setattr(packed, "MOST", 1)
        with pytest.raises(sqlite.Unreadable, match="more compressed bytes than are unpacked"):
            list(sqlite.rows(path, needles))
    assert [match.form for _, match in sqlite.rows(path, needles)] == ["utf-8 in zlib"]
    fill(path, "delete from t", rows=[("nothing of it at all",)])
    assert list(sqlite.rows(path, needles)) == [] and b"nothing of it at all" in needles.plain


def test_what_only_unpacks_is_found_at_the_next_look_too(path: Path) -> None:
    needles = Needles({"pin": PIN})
    fill(path, "create table t (x)", rows=[(zlib.compress(PIN.encode()),)])
    assert [len(list(sqlite.rows(path, needles))) for _ in range(2)] == [1, 1]


def test_few_values_are_kept_in_mind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "KNOWN", 2)
    needles = Needles({"pin": PIN})
    for turn in range(3):
        fill(path, "create table if not exists t (x)", rows=[(f"{turn} and {at}, of no interest",) for at in range(3)])
        assert list(sqlite.rows(path, needles)) == [] and len(needles.plain) == 2


def test_a_value_that_is_a_zip_archive_is_unpacked(path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("a", PIN)
    fill(path, "create table t (x)", rows=[(archive.getvalue(),)])
    assert [match.form for _, match in rows(path)] == ["utf-8 in deflate"]


def test_what_stands_before_a_spoilt_page_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are searched as they fill, and not all at the end."""
    monkeypatch.setattr(sqlite, "BATCH", 100)
    fill(path, "create table t (x)", rows=[(PIN,), *[("x" * 900,)] * 40])
    data = bytearray(path.read_bytes())
    data[-int.from_bytes(data[16:18], "big")] = 0x77
    path.write_bytes(data)
    found: list[str] = []
    with pytest.raises(sqlite.Unreadable, match="table t: database disk image is malformed"):
        found += (place for place, _ in rows(path))
    assert found == ["rows t.x"]


def test_trigrams_begin_nowhere(path: Path) -> None:
    fill(path, "create table t (x)", rows=[(PIN[at : at + 3],) for at in range(len(PIN) - 2)])
    assert list(rows(path)) == [("rows t.x", Match("pin", "trigrams", 0))]
    fill(path, f"delete from t where x = '{PIN[5:8]}'")
    assert list(rows(path)) == []


def test_two_deleted_copies_are_two_and_a_row_lies_where_its_bytes_do(tmp_path: Path, path: Path) -> None:
    """What only unpacks as a value lies nowhere in one piece."""
    whole, made = zlib.compress(b"x" * 50 + PIN.encode()), zlib.compressobj(wbits=-15)
    bare, gone = made.compress(PIN.encode()) + made.flush(), [(f"{'gone' * 5} {PIN}",)] * 2
    fill(path, "pragma secure_delete = off", "create table t (x)", rows=[(whole,), (bare,), *gone, ("last",)])
    fill(path, "pragma secure_delete = off", "delete from t where x like 'gone%'")
    seen = scan(tmp_path, Layer("db", "x.db", "sqlite"), NEEDLES).sightings
    assert {(each.place, each.form, each.count, each.offset) for each in seen} == {
        ("unused part of a page", "utf-8", 2, path.read_bytes().index(PIN.encode())),
        ("rows t.x", "utf-8 in zlib", 1, path.read_bytes().index(whole)),
        ("rows t.x", "utf-8 in deflate", 1, 0),
    }


def test_the_shortest_value_that_unpacks_to_more_is_searched(path: Path) -> None:
    """Of 16 bytes, however long what is sought."""
    text = next(
        each for n in range(20, 90) if len(zlib.compress((each := "abcdef"[: n % 7] + "xy" * n).encode())) == 16
    )
    fill(path, "create table t (x)", rows=[(zlib.compress(text.encode()),)])
    assert len(text) > 16 and [match.form for _, match in sqlite.rows(path, Needles({"it": text}))] == ["utf-8 in zlib"]


def test_what_two_columns_make_together_is_counted_each_time(tmp_path: Path, path: Path) -> None:
    """No row shows it, and its bytes stand there."""
    fill(path, "create table t (x, y)", rows=[(f"{at} {PIN[:9]}", PIN[9:]) for at in range(3)])
    (seen,) = scan(tmp_path, Layer("db", "x.db", "sqlite"), NEEDLES).sightings
    assert (seen.place, seen.count, seen.offset) == ("unused part of a page", 3, path.read_bytes().index(PIN.encode()))
