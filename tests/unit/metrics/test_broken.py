"""What breaks while a run is scored or shown: that measure has failed, one line names it, the rest stands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness import cli, metrics
from harness.log.folder import Folder
from harness.metrics import faults, footprint, trust
from harness.metrics.view import Record
from harness.report.timeline import timelines as timeline
from tests.support.transcripts import transcript
from tests.unit.metrics.test_trust_poison import PLAN

Breaking = Callable[[pytest.MonkeyPatch], object]


def breaks(*_: object) -> Any:
    raise KeyError("no such\nthing")


def measure(name: str) -> Breaking:
    def broken(patch: pytest.MonkeyPatch) -> None:
        made = [replace(each, measure=breaks) if each.definition.name == name else each for each in metrics.METRICS]
        patch.setattr(metrics, "METRICS", tuple(made))

    return broken


def reported(folder: Folder, out: Path) -> tuple[Result, dict[str, Any]]:
    done = CliRunner().invoke(cli.commands, ["report", "-q", str(folder.root), "--out", str(out)])
    return done, json.loads((out / "results.json").read_text())


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, folder: Folder) -> dict[str, Any]:
    """What the run says while nothing is broken."""
    return reported(folder, tmp_path_factory.mktemp("sound"))[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recall", "stale_use", "tokens_total", "help", "jobs_done"])
def test_a_measure_that_breaks_has_failed_and_all_others_stand(
    tmp_path: Path, folder: Folder, sound: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    measure(name)(monkeypatch)
    done, broken = reported(folder, tmp_path / "broken")
    (line,) = broken["run"]["problems"]
    assert done.exit_code == 3 and line in done.stderr and "\n" not in line
    assert (
        f": {name}: coldwarm broke on it: KeyError" in line and "test_broken.py:" in line and line.startswith("logs/")
    )
    assert len(sound["cells"]) == len(broken["cells"])
    for before, after in zip(sound["cells"], broken["cells"], strict=True):
        lost = after["measures"].pop(name)
        rest = {each: value for each, value in before["measures"].items() if each != name}
        assert lost["status"] in ("failed", "not-applicable") and after == {**before, "measures": rest}
    failed = [row["measures"][name]["failed"] for row in broken["backends"].values()]
    assert any(failed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("breaking", "says"),
    [
        (lambda patch: patch.setattr(Record, "pool", property(breaks)), "no measure: coldwarm broke on it"),
        (lambda patch: patch.setattr(metrics, "Classifier", breaks), "no measure: coldwarm broke on it"),
        (lambda patch: patch.setattr(faults, "of_trial", breaks), "calls that failed could not be counted"),
        (lambda patch: patch.setattr(footprint, "of_trial", breaks), "cannot be shown in full"),
        (lambda patch: patch.setattr(timeline, "tell_story", breaks), "cannot be shown in full"),
    ],
)
def test_whatever_breaks_is_told_and_a_report_is_written(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch, breaking: Breaking, says: str
) -> None:
    breaking(monkeypatch)
    done, results = reported(folder, tmp_path)
    assert done.exit_code == 3 and any(says in line for line in results["run"]["problems"])
    assert says in done.stderr and (tmp_path / "report.html").exists() and results["cells"]


@pytest.mark.slow
def test_the_event_on_which_it_broke_is_named(tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Record, "_read", breaks)
    _, results = reported(folder, tmp_path)
    assert any(re.search(r"coldwarm broke on it: L\d+: KeyError", line) for line in results["run"]["problems"])


def test_of_drills_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = transcript(tmp_path, PLAN, [], drill="poison")
    (sound,) = trust.score([told])
    first, *rest = (each for each in trust.METRICS if each.drill == "poison")
    monkeypatch.setattr(trust, "METRICS", (replace(first, measure=breaks), *rest))
    (cell,) = trust.score([told])
    name = first.definition.name
    assert cell.measures[name].status == "failed" and "KeyError" in getattr(cell.measures[name], "reason", "")
    assert {**cell.measures, name: 0} == {**sound.measures, name: 0}
    monkeypatch.setattr(trust, "_own", lambda _: rest)
    monkeypatch.setattr(trust, "_measure", breaks)
    (cell,) = trust.score([told])
    assert cell.status == "failed" and {each.status for each in cell.measures.values()} == {"failed"}


@pytest.mark.slow
def test_what_cannot_be_told_of_a_trial_is_said_in_its_place(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "Telling", breaks)
    done, _ = reported(folder, tmp_path)
    assert (
        done.exit_code == 0
        and "This trial cannot be shown: coldwarm broke on it" in (tmp_path / "report.html").read_text()
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "report"])
def test_a_report_of_a_folder_that_cannot_be_written_goes_elsewhere(
    tmp_path: Path, folder: Folder, command: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    before = sorted(path.name for path in folder.root.iterdir())
    refused = CliRunner().invoke(cli.commands, [command, str(folder.root), "--out", str(tmp_path / "file" / "below")])
    assert refused.exit_code == 3 and "`coldwarm report RUN --out FOLDER` writes it elsewhere" in refused.stderr
    done = CliRunner().invoke(cli.commands, [command, str(folder.root), "--out", str(tmp_path / "a" / "b")])
    assert done.exit_code == 0 and (tmp_path / "a" / "b" / "report.html").exists()
    assert sorted(path.name for path in folder.root.iterdir()) == before
