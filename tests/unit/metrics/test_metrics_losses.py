"""Where a decision is lost: one stage for each that is not right, whatever came back and was stored."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Hit, Item, Message, Scope, Source
from harness.log.calls import ModelCall
from harness.log.events import Changed, Retired, Worked, Wrote
from harness.log.parts import Written
from harness.metrics import score
from harness.metrics.losses import METRICS, STAGES
from harness.model.scenario import Scenario
from harness.model.trial import READ_POLICIES, Measure, Measured
from tests.support.logs import BOTH, HOME, LURE, NEW, NOISE, OLD, PEACE, PORT, STORY, Tape, hit
from tests.support.measures import counts

SECOND = "2025-02-10T09:00:00+00:00"
TALK: dict[str, list[dict[str, Any]]] = {
    "first": [{"role": "user", "content": "So it is alphadeploy, and 8123 for the port.", "tells": ["old", "port"]}],
    "second": [{"role": "user", "content": "We have moved on to betadeploy.", "tells": ["new"], "retracts": ["old"]}],
    "third": [{"role": "user", "content": "Thank you.", "mentions": ["port"]}],
}


def speak(talk: Mapping[str, Sequence[Mapping[str, Any]]]) -> Scenario:
    """The story, with what was said in each session."""
    sessions = [{**each.model_dump(by_alias=True), "transcript": talk[each.id]} for each in STORY.sessions]
    return STORY.model_validate({**STORY.model_dump(by_alias=True), "sessions": sessions})


SPOKEN = speak(TALK)


def native(folder: Path, **more: Any) -> Tape:
    return Tape(folder, scenario=SPOKEN, feed="native", **more)


def capture(tape: Tape, session: str, *hits: Hit | str, gone: Sequence[str] = (), place: Scope = HOME) -> Tape:
    """A session is handed over, and this is new in a scope afterwards."""
    said = tuple(Message("user", each["content"]) for each in TALK[session])
    item = Item(said[0].content, HOME, tape.at(session).isoformat(), "episodic", Source(session=session))
    tape.add(Wrote(op="observe", purpose="learn", session=session, items=(Written(f"session:{session}", item, said),),
                   ids=((),)))  # fmt: skip
    made = tuple(each if isinstance(each, Hit) else hit(each) for each in hits)
    return tape.add(Changed(session=session, scope=place, hits=made, gone=tuple(gone)))


def decide(
    tape: Tape, *shown: Hit | str, value: str | None = "alphadeploy", origin: str = "memory", **more: Any
) -> Tape:
    """The tool of the job `order`, under every way of reading; the port and the other job are right."""
    tape.recall("decision", "order/tool", shown, "second", **more)
    tape.recall("decision", "order/port", [PORT], "second")
    for policy in READ_POLICIES:
        tape.work("order", {"tool": value, "port": "8123"}, policy=policy, origin=origin)
        tape.work("drill", {"tool": "betadeploy", "port": "8123"}, policy=policy)
    return tape


def lost(tape: Tape, policy: str = "trusting") -> dict[str, tuple[str, ...]]:
    """Stage -> receipts, where there are any."""
    cell = next(each for each in score([tape.log()]) if each.read_policy == policy)
    found = {stage.name: cell.measures[f"lost_{stage.name}"] for stage in STAGES}
    assert all(isinstance(each, Measured) and each.of == 4 for each in found.values())
    return {name: each.receipts for name, each in found.items() if each.receipts}


def test_what_was_told_and_is_in_no_memory_was_not_captured(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second")
    assert lost(decide(tape, OLD)) == {"uncaptured": ("L4",)}


def test_what_was_right_in_a_job_that_was_not_ended_no_memory_lost(tmp_path: Path) -> None:
    tape = decide(capture(capture(native(tmp_path), "first", OLD), "second", NEW), NEW, value="betadeploy")
    killed = (ModelCall(decision="", prompt="Do it.", outcome="timed-out", why="ended: 2 s are used up"),)
    tape.events = [
        each.model_copy(update={"calls": killed}) if isinstance(each, Worked) and each.job == "order" else each
        for each in tape.events
    ]
    assert {name: len(lines) for name, lines in lost(tape).items()} == {"elsewhere": 2}


def test_what_nobody_had_told_is_lost_by_no_capture(tmp_path: Path) -> None:
    assert lost(decide(capture(native(tmp_path), "first", OLD), OLD)) == {"untold": ("L6",)}


@pytest.mark.parametrize("words", [BOTH, f"Do not {NEW.lower()}"])
def test_a_memory_of_the_session_that_does_not_say_it_clearly_is_of_no_use(words: str, tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", words)
    assert lost(decide(tape, OLD)) == {"unclear": (f"L6 {words} stored at L5",)}


def test_what_an_earlier_session_happened_to_say_does_not_count_for_it(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD, BOTH), "second")
    assert lost(decide(tape, OLD)) == {"uncaptured": ("L4",)}


def test_a_memory_that_holds_elsewhere_lost_its_scope(tmp_path: Path) -> None:
    away = Scope(repo="sibling", org="lantern")
    tape = capture(capture(native(tmp_path), "first", OLD), "second", hit(NEW, scope=away), place=away)
    assert lost(decide(tape, OLD)) == {"unscoped": (f"L6 {NEW} stored at L5",)}


def test_a_neighbours_rule_that_won_lost_its_scope(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW, LURE)
    assert lost(decide(tape, LURE, NEW, value="gammadeploy")) == {"unscoped": ("L6:e0",)}


def test_what_stands_in_no_answer_was_not_retrieved(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW)
    assert lost(decide(tape, OLD)) == {"unretrieved": (f"L6 {NEW} stored at L5",)}


def test_an_entry_that_does_not_fit_was_not_shown(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW)
    assert [*lost(decide(tape, OLD, NEW, shown=1))] == ["unretrieved"]


def test_what_was_shown_and_not_taken_was_not_used(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW)
    assert lost(decide(tape, OLD, NEW)) == {"unused": ("L6:e1",)}


def test_who_goes_by_dates_loses_by_a_false_one(tmp_path: Path) -> None:
    old, new = hit(OLD, created="2025-01-10T09:00:00+00:00"), hit(NEW, created="2024-01-01T00:00:00+00:00")
    tape = decide(capture(capture(native(tmp_path), "first", old), "second", new), old, new)
    assert lost(tape) == {"unused": ("L6:e1",)}
    assert lost(tape, "newest") == lost(tape, "careful") == {"undated": ("L6:e1",)}


def test_a_false_date_of_the_one_that_was_taken_counts_too_and_a_day_is_enough(tmp_path: Path) -> None:
    old, new = hit(OLD, created="2026-01-01T00:00:00+00:00"), hit(NEW, created=SECOND[:10])
    tape = decide(capture(capture(native(tmp_path), "first", old), "second", new), old, new)
    assert lost(tape, "newest") == {"undated": ("L6:e0",)}
    true = [hit(OLD, created="2025-01-10T09:00:00+00:00"), new]
    tape = decide(capture(capture(native(tmp_path), "first", true[0]), "second", new), *true)
    assert lost(tape, "newest") == {"unused": ("L6:e1",)}


def test_what_was_there_and_is_gone_was_replaced_wrongly(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW)
    tape.add(Changed(session="second", scope=HOME, hits=(hit(NOISE),), gone=(NEW,)))
    assert lost(decide(tape, OLD)) == {"replaced": (f"L6 {NEW} stored at L5",)}


def test_what_is_marked_as_ended_was_replaced_wrongly(tmp_path: Path) -> None:
    ended = hit(NEW, superseded=True)
    tape = capture(capture(native(tmp_path), "first", OLD), "second", ended)
    assert lost(decide(tape, OLD, ended)) == {"replaced": (f"L6 {NEW} stored at L5",)}


def test_work_that_failed_and_answers_that_failed_are_no_memorys_doing(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW)
    assert lost(decide(tape, NEW, value="alphadeploy")) == {"elsewhere": ("L8",)}
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW)
    assert [*lost(decide(tape, value=None, fault=PEACE))] == ["elsewhere"]


def test_a_decision_that_was_not_reached_is_lost_elsewhere(tmp_path: Path) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW).probe("tool-after", NEW)
    found = score([tape.log("failed", PEACE)])[0].measures["lost_elsewhere"]
    assert counts(found) == (4, 4)


def test_of_what_is_stored_word_for_word_the_writes_tell(tmp_path: Path) -> None:
    def told() -> Tape:
        return Tape(tmp_path, scenario=SPOKEN).learn("first", "old", "port")

    assert [*lost(decide(told().learn("second", "new"), OLD))] == ["unretrieved"]
    assert [*lost(decide(told().learn("second", "new", ids=[()]), OLD))] == ["uncaptured"]
    gone = Retired(session="second", rule="expired", names=(), ids=(NEW,), said=(True,))
    assert lost(decide(told().learn("second", "new").add(gone), OLD)) == {"replaced": (f"L4 {NEW} stored at L3",)}
    marked = gone.model_copy(update={"op": "deprecate"})
    assert [*lost(decide(told().learn("second", "new").add(marked), OLD))] == ["replaced"]


@pytest.mark.parametrize(
    ("tape", "status"),
    [
        (lambda folder: Tape(folder), "not-applicable"),
        (lambda folder: Tape(folder, scenario=SPOKEN, extracts=True), "not-applicable"),
        (lambda folder: native(folder, unsupported=["entries"]), "unsupported"),
        (native, "not-run"),
        (lambda folder: native(folder).add(Changed(session="first", scope=HOME, fault=PEACE)), "failed"),
    ],
)
def test_where_nobody_knows_what_was_stored_nothing_is_said(tape: Any, status: str, tmp_path: Path) -> None:
    cell = score([decide(tape(tmp_path), OLD).log()])[0]
    assert {cell.measures[each.definition.name].status for each in METRICS} == {status}


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    stored=st.lists(st.sampled_from([OLD, NEW, LURE, BOTH, NOISE, f"Do not {NEW}"]), unique=True),
    shown=st.lists(st.sampled_from([OLD, NEW, LURE, BOTH, NOISE]), max_size=3, unique=True),
    gone=st.booleans(),
    marked=st.booleans(),
    taken=st.sampled_from([("betadeploy", "memory"), ("alphadeploy", "memory"), ("gammadeploy", "repo"), (None, "")]),
)
def test_each_decision_that_is_not_right_is_lost_at_one_stage(
    stored: list[str], shown: list[str], gone: bool, marked: bool, taken: tuple[str | None, str], tmp_path: Path
) -> None:
    tape = capture(capture(native(tmp_path), "first", OLD), "second", *stored)
    if gone:
        tape.add(Changed(session="second", scope=HOME, gone=tuple(stored)))
    value, origin = taken if shown or taken[1] != "memory" else (taken[0], "repo")
    hits = [hit(text, superseded=marked or None) for text in shown]
    for cell in score([decide(tape, *hits, value=value, origin=origin or "nowhere").log()]):
        assert sum(_hits(cell.measures[f"lost_{stage.name}"]) for stage in STAGES) == 4 - _hits(
            cell.measures["decisions_right"]
        )


def _hits(measure: Measure) -> float:
    assert isinstance(measure, Measured)
    return measure.hits or 0


def test_stages_have_names_of_their_own() -> None:
    for one, other in itertools.combinations(STAGES, 2):
        assert one.name != other.name and one.called != other.called
