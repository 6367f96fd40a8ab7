"""Whatever a repository is like: a suite and a story that hold, or one clear line and nothing written."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.cli.suite import new_scenario
from harness.repo.checkout import FixtureError, build
from harness.repo.clone import Clone
from harness.repo.names import find_commit
from harness.repo.traces import Trace
from harness.selftest import suite
from harness.serving.place import find_place
from tasks import loader
from tests.support.foreign import Foreign, digest, live, set_traps

Make = Callable[[Foreign], Path | None]


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Foreign:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    return Foreign(tmp_path / "shop")


def run(command: click.Command, *words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(command, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def write_story(named: Path, tmp_path: Path, between: str = "HEAD~4..") -> tuple[int, str]:
    return run(new_scenario, "migration/first", "--from", between, "--repo", named, "--suite", tmp_path / "own")


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


# --- what is odd, and mined all the same ----------------------------------------------------------------------------


def _twice(files: Callable[[str], dict[str, str | bytes]]) -> Make:
    def make(foreign: Foreign) -> None:
        for value in ("wagtail", "redstart"):
            foreign.commit(files(value))

    return make


def _name_oddly(foreign: Foreign) -> None:
    names = (
        b"caf\xe9.toml", "n\u00e9.toml".encode(), b"a\tb.toml", b"a\nb.toml", b"-dash.toml", b" lead.toml",
        b"trail.toml ", b"co:lon.toml", b'quo"te.toml', b"back\\slash.toml", "zero\u200bwidth.toml".encode(),
        b"\x1b[31m.toml", b"$(touch pwned).toml", b"{value}.toml", b"%s.toml", b"a" * 250 + b".toml",
        b"star*.toml", b"[x].toml",
    )  # fmt: skip
    for value in ("wagtail", "redstart"):
        for name in names:
            (foreign.path / os.fsdecode(name)).write_text(f'lane = "{value}-{len(name)}"\n')
        foreign.commit({})


def _write_oddly(value: str) -> dict[str, str | bytes]:
    codecs = ("utf-16", "utf-8-sig", "latin-1", "shift-jis", "utf-32")
    return {
        **{f"{codec}.toml": f'lane = "{value}-{codec}"\n'.encode(codec) for codec in codecs},
        "cr.toml": f'[a]\rlane = "{value}-cr"\r',
        "crlf.toml": f'[a]\r\nlane = "{value}-crlf"\r\n',
        "nul.toml": f'lane = "{value}\0"\n',
        "separator.toml": f'lane = "{value}-ls"\u2028x = 1\n',
        "bom.py": f'\ufeffRETRIES = "{value}-bom"\n',
        "latin.py": f'# coding: latin-1\nRETRIES = "{value}-\u00e9"\n'.encode("latin-1"),
        "deep.py": "(" * 500 + "1" + ")" * 500 + f'\nX = "{value}-deep"\n',
        "deep.json": "[" * 5000 + f'\n"a": "{value}"\n' + "]" * 5000,
        "wide.toml": f'lane = "{value}-wide"  # ' + "x" * 500_000 + "\n",
        "digits.py": "X = " + ("8" if value == "wagtail" else "9") * 5000 + "\n",
    }


def _mislabel(value: str) -> dict[str, str | bytes]:
    return {
        "page.json": f"<html>{value}-html</html>\n", "data.yaml": f"\x01\x02{value}\n",
        "a.toml": f'{{"lane": "{value}"}}\n', "go.mod": f"lane: {value}\n", ".env": f'lane "{value}"\n',
        "Makefile": f"PK\x03\x04{value}".encode(), "docs/adr/1.md": f"Status: {value}\n",
        "package.json": f"lane: {value}\n", "picture.toml": b"\x89PNG\r\n" + value.encode(),
    }  # fmt: skip


def _link_out(foreign: Foreign) -> None:
    for name, target in (("out", "/etc/passwd"), ("up", "../../x")):
        (foreign.path / name).symlink_to(target)
    foreign.commit({"late.toml": 'harbour = "one-x"\n'})
    foreign.commit({"late.toml": 'harbour = "two-x"\n'})


def _become_link(foreign: Foreign) -> None:
    (foreign.path / "pyproject.toml").rename(foreign.path / "real.toml")
    (foreign.path / "pyproject.toml").symlink_to("real.toml")
    foreign.commit({})


def _grow(foreign: Foreign) -> None:
    for value in ("x", "z"):
        foreign.commit({"big.json": b'{"a": "%s"}\n' % value.encode() + b"y" * 100_000_000})
    foreign.git("mv", "big.json", "large.json")
    foreign.commit({})


def _merge(foreign: Foreign) -> None:
    foreign.git("checkout", "--quiet", "-b", "side", "HEAD~3")
    foreign.commit({"side.toml": 'lane = "s-one"\n'})
    foreign.commit({"side.toml": 'lane = "s-two"\n'})
    foreign.git("checkout", "--quiet", "trunk")
    foreign.git("merge", "--quiet", "--no-edit", "side")
    foreign.git("checkout", "--quiet", "--orphan", "alone")
    foreign.commit({"alone.txt": "x\n"})
    foreign.git("checkout", "--quiet", "trunk")
    foreign.git("merge", "--quiet", "--no-edit", "--allow-unrelated-histories", "alone")
    for branch in "abc":
        foreign.git("checkout", "--quiet", "-b", branch)
        foreign.commit({f"{branch}.txt": "x\n"})
        foreign.git("checkout", "--quiet", "trunk")
    foreign.git("merge", "--quiet", "--no-edit", *"abc")


def _rename(foreign: Foreign) -> None:
    body = "".join(f'key{at} = "value-{at}-old"\n' for at in range(40))
    foreign.commit({"one.toml": body})
    foreign.git("mv", "one.toml", "two.toml")
    foreign.commit({"two.toml": body.replace("value-3-old", "value-3-new")})
    foreign.git("rm", "--quiet", "two.toml")
    foreign.commit({"dir/two.toml": body.replace("-old", "-rewritten")})
    foreign.git("rm", "--quiet", "dir/two.toml")
    foreign.commit({"dir": "a file by now\n"})


def _date_oddly(foreign: Foreign) -> None:
    """Commits that no git of today would write."""
    tree, parent = foreign.git("rev-parse", "HEAD^{tree}"), foreign.git("rev-parse", "HEAD")
    for who, date in (
        (b"A\xe9 <a@example.com>", b"1700000000 +0000"), ("A\u2028\x85B <>".encode(), b"1700000001 +0000"),
        (b"A <a@example.com>", b"99999999999999999999 +0000"), (b"A <a@example.com>", b"-5000000000 +0000"),
        (b"A <a@example.com>", b"hello"), (b"A <>", b""), (b"<a>", b"0 +9999"),
    ):  # fmt: skip
        file = foreign.path.with_name("commit")
        file.write_bytes(
            b"tree %s\nparent %s\nauthor %s %s\ncommitter %s %s\n"
            b"encoding iso-9000\n\nsub\x0cject\x1b[31m \xe9 \xe2\x80\xa8 x\n"
            % (tree.encode(), parent.encode(), who, date, who, date)
        )
        parent = foreign.git("hash-object", "-t", "commit", "-w", "--literally", str(file))
    foreign.git("reset", "--quiet", "--hard", parent)


def _embed(foreign: Foreign) -> None:
    foreign.commit({".gitmodules": "no configuration [[["})
    for _ in range(2):
        foreign.git("update-index", "--add", "--cacheinfo", f"160000,{foreign.git('rev-parse', 'HEAD')},sub.toml")
        foreign.git("commit", "--quiet", "--message", "A submodule")


def _say_oddly(foreign: Foreign) -> None:
    for value in ('wag"""tail', "red'''start", "back\\slash-x", "uni\\u0000-y", "{value}-z", "$(x)-w", "%s-v", "<b>-u"):
        foreign.commit({"odd.ini": f"[a]\nlane = {value}\n"})


ODD: dict[str, Make] = {
    "names in every encoding": _name_oddly,
    "texts in every encoding, CRLF, binary": _twice(_write_oddly),
    "what its name does not say": _twice(_mislabel),
    "links out of the tree": _link_out,
    "a file that becomes a link": _become_link,
    "merges of several, and of strangers": _merge,
    "renames with rewrites, a folder that becomes a file": _rename,
    "commits that no git wrote": _date_oddly,
    "submodules": _embed,
    "values that look like code": _say_oddly,
}


@pytest.mark.slow
@pytest.mark.parametrize("make", [*ODD.values(), pytest.param(_grow, marks=pytest.mark.slow)], ids=[*ODD, "100 MB"])
def test_what_is_odd_is_passed_by_and_the_rest_holds(foreign: Foreign, tmp_path: Path, make: Make) -> None:
    live(foreign)
    first = foreign.git("rev-parse", "HEAD~5")
    make(foreign)
    code, said = run(mine, foreign.path, "--to", tmp_path / "suite")
    assert code == 0, said
    code, said = write_story(foreign.path, tmp_path, f"{first}..HEAD")
    links_out = (foreign.path / "out").is_symlink()
    assert (code, len(said.splitlines())) == ((2, 1) if links_out else (0, 3)), said
    files = [file for name in ("suite", "own") if (tmp_path / name).exists() for file in loader.find(tmp_path / name)]
    assert files and suite.validate(files, tmp_path, tmp_path / "cache") == []


FORMS = {"SHA-256": ("--object-format=sha256",), "reftables": ("--ref-format=reftable",)}


@pytest.mark.slow
@pytest.mark.parametrize("form", [*FORMS.values(), sum(FORMS.values(), ())], ids=[*FORMS, "both"])
def test_newer_forms_of_git_are_read_as_the_usual_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    usage = subprocess.run(["git", "init", "-h"], capture_output=True, text=True, check=False).stdout
    if FORMS["reftables"][0] in form and "--[no-]ref-format" not in usage and "--ref-format" not in usage:
        pytest.skip("the git here makes no reftables")
    foreign = Foreign(tmp_path / "shop", *form)
    live(foreign)
    foreign.git("tag", "v1", "HEAD~1")
    foreign.git("worktree", "add", "--quiet", "--detach", "../tree", "HEAD~1")
    before = foreign.git("rev-parse", "HEAD~1")
    for path, name in ((foreign.path, "trunk~1"), (foreign.path, "v1"), (tmp_path / "tree", "HEAD")):
        assert find_commit(str(path), name) == before
    assert find_commit(str(foreign.path), before[:9]) == before
    named = before[:-1] + "fe"[before[-1] == "f"]
    with pytest.raises(FixtureError, match=f"{named} is not there; fetch it"):
        find_commit(str(foreign.path), named)
    code, said = run(mine, foreign.path, "--to", tmp_path / "suite")
    assert code == 0, said
    code, said = write_story(foreign.path, tmp_path)
    assert code == 0, said
    files = [file for name in ("suite", "own") for file in loader.find(tmp_path / name)]
    assert files and suite.validate(files, tmp_path, tmp_path / "cache") == []
    repo = build(Clone(str(foreign.path), foreign.git("rev-parse", "HEAD")), tmp_path / "cache")
    first, last = repo.commits[0], repo.commits[-1]
    assert repo.trace(first, "pyproject.toml", 2, last) == Trace("gone", by=repo.commits[1])
    with repo.worktree(before) as tree:
        repo.part(tree)
        assert (tree / "README.md").is_file()
    place = find_place(tmp_path / "tree")
    assert (place.commit, place.repo) == (before, find_place(foreign.path).repo)


@pytest.mark.slow
def test_nothing_that_a_repository_configures_runs(foreign: Foreign, tmp_path: Path) -> None:
    foreign.commit({
        ".gitattributes": "* filter=evil diff=evil merge=evil ident\n*.bin filter=lfs diff=lfs\n*.md text eol=crlf\n",
        ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c true\n\tupdate = !true\n',
        "big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n",
    })  # fmt: skip
    live(foreign)
    foreign.git("update-index", "--add", "--cacheinfo", f"160000,{foreign.git('rev-parse', 'HEAD')},sub")
    foreign.git("commit", "--quiet", "--message", "A submodule")
    marker, head = tmp_path / "marker", foreign.git("rev-parse", "HEAD")
    set_traps(foreign.path, foreign.git, marker)
    before = digest(foreign.path)
    code, said = run(mine, foreign.path, "--to", tmp_path / "suite", "--review", tmp_path / "page.html")
    assert code == 0, said
    code, said = write_story(foreign.path, tmp_path, "HEAD~6..trunk")
    assert code == 0, said
    code, said = run(mine, f"file://{foreign.path}", "--commit", head, "--to", tmp_path / "fetched")
    assert code == 0, said
    assert not marker.exists(), marker.read_text()
    assert digest(foreign.path) == before
