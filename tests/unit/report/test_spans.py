"""A run's calls as OpenTelemetry spans: one tree a trial, in the names of the conventions, and no text unless asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import commands
from harness.log.folder import Folder
from harness.report.outputs import export, formats
from tests.support import runs

OPERATIONS = {"create_memory", "update_memory", "search_memory", "delete_memory"}


@pytest.fixture
def run(tmp_path: Path) -> Folder:
    return Folder(runs.run(tmp_path / "run").root)


def told(run: Folder, content: bool = False) -> list[list[dict[str, Any]]]:
    lines = [json.loads(line) for line in formats.write_spans(run, content)]
    return [line["resourceSpans"][0]["scopeSpans"][0]["spans"] for line in lines]


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_every_call_is_below_its_trial_and_after_the_one_before(run: Folder) -> None:
    trials = told(run)
    assert trials and len({span["spanId"] for trial in trials for span in trial}) == sum(map(len, trials))
    for whole, *calls in trials:
        assert calls and {call["parentSpanId"] for call in calls} == {whole["spanId"]}
        assert {len(call["traceId"]) for call in calls} == {32} and {len(call["spanId"]) for call in calls} == {16}
        times = [(int(call["startTimeUnixNano"]), int(call["endTimeUnixNano"])) for call in calls]
        assert times == sorted(times) and int(whole["startTimeUnixNano"]) == times[0][0] > 0
        assert int(whole["endTimeUnixNano"]) >= times[-1][1]


def test_names_are_those_of_the_conventions_and_texts_are_left_out(run: Folder) -> None:
    for whole, *calls in told(run):
        for call in calls:
            said = attributes(call)
            assert said["gen_ai.operation.name"] == call["name"] in OPERATIONS
            assert int(said["gen_ai.memory.record.count"]) >= 0
            assert said["gen_ai.memory.store.id"] == attributes(whole)["coldwarm.trial"]
            assert not {"gen_ai.memory.query.text", "gen_ai.memory.records"} & {*said}


def test_texts_are_there_for_who_asks(run: Folder) -> None:
    asked = [attributes(call) for _, *calls in told(run, True) for call in calls if call["name"] == "search_memory"]
    assert asked and all(said["gen_ai.memory.query.text"] for said in asked)
    records = [record for said in asked for record in json.loads(said["gen_ai.memory.records"])]
    assert records and all(record["content"] and record["id"] for record in records)


@pytest.mark.slow
def test_the_command_writes_a_new_file_only(run: Folder, tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    words = ["export", "spans", str(run.root), str(file)]
    assert CliRunner().invoke(commands, words).exit_code == 0
    again = CliRunner().invoke(commands, words)
    assert again.exit_code == 2 and "is there already; name a new file" in again.stderr


def test_an_export_that_is_interrupted_leaves_no_half_a_file(
    run: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Iterator[str]:
        yield "half\n"
        raise KeyboardInterrupt

    monkeypatch.setattr(formats, "write_spans", interrupted)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        export.spans(tmp_path / "spans.jsonl", run, content=False)
    assert sorted(tmp_path.iterdir()) == before
