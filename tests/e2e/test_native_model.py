"""The recorded answers of a small model, inside backends and as reader, replay offline to the committed table."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from benchmarks.feeds import read_results, tabulate_captured
from harness import paths
from tests.e2e.conftest import PLAYED, Cli, only

MODEL = "qwen2.5-coder-1.5b-instruct"
TABLE = paths.ROOT / "benchmarks" / "results" / "native_model.json"
RECORDED = paths.FIXTURES.parent / "chat" / "native.tar.xz"
NO_ENVIRONMENT = "no environment can be made"
NO_SERVER = "is not installed: make letta installs it"


@PLAYED
@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "row", [f"mem0,infer=true,model={MODEL}", f"langmem@0.0.30,model={MODEL}", f"letta_agent,model={MODEL}"]
)
def test_the_recorded_answers_replay_to_the_rows_of_the_table(cli: Cli, tmp_path: Path, row: str) -> None:
    with tarfile.open(RECORDED) as packed:
        packed.extractall(tmp_path / "chats", filter="data")
    story = ("--suite", "deep", "-s", "stale-deploy-rule", "-n", "0", "-d", "none")
    cells = (*story, "--feed", "native", "--write", "append", "--chat", tmp_path / "chats", "-b", row, "-b", "none")
    readers = {"scripted": (), "model": ("--reader", "choice", "--model", MODEL)}
    for name, words in readers.items():
        done = cli("run", *cells, *words, "--out", tmp_path / name)
        missing = NO_ENVIRONMENT in done.stderr and os.environ.get("COLDWARM_INDEX") != "required"
        if missing or NO_SERVER in done.stderr:
            pytest.skip(done.stderr)
        assert (done.returncode, done.stderr) == (0, ""), "an answer is missing: a prompt has changed"
    played = tabulate_captured(*(read_results(only(tmp_path / name)) for name in readers))
    kept = json.loads(TABLE.read_text("utf-8"))
    rows = {each[0]: each for each in kept["rows"]}
    assert played["columns"] == kept["columns"]
    assert {each[0]: each for each in played["rows"]} == {each[0]: rows[each[0]] for each in played["rows"]}
    name = row.replace(",", "+")
    assert {each[0] for each in played["rows"]} == {name, "none", "cold", "oracle", "stale_oracle"}
