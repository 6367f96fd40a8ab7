"""The first screen says what went wrong with the run before it says anything of memory."""

from __future__ import annotations

import re
from html import unescape

import pytest

from harness import metrics
from harness.model.cells import Faults
from harness.model.regression import GateVerdict
from harness.model.results import Results, Unplayed
from harness.report.model import board as scoreboard
from harness.report.outputs import page as html
from harness.report.text import verdict
from tests.support.made_results import results

GOOD = (20, 20)
SAYS = "No drill was played"
"""Begins a sentence of the verdict of every run below."""


def first(made: Results) -> str:
    """Its words, up to the statistics."""
    text = html.write_page(made, ()).partition("<body>")[2].partition('id="needs"')[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def made(**changed: object) -> Results:
    return results({"x": {name: [GOOD] for name in metrics.DEFINITIONS}}).model_copy(update=changed)


@pytest.mark.slow
def test_broken_gates_stand_above_everything() -> None:
    says = "gate 'recalls' broken: x: recall 20/20, at least 2 demanded (gates.toml:1); see cell c-1"
    gates = [
        GateVerdict(gate="recalls", backend="x", measure="recall", line=at, verdict="broken", says=says)
        for at in range(5)
    ]
    said = first(made(gates=tuple(gates)))
    assert said.index("5 gates are broken") < said.index(SAYS)
    assert "at least 2 demanded (gates.toml:1)" in said and "see cell" not in said and "and 2 more" in said
    assert "broken" not in first(made())


@pytest.mark.slow
def test_a_backend_that_did_not_run_is_said_above_unless_that_was_allowed() -> None:
    before = made()
    for allowed in (False, True):
        absent = Unplayed(backend="gone", reason="not installed", allowed=allowed)
        said = first(made(run=before.run.model_copy(update={"unplayed": (absent,)})))
        assert ("gone did not run: not installed" in said) is not allowed


@pytest.mark.slow
def test_calls_that_failed_are_told_once_and_a_link_leads_there() -> None:
    fault = Faults(
        backend="x", trial="t-1", op="recall", kind="crashed", count=7, calls=9, message="boom", receipt="L1"
    )  # fmt: skip
    said = first(made(faults=(fault,)))
    assert said.count("boom") == 1 and said.index("boom") < said.index(SAYS)
    text = html.write_page(made(faults=(fault,)), ())
    assert text.count('id="failed"') == 1 and 'href="#failed"' in text
    allowed = made(faults=(fault,), run=made().run.model_copy(update={"allowed_faults": {"x": 7}}))
    text = html.write_page(allowed, ())
    assert "boom" in text and 'id="failed"' not in text


def test_nothing_is_called_good_of_a_backend_whose_calls_failed() -> None:
    fault = Faults(
        backend="x", trial="t-1", op="recall", kind="crashed", count=7, calls=9, message="boom", receipt="L1"
    )  # fmt: skip
    sound, failing = (
        {score.judgement for row in scoreboard.collect(each).rows if row.key == "x" for score in row.scores}
        for each in (made(), made(faults=(fault,)))
    )
    assert "good" in sound and not failing & {"good", "middling"}


def test_where_everything_failed_nothing_was_measured_and_there_is_no_table() -> None:
    failed = results({"x": {name: ["failed"] for name in metrics.DEFINITIONS}})
    board = scoreboard.collect(failed)
    assert board.empty
    assert next(line.text for line in verdict.judge(failed, board)).startswith("Nothing was measured of any backend.")
    assert 'class="board"' not in html.write_page(failed, ())
