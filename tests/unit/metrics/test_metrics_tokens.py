"""Tokens by payer, and what the agent reads; every number here is counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.log.events import Event, Metered, Worked
from harness.model.backend import Fault
from harness.model.trial import Measure, Measured, NotMeasured
from tests.support.logs import NOISE, OLD, STORY, Tape, cold, story
from tests.support.measures import measures

FILES = [("notes.txt", "d1", 40), ("order.txt", "d2", 30)]


def measured(measure: Measure) -> Measured:
    assert isinstance(measure, Measured), measure
    return measure


def lost(reason: str, line: int) -> NotMeasured:
    return NotMeasured(status="failed", reason=reason, receipts=(f"L{line}",))


def test_tokens_by_payer(tmp_path: Path) -> None:
    tape = Tape(tmp_path, write_policy="curated").learn("first", "old", "port")  # 20
    tape.learn("first", "pin", purpose="remark").learn("first", "key", purpose="noise", tokens=700)  # 10; apart
    tape.recall("lookup", "new", [OLD, NOISE], "second")  # 2 + 20
    tape.probe("tool-before", OLD)  # a probe is nobody's cost
    tape.jobs("betadeploy").metered(prompt=1000)
    found = measures(tape.log())
    assert measured(found["tokens_ingest"]).value == 20 + 10 + 22
    assert measured(found["tokens_noise"]).value == 700
    assert (measured(found["tokens_recall"]).value, measured(found["tokens_recall"]).of) == (4 * 12, 4)
    assert (measured(found["tokens_agent"]).value, measured(found["tokens_agent"]).of) == (2 * 105, 2)
    assert (measured(found["tokens_backend"]).value, measured(found["tokens_backend"]).of) == (1001, 1)
    total = measured(found["tokens_total"])
    assert (total.value, total.known) == (52 + 48 + 210 + 1001, "exact")
    assert measured(found["tokens_per_job"]).value == total.value / 2


SILENT = ("failed", "usage is declared, but the backend did not tell it")


@pytest.mark.parametrize(
    ("lacks", "told", "said"),
    [
        (["usage"], Metered(), ("unsupported", "no usage")),
        ([], Metered(), SILENT),
        ([], Metered(prompt=1000), SILENT),
        ([], Metered(completion=1), SILENT),
    ],
)
def test_what_the_backend_does_not_tell_makes_totals_lower_bounds(
    tmp_path: Path, lacks: list[str], told: Metered, said: tuple[str, str]
) -> None:
    found = measures(Tape(tmp_path, unsupported=lacks).played().jobs("betadeploy").add(told).log())
    assert (found["tokens_backend"].status, getattr(found["tokens_backend"], "reason", "")) == said
    total = measured(found["tokens_total"])
    parts = sum(measured(found[f"tokens_{part}"]).value for part in ("ingest", "recall", "agent"))
    assert (total.value, total.known) == (parts, "at-least")
    assert measured(found["tokens_per_job"]).known == "at-least"


@pytest.mark.parametrize(("failed", "known"), [((0, 0), "exact"), ((0, 1), "at-least"), ((2, 2), "at-least")])
def test_calls_counted_at_the_endpoint_are_what_the_backend_costs_at_least_if_one_failed(
    tmp_path: Path, failed: tuple[int, int], known: str
) -> None:
    learning, working = ({"calls": 3, "prompt": 40, "completion": 5, "counted": 0, "failed": each} for each in failed)
    tape = Tape(tmp_path).played().jobs("betadeploy")
    found = measures(tape.add(Metered(chat={"ingest": learning, "job": working}, prompt=1, completion=1)).log())
    backend, total = measured(found["tokens_backend"]), measured(found["tokens_total"])
    assert (backend.value, backend.of, backend.known) == (90, 6, known)
    assert total.known == known


def test_every_question_to_the_memory_is_counted_however_many_a_decision_takes(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played()
    for query in ("How?", "With what?"):
        tape.recall("decision", "order/tool", [OLD], "second", query=query)
    found = measured(measures(tape.metered(0).log())["tokens_recall"])
    assert (found.value, found.of) == (2 * 12, 2)


def test_the_cold_arm_pays_the_agent_only(tmp_path: Path) -> None:
    found = measures(cold(tmp_path, "betadeploy"))
    assert measured(found["tokens_total"]) == measured(found["tokens_agent"])
    assert measured(found["tokens_total"]).known == "exact"


def test_no_job_done_has_no_price(tmp_path: Path) -> None:
    found = measures(Tape(tmp_path).played().jobs("alphadeploy").log())
    assert found["tokens_per_job"].status == "not-applicable"
    assert measured(found["tokens_total"]).value > 0


def test_break_even_is_what_was_learnt_over_what_a_job_saves(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", "port", tokens=90)
    for job in ("order", "drill"):
        tape.work(job, {"tool": "betadeploy", "port": "8123"})  # 105
    tape.recall("decision", "order/tool", [OLD], "second").metered(prompt=29)  # 12
    alone = Tape(tmp_path, None)
    for job in ("order", "drill"):
        alone.add(
            alone.work(job, {"tool": None, "port": None}, policy=None).events.pop().model_copy(update={"prompt": 160})
        )
    found = measures(tape.log(), alone.log())
    assert measured(found["break_even"]).value == (90 + 30) / ((330 - 210 - 12) / 2)
    dear = measures(Tape(tmp_path).played().jobs("betadeploy").log(), cold(tmp_path, "betadeploy"))
    assert "never" in getattr(dear["break_even"], "reason", "")
    assert "cold arm" in getattr(measures(tape.log())["break_even"], "reason", "")


def dear(event: Event) -> Event:
    return event.model_copy(update={"prompt": 1000}) if isinstance(event, Worked) else event


def at_cost(folder: Path, extra: int) -> Measure:
    """Break-even of a warm trial, both jobs of which together cost `extra` tokens less than cold."""
    tape = Tape(folder).learn("first", "old", tokens=30)
    alone = Tape(folder, None)
    for job in ("order", "drill"):
        tape.work(job, {"tool": "betadeploy", "port": "8123"})
        alone.work(job, {"tool": "betadeploy", "port": "8123"}, policy=None, origin="repo")
    dear = alone.events.pop().model_copy(update={"prompt": 100 + extra})
    return measures(tape.metered(0).log(), alone.add(dear).log())["break_even"]


def test_the_smallest_saving_pays_off_some_day_and_none_never_does(tmp_path: Path) -> None:
    assert measured(at_cost(tmp_path, 1)).value == 30 / (1 / 2)
    for extra in (0, -1):
        found = at_cost(tmp_path, extra)
        assert found.status == "not-applicable" and found.reason.startswith("never")


@pytest.mark.parametrize("purpose", ["lookup", "decision"])
def test_a_question_that_failed_makes_what_was_to_be_paid_off_a_lower_bound(tmp_path: Path, purpose: str) -> None:
    tape = Tape(tmp_path).jobs("betadeploy").metered(0)
    alone = cold(tmp_path, "betadeploy")
    alone = replace(alone, events=tuple(map(dear, alone.events)))
    assert measured(measures(tape.log(), alone)["break_even"]).known == "exact"
    fault = Fault(kind="crashed", op="recall", message="the index is broken")
    found = measures(tape.recall(purpose, "order/tool", [], "second", fault=fault).log(), alone)
    for name in ("break_even", "tokens_total"):
        assert measured(found[name]).known == "at-least"


def test_a_story_without_a_job_has_nothing_to_pay_off(tmp_path: Path) -> None:
    sessions = STORY.model_dump(mode="json", by_alias=True)["sessions"]
    for session in sessions:
        session["steps"] = [step for step in session["steps"] if step["do"] != "job"]
    bare = story(sessions=sessions)
    found = measures(Tape(tmp_path, scenario=bare).played().log(), Tape(tmp_path, None, scenario=bare).log())
    for name in ("break_even", "net", "false_paths"):
        assert found[name] == NotMeasured(status="not-applicable", reason="the scenario has no job")


def test_embeddings_are_counted_for_learning_and_working(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().jobs("betadeploy")
    phase = {"texts": 10, "tokens": 100, "cut_texts": 1}
    found = measures(tape.metered(ingest=phase, job=phase, probe=phase, erase=phase).log())
    assert (measured(found["embedding_tokens"]).value, measured(found["embedding_tokens"]).of) == (200, 20)
    assert (measured(found["truncated_share"]).hits, measured(found["truncated_share"]).of) == (4, 40)
    uncut = measures(tape.metered(job={"texts": 10, "tokens": 100}).log())
    assert (measured(uncut["truncated_share"]).hits, measured(uncut["truncated_share"]).of) == (4, 50)
    bare = measures(Tape(tmp_path).played().jobs("betadeploy").metered().log())
    assert {bare[name].status for name in ("embedding_tokens", "truncated_share")} == {"not-applicable"}


def test_reading_the_same_content_again(tmp_path: Path) -> None:
    alone = cold(tmp_path, "betadeploy", reads=[*FILES, FILES[0]])
    first, second = (
        [("notes.txt", "d1", 40), ("notes.txt", "d1", 40)],
        [("moved.txt", "d1", 40), ("order.txt", "d3", 7)],
    )
    tape = Tape(tmp_path).played().work("order", {"tool": "betadeploy", "port": "8123"}, reads=first)
    line = tape.line
    found = measures(tape.work("drill", {"tool": "betadeploy", "port": "8123"}, reads=second).log(), alone)
    assert measured(found["repeated_context_reduction"]).value == pytest.approx(1 - 40 / 110)
    assert (measured(found["duplicate_reads"]).hits, measured(found["duplicate_reads"]).of) == (2, 4)
    assert found["duplicate_reads"].receipts == (f"L{line}", f"L{line + 1}")
    once = measures(tape.log(), cold(tmp_path, "betadeploy"))
    assert once["repeated_context_reduction"].status == "not-applicable"


def test_the_way_to_the_first_relevant_file(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played()
    tape.work("order", {"tool": "betadeploy", "port": "8123"}, reads=[FILES[0], FILES[0], ("b", "d4", 1), FILES[1]])
    line = tape.line
    tape.work("drill", {"tool": "betadeploy", "port": "8123"}, reads=[FILES[0]])
    found = measures(tape.log())
    assert (measured(found["false_paths"]).value, measured(found["false_paths"]).of) == ((2 + 1) / 2, 2)
    assert (measured(found["first_relevant"]).value, measured(found["first_relevant"]).of) == (3, 1)
    assert found["first_relevant"].receipts == (f"L{line}",)
    unread = measures(Tape(tmp_path).played().jobs("betadeploy").log())
    assert unread["first_relevant"].status == "not-applicable"
    assert unread["duplicate_reads"].status == "not-applicable"
    assert measured(unread["false_paths"]).value == 0


@pytest.mark.parametrize(("told", "expected"), [(0, (3, 3)), (2, (1, 3)), (3, (0, 3)), (9, (0, 3))])
def test_chat_calls_that_the_backend_does_not_report_are_counted(
    tmp_path: Path, told: int, expected: tuple[int, int]
) -> None:
    count = {"calls": 3, "prompt": 30, "completion": 3, "counted": 0, "failed": 0}
    tape = Tape(tmp_path).played().add(Metered(chat={"ingest": count}, prompt=0, completion=0, calls=told))
    found = measures(tape)["chat_unreported"]
    assert isinstance(found, Measured) and (found.hits, found.of) == expected
    assert found.receipts == ((f"L{tape.line}",) if expected[0] else ())


def test_a_usage_that_cannot_be_asked_for_hides_nothing_by_failing(tmp_path: Path) -> None:
    count = {"calls": 3, "prompt": 30, "completion": 3, "counted": 0, "failed": 0}
    fault = Fault(kind="crashed", op="usage", message="no usage in this plan")
    tape = Tape(tmp_path).played().add(Metered(chat={"ingest": count}, fault=fault))
    found = measures(tape)["chat_unreported"]
    assert found == lost("usage is declared, but: no usage in this plan", tape.line)
    silent = Tape(tmp_path).played().add(Metered(chat={"ingest": count}))
    found = measures(silent)["chat_unreported"]
    assert found == lost("usage is declared, but: the backend did not tell it", silent.line)
    assert measures(Tape(tmp_path).played().metered(0))["chat_unreported"].status == "not-applicable"


def test_what_did_not_come_back_because_a_question_failed_was_not_cheap(tmp_path: Path) -> None:
    fault = Fault(kind="crashed", op="recall", message="the index is broken")
    tape = Tape(tmp_path).played().recall("decision", "order/tool", [], "second", fault=fault)
    line = tape.line
    found = measures(tape.metered(0))
    assert found["tokens_recall"] == lost("every call that could have told failed", line)
    some = measures(tape.recall("decision", "order/port", [OLD], "second"))
    for name in ("tokens_recall", "tokens_total"):
        each = some[name]
        assert isinstance(each, Measured) and each.known == "at-least"
