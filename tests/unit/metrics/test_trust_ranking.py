"""The answer stands before what only begins like the question, or its measure says that it does not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Hit, to_wire
from harness.log.events import Event
from harness.log.transcript import Called
from harness.metrics.trust import ranking
from harness.model.backend import Fault
from harness.model.drill import Plan
from harness.play.drills import ranking as drilled
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

PLAN = Plan(pieces=tuple(drilled.plan(1)))
ASKED = PLAN.by_name["chosen-0"]
OTHER = PLAN.by_name[ASKED.twin or ""]
FAULT = Fault(kind="raised", op="recall", message="no more")


def found(folder: Path, names: Sequence[str], fault: Fault | None = None, lacks: str = "") -> tuple[object, ...]:
    hits = [to_wire(Hit(name, PLAN.by_name[name].item.text)) for name in names]
    events: list[Event] = [
        Called(step="told apart", op="remember", about=(each.name,), answer=[{"ids": [each.name]}])
        for each in (ASKED, OTHER)
    ]
    events.append(
        Called(
            step="told apart", op="recall", about=(ASKED.name,), request={"k": 5},
            answer=None if fault else hits, fault=fault,
        )
    )  # fmt: skip
    made = transcript(folder, PLAN, events, drill="keeping", lacks={lacks: "never was"} if lacks else {})
    (measure,) = measured(ranking.METRICS, made).values()
    if measure.status != "measured":
        return (measure.status,)
    return (*counts(measure), bool(measure.receipts))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([ASKED.name], (1, 1, False)),
        ([ASKED.name, OTHER.name], (1, 1, False)),
        ([OTHER.name, ASKED.name], (0, 1, True)),
        ([OTHER.name], (0, 1, True)),
        ([], (0, 1, True)),
    ],
)
def test_the_answer_comes_and_comes_first(tmp_path: Path, names: list[str], told: tuple[object, ...]) -> None:
    assert found(tmp_path, names) == told


def test_a_question_that_failed_answers_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, [], FAULT) == ("failed",)


def test_a_store_without_an_order_is_not_asked(tmp_path: Path) -> None:
    assert found(tmp_path, [], lacks="ranked") == ("unsupported",)


def test_neither_of_a_pair_is_told_by_date_source_or_place() -> None:
    assert len({(each.item.at, each.item.source, each.item.kind, each.item.confidence) for each in PLAN.pieces}) == 1
    order = [each.name for each in PLAN.pieces]
    paired = [each for each in PLAN.of("chosen") if each.twin]
    later = [order.index(each.name) > order.index(each.twin or "") for each in paired]
    assert 3 <= sum(later) <= 9, "by the order of telling half of them are found"
    for each in paired:
        decoy = PLAN.by_name[each.twin or ""]
        begin = (each.query or "").removeprefix(drilled.PREFACE).split()[:4]
        assert decoy.item.text.split()[:4] == begin != each.item.text.split()[:4]
