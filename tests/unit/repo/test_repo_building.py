"""The building of a repository into its cache: what is built once or again, and what stops it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.common import shorten
from harness.machine import shortage
from harness.machine.processes import Killed
from harness.repo import checkout as module
from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.series import run_git
from tests.support.repo_trees import TREES, Series


@pytest.fixture
def shop(tmp_path: Path, series: Series) -> Repo:
    return build(series(tmp_path / "shop", TREES), tmp_path / "cache")


def test_a_second_build_is_the_first(tmp_path: Path, shop: Repo) -> None:
    assert build(tmp_path / "shop", tmp_path / "cache") is shop


@pytest.mark.slow
def test_a_changed_patch_is_another_repository(tmp_path: Path, series: Series, shop: Repo) -> None:
    changed = build(series(tmp_path / "shorter" / "shop", TREES[:2]), tmp_path / "cache")
    assert changed.path != shop.path and changed.commits == shop.commits[:2]


BUILDER = """
import sys
from pathlib import Path
from harness.repo.checkout import build
print(build(Path(sys.argv[1]), Path(sys.argv[2])).commits[-1])
"""


@pytest.mark.slow
def test_concurrent_processes_build_once(tmp_path: Path, series: Series) -> None:
    folder, cache = series(tmp_path / "shop", TREES), tmp_path / "cache"
    running = [
        subprocess.Popen([sys.executable, "-c", BUILDER, str(folder), str(cache)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    heads = {process.communicate()[0].strip() for process in running}
    assert heads == {build(folder, cache).commits[-1]}
    assert [path.name for path in cache.iterdir() if path.is_dir()] == [build(folder, cache).path.name]


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.chmod(0o600)
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["flipped pack", "no pack", "no ref", "series cut", "series binary", "other head"])
def test_a_damaged_cache_is_rebuilt(tmp_path: Path, shop: Repo, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    pack = next((shop.path / "objects" / "pack").glob("*.pack"))
    heads, record = shop.path / "refs" / "heads" / "main", shop.path / "series"
    match damage:
        case "flipped pack":
            _flip(pack)
        case "no pack":
            pack.unlink()
        case "no ref":
            heads.unlink(missing_ok=True)
            (shop.path / "packed-refs").unlink(missing_ok=True)
        case "series cut":
            record.write_text(record.read_text()[:41])
        case "series binary":
            record.write_bytes(b"\xff\xfe")
        case _:
            heads.write_text(f"{shop.commits[0]}\n")
    monkeypatch.setattr(module, "_opened", {})  # as a new process would see it
    again = build(tmp_path / "shop", tmp_path / "cache")
    assert again is not shop and again.commits == shop.commits
    assert {commit: dict(again.files(commit)) for commit in again.commits} == dict(
        zip(again.commits, TREES, strict=True)
    )
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()] == [again.path.name]


def test_a_cache_that_vanished_is_built_again(tmp_path: Path, shop: Repo) -> None:
    shop.path.rename(tmp_path / "gone")
    again = build(tmp_path / "shop", tmp_path / "cache")
    assert again.path.is_dir() and again.commits == shop.commits


def test_a_cache_that_is_removed_under_an_open_fixture_is_said(tmp_path: Path, shop: Repo) -> None:
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(shortage.Lacking, match=r"^the cache .* was removed during the run") as met:
        shop.files(shop.commits[0])
    assert shortage.explain_error(met.value) == str(met.value)


@pytest.mark.parametrize("error", [None, ValueError("the job left a work tree in which git diff fails")])
def test_a_cache_that_is_removed_under_a_work_tree_is_said(
    tmp_path: Path, shop: Repo, error: ValueError | None
) -> None:
    with pytest.raises(shortage.Lacking, match="was removed during the run"), shop.worktree(shop.commits[0]):
        shutil.rmtree(tmp_path / "cache")
        if error:
            raise error


def test_a_working_folder_that_is_gone_is_none_of_git_s_business(
    tmp_path: Path, shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    assert run_git("rev-parse", "HEAD", at=shop.path).returncode == 0
    assert shorten(shop.path) == shop.path


def _swap(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _nothing(path: Path) -> None:
    for patch in path.parent.iterdir():
        patch.unlink()


BREAK: dict[str, Callable[[Path], object]] = {
    "does not apply": lambda path: _swap(path, " # Deploy", " # Another"),
    "empty": lambda path: path.write_text(""),
    "binary": lambda path: path.write_bytes(os.urandom(200)),
    "two mails": lambda path: path.write_bytes(path.read_bytes() * 2),
    "no diff": lambda path: path.write_text(path.read_text().split("diff --git")[0]),
    "same number": lambda path: path.rename(path.with_name("0001-other.patch")),
    "name": lambda path: path.rename(path.with_name("two.patch")),
    "directory": _directory,
    "climbs": lambda path: _swap(path, "docs/deploy.md", "../deploy.md"),
    "nothing": _nothing,
}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("does not apply", "0002-step.patch does not apply: .*docs/deploy.md"),
        ("empty", "0002-step.patch is not one mail"),
        ("binary", "0002-step.patch is not one mail"),
        ("two mails", "0002-step.patch is not one mail"),
        ("no diff", "0002-step.patch does not apply"),
        ("same number", "0001-other.patch and 0001-step.patch have the same number"),
        ("name", "'two.patch' is not named NNNN-slug.patch"),
        ("directory", "cannot be read"),
        ("climbs", "0002-step.patch does not apply"),
        ("nothing", "no patches in"),
    ],
)
def test_a_broken_series_is_one_clear_line(tmp_path: Path, series: Series, how: str, says: str) -> None:
    folder = series(tmp_path / "shop", TREES)
    BREAK[how](folder / "0002-step.patch")
    with pytest.raises(FixtureError, match=f"^fixture shop: .*{says}") as caught:
        build(folder, tmp_path / "cache")
    assert "\n" not in str(caught.value)
    cache = tmp_path / "cache"
    assert not cache.exists() or not [path for path in cache.iterdir() if path.is_dir()]


def test_a_fixture_or_a_cache_that_is_not_there(tmp_path: Path, series: Series) -> None:
    with pytest.raises(FixtureError, match="fixture absent: cannot be read: No such file"):
        build(tmp_path / "absent", tmp_path / "cache")
    (tmp_path / "file").write_text("")
    with pytest.raises(FixtureError, match=r"fixture shop: cannot be kept in .*name a writable folder"):
        build(series(tmp_path / "shop", TREES), tmp_path / "file")


def test_without_git_there_is_one_clear_line(tmp_path: Path, series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(shortage.Lacking, match="git was not found on the PATH"):
        build(series(tmp_path / "shop", TREES), tmp_path / "cache")


def test_a_git_that_is_killed_from_outside_is_no_fault_of_a_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "git").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(Killed, match="git was killed by signal 9, not by coldwarm"):
        run_git("fsck", at=tmp_path)


FULL_GIT = """#!/bin/sh
case "$*" in
  *"$FAILS"*)
    mkdir -p "$GIT_DIR/rebase-apply" && : > "$GIT_DIR/rebase-apply/next"
    echo "error: failed to write new configuration file" >&2
    exit 128;;
esac
exec "$REAL" "$@"
"""
"""It fails as git does on a full disk, in words of its own."""


@pytest.mark.parametrize("fails", ["init", "am --quiet", "repack"])
def test_a_full_cache_is_the_disk_s_trouble_whatever_git_says(
    tmp_path: Path, series: Series, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    folder, cache = series(tmp_path / "shop", TREES), tmp_path / "cache"
    (git := tmp_path / "bin" / "git").parent.mkdir()
    git.write_text(FULL_GIT.replace("$FAILS", fails).replace("$REAL", str(shutil.which("git"))))
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(shortage, "is_short_of_room", lambda folder: "no room")
    with pytest.raises(OSError, match="No space left") as met:
        build(folder, cache)
    assert (met.value.errno, met.value.filename) == (errno.ENOSPC, str(cache))
    assert [each.suffix for each in cache.iterdir()] == [".lock"]


def test_a_full_disk_under_a_work_tree_is_the_disk_s_trouble(
    tmp_path: Path, shop: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortage, "is_short_of_room", lambda folder: "no room")
    monkeypatch.setattr(module, "run_git", lambda *words, **_: subprocess.CompletedProcess(words, 128, b"", b"fatal"))
    with pytest.raises(OSError, match="No space left"):
        shop.part(tmp_path)
    with pytest.raises(FixtureError):  # it only reads
        shop.line(shop.commits[0], "a", 1)
