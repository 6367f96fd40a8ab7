"""docs/calibration.md tells what the recorded answers of its model come to, replayed without a model."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

from harness import paths
from harness.log.events import Worked
from harness.log.folder import Folder
from harness.log.parts import Choice
from tests.e2e.conftest import MEASURED, Cli, only

RECORDED = paths.FIXTURES.parent / "chat" / "calibration.tar.xz"
MODEL = "qwen2.5-coder-1.5b-instruct"
STORIES = re.search(r"^STORIES := (.*?[^\\])$", (paths.ROOT / "Makefile").read_text(), re.MULTILINE | re.DOTALL)


@MEASURED
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_recorded_decisions_replay_to_the_rows_of_the_page(cli: Cli, tmp_path: Path) -> None:
    with tarfile.open(RECORDED) as packed:
        packed.extractall(tmp_path / "chats", filter="data")
    assert STORIES
    stories = [word for name in STORIES[1].replace("\\", " ").split() for word in ("-s", name)]
    cells = ("run", "-q", "-b", "chroma", "-n", "0", "-d", "none", "--trial", "cold", "--trial", "chroma")
    asked = ("--reader", "choice", "--model", MODEL, "--chat", tmp_path / "chats")
    few = stories[:6]
    runs = {"scripted": stories, "model": (*stories, *asked), "again": (*few, *asked)}
    for name, words in runs.items():
        done = cli(*cells, *words, "--out", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, ""), "an answer is missing: a prompt has changed"
    shown = cli("calibrate", only(tmp_path / "scripted"), only(tmp_path / "model")).stdout.splitlines()
    rows = [line for line in shown if line.startswith("| <code>chroma</code>")]
    assert len(rows) == 2 and set(rows) <= set((paths.ROOT / "docs/calibration.md").read_text().splitlines())
    first, again = _list_calls(only(tmp_path / "model")), _list_calls(only(tmp_path / "again"))
    assert again and again == {name: first[name] for name in again}


def _name(choice: Choice) -> Choice:
    """Without the id that Chroma draws for its memory."""
    return choice.model_copy(update={"memory_id": None})


def _list_calls(folder: Path) -> dict[str, object]:
    """Everything that the model was asked, and what was made of it, by trial."""
    logs, problems = Folder(folder).logs()
    assert not problems
    return {
        log.trial.id: [
            ([_name(each) for each in event.choices], event.checks, log.calls(event))
            for event in log.list_events(Worked)
        ]
        for log in logs.values()
    }
