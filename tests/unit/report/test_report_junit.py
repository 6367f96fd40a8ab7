"""`junit.xml`: what passes, fails, errs and is skipped, and that hostile words never cost the whole file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from harness.compare import statements
from harness.model.regression import GateVerdict
from harness.model.results import Results, Unplayed
from harness.report.model import board
from harness.report.model.table import DASH
from harness.report.outputs import ci
from tests.support.made_results import results as made_of
from tests.support.runs import run


def gate(verdict: str, says: str = "recall of store is 3 of 9, at least 5 of 9", name: str = "recalls") -> GateVerdict:
    return GateVerdict.model_validate(
        {"gate": name, "backend": "store", "measure": "recall", "line": 4, "verdict": verdict, "says": says,
         "cells": ("a-cell",)}
    )  # fmt: skip


def cases(results: Results) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(ci.write_junit(results))
    return {case.get("name", ""): case for case in root.iter("testcase")}


def test_the_file_of_a_run(results: Results, snapshot: SnapshotAssertion) -> None:
    gated = results.model_copy(update={"gates": tuple(map(gate, ("held", "broken", "not-measured")))})
    assert ci.write_junit(gated) == snapshot


@pytest.mark.parametrize(("verdict", "tag"), [("held", None), ("broken", "failure"), ("not-measured", "error")])
def test_a_gate_is_a_case_and_green_only_if_it_held(results: Results, verdict: str, tag: str | None) -> None:
    case = cases(results.model_copy(update={"gates": (gate(verdict),)}))["recalls: recall of store"]
    assert [each.tag for each in case] == ([tag] if tag else [])
    for each in case:
        assert each.get("message") == each.text and "3 of 9" in (each.text or "") and "a-cell" in (each.text or "")


def test_a_gate_names_the_file_that_it_stands_in(results: Results) -> None:
    made = gate("broken").model_copy(update={"file": "ci/strict.toml"})
    case = cases(results.model_copy(update={"gates": (made,)}))["recalls: recall of store"]
    assert case.get("file") == "ci/strict.toml"


@pytest.mark.parametrize(
    ("status", "tag"),
    [
        ("complete", None),
        ("failed", "error"),
        ("incomplete", "error"),
        ("not-run", "error"),
        ("unsupported", "skipped"),
    ],
)
def test_a_cell_is_green_only_if_it_came_to_its_end(results: Results, status: str, tag: str | None) -> None:
    cell = results.cells[0].model_copy(update={"status": status, "reason": "it is so"})
    case = cases(results.model_copy(update={"cells": (cell,)}))[cell.id]
    assert [each.tag for each in case] == ([tag] if tag else [])
    assert all((each.text or "").startswith(f"{status}: it is so") for each in case)


@pytest.mark.parametrize(("allowed", "tag"), [(True, "skipped"), (False, "error")])
def test_a_backend_that_could_not_play_is_a_case(results: Results, allowed: bool, tag: str) -> None:
    absent = Unplayed(backend="absent", reason="not installed", allowed=allowed)
    changed = results.run.model_copy(update={"unplayed": (absent,)})
    (found,) = cases(results.model_copy(update={"run": changed}))["absent"]
    assert found.tag == tag and "not installed" in (found.text or "")


def test_the_scoreboard_is_a_suite_with_a_case_for_each_row_and_column(results: Results) -> None:
    """Bad is told, and fails no job: only a gate demands. What has no number is never green."""
    made = board.collect(results)
    assert {score.judgement for row in made.rows for score in row.scores if score.measured} >= {"good", "bad"}
    (suite,) = ElementTree.fromstring(ci.write_junit(results)).findall("testsuite[@name='scoreboard']")
    found = {case.get("name"): case for case in suite}
    assert len(found) == len(suite) == len(made.rows) * len(made.columns)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    for row in made.rows:
        for column, score in zip(made.columns, row.scores, strict=True):
            (said,) = found[f"{row.key}: {column.head}"]
            shown = said.find("property[@name='shown']")
            text = (shown.get("value") if shown is not None else said.text) or ""
            assert said.tag == ("properties" if score.measured else "skipped")
            assert all(part in text for part in (score.word, score.why, *(line.text for line in score.lines[1:])))
            assert score.text in text if score != DASH else text == "not asked"
            assert (score.judgement == "bad") is text.startswith("bad: ")


def test_where_no_output_has_a_table_there_is_no_suite_of_it() -> None:
    empty = made_of({"x": {"recall": ["failed"]}})
    assert board.collect(empty).empty and 'name="scoreboard"' not in ci.write_junit(empty)


def test_counts_are_those_of_the_cases_and_names_are_unique(results: Results) -> None:
    gated = results.model_copy(update={"gates": (gate("broken"), gate("held", name="another"))})
    root = ElementTree.fromstring(ci.write_junit(gated))
    for suite in root:
        for word, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(attribute, "")) == len(suite.findall(f"testcase/{word}"))
        assert int(suite.get("tests", "")) == len(suite) > 0
    named = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(named)) == len(named)
    assert not any("." in (place or "").removeprefix("coldwarm.") for place, _ in named)


@pytest.mark.slow
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_words_of_a_fault_leave_a_file_that_parses(results: Results, words: str) -> None:
    bad = results.cells[0].model_copy(update={"status": "failed", "reason": words, "backend": words or "x"})
    text = ci.write_junit(results.model_copy(update={"cells": (bad,), "gates": (gate("broken", words, words or "x"),)}))
    assert ElementTree.fromstring(text) is not None
    assert not any(ord(char) < 32 and char != "\n" for char in text)


def test_equal_runs_give_equal_bytes(tmp_path: Path, results: Results) -> None:
    again = tmp_path / "again"
    again.mkdir()
    assert ci.write_junit(statements.compute_results(run(again))) == ci.write_junit(results)
