"""What calls took and storage weighed, by the memories that there were."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.adapter import Item, Layer, Scope
from harness.log.events import Closed, Event, Forgot, Recalled, Scanned, Wrote
from harness.log.transcript import Called, Looked
from harness.metrics import footprint
from harness.metrics.footprint import Sample
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from tests.support.logs import NEW, OLD, Tape
from tests.support.transcripts import transcript


def test_a_trial_tells_what_its_recalls_took(tmp_path: Path) -> None:
    log = Tape(tmp_path, "store").recall("decision", "order/tool", [OLD, NEW], "second").log()
    timed = tuple(
        event.model_copy(update={"took": 0.25, "pool": 40}) if isinstance(event, Recalled) else event
        for event in log.events
    )
    assert list(footprint.of_trial(log)) == []
    assert list(footprint.of_trial(dataclasses.replace(log, events=timed))) == [
        Sample("store", "recall", 40, 0.25, log.trial.noise)
    ]
    late = Fault(kind="timed-out", op="recall", message="late")
    lost = tuple(e.model_copy(update={"fault": late}) if isinstance(e, Recalled) else e for e in timed)
    assert list(footprint.of_trial(dataclasses.replace(log, events=lost))) == []


def test_of_a_trial_writes_and_storage_are_counted_by_what_was_alive(tmp_path: Path) -> None:
    log = Tape(tmp_path, "store").played().scanned("before", "file").log()
    *rest, last = log.list_events(Wrote)
    stored = [name for event in rest for ids in event.ids or () for name in ids]
    events = tuple(
        event.model_copy(update={"took": 0.5, "replaces": (stored[0],) if event is last else ()})
        if isinstance(event, Wrote)
        else event.model_copy(update={"bytes": 700})
        if isinstance(event, Scanned)
        else event
        for event in log.events
    )
    found = list(footprint.of_trial(dataclasses.replace(log, events=events)))
    writes = [event for event in log.list_events(Wrote) if event.ids and event.op == "remember"]
    assert writes and [s.value for s in found if s.what == "write"] == [0.5 / len(e.ids or ()) for e in writes]
    assert found[0].memories == 0 and [s.memories for s in found] == sorted(s.memories for s in found)
    alive = {*stored, *(name for ids in last.ids or () for name in ids)} - {stored[0]}
    assert found[-1] == Sample("store", "storage", len(alive), 700, log.trial.noise)
    blind = tuple(e.model_copy(update={"problem": "remote"}) if isinstance(e, Scanned) else e for e in events)
    assert "storage" not in {s.what for s in footprint.of_trial(dataclasses.replace(log, events=blind))}


def test_what_the_store_weighs_after_closing_stands_for_the_look_before_a_deletion(tmp_path: Path) -> None:
    log = Tape(tmp_path, "store").played().scanned("before", "file").log()
    told = dataclasses.replace(log, closed=Closed(status="complete", stored=4321))
    found = [each for each in footprint.of_trial(told) if each.what == "storage"]
    alive = {name for event in log.list_events(Wrote) for ids in event.ids or () for name in ids}
    assert found == [Sample("store", "storage", len(alive), 4321, log.trial.noise)]


@pytest.mark.parametrize(("said", "memories"), [((True,), 2), (None, 3)])
def test_what_was_deleted_is_in_the_store_no_more_unless_the_deletion_failed(
    tmp_path: Path, said: tuple[bool, ...] | None, memories: int
) -> None:
    tape = Tape(tmp_path, "store").learn("first", "old", "port", ids=[("a",), ("b",)])
    tape.add(Forgot(session="first", fact="old", ids=("a",), said=said)).learn("second", "new", ids=[("c",)], took=0.5)
    log = dataclasses.replace(tape.log(), closed=Closed(status="complete", stored=4321))
    assert [(each.what, each.memories) for each in footprint.of_trial(log)] == [
        ("write", memories - 1), ("storage", memories),
    ]  # fmt: skip


def test_a_store_of_which_a_part_cannot_be_looked_at_has_no_weight(tmp_path: Path) -> None:
    tape = Tape(tmp_path, "store").scanned("before", "db").scanned("before", "log")
    assert [each.value for each in footprint.of_trial(tape.log())] == [9 + 9]
    assert list(footprint.of_trial(tape.scanned("before", "remote", problem="not here").log())) == []


def test_a_drill_in_which_nobody_looked_or_not_everywhere_tells_no_bytes(tmp_path: Path) -> None:
    def look(name: str, problem: str | None = None) -> Looked:
        return Looked(step="closed", layer=Layer(name, name, "file"), files=1, bytes=900, problem=problem)

    for at, (looks, told) in enumerate([([], []), ([look("db")], [900]), ([look("db"), look("log", "not here")], [])]):
        made = transcript(tmp_path / str(at), Plan(pieces=()), looks, drill="keeping")
        assert [each.value for each in footprint.of_drill(made)] == told


def test_a_drill_tells_its_recalls_writes_and_bytes(tmp_path: Path) -> None:
    pieces = tuple(
        Piece(name=name, role="plain", item=Item(text=name, scope=Scope(repo="r"), at="2026-01-01", kind="note"))
        for name in "abc"
    )
    acked: list[JsonValue] = [{"ids": ["1"]}, {"ids": []}, {"ids": ["2", "3"]}]
    events: list[Event] = [
        Called(step="written", op="remember", about=tuple("abc"), answer=acked, took=0.6),
        Called(step="own", op="recall", request={"k": 5}, answer=[], took=0.2),
        Called(step="wide", op="recall", request={"k": 50}, answer=[], took=9.0),
        Called(step="own", op="recall", request={"k": 5}, fault=Fault(kind="crashed", op="recall", message=""), took=9),
        Looked(step="closed", layer=Layer(name="file", path="f", format="file"), files=1, bytes=900),
    ]
    made = transcript(tmp_path, Plan(pieces=pieces), events, drill="keeping")
    assert list(footprint.of_drill(made)) == [
        Sample("made", "write", 0, 0.3), Sample("made", "recall", 2, 0.2), Sample("made", "storage", 2, 900),
    ]  # fmt: skip
    other = transcript(tmp_path / "other", Plan(pieces=pieces), events, drill="deletion")
    assert list(footprint.of_drill(other)) == []
