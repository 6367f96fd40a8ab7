"""Where an agent works, as git says, and what a memory may cite."""

from __future__ import annotations

import os
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
        ("git@git.example.com:storefront", "git.example.com/storefront"),
        ("https://git.example.com/storefront.git", "git.example.com/storefront"),
        ("https://someone:hunter2@git.example.com/storefront", "git.example.com/storefront"),
        ("ssh://git@git.example.com:2222/storefront.git", "git.example.com/storefront"),
        ("ssh://git@[::1]:2222/acme/storefront.git", "acme/storefront"),
        ("git@git.example.com:2222/storefront.git", "2222/storefront"),
        ("https://git.example.com/team-a/backend/api.git/", "git.example.com/team-a/backend/api"),
        ("git@git.example.com:team-a/backend/api.git", "git.example.com/team-a/backend/api"),
        ("https://dev.azure.com/acme/shop/_git/api", "dev.azure.com/acme/shop/_git/api"),
        ("https://acme.visualstudio.com/_git/api", "acme.visualstudio.com/_git/api"),
    ],
)
def test_a_repository_is_called_as_its_origin(tmp_path: Path, origin: str, repo: str) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "remote", "add", "origin", origin)
    (tmp_path / "below").mkdir()
    place = find_place(tmp_path / "below")
    assert place.scope == Scope(repo=repo, branch="main") and place.root == tmp_path.resolve()
    assert place.commit is None, "nothing is committed yet"


@pytest.mark.parametrize(
    ("origin", "identity"),
    [
        ("https://Someone:hunter2@GitHub.com:443/acme/shop.git/", "github.com/acme/shop"),
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("git@GITHUB.com:/acme/shop/", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop", "github.com/acme/shop"),
        ("git+ssh://git@github.com./acme//shop.git", "github.com/acme/shop"),
        ("ssh://git@ssh.github.com:443/acme/shop.git", "github.com/acme/shop"),
        ("ssh://git@altssh.gitlab.com:443/acme/shop.git", "gitlab.com/acme/shop"),
        ("git@github.com-work:acme/shop.git", "github.com/acme/shop"),
        ("git@work:acme/shop.git", "github.com/acme/shop"),
        ("https://work/acme/shop.git", "work/acme/shop"),
        ("https://ssh.example/acme/shop.git", "ssh.example/acme/shop"),
        ("git@-Fx:acme/shop.git", "-fx/acme/shop"),
        ("https://gitlab.example.com/acme/shop.git", "gitlab.example.com/acme/shop"),
        ("https://Git.example.com/team/backend/api", "git.example.com/team/backend/api"),
        ("https://git.example.com/storefront", "git.example.com/storefront"),
        ("/srv/acme/shop.git", None),
    ],
)
def test_all_urls_of_a_repository_have_one_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str, identity: str | None
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(
        '#!/bin/sh\n[ "$1 $2" = "-G --" ] || exit 1\ncase "$3" in\n-*) echo hostname of nobody; exit 255;;\n'
        'github.com-work|work) echo "user git"; echo "hostname ssh.github.com";;\n*) echo "hostname $3";;\nesac\n'
    )
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "-b", "main", str(tmp_path / "shop"))
    git(tmp_path / "shop", "remote", "add", "origin", origin)
    assert find_place(tmp_path / "shop").origin == identity


def test_a_detached_head_has_no_branch_and_a_plain_folder_its_name(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-qm", "first", "--allow-empty")
    git(tmp_path, "switch", "-q", "--detach")
    place = find_place(tmp_path)
    assert place.repo.startswith(f"{tmp_path.name}-") and place.branch is None and len(place.commit or "") == 40
    outside = tmp_path.parent / f"{tmp_path.name}-plain"
    outside.mkdir()
    assert find_place(outside).repo.startswith(f"{outside.name}-")


@pytest.mark.parametrize("path", ["../out.md", "/etc/passwd", "link/passwd", "a/../../b", "."])
def test_a_memory_cites_files_of_the_repository_only(tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("one\ntwo\nthree")
    place = find_place(tmp_path)
    if path == ".":
        assert place.cite(path, None).path == "."
    else:
        with pytest.raises(PlaceError, match="not inside of the repository"):
            place.cite(path, 1)
    assert place.cite("docs/a.md", 3).path == "docs/a.md"


@pytest.mark.parametrize(
    ("path", "line", "says"),
    [
        ("docs/a.md", 4, "has 3 lines, so that line 4 is not there"),
        ("docs/a.md", 10**30, "is not there"),
        ("docs/a.md", 0, "lines count from 1"),
        ("docs/none.md", None, "docs/none.md is not there"),
        ("docs", 1, "has no lines: Is a directory"),
        ("pipe", 1, "has no lines: not a regular file"),
        (None, 2, "line 2 is of no file: say its path, or leave out the line"),
        ("", None, "the path is empty: name a file of the repository, or leave out the path"),
    ],
)
def test_what_is_not_there_is_not_cited(tmp_path: Path, path: str | None, line: int | None, says: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("one\ntwo\nthree\n")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlaceError, match=says):
        find_place(tmp_path).cite(path, line)


@pytest.mark.parametrize(
    ("path", "line", "says"),
    [
        ("a.md", 1, ""),
        ("a.md", 2, "line 2 of a.md is not in the last commit as it is: commit it, or cite no line"),
        ("a.md", 4, "line 4 of a.md is not in the last commit as it is"),
        ("a.md", None, ""),
        (".", None, ""),
        ("docs", None, ""),
        ("docs/ä b.md", 1, ""),
        ("new.md", 1, "new.md is not in the last commit: commit it before you cite it, or cite none"),
        ("new.md", None, "new.md is not in the last commit"),
        ("log/ignored.md", 1, "log/ignored.md is not in the last commit"),
        (".git/config", 1, ".git/config is not in the last commit"),
    ],
)
def test_what_is_not_committed_is_not_cited(tmp_path: Path, path: str, line: int | None, says: str) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("docs", "log"):
        (tmp_path / name).mkdir()
    (tmp_path / ".gitignore").write_text("log\n")
    (tmp_path / "docs" / "ä b.md").write_text("one")
    (tmp_path / "a.md").write_text("one\ntwo\nthree\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "a.md").write_bytes(b"one\r\ntwo and a half\r\nthree\r\nfour\r\n")
    for name in ("new.md", "log/ignored.md"):
        (tmp_path / name).write_text("one\n")
    place = find_place(tmp_path)
    if says:
        with pytest.raises(PlaceError, match=says):
            place.cite(path, line)
    else:
        assert place.cite(path, line).line == line


def test_all_work_trees_of_a_repository_have_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = tmp_path / "main"
    git(tmp_path, "init", "-q", "-b", "main", str(main))
    git(main, "commit", "-qm", "first", "--allow-empty")
    git(main, "worktree", "add", "-q", str(tmp_path / "aside"))
    other = tmp_path / "below" / "main"
    git(tmp_path, "init", "-q", "-b", "main", str(other))
    assert find_place(main).repo == find_place(tmp_path / "aside").repo
    assert find_place(main).repo != find_place(other).repo
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert find_place(main).repo == find_place(tmp_path / "aside").repo


def test_origins_of_one_name_on_this_machine_are_no_origin(tmp_path: Path) -> None:
    for name in ("a", "b"):
        git(tmp_path, "init", "-q", "-b", "main", str(tmp_path / name / "shop"))
        git(tmp_path / name / "shop", "remote", "add", "origin", f"/srv/{name}/git/shop.git")
    assert find_place(tmp_path / "a" / "shop").repo != find_place(tmp_path / "b" / "shop").repo


def test_a_repository_that_git_does_not_read_is_no_plain_folder(tmp_path: Path) -> None:
    """Else its memories would go by another name, and be there again once git is newer."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "core.repositoryFormatVersion", "1")
    git(tmp_path, "config", "extensions.fromLater", "true")
    with pytest.raises(PlaceError, match=r"git does not read the repository here: .*fromlater"):
        find_place(tmp_path)
    bare = tmp_path.with_name(f"{tmp_path.name}-bare")
    git(tmp_path.parent, "init", "-q", "--bare", str(bare))
    assert find_place(bare).repo.startswith(f"{bare.name}-")


def test_a_damaged_repository_is_no_plain_folder(tmp_path: Path) -> None:
    """Git says of it that there is none."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "remote", "add", "origin", "https://git.example.com/acme/storefront.git")
    (tmp_path / ".git" / "HEAD").write_bytes(b"")
    (tmp_path / "below").mkdir()
    for folder in (tmp_path, tmp_path / "below"):
        with pytest.raises(PlaceError, match=rf"not a git repository.*; mend {tmp_path}, or work elsewhere"):
            find_place(folder)
