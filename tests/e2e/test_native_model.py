"""The recorded answers of a small model inside Mem0 replay, without a model, to the committed table."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from benchmarks.feeds import tabulate_captured
from harness import paths
from harness.model.results import Results
from tests.e2e.conftest import PLAYED, Cli, only

MEM0 = "mem0,infer=true,model=qwen2.5-coder-1.5b-instruct"
TABLE = paths.ROOT / "benchmarks" / "results" / "native_model.json"
RECORDED = paths.FIXTURES.parent / "chat" / "native.tar.xz"


@PLAYED
@pytest.mark.slow
@pytest.mark.backend
@pytest.mark.timeout(600)
def test_the_recorded_captures_replay_to_the_rows_of_the_table(cli: Cli, tmp_path: Path) -> None:
    with tarfile.open(RECORDED) as packed:
        packed.extractall(tmp_path / "chats", filter="data")
    story = ("--suite", "deep", "-s", "stale-deploy-rule", "-n", "0", "-d", "none")
    fed = ("--feed", "native", "--write", "append", "--chat", tmp_path / "chats")
    done = cli("run", *story, *fed, "-b", MEM0, "-b", "none", "--out", tmp_path / "runs")
    assert (done.returncode, done.stderr) == (0, ""), "an answer is missing: a prompt has changed"
    results = Results.model_validate_json((only(tmp_path / "runs") / "results.json").read_text("utf-8"))
    played, kept = tabulate_captured(results), json.loads(TABLE.read_text("utf-8"))
    rows = {row[0]: row for row in kept["rows"]}
    assert played["columns"] == kept["columns"]
    assert {row[0]: row for row in played["rows"]} == {row[0]: rows[row[0]] for row in played["rows"]}
    assert {row[0].partition("+")[0] for row in played["rows"]} == {"mem0", "none", "cold", "oracle", "stale_oracle"}
