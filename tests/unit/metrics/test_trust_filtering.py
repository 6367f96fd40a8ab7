"""What a question with a filter may not bring: what holds elsewhere, has ended or was deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.adapter import to_wire
from harness.log.events import Event
from harness.log.transcript import Called
from harness.metrics.trust.filtering import METRICS, STEPS
from harness.model.drill import Piece, Plan
from harness.play.drills import filtering
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

PLAN = Plan(pieces=tuple(filtering.plan(1)))
TOLD = [piece for piece in PLAN.pieces if piece.role != "refile"]


def show(pieces: Sequence[Piece]) -> list[dict[str, object]]:
    return [{"memory_id": f"id-{piece.name}", "text": piece.item.text} for piece in pieces]


def play(wrong: str = "", *, forgotten: bool = True) -> Iterator[Event]:
    """Each question brings all that fits, and one memory that is not to come."""
    acks = [{"ids": [f"id-{piece.name}"]} for piece in TOLD]
    yield Called(step=STEPS[0], op="remember", about=tuple(piece.name for piece in TOLD), answer=acks)
    yield ask(STEPS[0], wrong, "dropped-1")
    yield Called(step=STEPS[1], op="forget", about=("dropped-1",), answer=[forgotten])
    yield ask(STEPS[1], wrong)


def ask(step: str, *more: str) -> Called:
    where = filtering.WHERE["filter_kind"]
    fitting = [piece for piece in PLAN.of("fit", "refiled") if piece.item.kind in where.kinds]
    hits = show([*fitting, *(PLAN.by_name[name] for name in more if name)])
    return Called(step=step, op="recall_where", request={"where": to_wire(where)}, answer=hits)


@pytest.mark.parametrize(("wrong", "times"), [("", 0), ("elsewhere-1", 2), ("lapsed-1", 2), ("unfit-11", 2)])
def test_what_fits_and_holds_elsewhere_or_no_more_is_not_to_come(tmp_path: Path, wrong: str, times: int) -> None:
    found = measured(METRICS, transcript(tmp_path, PLAN, [*play(wrong)], drill="keeping"))
    assert counts(found["filtered_wrong"])[0] == times
    assert counts(found["filtered_missed"]) == (0, 11)  # six, of which one is deleted


def test_what_was_deleted_is_not_to_come_and_what_was_not_is(tmp_path: Path) -> None:
    late = [*play(), ask(STEPS[2], "dropped-1")]
    found = measured(METRICS, transcript(tmp_path / "deleted", PLAN, late, drill="keeping"))
    assert counts(found["filtered_wrong"])[0] == 1
    refused = measured(METRICS, transcript(tmp_path / "refused", PLAN, [*play(forgotten=False)], drill="keeping"))
    assert counts(refused["filtered_missed"])[0] == 1
