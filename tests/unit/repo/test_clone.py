"""Real repositories as fixtures: read only, pinned, and nothing of what they configure runs."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.model.job import Decision, Edit, Job, Option
from harness.repo import checkout
from harness.repo.checkout import FixtureError, Repo, build
from harness.repo.checks import WorkTrees
from harness.repo.clone import Clone, locate
from harness.repo.traces import Trace
from tasks.loader import load, validate
from tests.support.foreign import digest, set_traps
from tests.unit.conftest import House

WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada Example"), ("EMAIL", "ada@example.com"), ("DATE", "2024-01-01T10:00:00+00:00"))
}
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **WHO}


class Foreign:
    """Somebody else's repository, made with plain git."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=trunk")

    def git(self, *words: str, ok: bool = True) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.path), **ALONE}
        done = subprocess.run(["git", *words], cwd=self.path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0 or not ok, done.stderr
        return done.stdout.strip()

    def commit(self, **files: str | bytes) -> str:
        """Files by name; `__` stands for a slash, and what is empty is removed."""
        for name, content in files.items():
            file = self.path / name.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            if content:
                file.write_bytes(content.encode() if isinstance(content, str) else content)
            else:
                file.unlink()
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A step", "--allow-empty")
        return self.git("rev-parse", "HEAD")


RULE = "The platform is {}.\n"
REST = "".join(f"Line {at} of the handbook stays as it is.\n" for at in range(8))


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    return Foreign(tmp_path / "theirs")


def opened(foreign: Foreign, commit: str, tmp_path: Path) -> Repo:
    return build(Clone(str(foreign.path), commit), tmp_path / "cache")


def test_a_clone_is_read_and_never_changed(foreign: Foreign, tmp_path: Path) -> None:
    first = foreign.commit(**{"README.md": "# theirs\n", "docs__deploy.md": RULE.format("harborline") + REST})
    second = foreign.commit(**{"docs__deploy.md": "", "docs__ship.md": RULE.format("harborline") + REST})
    third = foreign.commit(**{"docs__ship.md": RULE.format("kestrelway") + REST})
    before = digest(foreign.path)
    repo = opened(foreign, third, tmp_path)
    assert repo.commits == (first, second, third) and repo.name == "theirs"
    assert repo.files(first) == {"README.md": "# theirs\n", "docs/deploy.md": RULE.format("harborline") + REST}
    assert repo.line(first, "docs/deploy.md", 1) == "The platform is harborline."
    assert repo.trace(first, "docs/deploy.md", 1, second) == Trace("renamed", "docs/ship.md", 1, second)
    assert repo.trace(first, "docs/deploy.md", 1, third) == Trace("gone", by=third)
    assert repo.resolve(first[:7]) == first
    with repo.worktree(second) as tree:
        assert (tree / "docs" / "ship.md").read_text() == RULE.format("harborline") + REST
        (tree / "docs" / "ship.md").write_text("mine\n")
    assert digest(foreign.path) == before


def test_only_what_the_pin_leads_to_is_there(foreign: Foreign, tmp_path: Path) -> None:
    first, second = foreign.commit(a="1\n"), foreign.commit(a="2\n")
    repo = opened(foreign, first, tmp_path)
    assert repo.commits == (first,) and repo.line(second, "a", 1) is None
    with pytest.raises(FixtureError, match=f"no commit '{second[:9]}' in the history of the pinned one"):
        repo.resolve(second[:9])
    for named in ("0001", "main", "--help", first[:6]):
        with pytest.raises(FixtureError, match="is no hash of a commit; write 7 or more digits"):
            repo.resolve(named)


def test_a_full_cache_keeps_no_half_file_and_is_the_disk_s_trouble(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_bytes(path: Path, data: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    head = foreign.commit(README="# theirs\n")
    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(OSError, match="No space left") as met:
        opened(foreign, head, tmp_path)
    assert met.value.filename == str(tmp_path / "cache")
    assert [each.suffix for each in (tmp_path / "cache").rglob("*") if each.is_file()] == [".lock"]


def test_merges_are_followed_on_both_sides(foreign: Foreign, tmp_path: Path) -> None:
    start = foreign.commit(a="one\n", rule="Keep the rule of the harbour.\n")
    foreign.git("checkout", "--quiet", "-b", "side")
    side = foreign.commit(b="two\n", rule="Drop that of it, then.\n")
    foreign.git("checkout", "--quiet", "trunk")
    trunk = foreign.commit(a="three\n")
    foreign.git("merge", "--quiet", "--no-edit", "side")
    merge = foreign.git("rev-parse", "HEAD")
    repo = opened(foreign, merge, tmp_path)
    assert set(repo.commits) == {start, side, trunk, merge}
    assert repo.contains(merge, side) and repo.contains(merge, trunk) and not repo.contains(trunk, side)
    assert repo.trace(start, "rule", 1, trunk).state == "same"
    assert repo.trace(start, "rule", 1, merge) == Trace("gone", by=side)
    assert repo.trace(trunk, "rule", 1, merge) == Trace("gone", by=merge)


@pytest.mark.slow
def test_nothing_that_a_repository_configures_runs(foreign: Foreign, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"
    first = foreign.commit(**{
        ".gitattributes": "* filter=evil diff=evil merge=evil ident\n*.bin filter=lfs diff=lfs\n*.txt text eol=crlf\n",
        ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c true\n\tupdate = !true\n',
        "a.txt": "$Id$ one\n", "big.bin": pointer,
    })  # fmt: skip
    foreign.git("update-index", "--add", "--cacheinfo", f"160000,{first},sub")
    foreign.git("commit", "--quiet", "--message", "A submodule")
    second = foreign.commit(**{"a.txt": "$Id$ two\n", "b.txt": "new\n"})
    set_traps(foreign.path, foreign.git, marker)
    foreign.git("--work-tree=.", "-c", "core.bare=false", "status", ok=False)
    assert marker.exists(), "the traps do not work"
    marker.unlink()

    before = digest(foreign.path)
    repo = opened(foreign, second, tmp_path)
    assert repo.files(second)["big.bin"] == pointer and "sub" not in repo.files(second)
    assert repo.trace(first, "a.txt", 1, second) == Trace("gone", by=second)
    job = Job(
        do="job", id="write", goal="Write.", relevant=("a.txt",), run=(("git", "status"), ("git", "diff")),
        decisions=(Decision(
            id="what", question="What?", edits=(Edit(path="a.txt", old="two", new="{value}"),),
            check=("cat", "a.txt"),
            options=tuple(Option(value=v, verdict=k, fact="f") for v, k in (("three", "right"), ("one", "stale"))),
        ),),
    )  # fmt: skip
    work = WorkTrees().do(repo, second, job, {"what": "three"})
    assert [check.exit for check in (*work.ran, *work.checks)] == [0, 0, 0], work
    assert work.checks[0].value == "$Id$ three" and "+$Id$ three" in work.diff  # neither ident nor line ends changed
    with repo.worktree(first) as tree:
        assert (tree / "a.txt").read_bytes() == b"$Id$ one\n" and (tree / "big.bin").read_text() == pointer
    fetched = build(Clone(f"file://{foreign.path}", second), tmp_path / "other")
    assert fetched.files(second) == repo.files(second) and fetched.digest == repo.digest
    assert not marker.exists(), marker.read_text()
    assert digest(foreign.path) == before


def test_other_ways_to_keep_a_repository(foreign: Foreign, tmp_path: Path) -> None:
    first = foreign.commit(a="1\n")
    foreign.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    foreign.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    foreign.git("clone", "--quiet", "--shared", ".", str(tmp_path / "shared"))
    for at, where in enumerate(("tree", "bare.git", "shared")):
        repo = build(Clone(str(tmp_path / where), first), tmp_path / f"cache{at}")
        assert repo.files(first) == {"a": "1\n"}, where
        assert all(path.is_absolute() and path.exists() for path in repo.stores)
    assert (tmp_path / "theirs" / ".git" / "objects").resolve() in repo.stores  # the third borrows from the first


def test_a_repository_that_moved_is_found_again(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = foreign.commit(a="1\n")
    assert opened(foreign, first, tmp_path).files(first) == {"a": "1\n"}
    (tmp_path / "deep").mkdir()
    moved = foreign.path.rename(tmp_path / "deep" / "theirs")
    monkeypatch.setattr(checkout, "_borrowed", {})
    assert build(Clone(str(moved), first), tmp_path / "cache").files(first) == {"a": "1\n"}


def test_another_process_opens_the_same(foreign: Foreign, tmp_path: Path) -> None:
    repo = opened(foreign, foreign.commit(a="1\n"), tmp_path)
    assert pickle.loads(pickle.dumps(repo)) is repo


def test_names_and_files_that_no_log_can_hold_are_left_out(foreign: Foreign, tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.txt")
    (foreign.path / odd).write_text("latin\n")
    files: dict[str, str | bytes] = {"né.txt": "utf-8\n", "crlf": "a\r\nb\r\n", "image": b"\0\1", "latin": b"caf\xe9\n"}
    commit = foreign.commit(**files, large=b"x" * 1_000_001)
    repo = opened(foreign, commit, tmp_path)
    assert dict(repo.files(commit)) == {"né.txt": "utf-8\n", "crlf": "a\r\nb\r\n"} and len(repo.files(commit)) == 2
    assert repo.line(commit, "crlf", 2) == "b" and repo.line(commit, "large", 1) is None
    with repo.worktree(commit) as tree:
        assert (tree / odd).exists() and (tree / "large").stat().st_size == 1_000_001


def _shallow(foreign: Foreign, commit: str) -> Path:
    target = foreign.path.with_name("shallow")
    foreign.commit(a="2\n")
    foreign.git("clone", "--quiet", "--depth=1", f"file://{foreign.path}", str(target))
    return target


def _partial(foreign: Foreign, commit: str) -> Path:
    target = foreign.path.with_name("partial")
    foreign.git("config", "uploadpack.allowFilter", "true")
    foreign.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{foreign.path}", str(target))
    return target


def _broken(foreign: Foreign, commit: str) -> Path:
    later = foreign.commit(a="2\n")
    (foreign.path / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
    foreign.git("update-ref", "refs/heads/pinned", later, ok=False)
    return foreign.path


def _plain(foreign: Foreign, commit: str) -> Path:
    foreign.path.with_name("plain").mkdir()
    return foreign.path.with_name("plain")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_plain, r"fixture plain: .*: is no git repository; name a clone, or a URL"),
        (lambda foreign, commit: foreign.path / "nowhere", "there is no such folder"),
        (_shallow, "is a shallow clone; complete it there: git fetch --unshallow"),
        (_partial, "is a partial clone, which lacks files; clone it without --filter"),
        (_broken, "is not there; fetch it, or pin another commit"),
    ],
)
def test_what_cannot_be_opened_is_one_clear_line(
    foreign: Foreign, tmp_path: Path, make: Callable[[Foreign, str], Path], says: str
) -> None:
    commit = foreign.commit(a="1\n")
    with pytest.raises(FixtureError, match=says) as caught:
        build(Clone(str(make(foreign, commit)), commit), tmp_path / "cache")
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_not_whole_is_one_clear_line(foreign: Foreign, tmp_path: Path) -> None:
    tree = foreign.commit(a="1\n")
    last = foreign.commit(a="2\n")
    objects = foreign.path / ".git" / "objects"
    (objects / tree[:2] / tree[2:]).rename(tmp_path / "kept")
    with pytest.raises(FixtureError, match=r"its history is not complete: .*; clone it anew"):
        opened(foreign, last, tmp_path)
    (tmp_path / "kept").rename(objects / tree[:2] / tree[2:])
    blob = foreign.git("rev-parse", f"{last}:a")
    (objects / blob[:2] / blob[2:]).unlink()
    with pytest.raises(FixtureError, match=f"the object {blob} is missing; clone the repository anew"):
        opened(foreign, last, tmp_path).line(last, "a", 1)
    with pytest.raises(FixtureError, match="is not there; fetch it"):
        build(Clone(str(foreign.path), blob), tmp_path / "cache")


@pytest.mark.parametrize("url", ["ext::sh -c true", "file:///nowhere/at/all.git", "fd::17"])
def test_a_url_that_leads_nowhere_is_one_clear_line(tmp_path: Path, url: str) -> None:
    with pytest.raises(FixtureError) as caught:
        build(Clone(locate(url, tmp_path), "0" * 40), tmp_path / "cache")
    assert len(str(caught.value).splitlines()) == 1


def test_a_story_plays_in_a_pinned_repository(house: House, foreign: Foreign) -> None:
    deploy = "# Deploy\n\nThe platform is {}.\n"
    order = {"ops__order.toml": 'target = ""\n'}
    commits = [
        foreign.commit(**order, **{"docs__deploy.md": text})
        for text in (deploy.format("harborline"), deploy.format("kestrelway"), "# Deploy\n")
    ]
    pinned = f'fixture = {{git = "{foreign.path}", commit = "{commits[-1]}"}}'
    text = house.changed('fixture = "shop"', pinned)
    for at, commit in enumerate(commits, 1):
        text = text.replace(f'"{at:04}"', f'"{commit[:10]}"')
    assert validate(house.write(text), house.fixtures, house.cache) == []
    [(scenario, repo)] = load([house.file], house.fixtures, house.cache)
    assert [session.commit for session in scenario.sessions] == commits == list(repo.commits)
    relative = os.path.relpath(foreign.path, house.file.parent)
    assert validate(house.write(text.replace(str(foreign.path), relative)), house.fixtures, house.cache) == []


@pytest.mark.parametrize(
    ("fixture", "says"),
    [
        ('{git = "x"}', "fixture.commit: missing"),
        ('{git = "x", commit = "main"}', "fixture.commit: must be a whole commit id, 40 or 64 hexadecimal digits"),
        ('{git = "x", commit = "' + "0" * 40 + '", branch = "main"}', "fixture.branch: unknown key"),
        ("3", 'fixture: must be a text, as "..."'),
        ('{git = "x", commit = "' + "0" * 40 + '"}', "fixture: fixture x: "),
    ],
)
def test_a_pin_that_is_none_is_one_clear_line(house: House, fixture: str, says: str) -> None:
    assert house.fails(house.changed('fixture = "shop"', f"fixture = {fixture}")).startswith(says)
