"""What a scan of the rows of a database reads and says at the very edge of its bounds."""

from __future__ import annotations

import errno
import io
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from harness.adapter import Layer
from harness.machine import leftovers
from harness.scan import packed, sqlite
from harness.scan.disk import Needles, scan
from harness.scan.needles import Match

PIN = "cw0123456789abcdef0123"
NEEDLES = Needles({"pin": PIN})


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
    return sqlite.find_in_rows(path, Needles({"pin": PIN}))


def test_every_row_of_many_batches_is_searched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BATCH", 100)
    fill(path, "create table t (x)", rows=[(f"{at} {PIN if at % 3 == 0 else 'x' * 22}",) for at in range(50)])
    assert [(place, match.start) for place, match in rows(path)] == [
        ("rows t.x", len(f"{at} ")) for at in range(0, 50, 3)
    ]


def test_rows_are_searched_as_soon_as_a_batch_is_full(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small each of them is: else all of a table is held at once."""
    fill(path, "create table t (x)", rows=[(f"{at:030}",) for at in range(50)])
    searched = list[int]()

    def find(values: Sequence[tuple[str, bytes]], *_: object) -> Iterator[tuple[str, Match]]:
        searched.append(len(values))
        return iter(())

    monkeypatch.setattr(sqlite, "BATCH", 100)
    monkeypatch.setattr(sqlite, "_find", find)
    list(rows(path))
    assert sum(searched) >= 50 and max(searched) < 10


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


def test_without_room_for_a_copy_rows_are_not_read_and_that_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    fill(path, "create table t (x)", rows=[(PIN,)])
    path.with_name("x.db-journal").write_bytes(b"log")
    with monkeypatch.context() as within:
        within.setattr(shutil, "copyfile", refuse)
        with pytest.raises(sqlite.Unreadable, match="no copy to read the log with: No space left on device"):
            list(rows(path))
    monkeypatch.setattr(leftovers, "make_temporary", refuse)
    with pytest.raises(sqlite.Unreadable, match="no room for a copy: No space left on device"):
        list(rows(path))


def test_what_was_not_unpacked_is_no_plain_value_for_the_next_look(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needles, value = Needles({"pin": PIN}), zlib.compress(bytes(5000) + PIN.encode())
    fill(path, "create table t (x)", rows=[(value,)])
    with monkeypatch.context() as within:
        within.setattr(packed, "MOST", 1)
        with pytest.raises(sqlite.Unreadable, match="more compressed bytes than are unpacked"):
            list(sqlite.find_in_rows(path, needles))
    assert [match.form for _, match in sqlite.find_in_rows(path, needles)] == ["utf-8 in zlib"]
    fill(path, "delete from t", rows=[("nothing of it at all",)])
    assert list(sqlite.find_in_rows(path, needles)) == [] and b"nothing of it at all" in needles.plain


def test_what_only_unpacks_is_found_at_the_next_look_too(path: Path) -> None:
    needles = Needles({"pin": PIN})
    fill(path, "create table t (x)", rows=[(zlib.compress(PIN.encode()),)])
    assert [len(list(sqlite.find_in_rows(path, needles))) for _ in range(2)] == [1, 1]


def test_few_values_are_kept_in_mind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "KNOWN", 2)
    needles = Needles({"pin": PIN})
    for turn in range(3):
        fill(path, "create table if not exists t (x)", rows=[(f"{turn} and {at}, of no interest",) for at in range(3)])
        assert list(sqlite.find_in_rows(path, needles)) == [] and len(needles.plain) == 2


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


def test_rows_begin_where_the_first_of_their_bytes_lies(tmp_path: Path, path: Path) -> None:
    fill(path, "create table t (x)", rows=[(PIN,), (PIN,)])
    (seen,) = scan(tmp_path, Layer("db", "x.db", "sqlite"), NEEDLES).sightings
    assert (seen.place, seen.count, seen.offset) == ("rows t.x", 2, path.read_bytes().index(PIN.encode()))


def test_the_shortest_value_that_unpacks_to_more_is_searched(path: Path) -> None:
    """Of 16 bytes, however long what is sought."""
    text = next(
        each for n in range(20, 90) if len(zlib.compress((each := "abcdef"[: n % 7] + "xy" * n).encode())) == 16
    )
    fill(path, "create table t (x)", rows=[(zlib.compress(text.encode()),)])
    assert len(text) > 16 and [match.form for _, match in sqlite.find_in_rows(path, Needles({"it": text}))] == [
        "utf-8 in zlib"
    ]


def test_what_two_columns_make_together_is_counted_each_time(tmp_path: Path, path: Path) -> None:
    """No row shows it, and its bytes stand there."""
    fill(path, "create table t (x, y)", rows=[(f"{at} {PIN[:9]}", PIN[9:]) for at in range(3)])
    (seen,) = scan(tmp_path, Layer("db", "x.db", "sqlite"), NEEDLES).sightings
    assert (seen.place, seen.count, seen.offset) == ("unused part of a page", 3, path.read_bytes().index(PIN.encode()))


def test_a_text_of_three_trigrams_is_spelled_and_one_of_two_is_not(path: Path) -> None:
    fill(path, "create table t (x)", rows=[("abc",), ("bcd",), ("cde",)])
    assert [match.form for _, match in sqlite.find_in_rows(path, Needles({"it": "abcde"}))] == ["trigrams"]
    assert not list(sqlite.find_in_rows(path, Needles({"it": "abcd"})))
