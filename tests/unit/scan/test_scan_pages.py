"""Pages of SQLite: the cells of a real one fill it without a gap, and what breaks the format is never an error."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from harness.scan import sqlite
from harness.scan.sqlite import FREE, INDEX, OTHER, ROW, UNUSED, Pages, _list_cells


@contextmanager
def pages(path: Path) -> Iterator[Pages]:
    with path.open("rb") as file:
        yield Pages(file.fileno(), path.stat().st_size)


def number(data: bytes, at: int, size: int = 2) -> int:
    return int.from_bytes(data[at : at + size], "big")


def make(path: Path, page: int, reserved: int) -> None:
    """A database without free room inside of its pages: values of all sizes, row ids of all widths, inner pages."""
    with closing(sqlite3.connect(path)) as link:
        link.executescript(f"pragma page_size = {page}; pragma user_version = 1;")
    if reserved:
        data = bytearray(path.read_bytes())
        data[20], data[105:107] = reserved, (page - reserved).to_bytes(2, "big")
        path.write_bytes(data)
    with closing(sqlite3.connect(path)) as link:
        link.execute("create table t (n integer primary key, x)")
        link.execute("create table w (x text primary key) without rowid")
        sizes = [*range(2, page // 2), *range(page // 2, 5 * page, 13)]
        link.executemany("insert into t values (?, ?)", [(at * 3, b"y" * size) for at, size in enumerate(sizes)])
        wide = [-1, -(1 << 60), *(1 << bits for bits in range(20, 63, 3))]
        link.executemany("insert into t values (?, 'wide')", [(each,) for each in wide])
        link.executemany("insert into w values (?)", [(f"{at:05}" + "z" * size,) for at, size in enumerate(sizes)])
        link.commit()
        link.execute("vacuum")


@pytest.mark.parametrize(
    ("page", "reserved"), [(512, 0), (512, 5), (512, 30), (512, 32), (1024, 0), (1024, 8), (1024, 255), (4096, 0)]
)
def test_the_cells_of_a_page_fill_it_from_the_first_to_its_end(tmp_path: Path, page: int, reserved: int) -> None:
    """SQLite says where they begin, how many there are, and how many bytes between them are lost."""
    make(path := tmp_path / "x.db", page, reserved)
    data, usable, seen = path.read_bytes(), page - reserved, set[int]()
    assert number(data, 16) == page and data[20] == reserved
    for at in range(0, len(data), page):
        start = 100 if at == 0 else 0
        one = data[at : at + page]
        if one[start] not in (2, 5, 10, 13) or number(one, start + 1):  # an overflow page, or one with a gap
            continue
        cells, kind = _list_cells(one, start, usable)
        assert kind == (INDEX if one[start] in (2, 10) else ROW) and len(cells) == number(one, start + 3)
        cells.sort(key=lambda cell: cell.start)
        assert cells[0].start == (number(one, start + 5) or 65536) and cells[-1].stop <= usable
        assert all(left.stop <= right.start for left, right in pairwise(cells))
        assert sum(map(len, cells)) + one[start + 7] == usable - cells[0].start
        seen.add(one[start])
    assert seen == {2, 5, 10, 13}


def test_where_a_byte_lies_on_the_first_page_and_on_others(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as link:
        link.executescript(
            "pragma page_size = 512; create table one (x); create table two (x);"
            "insert into one values ('a row of one'), ('a row that goes'); insert into two values ('a row of two');"
            "create index i on one (x); pragma secure_delete = off; delete from one where x like '%goes'"
        )
    data = path.read_bytes()
    with pages(path) as found:
        assert found.kind(data.index(b"CREATE TABLE one")) == ROW  # asked first: no other page was read before
    with pages(path) as found:
        assert found.kind(data.index(b"a row of two")) == ROW
        assert found.kind(data.index(b"CREATE TABLE two")) == ROW
        assert found.kind(50) == UNUSED and found.kind(data.index(b"a row that goes")) == UNUSED
        assert {found.kind(at) for at in (data.index(b"a row of one"), data.rindex(b"a row of one"))} == {ROW, INDEX}


def test_half_a_page_and_a_page_of_no_kind_are_other() -> None:
    whole = bytes([13, 0, 0, 0, 1, 1, 0xF0, 0, 1, 0xF0]) + bytes(502)
    assert _list_cells(whole, 0, 512)[1] == ROW
    assert _list_cells(whole[:-1], 0, 512) == ([], OTHER)
    assert _list_cells(bytes([12]) + whole[1:], 0, 512) == ([], OTHER)


def header(page: int, *, trunk: int = 0, reserved: int = 0) -> bytes:
    start = sqlite.MAGIC + page.to_bytes(2, "big") + bytes(2) + bytes([reserved]) + bytes(11)
    return start + trunk.to_bytes(4, "big") + bytes(64)


@pytest.mark.parametrize(
    ("head", "valid"),
    [
        (header(512), True),
        (header(4096), True),
        (header(32768), True),
        (header(1), True),  # 65,536
        (header(0), False),
        (header(2), False),
        (header(256), False),
        (header(513), False),
        (header(1000), False),
        (header(512)[:99], False),
        (b"x" + header(512)[1:], False),
    ],
)
def test_a_database_begins_with_its_name_and_a_size_of_pages(tmp_path: Path, head: bytes, valid: bool) -> None:
    (tmp_path / "x.db").write_bytes(head)
    with pages(tmp_path / "x.db") as found:
        assert found.valid == valid


def test_pages_of_64_kib_are_told_apart(tmp_path: Path) -> None:
    with closing(sqlite3.connect(path := tmp_path / "x.db")) as link:
        link.executescript("pragma page_size = 65536; create table t (x); insert into t values ('a row of t')")
    with pages(path) as found:
        assert found.valid and found.kind(path.read_bytes().index(b"a row of t")) == ROW


def write_freed(path: Path, trunk: int, *trunks: tuple[int, int, int, Sequence[int]], reserved: int = 0) -> None:
    """Pages of 512 bytes of which the trunks (page, next trunk, how many leaves it says, leaves) list what is freed."""
    data = bytearray(header(512, trunk=trunk, reserved=reserved) + bytes(512 * 300 - 100))
    for page, following, count, leaves in trunks:
        told = b"".join(each.to_bytes(4, "big") for each in (following, count, *leaves))
        data[(page - 1) * 512 : (page - 1) * 512 + len(told)] = told
    path.write_bytes(data)


def freed(path: Path) -> set[int]:
    with pages(path) as found:
        return {page for page in range(1, 301) if found.kind((page - 1) * 512) == FREE}


def test_freed_pages_are_the_trunks_and_all_leaves_that_they_have_room_for(tmp_path: Path) -> None:
    path, leaves = tmp_path / "x.db", range(10, 10 + 126)
    write_freed(path, 2, (2, 3, 126, leaves), (3, 0, 2, [200, 201]))
    assert freed(path) == {2, 3, *leaves, 200, 201}
    write_freed(path, 2, (2, 0, 1, [50, 51]))  # more are written there than are counted
    assert freed(path) == {2, 50}


def test_a_trunk_that_counts_too_many_has_those_that_fit(tmp_path: Path) -> None:
    """Bytes that are reserved at the end of a page, or belong to the next, are no leaves."""
    path, leaves = tmp_path / "x.db", range(10, 10 + 126)
    write_freed(path, 2, (2, 0, 1 << 31, leaves), reserved=8)
    assert freed(path) == {2, *leaves[:-2]}


def test_a_list_in_a_circle_and_one_that_leads_out_of_the_file_end(tmp_path: Path) -> None:
    write_freed(path := tmp_path / "x.db", 2, (2, 3, 0, []), (3, 2, 1, [9]))
    assert freed(path) == {2, 3, 9}
    write_freed(path, 0x01000002, (2, 0, 1, [9]))  # far behind the end, though its last byte names a page
    assert freed(path) == set()


def test_any_bytes_have_a_place(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(header(512, trunk=3) + random.Random(1).randbytes(512 * 20 - 100))
    with pages(path) as found:
        assert {found.kind(at) for at in range(0, 512 * 21, 7)} <= {FREE, UNUSED, INDEX, ROW, OTHER}
