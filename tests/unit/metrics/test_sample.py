"""The committed sample scores as it did: every value of every measure, and what stands beside it."""

from __future__ import annotations

import pytest

from harness import paths
from harness.log.events import PROTOCOL
from harness.log.folder import Folder
from harness.regress.baseline import Baseline
from tests.support import golden_sample


@pytest.mark.slow
def test_the_sample_scores_as_it_did() -> None:
    """If this fails, mend the code, or raise the measure's version; then, or after `make sample`, write it anew."""
    old, new = golden_sample.known(), golden_sample.table()
    assert golden_sample.moved(old, new) == [], "make golden"


def test_a_value_that_moved_is_named_with_where_and_what_it_was() -> None:
    entries = {"version": 1, "0 of 2": "0-1", "1 of 2": "2", "receipts and reasons": "a"}
    old = {"sample": "x", "stories": {"cells": ["a", "b", "c"], "kept": entries}, "drills": {"cells": []}}

    def say(**changed: object) -> list[str]:
        return golden_sample.moved(old, {**old, "stories": {**old["stories"], "kept": {**entries, **changed}}})  # type: ignore[dict-item]

    assert say() == []
    assert say(**{"0 of 2": "0", "1 of 2": "1-2"}) == ["kept: 0 of 2, now 1 of 2: b"]
    assert say(**{"receipts and reasons": "b"}) == ["kept: receipts, reasons or version"]
    assert golden_sample.moved(old, {**old, "sample": "y"}) == ["the sample is another one"]


@pytest.mark.slow
def test_the_committed_baseline_can_be_compared_with_a_run_of_today() -> None:
    """If this fails: `coldwarm baseline save RUN` of a `make bench-full`, then `python -m benchmarks.errors`."""
    committed = Baseline.model_validate_json((paths.ROOT / "reports" / "baseline.json").read_text("utf-8"))
    assert committed.protocol == PROTOCOL


@pytest.mark.slow
def test_the_committed_sample_was_played_as_runs_are_today() -> None:
    """If this fails: `make sample`."""
    logs, _ = Folder.open(paths.ROOT / "reports" / "sample.tar.xz").logs()
    assert {each.opened.protocol for each in logs.values()} == {PROTOCOL}
