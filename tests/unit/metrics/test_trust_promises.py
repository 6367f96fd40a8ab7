"""A broken promise is judged again from the answers that were logged."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.transcript import Broke, Tried
from harness.metrics.trust.promises import METRICS, find_promise
from harness.model.drill import Plan
from harness.model.sequence import Answer, Step
from harness.model.trial import NotMeasured
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

STRAY = {"memory_id": "x", "text": "Nobody wrote this"}


def test_a_sequence_whose_answers_keep_the_contract_breaks_no_promise(tmp_path: Path) -> None:
    """A later version may know better than the one that logged it: its figure is neither 0 nor 1."""
    steps = (Step(op="entries"),)
    for name, answer in (("right", []), ("wrong", [STRAY])):
        events = [Tried(sequences=3, calls=7), Broke(steps=steps, answers=(Answer(value=answer),))]
        told = transcript(tmp_path / name, Plan(pieces=()), events, drill="promises")
        found, promise = measured(METRICS, told)["broken_promises"], find_promise(told)
        if name == "wrong":
            assert counts(found) == (1, 7) and found.receipts == ("L3",) and promise is not None
        else:
            assert found.status == "failed" and "what the contract says" in found.reason and promise is None


@pytest.mark.parametrize(("calls", "held"), [(399, False), (400, True)])
def test_a_short_hunt_that_found_nothing_does_not_say_that_promises_are_held(
    tmp_path: Path, calls: int, held: bool
) -> None:
    told = transcript(tmp_path, Plan(pieces=()), [Tried(sequences=3, calls=calls)], drill="promises")
    found = measured(METRICS, told)["broken_promises"]
    if held:
        assert counts(found) == (0, 400)
    else:
        assert isinstance(found, NotMeasured) and found.untold and "399 operations" in found.reason
