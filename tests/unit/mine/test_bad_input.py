"""Repositories that cannot be mined: one clear line, and nothing written."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from harness.cli.mine import mine
from tests.support.foreign import Foreign, Make, live
from tests.support.foreign_commands import run, write_story


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Foreign:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    return Foreign(tmp_path / "shop")


# --- what cannot be mined -----------------------------------------------------------------------------------------


def _clone(*words: str) -> Make:
    def make(foreign: Foreign) -> Path:
        foreign.git("config", "uploadpack.allowFilter", "true")
        foreign.git("clone", "--quiet", *words, f"file://{foreign.path}", "../clone")
        return foreign.path.parent / "clone"

    return make


def _borrow(foreign: Foreign) -> Path:
    foreign.git("clone", "--quiet", "--shared", ".", "../clone")
    foreign.path.rename(foreign.path.with_name("moved"))
    return foreign.path.with_name("clone")


def _lose(named: str, content: bytes | None = None) -> Make:
    def make(foreign: Foreign) -> None:
        name = foreign.git("rev-parse", named)
        file = foreign.path / ".git" / "objects" / name[:2] / name[2:]
        file.unlink()
        if content is not None:
            file.write_bytes(content)

    return make


def _point(head: bytes) -> Make:
    def make(foreign: Foreign) -> None:
        (foreign.path / ".git" / "HEAD").write_bytes(head)

    return make


def _refer(said: bytes) -> Make:
    def make(foreign: Foreign) -> Path:
        (foreign.path.parent / "tree").mkdir()
        (foreign.path.parent / "tree" / ".git").write_bytes(said)
        return foreign.path.parent / "tree"

    return make


def _file(foreign: Foreign) -> Path:
    return foreign.path / "README.md"


def _reftable(foreign: Foreign) -> None:
    (foreign.path / ".git" / "reftable").mkdir()
    (foreign.path / ".git" / "reftable" / "tables.list").write_text("0x000000000001-0x000000000002-13fee267.ref\n")


def _cut(foreign: Foreign) -> None:
    foreign.git("gc", "--quiet")
    (pack,) = (foreign.path / ".git" / "objects" / "pack").glob("*.pack")
    data = pack.read_bytes()
    pack.unlink()
    pack.write_bytes(data[: len(data) // 2])


def _block(name: str, device: str = "") -> Make:
    """A pipe in the place of a file, or a link to a device."""

    def make(foreign: Foreign) -> None:
        file = foreign.path / ".git" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        if device:
            file.symlink_to(device)
        else:
            os.mkfifo(file)

    return make


def _lend(foreign: Foreign) -> Path:
    foreign.git("clone", "--quiet", "--shared", ".", "../clone")
    _block("objects/pack/pack-1.idx")(foreign)
    return foreign.path.with_name("clone")


CLOSED: dict[str, tuple[Make, str]] = {
    "no such folder": (lambda foreign: foreign.path / "nowhere", "there is no such folder"),
    "no repository": (lambda foreign: foreign.path.parent, "is no git repository; name a clone"),
    "a folder within one": (lambda foreign: foreign.path / "shop", "is no git repository; name the one around it, "),
    "a file": (_file, "README.md: is no git repository; name a clone"),
    "a file that leads nowhere": (_refer(b"gitdir: /nowhere/at/all\n"), "is no git repository"),
    "a file that is none of git's": (_refer(b"\xff\0\n"), "is no git repository"),
    "shallow": (_clone("--depth=2"), "is a shallow clone; complete it there: git fetch --unshallow"),
    "partial": (_clone("--filter=blob:none", "--no-checkout"), "is a partial clone, which lacks files"),
    "borrowed from what moved": (_borrow, "which is not there; clone it anew"),
    "reftable": (_reftable, "reftable, which the git here does not read .*; take git 2.45|its HEAD names no commit"),
    "a pipe in a reftable": (_block("reftable/tables.list"), "reftable: cannot be read: not a regular file"),
    "a pipe as a list of lenders": (_block("objects/info/alternates"), "is a pipe or a device"),
    "a device as a list of lenders": (_block("objects/info/alternates", "/dev/zero"), "is a pipe or a device"),
    "a pipe at a lender's": (_lend, "is a pipe or a device"),
    "a pipe as an index": (_block("objects/pack/pack-1.idx"), "is a pipe or a device"),
    "a pipe as a graph": (_block("objects/info/commit-graph"), "is a pipe or a device"),
    "a pipe as an object": (_block("objects/ab/" + "c" * 38), "is a pipe or a device"),
    "a pipe as a branch": (_block("refs/heads/trunk"), "its HEAD names no commit"),
    "a device as a branch": (_block("refs/heads/trunk", "/dev/zero"), "its HEAD names no commit"),
    "a pipe as HEAD": (_block("HEAD"), "its HEAD names no commit"),
    "a pipe as configuration": (_block("config"), "config: cannot be read: not a regular file|not a regular file"),
    "a branch without commits": (_point(b"ref: refs/heads/none\n"), "its HEAD names no commit"),
    "a HEAD that leads out": (_point(b"ref: ../../../secret\n"), "its HEAD names no commit"),
    "a HEAD that is none": (_point(b"\xff\xfe\0"), "its HEAD names no commit"),
    "a tree is gone": (_lose("HEAD~2^{tree}"), "unable to read tree .*; clone the repository anew"),
    "a file's content is gone": (_lose("HEAD~2:pyproject.toml"), "unable to read .*; clone the repository anew"),
    "a file's content is damaged": (_lose("HEAD~2:pyproject.toml", b"no zlib"), "clone the repository anew"),
    "a commit is gone": (_lose("HEAD~2"), "clone it anew|knows no commit 'HEAD~4'"),
    "the newest commit is gone": (_lose("HEAD"), "which is not there; clone it anew"),
    "half a pack": (_cut, "which is not there; clone it anew"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "says"), CLOSED.values(), ids=CLOSED)
def test_what_cannot_be_read_is_one_line(foreign: Foreign, tmp_path: Path, make: Make, says: str) -> None:
    live(foreign)
    named = make(foreign) or foreign.path
    before = {each.name for each in tmp_path.iterdir()} | {"cache"}
    for code, said in (run(mine, named, "--to", tmp_path / "suite"), write_story(named, tmp_path)):
        assert code == 2 and len(said.splitlines()) == 1 and said.startswith("coldwarm: "), said
        assert re.search(says, said), said
    assert {each.name for each in tmp_path.iterdir()} | {"cache"} == before


@pytest.mark.parametrize("named", ["main", "--help", "0" * 40, "HEAD^{tree}", "HEAD:README.md", "HEAD@{0}", "trunk..x"])
def test_a_commit_that_is_none_is_one_line(foreign: Foreign, tmp_path: Path, named: str) -> None:
    live(foreign)
    code, said = run(mine, foreign.path, "--to", tmp_path / "suite", "--commit", named)
    assert code == 2 and len(said.splitlines()) == 1 and ("knows no commit" in said or "is not there; fetch it" in said)


def test_a_commit_that_a_forced_push_took_away_is_one_line(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    gone = foreign.git("rev-parse", "HEAD")
    foreign.git("reset", "--quiet", "--hard", "HEAD~1")
    foreign.git("reflog", "expire", "--expire=now", "--all")
    foreign.git("gc", "--quiet", "--prune=now")
    code, said = run(mine, foreign.path, "--to", tmp_path / "suite", "--commit", gone)
    assert code == 2 and f"{gone} is not there; fetch it, or name another commit" in said
    assert f"{gone} is not there" in write_story(foreign.path, tmp_path, f"HEAD~3..{gone}")[1]
    assert not (tmp_path / "suite").exists() and not (tmp_path / "own").exists()


def test_a_suite_that_cannot_be_written_is_one_line(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    (tmp_path / "file").write_text("mine")
    code, said = run(mine, foreign.path, "--to", tmp_path / "file")
    assert code == 2 and len(said.splitlines()) == 1 and (tmp_path / "file").read_text() == "mine"
    code, said = run(mine, foreign.path, "--to", tmp_path / "file" / "suite")
    assert code == 2 and "cannot be written" in said.splitlines()[-1]
