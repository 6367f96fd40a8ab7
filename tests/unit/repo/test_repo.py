from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli.common import shorten
from harness.machine import shortage
from harness.machine.processes import Killed
from harness.repo import checkout as module
from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.series import run_git
from harness.repo.traces import Trace

RULE = "Deploy with harbor from the release branch.\n"
NOISE = "".join(f"Paragraph {at} of the handbook stays as it is.\n" for at in range(8))
ONE = {"README.md": "# shop\n\nA shop.\n", "app.py": "def total():\n    return 1\n"}
TWO = {**ONE, "app.py": "def total():\n    return 2\n"}
TREES = [
    {**ONE, "docs/deploy.md": f"# Deploy\n\n{RULE}{NOISE}"},
    {**ONE, "docs/deploy.md": f"# Deploy\n\nIn short:\n\n{RULE}{NOISE}"},
    {**ONE, "docs/ship.md": f"# Deploy\n\nIn short:\n\n{RULE}{NOISE}"},
    {**TWO, "docs/ship.md": f"# Deploy\n\nIn short:\n\n{NOISE}", "old.md": RULE},
    {**TWO, "docs/ship.md": f"# Deploy\n\nIn short:\n\n{NOISE}"},
]
DEPLOY = ("docs/deploy.md", 3)
Series = Callable[..., Path]


@pytest.fixture
def shop(tmp_path: Path, series: Series) -> Repo:
    return build(series(tmp_path / "shop", TREES), tmp_path / "cache")


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


def test_a_checkout_goes_on_to_a_branch(forked: Repo, tmp_path: Path) -> None:
    for commit, app in zip(forked.commits[2:4], ("two\n", "fixed\n"), strict=True):
        forked.check_out(commit, tmp_path)
        assert (tmp_path / "app.py").read_text() == app
    assert (tmp_path / ".git" / "HEAD").read_text() == "ref: refs/heads/release-2.x\n"


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


def test_a_second_build_is_the_first(tmp_path: Path, shop: Repo) -> None:
    assert build(tmp_path / "shop", tmp_path / "cache") is shop


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
