"""Repositories that are odd and are mined all the same: a suite and a story that hold, and nothing of theirs run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.mine import mine
from harness.repo.checkout import FixtureError, build
from harness.repo.clone import Clone
from harness.repo.names import find_commit
from harness.repo.traces import Trace
from harness.selftest import suite
from harness.serving.place import find_place
from tasks import loader
from tests.support.foreign import Foreign, Make, digest, live, set_traps
from tests.support.foreign_commands import run, write_story
from tests.support.nights import leave_to_night


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Foreign:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    return Foreign(tmp_path / "shop")


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
@pytest.mark.parametrize("make", leave_to_night([*ODD.values(), _grow], 3), ids=[*ODD, "100 MB"])
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
