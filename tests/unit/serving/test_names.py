"""Repositories of one name on two hosts have two memories, and what was stored before hosts counted is not lost."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.machine.documents import DocumentError
from harness.serving.names import FILE, Names
from harness.serving.place import Place, PlaceError, find_place
from tests.unit.serving.test_place import git

SHORT = "acme/shop"
HERE, THERE = f"github.com/{SHORT}", f"gitlab.example.com/{SHORT}"


def find(names: Names, place: Place, *commits: str) -> str:
    return names.find(place, lambda: commits)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    """A repository with one commit."""
    root = tmp_path / "here"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "commit", "-qm", "first", "--allow-empty")
    git(root, "remote", "add", "origin", f"https://{HERE}")
    return find_place(root)


@pytest.fixture
def there(tmp_path: Path) -> Place:
    """Another one of the same name, on another host."""
    root = tmp_path / "there"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "commit", "-qm", "another", "--allow-empty")
    git(root, "remote", "add", "origin", f"git@gitlab.example.com:{SHORT}.git")
    return find_place(root)


def test_the_second_host_has_a_name_of_its_own_for_good(tmp_path: Path, here: Place, there: Place) -> None:
    names = Names(tmp_path / FILE)
    assert [find(names, each) for each in (here, there, here)] == [SHORT, THERE, SHORT]
    again = Names(tmp_path / FILE)
    assert [find(again, each) for each in (there, here)] == [THERE, SHORT]


def test_memories_of_an_earlier_release_stay_with_the_repository_that_has_their_commits(
    tmp_path: Path, here: Place, there: Place
) -> None:
    """Whichever of the two is opened first. Some of its commits may be gone, as after a rebase."""
    written = ("1" * 40, here.commit or "", "no commit")
    names = Names(tmp_path / FILE)
    assert [find(names, each, *written) for each in (there, here)] == [THERE, SHORT]


def test_memories_that_cite_no_commit_stay_with_the_first(tmp_path: Path, here: Place, there: Place) -> None:
    names = Names(tmp_path / FILE)
    assert [find(names, each, "--all", "") for each in (here, there)] == [SHORT, THERE]


def test_a_name_that_is_also_a_host_and_path_is_not_shared(tmp_path: Path, here: Place) -> None:
    names = Names(tmp_path / FILE)
    group = replace(here, repo="git.example.com/shop", origin="gitlab.example.com/git.example.com/shop")
    assert find(names, group) == "git.example.com/shop"
    with pytest.raises(PlaceError, match=r"another repository is called git\.example\.com/shop in this memory"):
        find(names, replace(here, repo="git.example.com/shop", origin="git.example.com/shop"))


def test_a_name_that_cannot_be_written_down_is_not_given(tmp_path: Path, here: Place) -> None:
    (tmp_path / "away").write_text("")
    names = Names(tmp_path / "away" / FILE)
    with pytest.raises(PlaceError, match=rf"{FILE}: cannot be written: "):
        find(names, here)


@pytest.mark.parametrize("text", ["", "[]", '{"a": ', '{"a": 1}'])
def test_a_file_of_names_that_was_cut_is_no_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(DocumentError):
        Names(tmp_path / FILE)


def test_a_repository_that_git_cannot_search_gets_no_name(tmp_path: Path, here: Place) -> None:
    subprocess.run(["rm", "-rf", here.root / ".git" / "objects"], check=True)
    with pytest.raises(PlaceError, match="git does not say which commits are here"):
        find(Names(tmp_path / FILE), here, here.commit or "")
