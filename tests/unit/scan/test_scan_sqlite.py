"""Where in a SQLite database something is: real databases, written and deleted from by SQLite itself."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.scan.disk import Needles, Scan, scan

PIN = "cw0123456789abcdef0123"
NEEDLES = Needles({"pin": PIN})
DB = Layer("db", "store.db", "sqlite")
GONE = {"free page", "unused part of a page"}


@contextmanager
def database(root: Path, *before: str) -> Iterator[sqlite3.Connection]:
    """That overwrites nothing, as most builds of SQLite."""
    with closing(sqlite3.connect(root / "store.db", isolation_level=None)) as link:
        for each in ("pragma secure_delete = off", "pragma synchronous = off", *before):
            link.execute(each)
        yield link


def places(found: Scan, fact: str = "pin") -> dict[str, int]:
    assert found.problem is None, found.problem
    return {each.place: each.count for each in found.sightings if each.fact == fact}


def test_a_deleted_row_that_sqlite_keeps_is_seen(tmp_path: Path) -> None:
    """The positive control of the whole measure: a real deletion that leaves bytes."""
    with database(tmp_path) as link:
        link.execute("create table t (x, other)")
        link.execute("insert into t values ('something else', 1), (?, 2)", (f"the pin is {PIN}",))
        assert places(scan(tmp_path, DB, NEEDLES)) == {"rows t.x": 1}
        link.execute("delete from t where other = 2")
        found = scan(tmp_path, DB, NEEDLES)
        assert places(found) == {"unused part of a page": 1}
        assert (tmp_path / "store.db").read_bytes().find(PIN.encode()) == found.sightings[0].offset
        link.execute("vacuum")
        assert places(scan(tmp_path, DB, NEEDLES)) == {}


@pytest.mark.slow
def test_a_page_of_the_free_list(tmp_path: Path) -> None:
    with database(tmp_path) as link:
        link.execute("create table kept (x)")
        link.execute("create table t (x)")
        link.executemany("insert into t values (?)", [("y" * 3000 + PIN,)] * 2000)
        link.execute("drop table t")
        seen = places(scan(tmp_path, DB, NEEDLES))
    assert seen.keys() == {"free page"} and seen["free page"] >= 2000


def test_every_copy_has_its_place(tmp_path: Path) -> None:
    """Shadow tables of a full-text index, a table without row ids, an index, names that are no plain words."""
    with database(tmp_path) as link:
        link.execute("create virtual table f using fts5(body)")
        link.execute("insert into f values (?)", (f"the pin is {PIN}",))
        link.execute('create table "a.b""c" ("the key" text primary key, n) without rowid')
        link.execute('insert into "a.b""c" values (?, 1)', (PIN,))
        link.execute("create table queue (id integer, metadata text)")
        link.execute("create index by_metadata on queue (metadata)")
        link.execute("insert into queue values (1, ?), (2, ?)", (f"{PIN}{PIN}", f"\U0001f600{PIN}"))
        link.execute(f"create view v as select '{PIN}'")
    assert places(scan(tmp_path, DB, NEEDLES)) == {
        "rows f_content.c0": 1,
        "rows f_data.block": 1,
        'rows "a.b""c"."the key"': 1,
        "rows queue.metadata": 3,
        "rows sqlite_master.sql": 1,
        "index": 4,
    }


def test_a_value_that_lies_on_several_pages_is_seen_in_its_row(tmp_path: Path) -> None:
    canaries = {str(at): f"cw{at:020x}" for at in range(100)}
    with database(tmp_path, "pragma page_size = 512") as link:
        link.execute("create table t (x)")
        link.executemany(
            "insert into t values (?)", [("y" * 900 + canaries[n] + "z" * (450 + int(n)),) for n in canaries]
        )
    data = (tmp_path / "store.db").read_bytes()
    assert 0 < sum(canary.encode() not in data for canary in canaries.values()) < 100
    found = scan(tmp_path, DB, Needles(canaries))
    assert all(places(found, name)["rows t.x"] == 1 for name in canaries)


def test_what_is_in_the_log_beside_it(tmp_path: Path) -> None:
    with database(tmp_path, "pragma journal_mode = wal", "pragma wal_autocheckpoint = 0") as link:
        link.execute("create table t (x)")
        link.execute("insert into t values (?)", (PIN,))
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        found = scan(tmp_path, DB, NEEDLES)
        assert places(found) == {"rows t.x": 1, "write-ahead log": 1}
        assert (found.files, found.bytes) == (3, sum(map(len, before.values())))
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        link.execute("delete from t")
        assert places(scan(tmp_path, DB, NEEDLES)).keys() == {"write-ahead log"}
        link.execute("pragma wal_checkpoint(truncate)")
        assert places(scan(tmp_path, DB, NEEDLES)).keys() <= GONE
        assert places(scan(tmp_path, Layer("all", ".", "sqlite"), NEEDLES)).keys() <= GONE


def test_a_journal_that_is_kept(tmp_path: Path) -> None:
    """And one that is hot: what a killed process had deleted is still a row."""
    with database(tmp_path, "pragma journal_mode = persist") as link:
        link.execute("create table t (x)")
        link.execute("insert into t values (?)", (PIN,))
        link.execute("delete from t")
        assert "journal" in places(scan(tmp_path, DB, NEEDLES))
    (tmp_path / "killed").mkdir()
    with database(tmp_path / "killed", "pragma cache_size = 1", "pragma cache_spill = 1") as link:
        link.execute("create table t (x)")
        link.executemany("insert into t values (?)", [(PIN + "y" * 2000,)] * 50)
        link.execute("begin")
        link.execute("update t set x = 'redacted'")
        (tmp_path / "copy").mkdir()
        for path in (tmp_path / "killed").iterdir():
            (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    seen = places(scan(tmp_path / "copy", DB, NEEDLES))
    assert seen["rows t.x"] == 50 and seen["journal"] > 0


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_database_of_wide_text(tmp_path: Path, encoding: str) -> None:
    with database(tmp_path, f"pragma encoding = '{encoding}'") as link:
        link.execute("create table t (x)")
        link.execute("insert into t values (?)", (f"the pin is {PIN}",))
        assert places(scan(tmp_path, DB, NEEDLES)) == {"rows t.x": 1}
        link.execute("delete from t")
        assert places(scan(tmp_path, DB, NEEDLES)) == {"unused part of a page": 1}


def test_vectors_in_rows_and_in_what_is_left_of_them(tmp_path: Path) -> None:
    """Blobs stand at any offset."""
    vector = np.random.default_rng(1).standard_normal(384).astype("f4")
    near = vector.astype("f2").astype("f4")
    needles = Needles({}, {"pin": vector.tobytes()})
    with database(tmp_path) as link:
        link.execute("create table queue (name, vector blob)")
        link.executemany("insert into queue values (?, ?)", [("a" * n, near.tobytes()) for n in range(9)])
        (seen,) = (each for each in scan(tmp_path, DB, needles).sightings if each.place.startswith("rows"))
        assert (seen.place, seen.count, seen.form) == ("rows queue.vector", 9, "float32")
        assert seen.nearness is not None and seen.nearness > 0.99999
        link.execute("delete from queue where length(name) > 2")
        found = scan(tmp_path, DB, needles)
    counts = places(found)
    assert counts.pop("rows queue.vector") == 3 and counts and counts.keys() <= GONE
    data = (tmp_path / "store.db").read_bytes()
    assert all(data.startswith(near.tobytes(), each.offset) for each in found.sightings)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), page=st.sampled_from((512, 1024, 4096)), vacuum=st.sampled_from((0, 1, 2)))
def test_the_living_and_the_deleted_are_told_apart(tmp_path: Path, seed: int, page: int, vacuum: int) -> None:
    """Rows of all sizes, with row ids and without, written and deleted at random, against what SQLite says."""
    rng = random.Random(seed)
    canaries = {str(n): f"cw{rng.getrandbits(80):020x}" for n in range(60)}
    (tmp_path / "store.db").unlink(missing_ok=True)
    with database(tmp_path, f"pragma page_size = {page}", f"pragma auto_vacuum = {vacuum}") as link:
        link.execute("create table t (n integer primary key, x text)")
        link.execute("create table w (n text, x text, primary key (n, x)) without rowid")
        for n, canary in canaries.items():
            table = rng.choice("tw")
            filler = "y" * rng.choice((0, 5, 100, 450, 1000, 4000, 9000))
            link.execute(f"insert into {table} values (?, ?)", (int(n), filler + canary))
            if rng.random() < 0.4:
                link.execute(f"delete from {rng.choice('tw')} where n = ?", (str(rng.randrange(60)),))
        living = {n for n, c in canaries.items() for t in "tw" if _held(link, t, c)}
        if rng.random() < 0.3:
            link.execute("pragma incremental_vacuum")
    found = scan(tmp_path, DB, Needles(canaries))
    data = (tmp_path / "store.db").read_bytes()
    for n, canary in canaries.items():
        seen = places(found, n)
        assert any(place.startswith("rows") for place in seen) == (n in living)
        if n not in living:
            assert sum(seen.values()) == data.count(canary.encode()) and seen.keys() <= GONE


def _held(link: sqlite3.Connection, table: str, canary: str) -> bool:
    return bool(link.execute(f"select 1 from {table} where instr(x, ?)", (canary,)).fetchall())


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_database_that_is_not_one_is_searched_and_said(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text(f"no database, but {PIN}")
    found = scan(tmp_path, DB, NEEDLES)
    assert [(each.place, each.count) for each in found.sightings] == [("", 1)]
    assert found.problem == "'store.db' is not a SQLite database: only its raw bytes were searched"
    (tmp_path / "store.db").write_bytes(b"")
    assert (scan(tmp_path, DB, NEEDLES).problem, scan(tmp_path, DB, NEEDLES).files) == (None, 1)


@pytest.mark.parametrize("keep", [16, 100, 1000, 6000, 9000])
def test_half_a_database_is_searched_and_said(tmp_path: Path, keep: int) -> None:
    with database(tmp_path) as link:
        link.execute("create table a (x)")
        link.execute("insert into a values (?)", (PIN,))
        link.execute("create table b (x)")
        link.executemany("insert into b values (?)", [("y" * 900,)] * 50)
    data = (tmp_path / "store.db").read_bytes()
    (tmp_path / "store.db").write_bytes(data[:keep])
    found = scan(tmp_path, DB, NEEDLES)
    assert found.problem is not None and len(found.problem.splitlines()) == 1
    assert bool(found.sightings) == (PIN.encode() in data[:keep])


def test_a_column_whose_name_is_no_text_is_said_and_the_bytes_are_searched(tmp_path: Path) -> None:
    with database(tmp_path) as link:
        link.execute("create table t (namename)")
        link.execute("insert into t values (?)", (PIN,))
    data = (tmp_path / "store.db").read_bytes()
    odd = tmp_path / os.fsdecode(b"\xff#?%.db")
    odd.write_bytes(data.replace(b"namename", b"name\xff\xfeme"))
    found = scan(tmp_path, Layer("all", ".", "sqlite"), NEEDLES)
    assert ("its rows cannot be read" in (found.problem or ""), found.files) == (True, 2)
    assert len({each.path for each in found.sightings}) == 2


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30))
def test_a_spoilt_database_never_breaks_the_look(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    (tmp_path / "store.db").unlink(missing_ok=True)
    with database(tmp_path, "pragma page_size = 512") as link:
        link.execute("create table t (x)")
        link.executemany("insert into t values (?)", [(f"{'y' * at * 30}{PIN}",) for at in range(40)])
        link.execute("delete from t where rowid % 2")
    data = bytearray((tmp_path / "store.db").read_bytes())
    for _ in range(rng.choice((3, 30))):
        at = rng.randrange(16, rng.choice((110, len(data))))
        data[at] = rng.randrange(256)
    (tmp_path / "store.db").write_bytes(data)
    found = scan(tmp_path, DB, NEEDLES)
    assert sum(each.count for each in found.sightings) > 0
    assert found.files == 1
