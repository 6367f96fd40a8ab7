"""Drills as users play them: beside stories, resumed, scored again from their transcripts, and shown with receipts."""

from __future__ import annotations

import html
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Cli, bytes_of, only

pytestmark = pytest.mark.slow

READY = 20.0
"""Seconds that one opening that cannot be forked would wait."""
FAULT = "harness.selftest.planted.deletion:SoftDeletes"
ASKED = ("run", "-b", FAULT, "-s", "forgotten-runbook", "-n", "0", "--write", "append", "--drill", "deletion",
         "--drill", "rollback", "--drill-size", "60")  # fmt: skip


@pytest.fixture(scope="module")
def played(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("drills")
    done = cli(*ASKED, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "drill deletion" in done.stdout and "Deletion" in done.stdout
    return only(out)


def _cells(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    found = json.loads((folder / "results.json").read_text())["trust"]
    return {(cell["backend"], cell["drill"]): cell for cell in found}


def test_a_fault_is_found_and_the_reference_is_sound(played: Path) -> None:
    cells = _cells(played)
    assert set(cells) == {(name, drill) for name in (FAULT, "reference") for drill in ("deletion", "rollback")}
    name = "text_gone_after_closing"
    bad, good = (cells[backend, "deletion"]["measures"][name] for backend in (FAULT, "reference"))
    assert bad["hits"] < bad["of"] and good["hits"] == good["of"] == bad["of"]
    lines = (played / "drills" / cells[FAULT, "deletion"]["transcript"]).read_text().splitlines()
    for receipt in bad["receipts"]:
        assert json.loads(lines[int(receipt.removeprefix("L")) - 1])["kind"] == "looked"


def test_the_page_leads_from_the_figure_to_its_receipt(played: Path) -> None:
    page = (played / "report.html").read_text()
    cell = _cells(played)[FAULT, "deletion"]
    line = cell["measures"]["text_gone_after_closing"]["receipts"][0].removeprefix("L")
    anchor = f"{cell['id']}--text_gone_after_closing-{line}"
    assert f'href="#{anchor}"' in page and f'id="{anchor}"' in page
    assert f"{line}p' drills/{cell['transcript']}" in html.unescape(page)
    assert "where deleted memories were found" in page


def test_what_is_derived_comes_out_with_equal_bytes(cli: Cli, played: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(played, tmp_path / "run"))
    before = bytes_of(copy, "r*.html") | bytes_of(copy, "results.json") | bytes_of(copy, "summary.md")
    for name in before:
        (copy / name).unlink()
    assert cli("report", copy).returncode == 0
    assert bytes_of(copy, "r*.html") | bytes_of(copy, "results.json") | bytes_of(copy, "summary.md") == before


def test_a_finished_drill_is_not_played_again_and_a_cut_one_is(cli: Cli, played: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(played, tmp_path / "run"))
    done = cli("run", "--resume", copy)
    assert done.returncode == 0 and "finished before" in done.stdout and len(bytes_of(copy, "drills/*")) == 4
    torn = copy / "drills" / _cells(copy)["reference", "rollback"]["transcript"]
    torn.write_bytes(torn.read_bytes()[:-30])
    assert cli("score", copy).returncode == 3 and _cells(copy)["reference", "rollback"]["status"] == "incomplete"
    assert cli("run", "--resume", copy).returncode == 0
    again = _cells(copy)["reference", "rollback"]
    assert again["status"] == "complete" and again["transcript"].endswith(".2.jsonl")


def test_a_drill_alone_can_be_played(cli: Cli, tmp_path: Path) -> None:
    done = cli(*ASKED, "--trial", "reference-rollback", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [name for _, name in _cells(only(tmp_path))] == ["rollback"]


def test_a_backend_that_dies_fails_its_drills_and_the_run_goes_on(cli: Cli, tmp_path: Path) -> None:
    asked = ("run", "-b", "tests.support.faulty_backends:Exits", *ASKED[3:])
    done = cli(*asked, "--out", tmp_path)
    assert done.returncode == 3 and "did not get to" in done.stderr
    cells = _cells(only(tmp_path))
    assert cells["tests.support.faulty_backends:Exits", "deletion"]["status"] == "failed"
    assert cells["reference", "deletion"]["status"] == "complete"


def test_a_relative_folder_is_as_good_as_any(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.backend.forkserver.READY_SECONDS", 20.0)
    done = cli(*ASKED, "--trial", "reference-rollback", "--out", "runs")
    assert done.returncode == 0, done.stderr
    transcript = next(only(tmp_path / "runs").glob("drills/*.jsonl")).read_text()
    assert '"what":"opened"' in transcript and "fault" not in transcript
    homes = [line for line in done.stdout.splitlines() if "drill rollback" in line]
    assert float(homes[0].split()[0]) < READY, "an opening waited for a child that could not begin"
