"""What `run` and `report` print: the screen, how it ended, or the results; and on which stream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import SMALL, Cli, only

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def quiet(program: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a small run that was told to be quiet, and what it printed. Not to be written to."""
    out = tmp_path_factory.mktemp("out")
    done = program("run", "-q", "-b", "bm25", *SMALL, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    return only(out), done.stdout


def test_quiet_says_only_how_it_ended(quiet: tuple[Path, str]) -> None:
    folder, said = quiet
    assert said == f"4 of 4 trials complete\nreport: {folder / 'report.html'}\n"


def test_quiet_still_says_what_went_wrong(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "-q", "-b", "tests.support.faulty_backends:FailsToDescribe", *SMALL, "--out", tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("coldwarm: tests.support.faulty_backends:FailsToDescribe could not run: ")


def test_json_is_all_that_stands_on_stdout(cli: Cli, quiet: tuple[Path, str], tmp_path: Path) -> None:
    done = cli("run", "--json", "-b", "bm25", *SMALL, "--out", tmp_path)
    assert done.returncode == 0 and done.stdout == (only(tmp_path) / "results.json").read_text()
    assert {cell["backend"] for cell in json.loads(done.stdout)["cells"]} == {None, "bm25", "oracle", "stale_oracle"}
    assert "recalled" in done.stderr and "4 of 4 trials complete" in done.stderr
    again = cli("report", "--quiet", "--json", quiet[0])
    assert (again.stdout, again.stderr) == ((quiet[0] / "results.json").read_text(), "")


def test_without_a_terminal_lines_are_eighty_wide(program: Cli, quiet: tuple[Path, str]) -> None:
    wide = {len(line) for line in program("report", quiet[0], env={"COLUMNS": ""}).stdout.splitlines()[:-1]}
    assert 70 < max(wide) <= 80
