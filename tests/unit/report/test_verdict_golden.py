"""Sentences and marks of recorded runs: a change of words is seen, and is renewed only if it was meant."""

from __future__ import annotations

import pytest

from tests.support import golden_verdicts


@pytest.mark.slow
@pytest.mark.parametrize("name", golden_verdicts.RUNS)
def test_a_recorded_run_says_what_it_said(name: str) -> None:
    """If the change was meant: `make golden`, and read what became of the sentences."""
    assert golden_verdicts.tell(golden_verdicts.RUNS[name]()) == golden_verdicts.known()[name]
