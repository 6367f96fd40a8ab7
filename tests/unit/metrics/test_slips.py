"""What a slip of a hand in a measure would change, where no other test looks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Item, Layer, Scope, to_wire
from harness.log.calls import ModelCall
from harness.log.events import Event, Metered, Sought, Worked
from harness.log.transcript import Called, Ended, Handled, Looked, Op
from harness.metrics import faults, score
from harness.metrics.trust.agents import Agents
from harness.metrics.trust.burst import Bursts
from harness.metrics.trust.keeping import undeclared_bytes
from harness.metrics.trust.kills import is_looked_at
from harness.metrics.trust.reach import Reach
from harness.metrics.trust.rollback import METRICS as ROLLBACK
from harness.metrics.trust.rollback import RESTORED, RollbackView
from harness.metrics.trust.upgrade import Passes
from harness.metrics.trust.view import DrillView
from harness.metrics.view import Record
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.text.classify import Classifier
from tests.support.drill_player import measured
from tests.support.logs import Tape
from tests.support.measures import value
from tests.support.transcripts import transcript

LOOKS: tuple[Op, ...] = ("entries", "recall")
HOME = Scope("shop", "acme")
FAULT = Fault(kind="crashed", op="forget", message="no more")


def piece(name: str, role: str) -> Piece:
    return Piece(name=name, role=role, item=Item(f"Rule {name}", HOME, "2026-01-01T09:00:00Z", "project"))


def test_what_is_only_listed_was_looked_at_if_there_was_a_listing() -> None:
    cases = {("listed", ("recall",)): False, ("listed", ("recall", "entries")): True, ("asked", ("recall",)): True}
    for (role, ops), looked in cases.items():
        assert is_looked_at(piece("a", role), ops) is looked  # type: ignore[arg-type]


@pytest.mark.parametrize(("said", "gone"), [([True], True), ([False], None), ([], None), (None, None)])
def test_a_deletion_that_failed_or_found_nothing_is_not_said_to_be_one(
    tmp_path: Path, said: list[bool] | None, gone: bool | None
) -> None:
    step = "control changed"
    fault = None if said is not None else FAULT
    events: list[Event] = [Called(step=step, op="forget", about=("a",), answer=said, fault=fault)]
    events.append(Called(step="control reopened", op="entries", about=("a",), answer=[]))
    events.append(Called(step="control reopened", op="recall", about=("a",), answer=[]))
    told = transcript(tmp_path, Plan(pieces=(piece("a", "dropped after"),)), events, drill="upgrade")
    assert Passes.of(told).deleted("control", told.plan.by_name["a"]) is gone


@pytest.mark.parametrize(("asked", "found"), [("tool", (True, False)), ("", (True, True))])
def test_a_call_about_one_decision_is_none_about_another(tmp_path: Path, asked: str, found: tuple[bool, bool]) -> None:
    """A step in the whole job is one about all that it left open."""
    tape = Tape(tmp_path, reader="chat").played().work("order", {"tool": None, "port": None})
    call = ModelCall(decision=asked, prompt="Which?", outcome="unknown")
    event = tape.events.pop()
    assert isinstance(event, Worked)
    log = tape.add(event.model_copy(update={"calls": (call,)})).log()
    decided = Record(log, Classifier(log.scenario, {})).find_decided("trusting")
    assert tuple(decided["order", key].call is not None for key in ("tool", "port")) == found


def test_of_a_write_that_nobody_looked_at_the_opening_that_failed_is_shown(tmp_path: Path) -> None:
    events: list[Event] = [
        Called(step="small", op="remember", about=("a",), answer=[{"ids": ["id-a"]}]),
        Handled(step="small", what="opened", fault=FAULT),
        Handled(step="small after", what="closed"),
        Handled(step="small after", what="opened", fault=FAULT),
    ]
    bursts = Bursts.of(transcript(tmp_path, Plan(pieces=(piece("a", "small"),)), events, drill="burst"))
    (deed,) = bursts.list_written("remember", "small")
    assert bursts.where(deed) == "L5 a stored at L2"


def test_without_a_listing_there_is_no_receipt(tmp_path: Path) -> None:
    told = transcript(tmp_path, Plan(pieces=(piece("a", "kept"),)), [], drill="rollback")
    assert RollbackView.of(told).find_listing("mark") == ("", None)


def test_a_listing_that_failed_leaves_unknown_what_is_there_at_the_end_alone(tmp_path: Path) -> None:
    fault = Fault(kind="crashed", op="entries", message="no more")
    for step in ("reopened", "written"):
        events = [Called(step=step, op="entries", about=("a",), fault=fault)]
        told = transcript(tmp_path / step, Plan(pieces=(piece("a", "kept"),)), events, drill="sharing")
        assert Agents.of(told).unknown(step, told.plan.by_name["a"], "a") is (step == "reopened")


def test_who_cannot_tell_its_model_calls_says_why_in_its_own_words(tmp_path: Path) -> None:
    tape = Tape(tmp_path, unsupported=["usage"]).played().jobs("betadeploy")
    found = score([tape.add(Metered(embeddings={}, chat={"learn": {"calls": 2}})).log()])[0].measures["chat_unreported"]
    assert (found.status, getattr(found, "reason", "")) == ("unsupported", "no usage")


def test_a_memory_stands_if_one_of_several_looks_shows_it(tmp_path: Path) -> None:
    hit: Any = to_wire(Hit("id-a", "Rule a"))
    for answers, stands in (([[hit], []], True), ([[], []], False), ([[{**hit, "superseded": True}], []], False)):
        events = [
            Called(step="after", op=op, about=("a",), answer=answer) for op, answer in zip(LOOKS, answers, strict=True)
        ]
        told = transcript(
            tmp_path / f"{stands}{len(answers[0])}", Plan(pieces=(piece("a", "kept"),)), events, drill="keeping"
        )
        assert DrillView.of(told).stands("after", "a") is stands


def test_layers_alone_say_nothing_of_what_lies_beside_them_and_no_look_is_a_failure(tmp_path: Path) -> None:
    look = Looked(step="closed", layer=Layer("db", "db", "file"), declared=True, files=1, bytes=9)
    for looks, status in (([look], "not-applicable"), ([], "failed")):
        told = transcript(tmp_path / status, Plan(pieces=(piece("a", "kept"),)), looks, drill="keeping")
        assert undeclared_bytes(told).status == status


def test_layers_that_nobody_looked_at_after_the_deletion_say_nothing(tmp_path: Path) -> None:
    tape = Tape(tmp_path).played().jobs("betadeploy").scanned("before", "db", "pin").forget("pin")
    assert score([tape.log()])[0].measures["deleted_from_bytes"].status != "measured"
    late = Tape(tmp_path).played().jobs("betadeploy").forget("pin").scanned("after", "db", "pin")
    assert score([late.log()])[0].measures["deleted_from_bytes"].status == "measured", (
        "it is there, whatever was before"
    )


def test_a_question_that_was_not_asked_or_left_alone_hides_no_later_one(tmp_path: Path) -> None:
    plan = Plan(pieces=tuple(replace(piece(name, "changed"), query=f"{name}?") for name in "abc"))
    texts = {"mark": ("one", "two", "three"), "relapse": ("", "two", "other"), RESTORED[0]: ("one", "two", "three")}
    events: list[Event] = [Called(step="mark", op="snapshot", answer="m")]
    for step, told in texts.items():
        for name, text in ((name, text) for name, text in zip("abc", told, strict=True) if text):
            asked = {"query": f"{name}?", "scope": to_wire(HOME)}
            hits = [to_wire(Hit(text, text))]
            events.append(Called(step=step, op="recall", about=(name,), request=asked, answer=hits))
    assert value(measured(ROLLBACK, transcript(tmp_path, plan, events, drill="rollback"))["restored_probes"]) == 1


def test_another_embedder_is_what_a_refusal_in_its_drill_was_provoked_by(tmp_path: Path) -> None:
    calls = [Called(step="own", op="recall", about=("a",), request={"scope": to_wire(HOME)}, answer=[])]
    calls.append(Called(step="another", op="recall", about=("a",), request={"scope": to_wire(HOME)}, fault=FAULT))
    told = transcript(tmp_path, Plan(pieces=(piece("a", "old"),)), calls, drill="embedder")
    assert [each.provoked for each in faults.of_drill(told)] == [True]


def test_calls_after_a_step_show_that_a_drill_got_past_it(tmp_path: Path) -> None:
    events = [Called(step="after", op="recall", about=("a",), answer=[])]
    ended = Ended(status="failed", fault=FAULT)
    told = transcript(tmp_path, Plan(pieces=(piece("a", "forget"),)), events, drill="deletion", ended=ended)
    reach = Reach.of(told)
    assert reach.explain_loss("before") is None and reach.explain_loss("after") is not None


def test_a_search_for_a_secret_is_a_recall_and_any_other_route_its_own_call() -> None:
    for route, op in (("search", "recall"), ("forbidden", "recall"), ("get", "get")):
        assert faults._op(Sought(stage="after", route=route, fact="pin")) == op
