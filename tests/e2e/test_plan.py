"""`coldwarm plan` over runs that were played: what it says, and when it cannot say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.conftest import Cli, one_line, only

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
STORIES = ("forgotten-runbook", "told-on-a-call", "two-desks", "page-flags", "ini-beside-toml", "kiri-sails-away")


@pytest.fixture(scope="module")
def pilot(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pilot")
    words = [word for name in STORIES for word in ("-s", name)]
    done = cli("run", "-q", "-b", "bm25", *words, "-n", "0", "-d", "none", "--write", "append", "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    return only(out)


def test_a_finished_run_says_how_many_stories_the_next_one_needs(cli: Cli, pilot: Path) -> None:
    done = cli("plan", pilot, "--difference", "30")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "pilot: bm25 against no memory, decisions_right, 6 stories, 1 seed"
    assert lines[1] == "to find a difference of 30 of 100 in 80 of 100 runs:"
    assert re.fullmatch(r"  (\d+|more than 200) stories, 1 seed", lines[2])
    assert "another pilot of 6 stories could have said" in lines[3] and "one seed" in lines[4]
    assert "no chat model was asked" in done.stdout
    head, *rows = lines[lines.index("") + 2 :]
    assert head.startswith("difference |  6 stories | 12 stories"[:12]) and [row.split()[0] for row in rows][-1] == "30"
    assert {row.count("|") for row in (head, *rows)} == {head.count("|")}


def test_bad_words_end_with_2_and_what_cannot_be_said_with_3(cli: Cli, pilot: Path, tmp_path: Path) -> None:
    assert "no row is called 'nobody'" in one_line(cli("plan", pilot, "--row", "nobody"), 2)
    assert "known are jobs_done, decisions_right" in one_line(cli("plan", pilot, "--measure", "recall"), 2)
    assert "ask for less, or play harder stories" in one_line(cli("plan", pilot, "--difference", "99"), 3)
    assert cli("plan", tmp_path).returncode == 2 and cli("plan", pilot, "--power", "2").returncode == 2
    few = cli("run", "-q", "-b", "bm25", "-s", STORIES[0], "-n", "0", "-d", "none", "--out", tmp_path / "few")
    assert few.returncode == 0
    assert "a pilot of 1 story cannot say" in one_line(cli("plan", only(tmp_path / "few")), 3)
