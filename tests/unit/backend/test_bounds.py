"""What a child says has bounds: too much is a limit of ours, what cannot be is a breach, and nothing is waited for."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from harness.adapter import Item, Layer, Scope, Space
from harness.backend import client
from harness.backend.client import Deadlines, MemoryFault, RemoteMemory
from harness.machine import leftovers
from harness.scan import copies, disk, raw, sqlite
from harness.scan.disk import Needles, scan
from tests.support.unruly_backends import RECALLED, USED
from tests.unit.play.test_trouble import nest

SCOPE = Scope(repo="shop")
PIN = "cw0123456789abcdef0123"
NEEDLES = Needles({"pin": PIN})
ALL = Layer("all", ".", "file")


WITHIN = ("three memories of 1 MB", "20,000 memories", "60,000 memories", "a memory of 500,000 lines")
"""Too much for a recall, each part of which is read, but not for a listing."""


@contextmanager
def opened(name: str, root: Path, answer: str) -> Iterator[RemoteMemory]:
    space = Space(str(root / "store"), "http://127.0.0.1:1/v1", "key", 384, 1, {"answer": answer})
    Path(space.root).mkdir(parents=True, exist_ok=True)
    memory = client.open_memory(
        f"tests.support.unruly_backends:{name}", space, root / "home", Deadlines(open=60, call=30, exit=5)
    )
    try:
        yield memory
    finally:
        memory.kill()


@pytest.mark.parametrize("answer", RECALLED)
def test_more_than_is_read_is_a_limit_of_ours(tmp_path: Path, answer: str) -> None:
    with opened("Floods", tmp_path, answer) as memory:
        with pytest.raises(MemoryFault, match=r"limit in recall: .* at most .* are read") as caught:
            memory.recall("?", SCOPE, 5, "")
        assert caught.value.alive and len(caught.value.fault.message) < 200
        if answer not in WITHIN:
            for call in (lambda: memory.entries(SCOPE), lambda: memory.get(SCOPE, "m"))[: 2 - ("memories" in answer)]:
                with pytest.raises(MemoryFault, match=r"limit in (entries|get)"):
                    call()


@pytest.mark.parametrize("answer", USED)
def test_a_count_that_cannot_be_is_a_breach(tmp_path: Path, answer: str) -> None:
    with opened("Floods", tmp_path, answer) as memory, pytest.raises(MemoryFault, match="breach in usage") as caught:
        memory.usage()
    assert caught.value.alive and len(caught.value.fault.message) < 200


@pytest.mark.parametrize("answer", ["lists", "tables"])
def test_an_answer_is_as_deep_as_the_protocol(tmp_path: Path, answer: str) -> None:
    with opened("SpeaksPastTheWorker", tmp_path, answer) as memory:
        with pytest.raises(MemoryFault, match=r"breach in recall: .*recursion limit") as caught:
            memory.recall("?", SCOPE, 5, "")
        assert len(str(caught.value)) < 200
        with pytest.raises(MemoryFault, match="something else spoke on its channel"):
            memory.recall("?", SCOPE, 5, "")


@pytest.mark.slow
def test_ids_and_layers_have_bounds_too(tmp_path: Path) -> None:
    with (
        opened("Floods", tmp_path, "") as memory,
        pytest.raises(MemoryFault, match="limit in remember: an id of 5,000"),
    ):
        memory.remember([Item("x", SCOPE, "2025-01-01", "project")])
    space = Space(str(tmp_path), "http://127.0.0.1:1/v1", "key", 384, 1)
    with pytest.raises(MemoryFault, match="limit in storage: 1,000 layers; at most 100 are looked at"):
        client.ask_storage("tests.support.unruly_backends:Floods", space, tmp_path / "home2")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["huge", "pipe", "folder", "link", "gone"])
def test_the_output_of_an_adapter_is_neither_followed_nor_waited_for(tmp_path: Path, how: str) -> None:
    with opened("HidesItsOutput", tmp_path, how) as memory:
        with pytest.raises(MemoryFault, match="crashed in recall: the process exited with 9") as caught:
            memory.recall("?", SCOPE, 5, "")
        assert "root" not in caught.value.fault.message
    with opened("HidesItsOutput", tmp_path, how):
        assert (tmp_path / "home" / "output.txt").is_file()  # the next home is in nobody's way


def test_a_home_that_was_put_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "elsewhere")
    with opened("HidesItsOutput", tmp_path, "gone"):
        assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("to", [None, "nowhere", "elsewhere"])
def test_a_temporary_folder_whose_place_is_taken_is_made_all_the_same(tmp_path: Path, to: str | None) -> None:
    temporary = tmp_path / "home" / "tmp"
    for folder in (tmp_path / "elsewhere", temporary.parent):
        folder.mkdir()
    temporary.symlink_to(tmp_path / to) if to else temporary.write_bytes(b"")
    with opened("HidesItsOutput", tmp_path, "gone"):
        assert temporary.is_dir() and not temporary.is_symlink() and (tmp_path / "elsewhere").is_dir()


# --- the disk -------------------------------------------------------------------------------------------------------


def test_the_holes_of_a_file_of_150_gb_cost_nothing(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(75 << 30)
        file.write(PIN.encode())
        file.truncate(150 << 30)
    found = scan(tmp_path, ALL, NEEDLES)
    assert [(each.fact, each.offset) for each in found.sightings] == [("pin", 75 << 30)] and not found.problem
    assert found.bytes == 150 << 30


def test_what_is_not_searched_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST", 1 << 20)
    monkeypatch.setattr(raw, "PIECE", 1 << 16)
    (tmp_path / "a").write_bytes(os.urandom(900_000))
    (tmp_path / "b").write_bytes(PIN.encode() + os.urandom(900_000) + PIN.encode())
    found = scan(tmp_path, ALL, NEEDLES)
    assert [each.count for each in found.sightings] == [1]
    assert found.problem and "'b' was searched in its first" in found.problem and "bytes only" in found.problem
    monkeypatch.setattr(disk, "FILES", 1)
    assert "only the first 1 files were searched" in (scan(tmp_path, ALL, NEEDLES).problem or "")


def database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as link, link:
        for statement in statements:
            link.execute(statement)


@pytest.mark.slow
def test_what_a_database_computes_is_not_stored_and_not_read(tmp_path: Path) -> None:
    database(
        tmp_path / "db",
        "create table t (a text, bomb text generated always as (hex(zeroblob(400000000))) virtual, b text)",
        f"insert into t (a, b) values ('x', '{PIN}')",
        "create view v as select hex(zeroblob(400000000)) from t",
    )
    found = scan(tmp_path, Layer("db", "db", "sqlite"), NEEDLES)
    assert [each.place for each in found.sightings] == ["rows t.b"] and not found.problem


def test_reading_rows_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database(tmp_path / "db", "create table t (a text)", *(f"insert into t values ('{PIN} {n}')" for n in range(9999)))
    monkeypatch.setattr(sqlite, "SECONDS", -1.0)
    found = scan(tmp_path, Layer("db", "db", "sqlite"), NEEDLES)
    assert found.problem and "its rows cannot be read: table t: interrupted" in found.problem
    assert found.sightings  # the raw bytes are searched all the same


def test_no_room_for_a_copy_is_no_file_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database(tmp_path / "db", "create table t (a text)")

    @contextmanager
    def full() -> Iterator[Path]:
        raise FileNotFoundError(2, "No usable temporary directory found")
        yield

    monkeypatch.setattr(leftovers, "make_temporary", full)
    found = scan(tmp_path, Layer("db", "db", "sqlite"), NEEDLES)
    assert found.files == 1 and "its rows cannot be read: no room for a copy" in (found.problem or "")


def test_a_log_too_large_to_copy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database(tmp_path / "db", "create table t (a text)")
    (tmp_path / "db-wal").write_bytes(b"x" * 5000)
    monkeypatch.setattr(sqlite, "COPIED", 4000)
    found = scan(tmp_path, Layer("db", "db", "sqlite"), NEEDLES)
    assert "bytes are too many to copy" in (found.problem or "")


@pytest.mark.slow
def test_what_a_copy_leaves_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST", 1 << 20)
    store, told = tmp_path / "store", list[str]()
    nest(store, 1500)
    (store / "a").write_bytes(b"first")
    with (store / "b").open("wb") as file:
        file.seek(75 << 30)
        file.write(PIN.encode())
        file.truncate(150 << 30)
    (store / "c").write_bytes(os.urandom(2 << 20))
    os.mkfifo(store / "pipe")
    (store / "link").symlink_to("/etc/passwd")
    kept = copies.Copies(tmp_path / "kept", told.append)
    kept.take(store, "written")
    (copy,) = kept.folders
    assert (copy / "a").read_bytes() == b"first" and (copy / "b").stat().st_size == 150 << 30
    assert scan(copy, Layer("b", "b", "file"), NEEDLES).sightings
    assert not (copy / "c").exists() and "c is left out" in (copy / copies.LEFT_OUT).read_text()
    assert len(told) == 1 and "lacks 3 files" in told[0] and "at most 1 MiB" in told[0]
    for step in ("second", "third"):
        (store / "c").write_bytes(os.urandom(900_000))
        kept.take(store, step)
    assert len(told) == 3 and "lacks 2 files" in told[1] and "lacks 3 files" in told[2]
    leftovers.remove(store)
