"""Branches of a repository made of patches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.repo import checkout as module
from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.traces import Trace
from tests.support.repo_trees import NOISE, Series

OLD, NEW = "Keep the old rule of the release.\n", "Follow the new rule of the trunk.\n"
MAINLINE = [
    {"app.py": "one\n", "rules.md": f"{OLD}{NOISE}"},
    {"app.py": "one\n", "rules.md": f"{OLD}{NOISE}", "fork.md": "Both lines know this.\n"},
    {"app.py": "two\n", "docs/rules.md": f"{NEW}{NOISE}", "fork.md": "Both lines know this.\n"},
]
BACKPORTS = [
    {"app.py": "fixed\n", "rules.md": f"{OLD}{NOISE}", "fork.md": "Both lines know this.\n"},
    {"app.py": "fixed\n", "release.md": f"Release.\n{OLD}{NOISE}", "fork.md": "Both lines know this.\n"},
]


def _branching(folder: Path, series: Series, *names: str) -> Path:
    """A fixture whose branches of these names leave main at its second commit."""
    series(folder, MAINLINE)
    for name in names:
        own = series(folder / "own", [*MAINLINE[:2], *BACKPORTS])
        for at in (1, 2):
            (own / f"000{at}-step.patch").unlink()
        for at in (1, 2):
            (own / f"000{at + 2}-step.patch").rename(own / f"000{at}-step.patch")
        own.rename(folder / name)
    return folder


@pytest.fixture
def forked(tmp_path: Path, series: Series) -> Repo:
    return build(_branching(tmp_path / "forked", series, "release-2.x@0002"), tmp_path / "cache")


def test_a_checkout_goes_on_to_a_branch(forked: Repo, tmp_path: Path) -> None:
    for commit, app in zip(forked.commits[2:4], ("two\n", "fixed\n"), strict=True):
        forked.check_out(commit, tmp_path)
        assert (tmp_path / "app.py").read_text() == app
    assert (tmp_path / ".git" / "HEAD").read_text() == "ref: refs/heads/release-2.x\n"


@pytest.mark.slow
def test_a_branch_leaves_main_and_main_is_as_without_it(tmp_path: Path, series: Series, forked: Repo) -> None:
    linear = build(series(tmp_path / "linear" / "forked", MAINLINE), tmp_path / "cache")
    assert forked.commits[:3] == linear.commits and forked.digest != linear.digest
    assert [forked.resolve(name) for name in ("0001", "0003", "release-2.x/0001", "release-2.x/0002")] == [
        forked.commits[at] for at in (0, 2, 3, 4)
    ]
    for commit, tree in zip(forked.commits, [*MAINLINE, *BACKPORTS], strict=True):
        assert dict(forked.files(commit)) == tree
    with pytest.raises(FixtureError, match=r"from 0001 to 0003, from release-2\.x/0001 to release-2\.x/0002"):
        forked.resolve("release-2.x/0003")


def test_contains_knows_which_line_a_commit_is_on(forked: Repo) -> None:
    one, two, three, back, port = forked.commits
    ancestors = {one: {one}, two: {one, two}, three: {one, two, three}, back: {one, two, back}}
    ancestors[port] = {*ancestors[back], port}
    for commit in forked.commits:
        assert {other for other in forked.commits if forked.contains(commit, other)} == ancestors[commit]


def test_trace_follows_the_line_of_the_head(forked: Repo) -> None:
    one, two, three, back, port = forked.commits
    assert forked.trace(one, "rules.md", 1, back) == Trace("same", "rules.md", 1)
    assert forked.trace(one, "rules.md", 1, port) == Trace("renamed", "release.md", 2, port)
    assert forked.trace(one, "rules.md", 1, three) == Trace("gone", by=three)
    assert forked.trace(two, "rules.md", 2, three) == Trace("renamed", "docs/rules.md", 2, three)
    assert forked.trace(three, "docs/rules.md", 1, port) == Trace("gone"), "never there, so no commit took it away"
    assert forked.trace(port, "release.md", 2, three) == Trace("gone")
    assert forked.trace(three, "fork.md", 1, port) == Trace("same", "fork.md", 1)
    assert forked.trace(back, "rules.md", 1, one) == Trace("same", "rules.md", 1)


def test_a_worktree_of_a_branch_is_on_it(forked: Repo) -> None:
    with forked.worktree(forked.resolve("release-2.x/0002")) as root:
        words = ["git", "log", "--format=%H", "release-2.x"]
        log = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout.split()
        assert log == [forked.commits[at] for at in (4, 3, 1, 0)]
        assert (root / ".git" / "HEAD").read_text() == "ref: refs/heads/release-2.x\n"
        assert (root / "app.py").read_text() == "fixed\n"


@pytest.mark.slow
def test_a_branch_in_the_cache_is_looked_at_as_well(
    tmp_path: Path, forked: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_opened", {})
    assert build(tmp_path / "forked", tmp_path / "cache").commits == forked.commits
    branch = ["git", "--git-dir", str(forked.path), "update-ref", "refs/heads/release-2.x", forked.commits[3]]
    subprocess.run(branch, check=True)
    monkeypatch.setattr(module, "_opened", {})
    again = build(tmp_path / "forked", tmp_path / "cache")
    assert again.commits == forked.commits and again.files(again.commits[4]) == BACKPORTS[1]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["release 2@0002"], "folder 'release 2@0002' is not named <branch>@<NNNN>; rename it"),
        (["release-2.x"], "folder 'release-2.x' is not named <branch>@<NNNN>; rename it"),
        (["a..b@0002"], r"folder 'a\.\.b@0002' is not named"),
        (["main@0002"], "branch 'main' is there twice; rename main@0002/"),
        (["two@0001", "two@0002"], "branch 'two' is there twice; rename two@0002/"),
        (["late@0004"], "late@0004/ starts at no patch of main, 0001 to 0003; rename it"),
        (["odd@0003"], "odd@0003/0001-step.patch does not apply"),
    ],
)
def test_a_broken_branch_is_one_clear_line(tmp_path: Path, series: Series, names: list[str], says: str) -> None:
    with pytest.raises(FixtureError, match=f"^fixture forked: .*{says}"):
        build(_branching(tmp_path / "forked", series, *names), tmp_path / "cache")


def test_a_branch_without_patches_is_one_clear_line(tmp_path: Path, series: Series) -> None:
    (_branching(tmp_path / "forked", series) / "bare@0001").mkdir()
    with pytest.raises(FixtureError, match=r"fixture forked: no patches in .*bare@0001"):
        build(tmp_path / "forked", tmp_path / "cache")
