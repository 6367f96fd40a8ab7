"""Copies of a store at each look: whole, in order, within their bound, and what is lacking is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.machine import files
from harness.scan import copies, raw
from harness.scan.copies import LEFT_OUT, Copies


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store/deep").mkdir(parents=True)
    return tmp_path / "store"


def take(store: Path, *steps: str) -> tuple[list[Path], list[str]]:
    told: list[str] = []
    kept = Copies(store.parent / "kept", told.append)
    for step in steps or ("before",):
        kept.take(store, step)
    return kept.folders, told


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_each_look_has_a_whole_copy(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a file that is copied in many pieces."""
    monkeypatch.setattr(copies, "PIECE", 4)
    (store / "deep/a").write_bytes(bytes(range(250)))
    (store / "b").write_bytes(b"")
    folders, told = take(store, "before", "after")
    assert [folder.name for folder in folders] == ["at-before", "at-after"] and told == []
    for folder in folders:
        assert names(folder) == ["b", "deep/a"]
        assert (folder / "deep/a").read_bytes() == bytes(range(250))


def test_folders_in_folders_are_copied(store: Path) -> None:
    (store / "deep/deeper/deepest").mkdir(parents=True)
    (store / "deep/deeper/deepest/a").write_bytes(b"a")
    (folder,), told = take(store)
    assert names(folder) == ["deep/deeper/deepest/a"] and told == []


def test_a_file_that_cannot_be_read_is_left_out(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(path)

    (store / "a").write_bytes(b"a")
    monkeypatch.setattr(files, "open_regular", refuse)
    (folder,), told = take(store)
    assert (folder / LEFT_OUT).read_text() == "a is left out\n" and len(told) == 1


def test_as_it_is_set_a_store_of_some_bytes_is_copied(store: Path) -> None:
    (store / "a").write_bytes(b"some bytes" * 1000)
    (folder,), told = take(store)
    assert (folder / "a").read_bytes() == b"some bytes" * 1000 and told == []


def test_what_exceeds_the_bound_is_left_out_and_listed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds for all copies together, and may be used up to its last byte."""
    monkeypatch.setattr(copies, "MOST", 30)
    monkeypatch.setattr(copies, "PIECE", 4)
    (store / "a").write_bytes(b"a" * 10)
    (store / "b").write_bytes(b"b" * 5)
    (first, second, third), (told,) = take(store, "one", "two", "three")
    assert names(first) == names(second) == ["a", "b"]
    assert names(third) == [LEFT_OUT] and (third / LEFT_OUT).read_text() == "a is left out\nb is left out\n"
    assert told.startswith(f"{third} lacks 2 files, listed in {LEFT_OUT}: copies of a store take at most 0 MiB")


def test_holes_take_nothing_and_stay_holes(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST", 16)
    data = b"head" + bytes(90) + b"tail" + bytes(2)
    (store / "a").write_bytes(data)

    def find_written(file: int, size: int) -> Iterator[tuple[int, int]]:
        return iter([(0, 4), (94, 98)])

    monkeypatch.setattr(raw, "find_written", find_written)
    folders, told = take(store, "one", "two")
    assert [(folder / "a").read_bytes() for folder in folders] == [data, data] and told == []


def test_a_step_may_be_looked_at_twice(store: Path) -> None:
    (store / "a").write_bytes(b"a")
    (first, second), told = take(store, "one", "one")
    assert first == second and names(first) == ["a"] and told == []


def test_what_is_no_regular_file_is_listed_with_the_reason(store: Path) -> None:
    os.mkfifo(store / "deep/pipe")
    (store / "a").write_bytes(b"a")
    (folder,), (told,) = take(store)
    assert names(folder) == [LEFT_OUT, "a"] and "lacks 1 files" in told
    assert (folder / LEFT_OUT).read_text() == "deep/pipe is not a regular file and was not followed\n"


@pytest.mark.parametrize(("error", "left"), [(FileNotFoundError(2, "gone"), []), (OSError(5, "I/O"), [LEFT_OUT])])
def test_what_vanishes_was_not_there_and_what_breaks_off_is_no_copy(
    store: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, left: list[str]
) -> None:
    (store / "a").write_bytes(b"a" * 10)

    def broken(file: int, size: int, at: int) -> bytes:
        raise error

    monkeypatch.setattr(os, "pread", broken)
    (folder,), told = take(store)
    assert [name for name in names(folder) if name != "a"] == left and len(told) == len(left)
    assert error.errno == 2 or names(folder) == left
