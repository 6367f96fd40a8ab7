"""What is worth asking first, what one commit may bring, and how a person's judgement of a sample is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.mine import mining, stories, worth
from harness.mine.checking import Judged
from harness.mine.mining import MineError, Wanted
from harness.mine.shapes import ChangeKind
from tests.support.foreign import Foreign, live


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    return Foreign(tmp_path / "shop")


@pytest.mark.parametrize(
    ("kind", "file", "key", "grade"),
    [
        ("command", "README.md", "pytest", 3),
        ("setting", "deploy/web.yaml", "lane", 3),
        ("setting", "config.toml", "server.port", 3),
        ("setting", "config.toml", "lane", 2),
        ("constant", "shop/waits.py", "RETRIES", 2),
        ("setting", ".eslintrc.json", "quotes", 1),
        ("text", "CLAUDE.md", "", 3),
        ("text", "docs/guide.md", "", 1),
    ],
)
def test_what_an_agent_acts_on_comes_first(kind: ChangeKind, file: str, key: str, grade: int) -> None:
    assert worth.weigh(kind, file, key) == grade


def test_one_commit_brings_three_facts_at_most_and_no_two_stories_share_it(foreign: Foreign, tmp_path: Path) -> None:
    for value in ("harborline", "kestrelway"):
        foreign.commit({f"{name}.toml": f'{name} = "{value}-{name}"\n' for name in "abcdefghij"})
    for turn, value in enumerate(("finch", "ibis", "heron")):
        foreign.commit({f"late{turn}-{name}.toml": f'{name}{turn} = "{value}-{name}"\n' for name in "kl"})
        foreign.commit({f"late{turn}-{name}.toml": f'{name}{turn} = "{value}-new-{name}"\n' for name in "kl"})
    found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache")
    assert len(found.candidates) == 16
    groups = stories.draw(found.repo, found.candidates, 9, "1")
    told = [{commit.hash for each in group for commit in each.commits} for group in groups]
    assert groups and all(one.isdisjoint(other) for at, one in enumerate(told) for other in told[:at])
    for group in groups:
        last = [each.commits[-1].hash for each in group]
        assert max(map(last.count, last)) <= stories.OF_ONE


def test_only_what_is_wanted_is_a_candidate_and_the_rest_has_its_reason(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)

    def names(wanted: Wanted) -> set[str]:
        found = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache", wanted)
        return {each.file for each in found.candidates}

    assert names(Wanted()) == {"shop/waits.py", "pyproject.toml", "README.md"}
    assert names(Wanted(least=3)) == {"README.md"}
    assert names(Wanted(below=("./shop/",))) == {"shop/waits.py"}
    assert names(Wanted(below=(".",))) == names(Wanted())
    with pytest.raises(MineError, match="outside of --path: 5"):
        names(Wanted(below=("sho",)))


def test_a_sample_is_asked_for_one_by_one_and_its_share_has_an_interval(foreign: Foreign, tmp_path: Path) -> None:
    live(foreign)
    words = [str(foreign.path), "--check", "3", "--min-worth", "1"]
    done = CliRunner().invoke(mine, words, input="y\nmaybe\nn\nq\n", env={"COLDWARM_CACHE": str(tmp_path / "cache")})
    assert done.exit_code == 0, done.output
    assert "[1 of 3]\nWhat is " in done.output and "  - " in done.output and "  + " in done.output
    assert "1 of 2 facts worth asking: 50%, 95 % interval 9% to 91%; 1 not judged" in done.output
    assert Judged(0, 0, 3).tell() == "nothing was judged"
