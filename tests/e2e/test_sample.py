"""The committed sample: its logs and blobs still give the very page, summary and test report that lie beside them, and
each command on the page plays the trial that it stands beside."""

from __future__ import annotations

import re
import shlex
import shutil
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness import paths
from harness.log.folder import Folder
from harness.model.drill import DrillTrial
from harness.model.trial import Trial
from tests.e2e.conftest import Cli
from tests.support.commands import commands, planned
from tests.support.nights import leave_to_night

SAMPLE, PAGES = paths.ROOT / "reports" / "sample.tar.xz", paths.ROOT / "reports" / "sample"
SHOWN = ("report.html", "summary.md", "junit.xml")
DRILLED = ("deletion", "embedder", "isolation", "keeping", "poison")
"""Drills that went wrong somewhere, so that their receipts have commands."""
QUICK = ("notes", "reference", "chroma", "mem0")
"""Backends of the sample, the quickest first."""
SMALLEST = "20"
CARD = re.compile(r"<dt>command</dt><dd><code>(.*?)</code>")


@pytest.mark.slow
def test_the_sample_is_what_its_logs_say(cli: Cli, tmp_path: Path) -> None:
    """If it differs because the page has changed: `coldwarm report reports/sample.tar.xz`, and look at it."""
    assert SAMPLE.stat().st_size < 2_000_000
    shutil.copy(SAMPLE, tmp_path)
    done = cli("report", tmp_path / SAMPLE.name)
    assert (done.returncode, done.stderr) == (0, "")
    for name in SHOWN:
        same = (tmp_path / "sample" / name).read_bytes() == (PAGES / name).read_bytes()
        assert same, f"coldwarm report reports/{SAMPLE.name} writes another {name}"


@pytest.fixture(scope="module")
def shown(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Command -> the anchor beside which it stands on the page."""
    place = tmp_path_factory.mktemp("sample")
    shutil.copy(SAMPLE, place)
    assert cli("report", "-q", place / SAMPLE.name).returncode == 0
    page = (place / "sample" / "report.html").read_text(encoding="utf-8")
    return {command: anchor for anchor, command in commands(page)}


def read() -> str:
    """The committed page."""
    return (PAGES / "report.html").read_text(encoding="utf-8")


def find_drill(command: str) -> str:
    words = shlex.split(command)
    drill = words[words.index("-d") + 1] if "-d" in words else "none"
    return "" if drill == "none" else drill


def list_cases(suite: str) -> set[str]:
    """The names that a suite of the committed test report has."""
    root = ElementTree.fromstring((PAGES / "junit.xml").read_text(encoding="utf-8"))
    return {case.get("name", "") for case in root.iterfind(f"testsuite[@name='{suite}']/testcase")}


@pytest.mark.slow
def test_each_command_of_the_page_plans_the_trial_that_it_stands_beside(shown: dict[str, str]) -> None:
    drilled = [command for command in shown if " --drill-size " in command]
    assert len(drilled) > 5 and len(shown) - len(drilled) > 100
    for command, anchor in shown.items():
        (trial,) = planned(command)
        assert anchor == trial.id or anchor.startswith(f"{trial.id}--"), command
        assert "--keep" in shlex.split(command)


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.parametrize("kind", ["-b none ", "-b notes -s s", "--write curated", "-b notes -s none -d poison"])
def test_a_command_of_the_page_runs_as_it_is_copied(cli: Cli, shown: dict[str, str], tmp_path: Path, kind: str) -> None:
    command = next(each for each in shown if kind in each)
    done = cli(*shlex.split(command)[1:], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    folder = Folder.open(tmp_path / "latest")
    (trial,) = {**folder.logs()[0], **folder.transcripts()[0]}
    assert shown[command].startswith(trial) and (folder.work / trial).is_dir() is ("--trial cold" not in command)


def test_the_command_of_the_run_card_plans_what_the_sample_holds() -> None:
    """Every story in every way, and every drill of each backend that may have it."""
    (command,) = CARD.findall(read())
    trials = planned(unescape(command))
    stories = {trial.id for trial in trials if isinstance(trial, Trial)}
    cells = list_cases("stories")
    assert len(stories) > 100 and {cell for cell in cells if not cell.startswith(tuple(stories))} == set()
    assert {trial for trial in stories if not any(cell.startswith(trial) for cell in cells)} == set()
    drills = {trial.id: trial for trial in trials if isinstance(trial, DrillTrial)}
    left = [drills[name] for name in drills.keys() - list_cases("drills")]
    assert list_cases("drills") <= drills.keys() and len(drills) - len(left) > 40
    assert {trial.drill for trial in left if trial.backend != "none"} <= {"upgrade"}


@pytest.mark.slow
def test_each_drill_with_a_command_on_the_page_is_played() -> None:
    assert {drill for _, command in commands(read()) if (drill := find_drill(command))} == set(DRILLED)


@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.parametrize("drill", leave_to_night(DRILLED, 5))
def test_a_command_of_each_drill_plays_it(cli: Cli, tmp_path: Path, drill: str) -> None:
    """With as few memories as a drill may have, which is another trial."""
    own = [command for _, command in commands(read()) if find_drill(command) == drill]
    words = shlex.split(min(own, key=lambda command: QUICK.index(shlex.split(command)[3])))
    words[words.index("--drill-size") + 1] = SMALLEST
    at = words.index("--trial") + 1
    (small,) = (trial for trial in planned(shlex.join(words[: at - 1])) if trial.backend == words[3])
    assert small.id.startswith(words[at].partition(drill)[0] + drill) and small.id != words[at]
    words[at] = small.id
    done = cli(*words[1:], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    folder = Folder.open(tmp_path / "latest")
    assert {*folder.transcripts()[0]} == {small.id} and (folder.work / small.id).is_dir()
