"""Until green: rounds, what they cost, and the corrections that an earlier session had heard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.log.calls import ModelCall
from harness.metrics.rounds import ONE
from harness.model.trial import Measured
from tests.support.logs import Tape
from tests.support.measures import counts, measures, value

RIGHT = {"tool": "betadeploy", "port": "8123"}
STALE = {"tool": "alphadeploy", "port": "8123"}
OPEN = {"tool": None, "port": None}


def tape(folder: Path, **more: Any) -> Tape:
    return Tape(folder, reader="agent:any@model", rounds=3, **more).played()


def work(made: Tape, job: str, *rounds: Any, **more: Any) -> list[int]:
    """The lines of these rounds."""
    lines = []
    for number, values in enumerate(rounds, 1):
        lines.append(made.work(job, values, policy="model", number=number, **more).line)
    return lines


def test_rounds_count_until_all_checks_are_right(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", OPEN, STALE, RIGHT)
    work(made, "drill", RIGHT)
    found = measures(made)
    assert value(found["rounds_until_done"]) == 2 and found["rounds_until_done"].receipts == ()
    assert isinstance(found["rounds_until_done"], Measured) and found["rounds_until_done"].known == "exact"
    assert counts(found["jobs_done_corrected"]) == (2, 2)
    assert counts(found["jobs_done"]) == (1, 2), "all other measures are of the first round"


def test_a_job_that_was_not_done_counts_one_round_more_at_the_least(tmp_path: Path) -> None:
    made = tape(tmp_path)
    *_, last = work(made, "order", OPEN, OPEN, STALE)
    work(made, "drill", RIGHT)
    found = measures(made)["rounds_until_done"]
    assert isinstance(found, Measured) and (found.value, found.known, found.of) == (2.5, "at-least", 2)
    assert found.receipts == (f"L{last}",)
    assert counts(measures(made)["jobs_done_corrected"]) == (1, 2)


def test_a_visible_test_that_fails_is_not_green(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", RIGHT, RIGHT, RIGHT, visible=1)
    work(made, "drill", RIGHT, visible=0)
    assert counts(measures(made)["jobs_done_corrected"]) == (1, 2)


def test_a_correction_is_repeated_where_an_earlier_session_heard_it(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", STALE, RIGHT)
    again, _ = work(made, "drill", {"tool": "gammadeploy", "port": "gammadeploy"}, RIGHT)
    found = measures(made)["repeated_corrections"]
    assert counts(found) == (1, 1), "the port was never corrected before"
    assert found.receipts == (f"L{again}",)


def test_who_is_right_the_next_time_repeats_nothing(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", OPEN, RIGHT)
    work(made, "drill", {"tool": "betadeploy", "port": None}, RIGHT)
    assert counts(measures(made)["repeated_corrections"]) == (1, 2)


def test_what_was_broken_in_a_later_round_was_corrected_too(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", {"tool": "betadeploy", "port": None}, {"tool": None, "port": "8123"}, RIGHT)
    work(made, "drill", OPEN, RIGHT)
    assert counts(measures(made)["repeated_corrections"]) == (2, 2)


def test_a_last_round_that_nobody_reviewed_corrected_nothing(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", STALE, STALE, {"tool": "alphadeploy", "port": None})
    work(made, "drill", OPEN, RIGHT)
    assert counts(measures(made)["repeated_corrections"]) == (1, 1)


ENDED = ModelCall(decision="", prompt="", outcome="failed", why="exit 1: it ended by itself, after 0 steps")
FAILED = ModelCall(decision="", prompt="Do it.", outcome="failed", why="502", prompt_tokens=3)
ANSWERED = ModelCall(decision="", prompt="Do it.", outcome="acted", prompt_tokens=3)
FINISHED = ModelCall(decision="", prompt="", outcome="finished")


@pytest.mark.parametrize(
    ("calls", "of"),
    [
        ((ENDED,), None),
        ((FAILED, FAILED, ENDED), None),
        ((FAILED, FINISHED), None),
        ((FAILED, ANSWERED, ENDED), (1, 1)),
        ((ANSWERED, FINISHED), (1, 1)),
    ],
)
def test_a_program_that_never_reached_its_model_repeats_nothing(
    tmp_path: Path, calls: tuple[ModelCall, ...], of: tuple[int, int] | None
) -> None:
    made = tape(tmp_path)
    work(made, "order", STALE, RIGHT)
    work(made, "drill", OPEN, RIGHT, calls=calls)
    found = measures(made)["repeated_corrections"]
    assert found.status == "not-applicable" if of is None else counts(found) == of


def test_who_did_not_reach_a_model_heard_no_correction(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", STALE)
    made.work("order", STALE, policy="model", number=2, calls=(ENDED,))
    work(made, "drill", OPEN, RIGHT)
    assert measures(made)["repeated_corrections"].status == "not-applicable"


def test_tokens_of_all_rounds_hold_their_questions_to_the_memory(tmp_path: Path) -> None:
    made = tape(tmp_path)
    work(made, "order", OPEN)
    made.recall("correction", "order/tool", ["x", "y"], "second")
    made.work("order", RIGHT, policy="model", number=2)
    work(made, "drill", RIGHT)
    made.metered(0)
    found = measures(made)
    assert value(found["tokens_of_rounds"]) - value(found["tokens_total"]) == 105 + 22
    assert counts(found["tokens_recall"])[1] in (None, 0), "the measures of the first round are as they were"


def test_one_round_has_no_corrections(tmp_path: Path) -> None:
    found = measures(Tape(tmp_path).played().jobs("betadeploy").log())
    for name in ("rounds_until_done", "jobs_done_corrected", "repeated_corrections", "tokens_of_rounds"):
        assert found[name].status == "not-applicable" and getattr(found[name], "reason", "") == ONE


def test_the_cold_arm_is_corrected_too(tmp_path: Path) -> None:
    made = Tape(tmp_path, None, reader="agent:any@model", rounds=2)
    for job in ("order", "drill"):
        made.work(job, OPEN, policy=None, origin="nowhere").work(job, OPEN, policy=None, number=2)
    found = measures(made)
    assert value(found["rounds_until_done"]) == 3 and counts(found["repeated_corrections"]) == (2, 2)
