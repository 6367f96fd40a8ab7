"""Where an agent works, as git says, and what a memory may cite."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.adapter import Scope
from harness.serving.place import PlaceError, find_place


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *words], cwd=root, check=True)


@pytest.mark.parametrize(
    ("origin", "repo"),
    [
        ("https://git.example.com/acme/storefront.git", "acme/storefront"),
        ("https://someone:hunter2@git.example.com/acme/storefront/", "acme/storefront"),
        ("git@git.example.com:acme/storefront.git", "acme/storefront"),
        ("git@git.example.com:storefront", "storefront"),
        ("/srv/git/storefront.git", "git/storefront"),
    ],
)
def test_a_repository_is_called_as_its_origin(tmp_path: Path, origin: str, repo: str) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "remote", "add", "origin", origin)
    (tmp_path / "below").mkdir()
    place = find_place(tmp_path / "below")
    assert place.scope == Scope(repo=repo, branch="main") and place.root == tmp_path.resolve()
    assert place.commit is None, "nothing is committed yet"


def test_a_detached_head_has_no_branch_and_a_plain_folder_its_name(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-qm", "first", "--allow-empty")
    git(tmp_path, "switch", "-q", "--detach")
    place = find_place(tmp_path)
    assert (place.repo, place.branch) == (tmp_path.name, None) and len(place.commit or "") == 40
    outside = tmp_path.parent / f"{tmp_path.name}-plain"
    outside.mkdir()
    assert find_place(outside).scope == Scope(repo=outside.name)


@pytest.mark.parametrize("path", ["../out.md", "/etc/passwd", "link/passwd", "a/../../b", "."])
def test_a_memory_cites_files_of_the_repository_only(tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    place = find_place(tmp_path)
    if path == ".":
        assert place.cite(path, None).path == "."
    else:
        with pytest.raises(PlaceError, match="not inside of the repository"):
            place.cite(path, 1)
    assert place.cite("docs/a.md", 3).path == "docs/a.md"
