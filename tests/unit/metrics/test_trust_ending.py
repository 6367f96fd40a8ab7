"""Ends to the minute: what counts where ends go by the time that is asked about, on transcripts made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Scope, to_wire
from harness.log.events import Event
from harness.log.transcript import Called
from harness.metrics.trust.ending import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import counts, unanswered
from tests.support.transcripts import transcript

SCOPE = Scope("tidewater")
ROLES = {"ay": "ending", "bee": "ending", "sea": "ending changed", "old": "ending before"}
PLAN = Plan(
    pieces=tuple(
        Piece(name, role, Item(f"The ferry desk of {name} moved", SCOPE, "2026-02-02T09:00:00+00:00", "project"))
        for name, role in ROLES.items()
    )
)
FAR = {"long before": ["ay"], "long after": []}
NEAR = {"right before": ["ay", "bee", "sea"], "right after": []}
FAULT = Fault(kind="raised", op="recall", message="no")


def judge(
    folder: Path,
    came: dict[str, list[str]],
    written: str = "ay bee sea old",
    failed: Sequence[str] = (),
    lacks: str = "",
) -> dict[str, Measure]:
    """Args: came: Step -> what its questions brought. Of those far away only the first two are asked."""
    about = tuple(written.split())
    events: list[Event] = [
        Called(step="ends", op="remember", about=about, answer=[{"ids": [f"id-{n}"]} for n in about])
    ]
    for step, found in came.items():
        for name in ("ay", "bee") if step.startswith("long") else ("ay", "bee", "sea"):
            hits = [to_wire(Hit(f"id-{name}", PLAN.by_name[name].item.text))] if name in found else []
            fault = FAULT if f"{step} {name}" in failed else None
            answer = None if fault else hits
            asked = {"scope": to_wire(SCOPE)}
            events.append(Called(step=step, op="recall", about=(name,), request=asked, answer=answer, fault=fault))
    lacking = {lacks: "no"} if lacks else {}
    folder.mkdir(exist_ok=True)
    return measured(METRICS, transcript(folder, PLAN, events, drill="keeping", lacks=lacking))


def test_what_comes_before_its_end_and_not_after_ends_in_time(tmp_path: Path) -> None:
    found = judge(tmp_path, {**FAR, **NEAR})
    assert (counts(found["ended_late"]), counts(found["ended_early"])) == ((0, 3), (0, 3))


def test_one_that_comes_after_its_end_is_late_and_one_that_is_hidden_before_is_early(tmp_path: Path) -> None:
    found = judge(tmp_path, {**FAR, "right before": ["ay", "bee"], "right after": ["bee"]})
    assert (counts(found["ended_late"]), counts(found["ended_early"])) == ((1, 3), (1, 3))
    assert found["ended_late"].receipts == ("L11 bee stored at L2",)
    assert found["ended_early"].receipts == ("L9 sea stored at L2",)


@pytest.mark.parametrize("far", [{"long before": [], "long after": []}, {"long before": ["ay"], "long after": ["ay"]}])
def test_where_ends_go_by_another_clock_or_none_nothing_is_told(tmp_path: Path, far: dict[str, list[str]]) -> None:
    found = judge(tmp_path, {**far, "right before": [], "right after": []})
    assert {measure.status for measure in found.values()} == {"not-applicable"}
    asked_nothing = judge(tmp_path / "old", {})
    assert {measure.status for measure in asked_nothing.values()} == {"not-applicable"}


def test_one_memory_that_goes_by_the_question_is_enough(tmp_path: Path) -> None:
    found = judge(tmp_path, {"long before": ["bee"], "long after": ["ay"], **NEAR})
    assert counts(found["ended_late"]) == counts(found["ended_early"]) == (0, 3)


def test_what_was_not_acknowledged_does_not_count_and_what_failed_is_unanswered(tmp_path: Path) -> None:
    assert counts(judge(tmp_path / "fewer", {**FAR, **NEAR}, written="ay bee")["ended_early"]) == (0, 2)
    found = judge(tmp_path, {**FAR, **NEAR}, failed=["right after ay"])
    assert unanswered(found["ended_late"]) == (1, 3, 1)


def test_a_store_without_ends_is_unsupported(tmp_path: Path) -> None:
    assert {each.status for each in judge(tmp_path, {}, lacks="expiry").values()} == {"unsupported"}
