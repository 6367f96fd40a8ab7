"""The committed sample: its logs and blobs still give the very page, summary and test report that lie beside them, and
each command on the page plays the trial that it stands beside."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from harness import paths
from harness.log.folder import Folder
from tests.e2e.conftest import Cli
from tests.support.commands import commands, planned

pytestmark = pytest.mark.slow

SAMPLE, PAGES = paths.ROOT / "reports" / "sample.tar.xz", paths.ROOT / "reports" / "sample"
SHOWN = ("report.html", "summary.md", "junit.xml")


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


def test_each_command_of_the_page_plans_the_trial_that_it_stands_beside(shown: dict[str, str]) -> None:
    drilled = [command for command in shown if " --drill-size " in command]
    assert len(drilled) > 5 and len(shown) - len(drilled) > 100
    for command, anchor in shown.items():
        (trial,) = planned(command)
        assert anchor == trial.id or anchor.startswith(f"{trial.id}--"), command
        assert "--keep" in shlex.split(command)


@pytest.mark.backend
@pytest.mark.parametrize("kind", ["-b none ", "-b notes -s s", "--write curated", "-b mem0 -s none -d isolation"])
def test_a_command_of_the_page_runs_as_it_is_copied(cli: Cli, shown: dict[str, str], tmp_path: Path, kind: str) -> None:
    command = next(each for each in shown if kind in each)
    done = cli(*shlex.split(command)[1:], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    folder = Folder.open(tmp_path / "latest")
    (trial,) = {**folder.logs()[0], **folder.transcripts()[0]}
    assert shown[command].startswith(trial) and (folder.work / trial).is_dir() is ("--trial cold" not in command)
