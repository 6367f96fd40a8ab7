"""Files are weighed and read without following or waiting for what somebody put there, and written whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.machine import files


def test_regular_files_count_links_and_pipes_do_not(tmp_path: Path) -> None:
    store, other = tmp_path / "store", tmp_path / "other"
    (store / "below").mkdir(parents=True)
    (store / "a").write_bytes(b"x" * 10)
    (store / "below" / "b").write_bytes(b"x" * 7)
    other.mkdir()
    (other / "large").write_bytes(b"x" * 1000)
    (store / "link").symlink_to(other / "large")
    (store / "folder").symlink_to(other)
    (store / "round").symlink_to(store)
    os.mkfifo(store / "pipe")
    assert files.measure_size(store) == 17


def test_what_is_not_there_weighs_nothing(tmp_path: Path) -> None:
    assert files.measure_size(tmp_path / "none") == 0


@pytest.mark.parametrize("made", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, made: Callable[[Path], object]) -> None:
    made(tmp_path / "odd")
    with pytest.raises(OSError, match="not a regular file"):
        files.read(tmp_path / "odd", 10)


def test_a_file_that_keeps_its_reader_waiting_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /proc/kmsg does, which only the superuser may open: a pipe that is a regular file to `stat`."""
    os.mkfifo(tmp_path / "odd")
    writer = os.open(tmp_path / "odd", os.O_RDWR)
    (tmp_path / "plain").touch()
    plain = (tmp_path / "plain").stat()
    monkeypatch.setattr(os, "fstat", lambda _: plain)
    try:
        with pytest.raises(OSError, match="not a regular file"):
            files.read(tmp_path / "odd", 10)
    finally:
        os.close(writer)


@pytest.mark.parametrize("made", [os.mkfifo, lambda path: path.symlink_to("/dev/null"), Path.mkdir])
def test_what_is_no_file_is_never_written_over(tmp_path: Path, made: Callable[[Path], object]) -> None:
    place = tmp_path / "odd"
    made(place)
    before = place.lstat()
    with pytest.raises(OSError, match="no regular file"):
        files.write(place, "a page")
    assert place.lstat() == before and [*tmp_path.iterdir()] == [place]


def test_a_file_is_read_up_to_a_bound_also_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 10)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert files.read(tmp_path / "link", 10) == b"x" * 10
    with pytest.raises(OSError, match="larger than 9 bytes"):
        files.read(tmp_path / "file", 9)


def test_a_draft_that_is_left_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(KeyboardInterrupt), files.open_draft(file) as made:
        made.write_text("half")
        raise KeyboardInterrupt
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize("sign", ["x", "\u00e9", "\u20ac"])
def test_a_file_of_the_longest_name_is_written_whatever_its_letters(tmp_path: Path, sign: str) -> None:
    path = tmp_path / (sign * (255 // len(sign.encode())))
    files.write(path, "a text")
    assert path.read_text() == "a text" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_is_filled_whole_or_not_at_all(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "a" / "folder"
    if there:
        folder.mkdir(parents=True)
        (folder / ".folder.1.part").mkdir()  # what a kill has left
    with pytest.raises(KeyboardInterrupt), files.fill(folder) as made:
        (made / "half").write_text("")
        raise KeyboardInterrupt
    assert not [*tmp_path.rglob("half")] and folder.exists() == there
    with files.fill(folder) as made:
        (made / "below").mkdir()
        (made / "below" / "file").write_text("whole")
    assert (folder / "below" / "file").read_text() == "whole"
    with pytest.raises(OSError, match="is not empty"), files.fill(folder):
        pass


def test_folders_that_are_made_at_once_are_not_shared(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: files.make_folder(tmp_path / "out", "locomo-1"), range(32)))
    assert len(set(made)) == 32 and all(each.is_dir() for each in made)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        files.make_folder(tmp_path / "file", "a")


def test_titles_that_become_one_name_have_a_path_each(tmp_path: Path) -> None:
    titles = ["mine:Adapter", "mine.Adapter", "Mine: adapter", "x" * 300 + "a", "x" * 300 + "b", "\u00e9" * 200]
    for title in titles:
        files.find_free(tmp_path, title, ".jsonl").write_text(title)
    assert sorted(each.read_text() for each in tmp_path.glob("*.jsonl")) == sorted(titles)
