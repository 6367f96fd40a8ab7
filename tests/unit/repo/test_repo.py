"""A repository made of patches: its commits, files, lines, traces and work trees."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.traces import Trace
from tests.support.repo_trees import RULE, TREES, Series

DEPLOY = ("docs/deploy.md", 3)


@pytest.fixture
def shop(tmp_path: Path, series: Series) -> Repo:
    return build(series(tmp_path / "shop", TREES), tmp_path / "cache")


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A repository that all examples of a property may share."""
    folder = tmp_path_factory.mktemp("lasting") / "shop"
    folder.mkdir()
    (folder / "0001-a.patch").write_text(
        f"From {1:040x} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.com>\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n"
        "Subject: [PATCH] a\n\n---\n\ndiff --git a/-f b/-f\nnew file mode 100644\n--- /dev/null\n+++ b/-f\n"
        "@@ -0,0 +1 @@\n+text\n-- \n2\n"
    )
    return build(folder, folder.parent / "cache")


def test_the_hashes_are_the_same_on_every_machine(shop: Repo) -> None:
    assert shop.commits[-1] == "0f6eab7bc5103ca9caef048c58ffc586437114e3"
    assert shop.digest.startswith("454e9a9bf924b00b")
    assert shop.path.name == f"shop-{shop.digest[:16]}"


def test_neither_environment_nor_configuration_reaches_a_hash(
    tmp_path: Path, series: Series, shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    hooks = home / "template" / "hooks"
    hooks.mkdir(parents=True)
    for hook in ("applypatch-msg", "pre-applypatch", "post-commit"):
        (hooks / hook).write_text("#!/bin/sh\nexit 1\n")
        (hooks / hook).chmod(0o755)
    (home / ".gitconfig").write_text(
        "[user]\nname = Someone\n[commit]\ngpgSign = true\n[core]\nautocrlf = true\n"
        f"[init]\ndefaultBranch = trunk\ntemplateDir = {home / 'template'}\n"
    )
    for key, value in {
        "HOME": str(home), "TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "GIT_COMMITTER_NAME": "Someone",
        "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z", "GIT_AUTHOR_NAME": "Someone", "GIT_DIR": str(home),
        "GIT_INDEX_FILE": str(home / "index"),
    }.items():  # fmt: skip
        monkeypatch.setenv(key, value)
    other = build(series(tmp_path / "again" / "shop", TREES), tmp_path / "elsewhere")
    assert other.commits == shop.commits and other.path != shop.path
    assert other.files(other.commits[-1]) == TREES[-1]


def test_numbers_name_commits(shop: Repo) -> None:
    assert [shop.resolve(f"000{at}") for at in range(1, 6)] == list(shop.commits)
    for wrong in ("0006", "1", "", "--all"):
        with pytest.raises(FixtureError, match="the series goes from 0001 to 0005"):
            shop.resolve(wrong)


def test_contains_follows_the_history(shop: Repo) -> None:
    first, second, *_ = shop.commits
    assert shop.contains(second, first) and shop.contains(first, first) and not shop.contains(first, second)
    with pytest.raises(FixtureError, match="no commit 'HEAD'"):
        shop.contains("HEAD", first)


def test_files_are_those_of_the_commit(shop: Repo) -> None:
    for commit, tree in zip(shop.commits, TREES, strict=True):
        assert dict(shop.files(commit)) == tree
    with pytest.raises(FixtureError, match="no commit"):
        shop.files("main")


def test_files_leave_out_what_is_not_text(tmp_path: Path, series: Series) -> None:
    folder = series(tmp_path / "mixed", [{"a": "caf\u00e9 \u2028 one line\n", "nul": "a\0b\n"}])
    patch = folder / "0001-step.patch"
    link = (
        "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n"
        "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
    )
    latin = b"diff --git a/latin b/latin\nnew file mode 100644\n--- /dev/null\n+++ b/latin\n@@ -0,0 +1 @@\n+caf\xe9\n"
    patch.write_bytes(patch.read_bytes().replace(b"-- \n", latin + link.encode() + b"-- \n"))
    repo = build(folder, tmp_path / "cache")
    assert list(repo.files(repo.commits[0])) == ["a"]
    assert repo.line(repo.commits[0], "a", 1) == "caf\u00e9 \u2028 one line"


@pytest.mark.parametrize("target", ["/etc", "..", "a/../../b", "../..", "sub/../a"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, series: Series, target: str) -> None:
    folder = series(tmp_path / "linked", [{"a": "text\n"}])
    patch = folder / "0001-step.patch"
    link = (
        "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n"
        f"@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
    )
    patch.write_bytes(patch.read_bytes().replace(b"-- \n", link.encode() + b"-- \n"))
    repo = build(folder, tmp_path / "cache")
    said = f"the link 'link' leads to '{target}', outside of the work tree"
    with pytest.raises(FixtureError, match=said), repo.worktree(repo.commits[0]):
        raise AssertionError("checked out")


def test_carriage_returns_survive_and_are_no_part_of_a_line(tmp_path: Path, series: Series) -> None:
    repo = build(series(tmp_path / "dos", [{"a.bat": "one\r\ntwo\r\n"}]), tmp_path / "cache")
    assert repo.files(repo.commits[0])["a.bat"] == "one\r\ntwo\r\n"
    assert repo.line(repo.commits[0], "a.bat", 2) == "two"
    assert repo.line(repo.commits[0], "a.bat", 3) is None


def test_line_says_what_stands_there(shop: Repo) -> None:
    assert shop.line(shop.commits[0], *DEPLOY) == RULE.rstrip("\n")
    assert shop.line(shop.commits[1], *DEPLOY) == "In short:"
    assert shop.line(shop.commits[2], *DEPLOY) is None
    assert shop.line(shop.commits[0], "README.md", 3) == "A shop."
    assert shop.line(shop.commits[0], "README.md", 4) is None


@pytest.mark.slow
@given(
    commit=st.one_of(
        st.text(), st.sampled_from(["HEAD", "main", "--all", "0" * 40, "main:-f"]), st.none(), st.integers()
    ),
    path=st.one_of(st.text(), st.sampled_from(["../x", "-f", "/etc/passwd", "./-f", "\0", ":(top)-f"]), st.none()),
    line=st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())),
    real=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_no_citation_is_too_hostile(lasting: Repo, commit: Any, path: Any, line: Any, real: bool) -> None:
    commit = lasting.commits[0] if real else commit
    said = lasting.line(commit, path, line)
    assert said == ("text" if real and path == "-f" and line == 1 and type(line) is int else None)
    assert (lasting.trace(commit, path, line, lasting.commits[0]).state == "dangling") == (said is None)


def test_trace_tells_where_a_line_went(shop: Repo) -> None:
    first, second, third, fourth, fifth = shop.commits
    assert shop.trace(first, *DEPLOY, first) == Trace("same", "docs/deploy.md", 3)
    assert shop.trace(first, *DEPLOY, second) == Trace("moved", "docs/deploy.md", 5, second)
    assert shop.trace(first, *DEPLOY, third) == Trace("renamed", "docs/ship.md", 5, second)
    assert shop.trace(second, "docs/deploy.md", 5, third) == Trace("renamed", "docs/ship.md", 5, third)
    assert shop.trace(first, *DEPLOY, fourth) == Trace("moved", "old.md", 1, second)
    assert shop.trace(first, *DEPLOY, fifth) == Trace("gone", by=fifth)
    assert shop.trace(first, "app.py", 2, fifth) == Trace("gone", by=fourth)
    assert shop.trace(first, "app.py", 1, fifth) == Trace("same", "app.py", 1)
    assert shop.trace(first, "docs/ship.md", 1, fifth) == Trace("dangling")
    with pytest.raises(FixtureError, match="no commit"):
        shop.trace(first, *DEPLOY, "HEAD")


def test_white_space_moves_no_line_and_a_brace_elsewhere_is_another_brace(tmp_path: Path, series: Series) -> None:
    trees = [{"a.c": "int f() {\n}\n", "b.c": "{\n}\n"}, {"a.c": "\tint f() {\n", "b.c": "{\n}\n"}]
    repo = build(series(tmp_path / "c", trees), tmp_path / "cache")
    old, new = repo.commits
    assert repo.trace(old, "a.c", 1, new).state == "same"
    assert repo.trace(old, "a.c", 2, new) == Trace("gone", by=new)


@pytest.mark.slow
def test_a_worktree_is_a_checkout_with_its_history_and_is_removed(shop: Repo) -> None:
    def look(at: int) -> Path:
        with shop.worktree(shop.commits[at]) as root:
            (root / "README.md").write_text(f"changed {at}\n")
            (root / "new.txt").write_text("new\n")
            (root / "docs").chmod(0o500)
            log, status = (
                subprocess.run(
                    ["git", *words], cwd=root, capture_output=True, text=True, check=True
                ).stdout.splitlines()
                for words in (["log", "--format=%H", "main"], ["status", "--porcelain"])
            )
            assert log == list(reversed(shop.commits[: at + 1]))
            assert status == [" M README.md", "?? new.txt"]
            assert (root / "app.py").read_text() == TREES[at]["app.py"]
        assert not root.exists()
        return root

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(look, [0, 1, 2, 3, 4] * 4))) == 20
    assert dict(shop.files(shop.commits[0])) == TREES[0]


def test_a_worktree_is_removed_when_its_user_fails(shop: Repo) -> None:
    with pytest.raises(ZeroDivisionError), shop.worktree(shop.commits[0]) as root:
        raise ZeroDivisionError
    assert not root.exists()
    with pytest.raises(FixtureError, match="no commit"), shop.worktree("main"):
        pass


def test_a_checkout_is_brought_from_commit_to_commit_and_needs_no_other_repository(shop: Repo, tmp_path: Path) -> None:
    for at in (0, 2, 3, 1):
        shop.check_out(shop.commits[at], tmp_path / "tree")
        files = [each for each in (tmp_path / "tree").rglob("*") if each.is_file() and ".git" not in each.parts]
        assert {str(each.relative_to(tmp_path / "tree")): each.read_text() for each in files} == TREES[at]
        objects, status = (
            subprocess.run(["git", *words], cwd=tmp_path / "tree", capture_output=True, text=True, check=True).stdout
            for words in (["cat-file", "--batch-all-objects", "--batch-check"], ["status", "--porcelain"])
        )
        assert [commit in objects for commit in shop.commits] == [place <= at for place in range(5)] and not status
