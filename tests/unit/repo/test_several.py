"""Several fixtures as one: asked by commit, and each work tree of one alone."""

from __future__ import annotations

import pickle
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.several import join
from harness.repo.traces import Trace
from tests.support.repo_trees import TREES, Series

PIER = [{"README.md": "# pier\n"}, {"README.md": "# pier\n", "crane.md": "The crane is slow.\n"}]


@pytest.fixture
def shop(tmp_path: Path, series: Series) -> Repo:
    return build(series(tmp_path / "shop", TREES), tmp_path / "cache")


@pytest.fixture
def pier(tmp_path: Path, series: Series) -> Repo:
    return build(series(tmp_path / "pier", PIER), tmp_path / "cache")


def ask_git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True, check=False).stdout


def test_commits_have_the_hashes_of_their_own_fixture(shop: Repo, pier: Repo) -> None:
    both = join(shop, pier)
    assert both.commits == shop.commits + pier.commits
    assert [both.resolve(name) for name in ("0001", "pier/0001", "pier/0002")] == [shop.commits[0], *pier.commits]
    assert dict(both.files(pier.commits[1])) == PIER[1] and both.line(pier.commits[1], "crane.md", 1)
    assert [both.find(commit) for commit in (shop.commits[2], pier.commits[0])] == [shop, pier]
    with pytest.raises(FixtureError, match="no patch 'yard/0001'; the series goes from 0001 to 0005; beside it pier"):
        both.resolve("yard/0001")
    with pytest.raises(FixtureError, match="fixture pier: no patch '0003'"):
        both.resolve("pier/0003")


def test_the_digest_is_of_all_and_one_fixture_is_as_it_was(shop: Repo, pier: Repo) -> None:
    assert join(shop) is shop
    digests = [shop.digest, pier.digest, join(shop, pier).digest, join(pier, shop).digest]
    assert len(set(digests)) == len(digests)
    again = pickle.loads(pickle.dumps(join(shop, pier)))
    assert (again.digest, again.commits) == (digests[2], shop.commits + pier.commits)


def test_a_line_of_another_repository_cannot_be_looked_up(shop: Repo, pier: Repo) -> None:
    both, here, there = join(shop, pier), shop.commits[-1], pier.commits[-1]
    assert both.trace(there, "crane.md", 1, here) == Trace("elsewhere")
    assert both.trace(here, "README.md", 1, there) == Trace("elsewhere")
    assert both.trace(there, "crane.md", 9, here) == Trace("dangling")
    assert both.trace(pier.commits[0], "README.md", 1, there) == Trace("same", "README.md", 1)
    assert not both.contains(here, there) and not both.contains(there, here) and both.contains(there, pier.commits[0])
    hostile: Any = ["no", "hash"]
    assert both.line(hostile, "README.md", 1) is None, "backends cite what they like"


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 1])
def test_a_work_tree_shows_no_trace_of_the_other_repository(shop: Repo, pier: Repo, tmp_path: Path, at: int) -> None:
    own, other = ((shop, pier), (pier, shop))[at]
    both = join(shop, pier)

    def look(tree: Path) -> None:
        assert ask_git(tree, "log", "--all", "--format=%H").split() == [*reversed(own.commits)]
        assert ask_git(tree, "branch", "--all").split() == ["*", "main"]
        assert [ask_git(tree, "cat-file", "-t", commit) for commit in other.commits] == [""] * len(other.commits)

    with both.worktree(own.commits[-1]) as tree:
        look(tree)
    both.check_out(own.commits[-1], tmp_path / "tree")
    look(tmp_path / "tree")


def test_the_newest_commit_of_a_day(pier: Repo) -> None:
    days = [datetime.fromisoformat(f"2024-01-{day:02}T10:00:00+01:00") for day in (1, 2, 9)]
    assert [pier.find_newest(day) for day in days] == [pier.commits[0], pier.commits[1], pier.commits[1]]
    assert pier.find_newest(datetime.fromisoformat("2023-12-31T10:00:00+00:00")) is None


def test_a_branch_may_not_be_named_as_the_fixture_beside_it(tmp_path: Path, series: Series, pier: Repo) -> None:
    folder = series(tmp_path / "yard", PIER)
    series(folder / "pier@0001", PIER[:1])
    second = (folder / "0002-step.patch").read_text()
    (folder / "pier@0001" / "0001-step.patch").write_text(second.replace("slow", "quick"))
    with pytest.raises(FixtureError, match="fixture yard: has a branch named as the fixture pier; rename it"):
        join(build(folder, tmp_path / "cache"), pier)
