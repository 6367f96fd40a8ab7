"""The cell of a drill: what it says beside its measures, and of a drill that did not get to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Scope, to_wire
from harness.log.events import Event
from harness.log.transcript import Broke, Called, Ended, Tried
from harness.metrics import trust
from harness.model.backend import Fault
from harness.model.cells import TrustCell
from harness.model.drill import DrillName, Piece, Plan
from harness.model.sequence import Answer, Step
from harness.model.trial import NotMeasured
from tests.support.measures import counts
from tests.support.transcripts import transcript

HOME = Scope(repo="shop")
FAULT = Fault(kind="crashed", op="recall", message="the child is gone")
PLAN = Plan(pieces=(Piece(name="rule", role="plain", item=Item("Rule one", HOME, "2026-01-01T09:00:00Z", "project")),))
WRITTEN = Called(step="written", op="remember", about=("rule",), answer=[{"ids": ["m1"]}])


def asked(fault: Fault | None = None) -> Called:
    request = {"scope": to_wire(HOME), "query": "Rule one", "k": 5}
    answer = None if fault else [to_wire(Hit("m1", "Rule one"))]
    return Called(step="own", op="recall", about=("rule",), request=request, answer=answer, fault=fault)


def score(
    folder: Path,
    events: Sequence[Event],
    drill: DrillName = "keeping",
    ended: Ended | None = Ended(status="complete"),  # noqa: B008  frozen
) -> TrustCell:
    (cell,) = trust.score([transcript(folder, PLAN, events, drill=drill, ended=ended)])
    return cell


def test_a_cell_names_its_transcript_by_digest_and_one_without_says_so(tmp_path: Path) -> None:
    told = transcript(tmp_path, PLAN, [WRITTEN], drill="keeping")
    (cell,) = trust.score([told])
    assert (cell.transcript, cell.transcript_sha256) == (told.path.name, told.sha256)
    bare = trust.make_unscored(told.trial, "not played")
    assert (bare.transcript, bare.transcript_sha256, bare.status) == ("", "", "not-run")


def test_only_the_drill_of_promises_tells_of_a_broken_one(tmp_path: Path) -> None:
    steps = (Step(op="remember", scope=HOME), Step(op="entries", scope=HOME))
    events = [
        Tried(sequences=1, calls=2),
        Broke(steps=steps, answers=(Answer(value=[{"ids": ["m1"]}]), Answer(value=[]))),
    ]
    told = score(tmp_path / "promises", events, "promises").promise
    assert told is not None and "m1" in told.says
    assert score(tmp_path / "keeping", events).promise is None


def test_of_a_drill_that_failed_only_what_holds_of_a_part_is_measured(tmp_path: Path) -> None:
    events = [WRITTEN, asked(), asked(FAULT)]
    found = dict(score(tmp_path, events, ended=Ended(status="failed", fault=FAULT)).measures)
    assert counts(found.pop("calls_failed")) == (1, 3)
    assert {each.status for each in found.values()} == {"failed"}
    assert {each.reason for each in found.values() if isinstance(each, NotMeasured)} == {"recall: the child is gone"}


@pytest.mark.parametrize(
    ("ended", "status"), [(None, "failed"), (Ended(status="unsupported", fault=FAULT), "unsupported")]
)
def test_of_a_drill_that_was_broken_off_or_refused_nothing_is_measured(
    tmp_path: Path, ended: Ended | None, status: str
) -> None:
    cell = score(tmp_path, [WRITTEN, asked()], ended=ended)
    assert cell.reason and {each.status for each in cell.measures.values()} == {status}
    assert {each.reason for each in cell.measures.values() if isinstance(each, NotMeasured)} == {cell.reason}


def test_what_a_failed_call_says_at_length_is_cut_in_the_reason(tmp_path: Path) -> None:
    long = Fault(kind="crashed", op="recall", message="no more " * 100)
    measure = score(tmp_path, [WRITTEN, asked(long)]).measures["self_reachability"]
    assert isinstance(measure, NotMeasured) and measure.status == "failed"
    said = measure.reason.partition("; ")[2]
    assert said.startswith("recall crashed: no more no more") and len(said) == 300
