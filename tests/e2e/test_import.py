"""`coldwarm import` with a real backend in a process of its own, on small invented files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from harness.cli import commands
from harness.published import report
from tests.support.published_files import write_forgeteval, write_locomo, write_longmemeval, write_memorycode


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(commands, ["import", *map(str, words)])


@pytest.mark.slow
def test_a_set_is_put_to_two_backends_and_the_figures_are_computed_from_their_logs(tmp_path: Path) -> None:
    done = run("locomo", write_locomo(tmp_path), "-b", "bm25", "-b", "bm25,variant=okapi", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "1 store, 6 memories (turns), 5 questions, 1 questions without evidence" in done.output
    assert "licence: CC BY-NC 4.0" in done.output
    [figures] = (tmp_path / "out").glob("*/figures.json")
    first, _ = json.loads(figures.read_text())["backends"]
    named = {each["name"]: (each["total"], each["of"]) for each in first["figures"]}
    assert named["recall_any@1 (session)"] == (3, 3) and named["recall_all@10 (session)"] == (3, 3)
    logs = sorted((figures.parent / "logs").glob("bm25-talk*.jsonl"))
    assert report.compute_from(logs, (1, 5, 10)).model_dump(mode="json") == first


@pytest.mark.slow
def test_rules_that_changed(tmp_path: Path) -> None:
    done = run("memorycode", write_memorycode(tmp_path / "dataset"), "-b", "bm25", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "stale_first@5, in the words of the rule" in done.output and "100.00 %" in done.output


@pytest.mark.slow
def test_what_a_store_is_told_to_forget_is_looked_for_as_who_has_no_ids(tmp_path: Path) -> None:
    backends = ("-b", "bm25", "-b", "notes", "-b", "none")
    done = run("forgeteval", write_forgeteval(tmp_path), *backends, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    [figures] = (tmp_path / "out").glob("*/figures.json")
    told = [
        {each["name"]: (each["total"], each["of"]) for each in one["figures"]}
        for one in json.loads(figures.read_text())["backends"]
    ]
    assert told[0]["pass@5 (probed=True)"] == (3, 3), told[0]
    assert told[2]["pass@5 (probed=True)"] == (0, 0) and told[2]["pass@5 (probed=True, strict)"] == (0, 3)


@pytest.mark.slow
def test_each_question_of_longmemeval_has_a_store_of_its_own(tmp_path: Path) -> None:
    done = run("longmemeval", write_longmemeval(tmp_path), "-b", "bm25", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "2 stores, 6 memories (sessions), 2 questions, 1 questions to abstain from" in done.output
    assert "ndcg_any@5 (session)" in done.output and "licence: MIT" in done.output


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("locomo", "nowhere.json", "-b", "bm25"), 2, "nowhere.json: cannot be read"),
        (("memorycode", ".", "-b", "bm25", "--document", "turn"), 2, "memories can be session, not turn"),
        (("locomo", "nowhere.json"), 2, "Missing option"),
        (("nothing", "nowhere.json", "-b", "bm25"), 2, "No such command"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(words: tuple[str, ...], code: int, says: str) -> None:
    done = run(*words)
    assert done.exit_code == code and says in done.output, done.output


def test_a_backend_that_nobody_knows_is_one_clear_line(tmp_path: Path) -> None:
    done = run("locomo", write_locomo(tmp_path), "-b", "bm52", "--out", tmp_path / "out")
    assert done.exit_code == 2 and not (tmp_path / "out").exists(), done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "says"),
    [
        ("tests.support.unruly_backends:NotThere", "was not asked"),
        ("notes,colour=red", "has no setting 'colour'"),
        ("tests.support.extracting_backend:Extracting", "a model inside rewrites what it is told"),
    ],
)
def test_what_one_backend_answered_is_kept_where_another_cannot_be_asked(
    tmp_path: Path, backend: str, says: str
) -> None:
    done = run("locomo", write_locomo(tmp_path), "-b", "bm25", "-b", backend, "--out", tmp_path / "out")
    assert done.exit_code == 3 and says in done.output, done.output
    [figures] = (tmp_path / "out").glob("*/figures.json")
    assert [each["backend"] for each in json.loads(figures.read_text())["backends"]] == ["bm25"]


@pytest.mark.slow
def test_two_that_begin_in_one_second_keep_their_results_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of this module alone: whoever reads a date for the first time meanwhile would keep such names of months.
    monkeypatch.setattr("harness.cli.published.time", SimpleNamespace(strftime=lambda _: "20260203-100000"))
    file = write_longmemeval(tmp_path)
    for backend in ("bm25", "notes"):
        assert run("longmemeval", file, "-b", backend, "--out", tmp_path / "out").exit_code == 0
    found = [json.loads(each.read_text())["backends"] for each in sorted((tmp_path / "out").glob("*/figures.json"))]
    assert [each["backend"] for one in found for each in one] == ["bm25", "notes"]
