"""Chat calls of models inside backends: who answers them, what they cost, and where a budget ends them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.log.events import Metered, Wrote
from harness.log.folder import Folder
from harness.log.reader import Log
from tests.e2e.conftest import PLAYED, SMALL, Cli, one_line, only, resumable
from tests.support.logs import canonical

BACKEND = "tests.support.extracting_backend:Extracting"
RUN = ("run", "-b", BACKEND, *SMALL)
pytestmark = PLAYED

STAND_IN = "stand-in coldwarm-extractor-1"


@pytest.fixture(scope="module")
def recorded(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a run that the stand-in answered, and its recordings. Not to be written to."""
    out = tmp_path_factory.mktemp("out")
    done = cli(*RUN, "--chat", "stand-in", "--record", out / "recordings", "--out", out / "runs")
    assert (done.returncode, done.stderr) == (0, "")
    return only(out / "runs"), out / "recordings"


def log(folder: Path) -> Log:
    logs, problems = Folder(folder).logs()
    assert not problems
    (found,) = (each for each in logs.values() if each.trial.backend == BACKEND)
    return found


def measures(folder: Path) -> dict[str, Any]:
    cells = json.loads((folder / "results.json").read_text())["cells"]
    return next(cell["measures"] for cell in cells if (cell["backend"], cell["read_policy"]) == (BACKEND, "trusting"))


@pytest.mark.slow
def test_tokens_inside_are_counted_where_they_pass_and_who_answered_is_named(recorded: tuple[Path, Path]) -> None:
    folder, _ = recorded
    (metered,) = (event for event in log(folder).events if isinstance(event, Metered))
    writes = [event for event in log(folder).events if isinstance(event, Wrote)]
    assert metered.models == {"coldwarm-extractor-1": sum(len(event.ids or ()) for event in writes)}
    assert set(metered.chat) == {"ingest"} and not metered.refused
    ingest, found = metered.chat["ingest"], measures(folder)
    assert found["tokens_backend"]["value"] == ingest["prompt"] + ingest["completion"] > 0
    parts = ("tokens_ingest", "tokens_recall", "tokens_agent", "tokens_backend")
    assert found["tokens_total"]["value"] == sum(found[name]["value"] for name in parts)
    assert found["tokens_total"]["known"] == "exact"
    results = json.loads((folder / "results.json").read_text())
    assert results["run"]["conditions"]["chat"] == STAND_IN


@pytest.mark.slow
def test_a_replay_gives_equal_events_and_says_what_it_is(cli: Cli, recorded: tuple[Path, Path], tmp_path: Path) -> None:
    folder, recordings = recorded
    done = cli(*RUN, "--chat", recordings, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert canonical(log(only(tmp_path)).events) == canonical(log(folder).events)
    results = json.loads((only(tmp_path) / "results.json").read_text())
    assert results["run"]["conditions"]["chat"] == f"replay of {STAND_IN}"


@pytest.mark.slow
def test_what_was_not_recorded_fails_the_write_and_is_counted(
    cli: Cli, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    few = tmp_path / "few"
    shutil.copytree(recorded[1], few)
    for path in sorted(few.iterdir())[1:]:
        path.unlink()
    done = cli(*RUN, "--chat", few, "--out", tmp_path / "runs")
    played = log(only(tmp_path / "runs"))
    faults = [event.fault.message for event in played.events if isinstance(event, Wrote) and event.fault]
    assert done.returncode == 3 and faults and all("the model answered 404" in each for each in faults)
    (metered,) = (event for event in played.events if isinstance(event, Metered))
    assert sum(each.times for each in metered.refused) == metered.chat["ingest"]["failed"] == len(faults)
    assert "no recording in few answers this request" in metered.refused[0].message
    assert measures(only(tmp_path / "runs"))["tokens_backend"]["known"] == "at-least"


@pytest.mark.slow
@pytest.mark.parametrize("budget", [("--chat-budget", "300"), ("--chat-cost", "0.003", "--chat-price", "10", "0")])
def test_a_budget_ends_the_run_between_two_events_and_it_can_be_resumed(
    cli: Cli, tmp_path: Path, budget: tuple[str, ...]
) -> None:
    done = cli(*RUN, "--chat", "stand-in", *budget, "--out", tmp_path)
    folder = only(tmp_path)
    assert re.search(r"chat calls have used up their budget: \d+ tokens; ", resumable(done, folder))
    *before, _ = log(folder).events  # the last may be the write whose call was refused
    assert log(folder).closed is None and not any(event.fault for event in before if isinstance(event, Wrote))
    done = cli("run", "--resume", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert measures(folder)["tokens_backend"]["value"] > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 3, "nobody answers it: --chat stand-in, model, or a folder"),
        (("--chat", "nowhere"), 2, "nowhere holds no recording"),
        (("--chat", "model"), 2, "OPENAI_API_KEY is not set"),
        (("--record", "somewhere"), 2, "name one of them"),
        (("--chat", "stand-in", "--chat-cost", "2"), 2, "needs the price"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], code: int, says: str
) -> None:
    done = cli(*RUN, *words, "--out", tmp_path, env={"OPENAI_API_KEY": ""})
    assert says in one_line(done, code)
