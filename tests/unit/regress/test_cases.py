"""Cases of a comparison: receipts that lead nowhere any more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness.log.transcript import Handled
from harness.model.trial import Measured
from harness.regress import cases


def archive(*receipts: str) -> Any:
    """A run with one drill, of whose transcript one line is left."""
    measured = Measured(value=0.5, hits=1, of=2, receipts=receipts)
    cell = SimpleNamespace(measures={"writes_kept": measured}, transcript="t", drill="keeping")
    left = SimpleNamespace(events=(Handled(step="keep", what="opened"),), stored={}, path=None)
    return SimpleNamespace(drill=lambda name: cell, transcript=lambda file: left)


def test_a_receipt_beyond_the_end_of_a_transcript_that_was_cut_is_left_out() -> None:
    whole, cut = archive("L1"), archive("L1", "L7")
    assert not list(cases.compare_drill(whole, cut, "cell", "writes_kept"))
