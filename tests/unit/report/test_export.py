"""The suite and a run's results as tables: what is in them, that others read them, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness import paths
from harness.cli import commands
from harness.compare import statements
from harness.model.cells import Cell
from harness.model.results import Suite
from harness.model.transcript import Message
from harness.model.trial import Measured
from harness.report.outputs import export
from tasks import loader, suite
from tests.support import runs
from tests.support.logs import STORY, story
from tests.unit.conftest import House

MADE = Suite(version="1", digest="d1" * 32, split="all", held=("rename/twin",))
STORIES = [STORY, story(id="rename/twin", title="Ütf — “quoted”")]
LOAD = """
import json, sys
def closed(event, _):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        raise RuntimeError(event)
sys.addaudithook(closed)
import datasets
datasets.disable_progress_bars()
print(json.dumps({name: [datasets.load_dataset(sys.argv[1], name)["test"][:]] for name in sys.argv[2:]}, default=str))
"""
"""Loads tables with Hugging Face, as it is documented, where every use of a socket raises."""


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def one_line(done: Result, code: int) -> str:
    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit)
    (line,) = done.stderr.splitlines()
    return line


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(commands, ["export", *map(str, words)])


@pytest.fixture
def written(tmp_path: Path) -> Path:
    export.suite(tmp_path / "data" / "set", STORIES, MADE, suite.SUITE_DATE)
    return tmp_path / "data" / "set"


# --- the suite ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", export.TABLES)
def test_rows_have_the_columns_that_the_card_names_in_order(written: Path, table: str) -> None:
    rows = lines(written / f"{table}.jsonl")
    assert rows and all(list(row) == list(export.TABLES[table]) for row in rows)
    assert {row["scenario"]: row["split"] for row in rows} == {"rename/story": "dev", "rename/twin": "held"}


def test_facts_are_told_whole(written: Path) -> None:
    rows = {row["fact"]: row for row in lines(written / "facts.jsonl") if row["scenario"] == "rename/story"}
    assert list(rows) == [fact.id for fact in STORY.facts]
    new, port, lure = rows["new"], rows["port"], rows["lure"]
    assert (new["supersedes"], new["learnt"], new["forgotten"]) == ("old", ["second"], None)
    assert (port["source_commit"], port["source_path"], port["source_line"]) == ("c1", "ship.toml", 3)
    assert new["source_path"] is None and new["forms"] == [["betadeploy"]]
    assert (lure["repo"], lure["org"], new["repo"]) == ("sibling", "lantern", "shop")
    assert rows["pin"]["forgotten"] == "2025-03-10T09:00:00+00:00" and "{canary}" in rows["pin"]["plain"]


def test_a_probe_has_a_row_for_each_phrasing_and_a_decision_for_each_option(written: Path) -> None:
    probes = [row for row in lines(written / "probes.jsonl") if row["scenario"] == "rename/story"]
    asked = [(row["probe"], row["stratum"], row["gold"], row["history"]) for row in probes]
    assert asked[1:3] == [("tool-after", "plain", ["new"], False), ("tool-after", "paraphrase", ["new"], False)]
    assert asked[-2:] == [("nothing", "plain", [], False), ("tool-past", "plain", ["old"], True)]
    jobs = [row for row in lines(written / "jobs.jsonl") if row["scenario"] == "rename/story"]
    options = [(row["decision"], row["value"], row["verdict"], row["fact"]) for row in jobs if row["job"] == "drill"]
    assert options == [
        ("tool", "betadeploy", "right", "new"),
        ("tool", "alphadeploy", "stale", "old"),
        ("tool", "gammadeploy", "lure", "lure"),
        ("port", "8123", "right", "port"),
        ("port", "gammadeploy", "lure", "lure"),
    ]


def test_times_keep_their_instant_in_any_zone(tmp_path: Path) -> None:
    facts = [fact.model_dump() for fact in STORY.facts]
    facts[0]["since"] = "2025-01-01T01:30:00+02:00"
    export.suite(tmp_path, [story(facts=facts)], MADE, suite.SUITE_DATE)
    assert lines(tmp_path / "facts.jsonl")[0]["since"] == "2024-12-31T23:30:00+00:00"


@pytest.mark.slow
def test_hugging_face_loads_every_table_offline_and_as_written(written: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(written), *export.TABLES],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, (columns,) in json.loads(done.stdout).items():
        rows = lines(written / f"{name}.jsonl")
        assert list(columns) == list(export.TABLES[name])
        for column, values in columns.items():
            plain = [row[column] for row in rows]
            if export.TABLES[name][column][0] == export.MOMENT:
                plain, values = ([each and datetime.fromisoformat(each) for each in some] for some in (plain, values))
            assert values == plain, column


def test_croissant_names_every_file_and_column(written: Path) -> None:
    said = json.loads((written / "croissant.json").read_text("utf-8"))
    author = re.search(r"^  - name: (.*)$", (paths.ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert author and said["citeAs"].startswith(f"{author[1]}. coldwarm, suite ")
    assert said["@type"] == "sc:Dataset" and said["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert said["datePublished"] == suite.SUITE_DATE
    for file in said["distribution"]:
        assert sha256((written / file["contentUrl"]).read_bytes()).hexdigest() == file["sha256"]
    for table in said["recordSet"]:
        columns = export.TABLES[table["name"]]
        assert [field["name"] for field in table["field"]] == list(columns)
        assert {field["source"]["fileObject"]["@id"] for field in table["field"]} == {f"{table['name']}.jsonl"}
        repeated = {field["name"] for field in table["field"] if field.get("repeated")}
        assert repeated == {name for name, (kind, _) in columns.items() if kind in {export.STRINGS, export.LISTS}}


def read_parquet(path: Path) -> Any:
    import pandas  # a second of processor time, which collecting the tests need not take

    return pandas.read_parquet(path)


def test_pandas_reads_the_tables(written: Path) -> None:
    import pandas

    for name, columns in export.TABLES.items():
        frame = pandas.read_json(written / f"{name}.jsonl", lines=True)
        assert list(frame.columns) == list(columns) and len(frame) == len(lines(written / f"{name}.jsonl"))


def test_the_card_counts_and_warns(written: Path) -> None:
    card = (written / "README.md").read_text("utf-8")
    assert "\nlicense: mit\n" in card and "Not for training" in card and MADE.digest in card
    assert "2 scenarios, 1 kind, 12 facts" in card
    for name in export.TABLES:
        assert f"## {name} ({len(lines(written / f'{name}.jsonl'))} rows)" in card


def test_what_was_said_is_a_table_where_stories_are_spoken(tmp_path: Path) -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    said = [
        {"role": "user", "content": "no, the new one", "tells": ["new"], "retracts": ["old"]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "ops", "tool_call_id": "c1"},
    ]
    first, *others = STORY.sessions
    spoken = first.model_copy(update={"transcript": tuple(map(Message.model_validate, said))})
    export.suite(tmp_path, [STORY.model_copy(update={"sessions": (spoken, *others)})], MADE, suite.SUITE_DATE)
    rows = lines(tmp_path / "messages.jsonl")
    assert [(row["session"], row["number"], row["role"]) for row in rows] == [
        (first.id, 1, "user"), (first.id, 2, "assistant"), (first.id, 3, "tool"),
    ]  # fmt: skip
    assert (rows[0]["tells"], rows[0]["retracts"], rows[0]["tool_calls"]) == (["new"], ["old"], None)
    assert json.loads(rows[1]["tool_calls"]) == [{"type": "function", **call}] and rows[2]["tool_call_id"] == "c1"
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "- config_name: messages\n" in card and "## messages (3 rows)" in card
    assert all(f"| `{column}` |" in card.partition("## messages")[2] for column in rows[0])
    described = json.loads((tmp_path / "croissant.json").read_text("utf-8"))["recordSet"][-1]
    assert [field["name"] for field in described["field"]] == list(rows[0])


def test_a_private_suite_is_not_given_our_licence(tmp_path: Path) -> None:
    export.suite(tmp_path, STORIES, MADE.model_copy(update={"version": suite.PRIVATE}), suite.SUITE_DATE)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "\nlicense: other\n" in card and "MIT" not in card and "invented" not in card


def test_the_command_writes_the_same_bytes_again(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(house.cache))
    house.write(house.story)
    where = ("--tasks", house.file.parent.parent, "--fixtures", house.fixtures)
    for name in ("one", "two"):
        done = call("suite", tmp_path / name, *where)
        assert done.exit_code == 0 and done.stdout.strip() == str(tmp_path / name / "README.md")
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two and sorted(one) == ["README.md", "croissant.json", "facts.jsonl", "jobs.jsonl", "probes.jsonl"]
    [(scenario, _)] = loader.load([house.file], house.fixtures, house.cache)
    assert [row["fact"] for row in lines(tmp_path / "one" / "facts.jsonl")] == [fact.id for fact in scenario.facts]
    assert suite.identity([scenario], house.file.parent.parent, "all").digest in one["README.md"].decode()


# --- the results --------------------------------------------------------------------------------------------------


def test_cells_are_rows_with_all_their_scalar_fields(tmp_path: Path) -> None:
    scored = export.results(tmp_path / "out", runs.run(tmp_path))
    assert list(export.CELLS) == [name for name in Cell.model_fields if name != "measures"]
    frame = read_parquet(tmp_path / "out" / "cells.parquet")
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == export.CELLS
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert rows == [cell.model_dump(mode="json", exclude={"measures"}) for cell in scored.cells]
    assert frame.loc[frame.arm == "cold", "backend"].isna().all() and (frame.arm == "cold").any()


def test_measures_say_what_was_not_measured_by_word_and_never_by_number(tmp_path: Path) -> None:
    scored = export.results(tmp_path / "out", runs.run(tmp_path))
    frame = read_parquet(tmp_path / "out" / "measures.parquet")
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == export.MEASURES
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert len(rows) == sum(len(cell.measures) for cell in scored.cells)
    by_id = {cell.id: cell for cell in scored.cells}
    numbers = ("value", "hits", "of", "interval_low", "interval_high")
    for row in rows:
        measure = by_id[row["cell"]].measures[row["measure"]]
        assert row["status"] == measure.status
        if isinstance(measure, Measured):
            told = measure.interval
            expected = (measure.value, measure.hits, measure.of, told and told.low, told and told.high)
            assert tuple(row[name] for name in numbers) == expected
            assert (row["known"], row["reason"]) == (measure.known, None)
        else:
            assert [row[name] for name in (*numbers, "known")] == [None] * 6 and row["reason"] == measure.reason
    assert {"measured", "unsupported", "not-applicable"} <= set(frame.status)
    assert frame.value.isna().sum() == (frame.status != "measured").sum() and (frame.value == 0).any()
    assert not any(row["value"] != row["value"] for row in rows)  # NaN


def test_results_are_the_same_bytes_again_and_of_the_same_run(tmp_path: Path) -> None:
    run = runs.run(tmp_path)
    assert (
        export.results(tmp_path / "one", run)
        == export.results(tmp_path / "two", run)
        == statements.compute_results(run)
    )
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two and sorted(one) == ["cells.parquet", "measures.parquet"]


def test_a_run_with_nothing_in_it_has_tables_without_rows(tmp_path: Path) -> None:
    run = runs.run(tmp_path, trials=())
    for log in (tmp_path / "logs").iterdir():
        log.unlink()
    export.results(tmp_path / "out", run)
    frame = read_parquet(tmp_path / "out" / "measures.parquet")
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == export.MEASURES and frame.empty


def test_the_command_writes_tables_of_a_run(tmp_path: Path) -> None:
    runs.run(tmp_path)
    done = call("results", tmp_path, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "out" / "cells.parquet")
    assert (tmp_path / "out" / "measures.parquet").is_file()


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["suite", "results"])
def test_nothing_is_written_over(command: str, house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDWARM_CACHE", str(house.cache))
    house.write(house.story)
    runs.run(tmp_path)
    suites = ("--tasks", house.file.parent.parent, "--fixtures", house.fixtures)
    words = (command, *(suites if command == "suite" else (tmp_path,)))
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    said = one_line(call(*words, target), 2)
    assert said == f"coldwarm: {target}: is not empty; name a directory that is new or empty"
    assert [file.name for file in target.iterdir()] == ["mine.txt"]
    assert "cannot write there: " in one_line(call(*words, target / "mine.txt"), 2)
    assert (target / "mine.txt").read_text() == "mine"


def test_an_unknown_run_is_one_line(tmp_path: Path) -> None:
    assert "not the folder of a run" in one_line(call("results", tmp_path / "nowhere", tmp_path / "out"), 2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_a_missing_extra_is_one_line_and_leaves_nothing(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.run(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    said = one_line(call("results", tmp_path, tmp_path / "out"), 3)
    assert said.startswith(f"coldwarm: Parquet needs {missing}, ") and "[data]'" in said
    assert not (tmp_path / "out").exists()


def test_a_number_beyond_64_bits_is_one_line(tmp_path: Path) -> None:
    run = runs.run(tmp_path)
    file = run.read()
    trial = file.trials[0].model_copy(update={"seed": 2**63})
    run.write(file.model_copy(update={"trials": (trial,)}))
    assert "a seed of the run is beyond 64 bits" in one_line(call("results", tmp_path, tmp_path / "out"), 2)


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, harness.report.outputs.export; print(sorted({'pandas', 'pyarrow', 'datasets'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=paths.ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
