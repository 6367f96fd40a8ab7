"""What memory made the agent do, judged by checks, beside the controls and the cold run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from harness.log.calls import ModelCall
from harness.log.events import Worked
from harness.metrics import score
from harness.model.trial import Measure, ReadPolicy
from tests.support.logs import OLD, PEACE, Tape, cold, controls
from tests.support.measures import counts, measures


def reason(measure: Measure) -> str:
    assert measure.status == "not-applicable", measure
    return measure.reason


def test_stale_use_is_a_stale_value_in_the_work_tree_taken_from_memory(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played()
    first = tape.recall("decision", "order/tool", ["x"], "second").line
    tape.work("order", {"tool": "alphadeploy", "port": "8123"})
    tape.work("drill", {"tool": "betadeploy", "port": "gammadeploy"})
    found = measures(tape.log(), *controls(tmp_path))
    assert counts(found["stale_use"]) == (1, 2)
    assert found["stale_use"].receipts == (f"L{first}:e0",)
    assert counts(found["stale_from_repo"]) == (0, 2)
    assert counts(found["lure_use"]) == (1, 4)
    assert counts(found["missing"]) == (0, 2)
    assert counts(found["decisions_right"]) == (2, 4)
    assert counts(found["jobs_done"]) == (0, 2)


def test_what_only_a_memory_can_know_is_guessed_where_no_entry_is_behind_it(tmp_path: Path) -> None:
    made = cold(tmp_path, "betadeploy")
    found = measures(made)
    assert counts(found["guessed_right"]) == (2, 2) and counts(found["decisions_right"]) == (4, 4)
    assert found["guessed_right"].receipts, "the port, which the repository says, is no guess"
    tape = Tape(tmp_path).played().work("order", {"tool": "betadeploy", "port": "8123"})
    tape.work("drill", {"tool": "betadeploy", "port": "8123"}, origin="nowhere")
    assert counts(measures(tape.log())["guessed_right"]) == (1, 2)
    wrong = Tape(tmp_path).played().work("order", {"tool": "alphadeploy", "port": "8123"}, origin="nowhere")
    assert counts(
        measures(wrong.work("drill", {"tool": None, "port": "8123"}, origin="nowhere").log())["guessed_right"]
    ) == (0, 2)


def test_stale_from_the_repository_is_told_apart(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().work("order", {"tool": "alphadeploy", "port": "8123"}, origin="repo")
    found = measures(tape.work("drill", {"tool": None, "port": "8123"}).log(), *controls(tmp_path))
    assert counts(found["stale_use"]) == (0, 2)
    assert counts(found["stale_from_repo"]) == (1, 2)
    assert counts(found["missing"]) == (1, 2)


def test_without_both_controls_staleness_of_use_is_unknown(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("betadeploy").log()
    oracle, stale = controls(tmp_path)
    for others in ((), (oracle,), (stale,)):
        assert "were not run" in reason(measures(log, *others)["stale_use"])
    assert measures(log, oracle)["lure_use"].status == "measured"
    endings: tuple[Literal["failed"] | None, ...] = (None, "failed")
    for ending in endings:
        broken = Tape(tmp_path, "stale_oracle", control=True).played().jobs("alphadeploy").log(ending, PEACE)
        assert "were not run" in reason(measures(log, oracle, broken)["stale_use"])


def test_a_decision_that_the_controls_do_not_move_says_nothing(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("alphadeploy").log()
    oracle, stale = controls(tmp_path)
    immune = Tape(tmp_path, "stale_oracle", control=True).played().jobs("betadeploy").log()
    assert "no decision is sensitive" in reason(measures(log, oracle, immune)["stale_use"])
    blind = Tape(tmp_path, "oracle", control=True).played().jobs(None).log()
    assert "no decision is sensitive" in reason(measures(log, blind, stale)["stale_use"])


def test_controls_are_asked_under_the_same_read_policy(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("alphadeploy").log()
    oracle, _ = controls(tmp_path)
    stale = Tape(tmp_path, "stale_oracle", control=True).played()
    for job in ("order", "drill"):
        stale.work(job, {"tool": "alphadeploy", "port": "8123"}, policy="trusting")
        stale.work(job, {"tool": "betadeploy", "port": "8123"}, policy="newest")
        stale.work(job, {"tool": None, "port": "8123"}, policy="verifying")
    cells = score([log, oracle, stale.log()])
    assert [cell.measures["stale_use"].status for cell in cells[:3]] == ["measured", "not-applicable", "not-applicable"]


def test_a_memory_that_decided_nothing_is_neither_clean_nor_guilty(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("betadeploy", origin="repo").log()
    found = measures(log, *controls(tmp_path), cold(tmp_path, "betadeploy"))
    for name in ("stale_use", "lure_use", "harm", "new_harmful_action", "net"):
        assert "memory decided nothing" in reason(found[name])
    assert counts(found["decisions_right"]) == (4, 4)


def test_harm_and_help_are_pairs_with_the_cold_run(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().work("order", {"tool": "alphadeploy", "port": "8123"})
    worked = tape.line
    tape.work("drill", {"tool": "betadeploy", "port": "8123"})
    alone = Tape(tmp_path, None).work("order", {"tool": "betadeploy", "port": None}, policy=None, origin="repo")
    log = alone.work("drill", {"tool": None, "port": "8123"}, policy=None, origin="repo").log()
    found = measures(tape.log(), log, *controls(tmp_path))
    assert counts(found["harm"]) == (1, 2)
    assert found["harm"].receipts == (f"L{worked}",)
    assert counts(found["help"]) == (2, 2)
    assert found["net"].value == 0.25  # type: ignore[union-attr]  # a number, or the attribute is missing
    assert counts(found["new_harmful_action"]) == (0, 2)


def test_a_stale_value_where_cold_leaves_it_open_is_new_harm(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("alphadeploy", "gammadeploy").log()
    found = measures(log, cold(tmp_path, None, None), *controls(tmp_path))
    assert counts(found["new_harmful_action"]) == (4, 4)
    assert counts(found["help"]) == (0, 4)
    assert found["harm"].status == "not-applicable"


def test_harm_needs_a_stale_memory_that_does_harm(tmp_path: Path) -> None:
    log = Tape(tmp_path).played().jobs("betadeploy").log()
    oracle, stale = controls(tmp_path)
    alone = cold(tmp_path, "betadeploy")
    assert counts(measures(log, alone, oracle, stale)["harm"]) == (0, 4)
    immune = Tape(tmp_path, "stale_oracle", control=True).played().jobs("betadeploy").log()
    assert "harms no decision" in reason(measures(log, alone, oracle, immune)["harm"])
    half = measures(log, cold(tmp_path, None), oracle, stale)  # only the port, which no stale memory spoils
    assert "harms no decision" in reason(half["harm"])
    assert "was not run" in reason(measures(log, alone)["harm"])
    assert "cold arm was not run" in reason(measures(log, oracle, stale)["harm"])


def test_a_failed_check_stays_in_the_denominator(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().work("order", {"tool": "alphadeploy", "port": "8123"}, exit=1)
    line = tape.line
    found = measures(tape.work("drill", {"tool": "alphadeploy", "port": "8123"}).log(), *controls(tmp_path))
    assert counts(found["checks_failed"]) == (2, 4)
    assert found["checks_failed"].receipts == (f"L{line}", f"L{line}")
    assert counts(found["stale_use"]) == (1, 2)
    assert counts(found["decisions_right"]) == (1, 4)


def test_decisions_that_a_failed_trial_did_not_reach(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().work("order", {"tool": "betadeploy", "port": "8123"})
    found = measures(tape.log("failed", PEACE), cold(tmp_path, "betadeploy"), *controls(tmp_path))
    assert counts(found["decisions_right"]) == (2, 4)
    assert counts(found["jobs_done"]) == (1, 2)
    assert counts(found["harm"]) == (2, 4)
    assert found["stale_use"].status == "failed"
    assert "1 of 2 decisions were not reached" in found["stale_use"].reason


# --- readers that ask a chat model ------------------------------------------------------------------------------------


def by_model(tape: Tape, *calls: ModelCall, **query: str | None) -> Tape:
    """The last job as a reader did it that asked a chat model. query: decision -> of the question that it went by."""
    event = tape.events.pop()
    assert isinstance(event, Worked)
    choices = tuple(
        choice.model_copy(update={"query": query.get(choice.decision, choice.query)}) for choice in event.choices
    )
    return tape.add(event.model_copy(update={"calls": calls, "choices": choices}))


def asked(decision: str, outcome: Literal["chose", "failed", "acted", "finished"]) -> ModelCall:
    return ModelCall(decision=decision, prompt="Which?", outcome=outcome)


@pytest.mark.parametrize(
    ("calls", "harm"),
    [
        ([asked("tool", "chose"), asked("port", "chose")], (2, 4)),
        ([asked("tool", "failed"), asked("port", "chose")], (1, 3)),
        ([asked("tool", "failed"), asked("port", "failed")], (0, 2)),
        ([asked("", "acted"), asked("", "finished")], (2, 4)),  # it ended the job, and left both open
        ([asked("", "acted"), asked("", "failed")], (0, 2)),  # it came to neither
    ],
)
def test_where_the_chat_model_did_not_answer_memory_can_have_done_no_harm(
    tmp_path: Path, calls: Sequence[ModelCall], harm: tuple[int, int]
) -> None:
    tape = Tape(tmp_path, reader="chat").played().work("drill", {"tool": "betadeploy", "port": "8123"})
    by_model(tape.work("order", {"tool": None, "port": None}), *calls)
    beside = [cold(tmp_path, "betadeploy", reader="chat"), *controls(tmp_path, reader="chat")]
    assert counts(measures(tape.log(), *beside)["harm"]) == harm


KILLED, ENDED = (asked("", "acted"),), (asked("", "acted"), asked("", "finished"))


@pytest.mark.parametrize(
    ("calls", "right", "stale", "harm"), [(ENDED, (3, 4), (1, 2), (1, 4)), (KILLED, (2, 4), (1, 2), (1, 3))]
)
def test_what_a_job_that_was_not_ended_left_right_is_not_right_and_what_is_stale_stays_so(
    tmp_path: Path, calls: Sequence[ModelCall], right: tuple[int, int], stale: tuple[int, int], harm: tuple[int, int]
) -> None:
    tape = Tape(tmp_path, reader="chat").played().work("drill", {"tool": "betadeploy", "port": "8123"})
    by_model(tape.work("order", {"tool": "alphadeploy", "port": "8123"}), *calls)
    beside = [cold(tmp_path, "betadeploy", reader="chat"), *controls(tmp_path, reader="chat")]
    found = measures(tape.log(), *beside)
    assert (counts(found["decisions_right"]), counts(found["stale_use"])) == (right, stale)
    assert counts(found["harm"]) == harm and found["net"].value == right[0] / 4 - 1  # type: ignore[union-attr]


def test_what_a_cold_job_that_was_not_ended_left_right_is_not_right_either(tmp_path: Path) -> None:
    tape = Tape(tmp_path, reader="chat").played().jobs("betadeploy")
    alone = Tape(tmp_path, None, reader="chat").work("drill", {"tool": "betadeploy", "port": "8123"}, policy=None)
    by_model(alone.work("order", {"tool": "betadeploy", "port": "8123"}, policy=None, origin="repo"), *KILLED)
    log = alone.log()
    found = measures(tape.log(), log, *controls(tmp_path, reader="chat"))
    assert counts(measures(log)["decisions_right"]) == (2, 4) and counts(found["help"]) == (2, 2)


@pytest.mark.parametrize(("query", "at"), [("How?", 0), ("With what?", 1), (None, 2)])
def test_a_value_has_the_receipt_of_the_question_that_brought_it(tmp_path: Path, query: str | None, at: int) -> None:
    """Of several that were asked for one decision; the last one, if the reader does not say."""
    tape = Tape(tmp_path, reader="chat").played()
    lines = {
        decision: [
            tape.recall("decision", f"order/{decision}", [OLD], "second", query=each).line
            for each in ("How?", "With what?", "And else?")
        ]
        for decision in ("port", "tool")
    }
    tape = by_model(tape.work("order", {"tool": "alphadeploy", "port": "8123"}), tool=query)
    tape.work("drill", {"tool": "betadeploy", "port": "8123"})
    found = measures(tape.log(), *controls(tmp_path, reader="chat"))["stale_use"]
    assert counts(found) == (1, 2) and found.receipts == (f"L{lines['tool'][at]}:e0",)


@pytest.mark.parametrize(
    ("failing", "origin", "used", "harm"),
    [
        ([False, True], "memory", (1, 2), (1, 4)),  # it acted on what the first question brought
        ([True], "memory", (1, 2), (1, 4)),  # a question for another decision brought it
        ([False, True], "repo", (0, 2), (1, 4)),  # the memory was heard once
        ([True, True], "repo", (0, 1), (0, 3)),
        ([True], "repo", (0, 1), (0, 3)),
    ],
)
def test_a_decision_counts_unless_the_memory_could_not_be_asked_and_had_no_part_in_it(
    tmp_path: Path, failing: Sequence[bool], origin: str, used: tuple[int, int], harm: tuple[int, int]
) -> None:
    tape = Tape(tmp_path).played().work("drill", {"tool": "betadeploy", "port": "8123"})
    for failed in failing:
        tape.recall("decision", "order/tool", [] if failed else [OLD], "second", fault=PEACE if failed else None)
    tape.work("order", {"tool": "alphadeploy", "port": "8123"}, origin=origin)
    found = measures(tape.log(), cold(tmp_path, "betadeploy"), *controls(tmp_path))
    assert counts(found["stale_use"]) == used and counts(found["harm"]) == harm


def test_what_was_asked_with_a_filter_is_judged_by_itself(tmp_path: Path) -> None:
    """Its evidence and its tokens are those of its own questions, and controls, which have no filter, still tell."""
    tape = Tape(tmp_path).played()
    tape.recall("decision", "order/tool", ["x"], "second")
    reads: list[tuple[ReadPolicy, str]] = [("trusting", "decision"), ("filtered", "filtered")]
    for policy, purpose in reads:
        line = tape.recall(purpose, "order/tool", ["x", "y"], "second").line
        tape.work("order", {"tool": "alphadeploy", "port": "8123"}, policy=policy)
        tape.work("drill", {"tool": "betadeploy", "port": "gammadeploy"}, policy=policy)
    tape.events[0] = tape.events[0].model_copy(update={"policies": ("trusting", "filtered")})
    plain, filtered = (cell.measures for cell in score([tape.log(), *controls(tmp_path)])[:2])
    assert counts(plain["stale_use"]) == counts(filtered["stale_use"]) == (1, 2)
    assert filtered["stale_use"].receipts == (f"L{line}:e0",) != plain["stale_use"].receipts
    assert (plain["tokens_recall"].value, filtered["tokens_recall"].value) == (12 + 22, 22)  # type: ignore[union-attr]
