"""Calls that failed: counted from logs and transcripts, told apart from what a drill provokes, said everywhere."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from rich.console import Console

from harness.adapter import Item, Layer, Scope, to_wire
from harness.cli import common, play
from harness.compare import statements
from harness.log.calls import ModelCall
from harness.log.events import Event, Opened, Worked
from harness.log.transcript import Called, Ended, Handled, Looked
from harness.metrics import faults
from harness.model.backend import Fault
from harness.model.cells import Faults
from harness.model.drill import Piece, Plan
from harness.model.results import Results
from harness.model.trial import NotMeasured
from harness.play.drills import isolation
from harness.report.model.table import state_faults
from harness.report.outputs import ci, markdown
from harness.report.outputs import terminal as console
from harness.report.timeline import timelines as wrong
from tests.support.logs import OLD, Tape
from tests.support.runs import run
from tests.support.transcripts import transcript

BROKEN = Fault(kind="crashed", op="recall", message="ValueError: the index\nis broken")
GONE = Fault(kind="crashed", op="recall", message="the process was ended by signal 11")
PLAN: Plan = isolation.plan(80, 1)


def told(found: list[Faults]) -> list[tuple[Any, ...]]:
    return [(each.op, each.kind, each.count, each.calls, each.receipt, each.provoked) for each in found]


# --- counting ---------------------------------------------------------------------------------------------------------


def test_a_call_that_raises_while_the_child_stays_alive_is_counted(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").probe("tool-before", fault=BROKEN).probe("tool-before", OLD)
    (found,) = faults.of_trial(tape.log())
    assert (found.backend, found.op, found.count, found.calls, found.receipt) == ("store", "recall", 1, 2, "L3")
    assert found.message == "ValueError: the index is broken"


def test_the_call_that_lost_the_child_is_counted_once(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").probe("tool-before", fault=GONE)
    assert told(faults.of_trial(tape.log("failed", GONE))) == [("recall", "crashed", 1, 1, "L3", False)]


def test_what_ended_a_trial_outside_of_its_calls_is_counted(tmp_path: Path) -> None:
    closing = Fault(kind="timed-out", op="close", message="no answer")
    tape = Tape(tmp_path).learn("first", "old")
    assert told(faults.of_trial(tape.log("failed", closing))) == [("close", "timed-out", 1, 1, "L3", False)]


def test_what_we_broke_ourselves_is_no_call_of_the_backend(tmp_path: Path) -> None:
    ours = Fault(kind="harness", op="check", message="the disk is full")
    assert faults.of_trial(Tape(tmp_path).learn("first", "old").log("failed", ours)) == []


def test_nor_is_what_failed_before_the_machine_ended_it(tmp_path: Path) -> None:
    full = Fault(kind="machine", op="recall", message="no room is left on the disk")
    tape = Tape(tmp_path).learn("first", "old").probe("tool-before", fault=BROKEN).probe("tool-before", fault=full)
    assert faults.of_trial(tape.log("failed", full)) == []
    lost = Called(step="written", op="remember", answer=None, fault=BROKEN)
    ended = Ended(status="failed", fault=full)
    assert faults.of_drill(transcript(tmp_path / "drill", PLAN, [lost], drill="isolation", ended=ended)) == []


def test_writes_are_counted_by_their_operations(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").learn("first", "port", ids=[], fault=BROKEN)
    tape.learn("second", "new", op="supersede", replaces=(OLD,), ids=[], fault=BROKEN)
    assert told(faults.of_trial(tape.log())) == [
        ("remember", "crashed", 1, 2, "L3", False), ("supersede", "crashed", 1, 1, "L4", False),
    ]  # fmt: skip


def test_all_calls_of_a_backend_are_counted_whether_they_failed_or_not(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").probe("tool-before").probe("tool-before", fault=GONE)
    log = tape.log()
    assert faults.count_calls(log)[str(log.trial.backend)] == 3


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    long = BROKEN.model_copy(update={"message": "x" * 1000})
    (found,) = faults.of_trial(Tape(tmp_path).probe("tool-before", fault=long).log())
    assert found.message == "x" * 300


def test_calls_of_a_chat_model_that_got_no_answer_stand_under_the_name_of_who_asked(tmp_path: Path) -> None:
    tape = Tape(tmp_path, reader="chat@fake").work("order", {"tool": "betadeploy", "port": None})
    event = tape.events.pop()
    assert isinstance(event, Worked)
    outcomes: tuple[Literal["chose", "unreadable", "timed-out", "failed"], ...] = (
        "chose", "unreadable", "timed-out", "failed",
    )  # fmt: skip
    asked = tuple(ModelCall(decision="tool", prompt="Which?", outcome=each, why=f"it {each}") for each in outcomes)
    found = faults.of_trial(tape.add(event.model_copy(update={"calls": asked})).log())
    assert {(each.backend, each.op, each.message) for each in found} == {
        ("chat@fake", "chat", "it timed-out"), ("chat@fake", "chat", "it failed"),
    }  # fmt: skip
    assert [(each.kind, each.count, each.calls, each.receipt) for each in found] == [
        ("timed-out", 1, 4, "L2"), ("raised", 1, 4, "L2"),
    ]  # fmt: skip


def test_a_declared_refusal_is_none(tmp_path: Path) -> None:
    refusal = Fault(kind="refused", op="supersede", message="no successors")
    assert faults.of_trial(Tape(tmp_path).log("unsupported", refusal)) == []


def test_a_kill_of_the_drill_is_none_and_an_opening_that_fails_is_one(tmp_path: Path) -> None:
    opening = Fault(kind="crashed", op="open", message="the file is damaged")
    events: list[Event] = [Handled(step="1", what="killed"), Handled(step="2", what="opened", fault=opening)]
    read = transcript(
        tmp_path, Plan(pieces=()), events, drill="durability", ended=Ended(status="failed", fault=opening)
    )
    assert told(faults.of_drill(read)) == [("open", "crashed", 1, 1, "L3", False)]


@pytest.mark.parametrize(
    ("ended", "last", "counted"),
    [
        (Ended(status="failed", fault=GONE), None, [("recall", "crashed", 1, 3, "L5", False)]),  # no call tells it
        (Ended(status="failed", fault=GONE), GONE, [("recall", "crashed", 1, 2, "L4", False)]),  # its call tells it
        (Ended(status="failed"), None, []),
        (Ended(status="unsupported", fault=BROKEN.model_copy(update={"kind": "refused"})), None, []),
    ],
)
def test_what_ended_a_drill_is_counted_once(
    tmp_path: Path, ended: Ended, last: Fault | None, counted: list[tuple[Any, ...]]
) -> None:
    events: list[Event] = [Called(step="own", op=op, answer=[]) for op in ("entries", "recall")]
    events.append(Called(step="own", op="recall", answer=None if last else [], fault=last))
    read = transcript(tmp_path, Plan(pieces=()), events, drill="deletion", ended=ended)
    assert told(faults.of_drill(read)) == counted


def test_an_end_that_a_call_told_is_not_counted_again_after_a_look_at_the_disk(tmp_path: Path) -> None:
    opening = Fault(kind="crashed", op="open", message="the file is damaged")
    look = Looked(step="closed", layer=Layer("db", "db", "file"), files=1, bytes=9)
    before: list[Event] = [Handled(step="own", what="opened", fault=opening), look]
    ended = Ended(status="failed", fault=opening)
    for events, receipt in ((before, "L2"), ([look], "L3")):
        read = transcript(tmp_path / receipt, Plan(pieces=()), events, drill="durability", ended=ended)
        assert told(faults.of_drill(read)) == [("open", "crashed", 1, 1, receipt, False)]


# --- provoked ---------------------------------------------------------------------------------------------------------


def asked(name: str, *, fault: bool, op: Any = "recall") -> Called:
    piece = PLAN.by_name[name]
    refused = Fault(kind="crashed", op=op, message="ValueError: a name like that is not allowed")
    return Called(
        step="own", op=op, about=(name,), request={"scope": to_wire(piece.item.scope)}, answer=None if fault else [],
        fault=refused if fault else None,
    )  # fmt: skip


PLAIN = next(piece.name for piece in PLAN.of("near") if piece.name.startswith("prefix-"))
AWKWARD = next(piece.name for piece in PLAN.of("near") if piece.name.startswith("space-"))


def test_an_awkward_name_that_is_refused_is_provoked_if_plain_ones_are_taken(tmp_path: Path) -> None:
    read = transcript(tmp_path, PLAN, [asked(PLAIN, fault=False), asked(AWKWARD, fault=True)], drill="isolation")
    assert told(faults.of_drill(read)) == [("recall", "crashed", 1, 2, "L3", True)]


@pytest.mark.parametrize(
    "events",
    [
        [asked(PLAIN, fault=True), asked(AWKWARD, fault=True)],  # it raises whatever the name
        [asked(PLAIN, fault=False), asked(AWKWARD, fault=True), asked(AWKWARD, fault=False)],  # the name is taken
    ],
)
def test_a_call_that_fails_for_another_reason_than_the_name_is_a_fault(tmp_path: Path, events: list[Called]) -> None:
    found = faults.of_drill(transcript(tmp_path, PLAN, events, drill="isolation"))
    assert found and not any(each.provoked for each in found)


def test_an_odd_text_may_be_refused(tmp_path: Path) -> None:
    pieces = [
        Piece(name=role, role=role, item=Item(role, Scope(repo="a"), "2026-01-01T00:00:00+00:00", "project"))
        for role in ("plain", "odd")
    ]
    refusal = Fault(kind="crashed", op="recall", message="no emoji")
    events = [
        Called(step="own", op="recall", about=("plain",), answer=[]),
        Called(step="own", op="recall", about=("odd",), fault=refusal),
    ]
    read = transcript(tmp_path, Plan(pieces=tuple(pieces)), events, drill="keeping")
    assert told(faults.of_drill(read)) == [("recall", "crashed", 1, 2, "L3", True)]


# --- said -------------------------------------------------------------------------------------------------------------


def fault(**more: Any) -> Faults:
    made: Mapping[str, Any] = {
        "backend": "store", "op": "recall", "kind": "crashed", "count": 3, "calls": 4, "message": "it <b>broke</b>",
        "receipt": "L7",
    }  # fmt: skip
    return Faults.model_validate({**made, **more})


@pytest.fixture
def failing(results: Results) -> Results:
    trial = next(cell.trial for cell in results.cells if cell.backend == "store")
    return results.model_copy(update={"faults": (fault(trial=trial),)})


def tolerated(results: Results, **allowed: int) -> Results:
    return results.model_copy(update={"run": results.run.model_copy(update={"allowed_faults": allowed})})


def shown(results: Results) -> str:
    out = io.StringIO()
    console.show(results, Console(file=out, width=100, color_system=None))
    return " ".join(out.getvalue().split())


def test_faults_are_in_the_results_of_a_run(tmp_path: Path) -> None:
    folder = run(tmp_path)
    assert statements.compute_results(folder).faults == ()
    raising = Tape(tmp_path, "store").learn("first", "old").probe("tool-before", fault=BROKEN)
    opened = raising.events[0]
    assert isinstance(opened, Opened)
    raising.events[0] = opened.model_copy(update={"digests": {"scenario": "5c" * 32, "fixture": "f1" * 32}})
    first = next(path for path in sorted((tmp_path / "logs").iterdir()) if path.name.startswith(raising.trial.id))
    raising.log().path.replace(first)
    assert [(each.backend, each.op, each.count) for each in statements.compute_results(folder).faults] == [
        ("store", "recall", 1)
    ]


def test_they_are_said_in_every_output(failing: Results) -> None:
    (said,) = state_faults(failing)
    assert said.bad and said.head == "store: 3 calls failed"
    assert "\u25b2 store: 3 calls failed - recall 3/4 in 1 trial (crashed), first" in shown(failing)
    assert "3 calls failed" in console.describe_end(failing)
    summary = markdown.write_summary(failing)
    assert "**\u25b2 store: 3 calls failed**" in summary and "<b>broke" not in summary


def test_junit_has_an_error_on_each_cell_of_the_trial_and_on_no_other(results: Results, failing: Results) -> None:
    def errors(found: Results) -> set[str]:
        root = ElementTree.fromstring(ci.write_junit(found))
        return {case.get("name", "") for case in root.iter("testcase") if case.find("error") is not None}

    (trial,) = {each.trial for each in failing.faults}
    assert errors(failing) - errors(results) == {cell.id for cell in results.cells if cell.trial == trial}
    assert errors(tolerated(failing, store=3)) == errors(results)


def test_a_run_whose_calls_failed_could_not_run_unless_so_many_were_allowed(
    results: Results, failing: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    before = common.choose_exit_code(results)
    assert before == common.GOOD
    capsys.readouterr()
    for allowed, code in (({}, 3), ({"store": 2}, 3), ({"keeper": 9}, 3), ({"store": 3}, 0)):
        assert common.choose_exit_code(tolerated(failing, **allowed)) == code
        assert ("store: 3 calls failed" in capsys.readouterr().err) == (code == 3)


def test_what_was_provoked_is_shown_and_fails_nothing(failing: Results) -> None:
    provoked = failing.model_copy(update={"faults": (fault(trial="a-drill", provoked=True),)})
    assert common.choose_exit_code(provoked) == common.GOOD
    assert "refused where a drill provoked it" in shown(provoked) and "calls failed" not in shown(provoked)


@pytest.mark.parametrize("text", ["store", "=3", "store=", "store=-1", "store=many"])
def test_an_allowance_is_a_name_and_a_count(text: str) -> None:
    done = CliRunner().invoke(play.run, ["-b", "none", "-s", "none", "--allow-faults", text])
    assert done.exit_code == 2 and f"--allow-faults {text}: say NAME=COUNT" in done.output


def test_the_call_by_which_a_measure_failed_is_no_case_of_what_it_measures(results: Results) -> None:
    failed = NotMeasured(status="failed", reason="recall crashed", receipts=("L3",))
    cell = next(cell for cell in results.cells if cell.backend == "store")
    assert wrong.group_cases([cell])
    broken = cell.model_copy(update={"measures": {**cell.measures, **dict.fromkeys(wrong.BAD, failed)}})
    assert wrong.group_cases([broken]) == {}
