"""Two commits become a first story that holds as it is written; what they cannot tell is one clear line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.suite import new_scenario
from harness.mine import ranges
from harness.mine.mining import MineError
from harness.repo.names import find_commit
from harness.repo.series import FixtureError
from harness.selftest import suite
from tasks import loader
from tests.support.foreign import Foreign, live


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    made = Foreign(tmp_path / "shop")
    live(made)
    return made


def write(foreign: Foreign, tmp_path: Path, between: str = "HEAD~5..HEAD") -> ranges.Drafted:
    return ranges.write("migration/first", tmp_path / "own", str(foreign.path), between, tmp_path / "cache")


@pytest.mark.slow
def test_a_range_becomes_a_short_story_that_holds(foreign: Foreign, tmp_path: Path) -> None:
    made = write(foreign, tmp_path, "HEAD~5..HEAD~2")
    assert made.file == tmp_path / "own" / "migration" / "first.toml" and (made.told, made.changes) == (2, 3)
    assert made.lines == len(made.file.read_text().splitlines()) <= 60
    assert suite.validate([made.file], tmp_path, tmp_path / "cache") == []
    ((story, repo),) = loader.load([made.file], tmp_path, tmp_path / "cache")
    assert story.kind == "migration" and str(story.fixture).startswith("../../shop at ")
    assert [session.id for session in story.sessions] == ["before", "after", "work"]
    lane = next(fact for fact in story.facts if fact.forms[-1] == ("harborline",))
    assert lane.source is not None and repo.line(lane.source.commit or "", "pyproject.toml", 2) == 'lane = "harborline"'
    assert "lane" in lane.forms[0] and len(lane.rewrites) >= 3
    assert "kestrelway" not in {form for fact in story.facts for part in fact.forms for form in part}, "in between"


@pytest.mark.slow
def test_it_keeps_the_promises_of_the_controls(foreign: Foreign, tmp_path: Path) -> None:
    proven = suite.prove([write(foreign, tmp_path).file], tmp_path, tmp_path / "cache")
    assert not proven.breaches
    (row,) = proven.rows
    assert row.oracle == row.stale == row.none == (3, 3)


@pytest.mark.slow
def test_what_no_commit_knows_is_there_to_be_uncommented(foreign: Foreign, tmp_path: Path) -> None:
    file = write(foreign, tmp_path).file
    text = file.read_text()
    assert text.count("#~ ") == 4
    text = re.sub(r"^  #~ ", "  ", text, flags=re.MULTILINE)
    file.write_text(text.replace('what = "budget of [tool.shop]"', 'what = "what a trip may cost"'))
    assert "a trip" in file.read_text()
    assert suite.validate([file], tmp_path, tmp_path / "cache") == []
    ((story, _),) = loader.load([file], tmp_path, tmp_path / "cache")
    assert story.by_id["told"].source is None and story.by_id["told"].type == "user"


@pytest.mark.slow
def test_the_old_values_are_those_of_one_moment(foreign: Foreign, tmp_path: Path) -> None:
    """A file that arrived in the range is no reason to tell nothing of it."""
    foreign.commit({"late.toml": 'harbour = "plover"\n'})
    foreign.commit({"late.toml": 'harbour = "wagtail"\n', "pyproject.toml": '[tool.shop]\nlane = "whimbrel"\n'})
    made = write(foreign, tmp_path, f"{foreign.git('rev-list', '--max-parents=0', 'HEAD')}..HEAD")
    ((story, _),) = loader.load([made.file], tmp_path, tmp_path / "cache")
    assert len({fact.since for fact in story.facts if fact.supersedes is None}) == 1


@pytest.mark.parametrize(
    ("between", "says"),
    [
        ("HEAD", "is no range of commits; write OLDER..NEWER"),
        ("HEAD~1...HEAD", "is no range of commits"),
        ("..HEAD", "is no range of commits"),
        ("HEAD..HEAD", "does not come after"),
        ("HEAD..HEAD~2", "does not come after .*; write the older commit first"),
        ("HEAD~1..HEAD~99", "knows no commit 'HEAD~99'"),
        ("nowhere..HEAD", "knows no commit 'nowhere'"),
        ("--help..HEAD", "knows no commit '--help'"),
        ("../../etc/passwd..HEAD", "is no range of commits"),
        ("HEAD@{1}..HEAD", "knows no commit"),
        ("HEAD~1..HEAD", r"nothing that a story could tell changed in 1 change \("),
    ],
)
def test_what_is_no_range_is_one_line_and_writes_nothing(
    foreign: Foreign, tmp_path: Path, between: str, says: str
) -> None:
    foreign.commit({"data.bin": b"\x00"})
    with pytest.raises((MineError, FixtureError), match=says) as caught:
        write(foreign, tmp_path, between)
    assert len(str(caught.value).splitlines()) == 1 and not (tmp_path / "own").exists()


@pytest.mark.slow
def test_ends_are_named_as_git_names_them(foreign: Foreign, tmp_path: Path) -> None:
    head, path = foreign.git("rev-parse", "HEAD"), str(foreign.path)
    foreign.git("tag", "--annotate", "--message=one", "v1", "HEAD~2")
    foreign.git("branch", "feature/two", "HEAD~1")
    for packed in (False, True):
        if packed:
            foreign.git("pack-refs", "--all")
        for named in ("HEAD", "@", "trunk", "v1", "v1^", "feature/two", "HEAD~3^", "refs/tags/v1", head, head[:8]):
            assert find_commit(path, named) == foreign.git("rev-parse", f"{named}^{{commit}}"), named
    assert find_commit("https://example.com/x.git", head) == head
    with pytest.raises(FixtureError, match="is a URL, of which only whole hashes are known"):
        find_commit("https://example.com/x.git", "main")


@pytest.mark.slow
def test_the_command_says_what_to_do_next(foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(foreign.path)

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(new_scenario, words)
        return done.exit_code, done.output

    code, said = run("migration/first", "--from", "HEAD~5..", "--suite", "../own")
    assert code == 0 and "58 lines; 3 of" in said and "coldwarm run --suite ../own" in said, said
    code, said = run("migration/first", "--from", "HEAD~5..", "--suite", "../our own")
    assert code == 0 and "validate '../our own/migration/first.toml'" in said and "--suite '../our own' -b" in said, (
        said
    )
    for words, says in (
        (("migration/first", "--from", "HEAD~5..", "--suite", "../own"), "is there already"),
        (("migration/x", "--from", "HEAD~5.."), "say where your own suite is"),
        (("migration/x", "--from", "HEAD~5..", "--suite", "deep"), "say where your own suite is"),
        (("migration/x",), "say where the story plays"),
        (("migration/x", "--from", "HEAD~5..", "--fixture", "api"), "say where the story plays"),
        (("x", "--from", "HEAD~5..", "--suite", "../own"), "must be KIND/NAME"),
        (("migration/x", "--from", "HEAD~5..", "--suite", "../own", "--repo", "../own"), "is no git repository"),
    ):
        code, said = run(*words)
        assert code == 2 and says in said and len(said.splitlines()) == 1, said
    assert [name for _, _, names in os.walk("../own") for name in names] == ["first.toml"]
