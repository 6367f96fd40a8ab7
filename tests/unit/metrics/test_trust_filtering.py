"""What a question with a filter may not bring: what holds elsewhere, has ended or was deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.adapter import fits, to_wire
from harness.log.events import Event
from harness.log.transcript import Called
from harness.metrics.trust.filtering import CHANGES, METRICS, STEPS
from harness.model.drill import Piece, Plan
from harness.play.drills import filtering
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

PLAN = Plan(pieces=tuple(filtering.plan(1)))
TOLD = [piece for piece in PLAN.pieces if piece.role not in CHANGES]


def show(pieces: Sequence[Piece]) -> list[dict[str, object]]:
    return [{"memory_id": f"id-{piece.name}", "text": piece.item.text} for piece in pieces]


def play(wrong: str = "", *, forgotten: bool = True, marked: bool = True) -> Iterator[Event]:
    """Each question brings all that fits, and one memory that is not to come."""
    acks = [{"ids": [f"id-{piece.name}"]} for piece in TOLD]
    yield Called(step=STEPS[0], op="remember", about=tuple(piece.name for piece in TOLD), answer=acks)
    yield ask(STEPS[0], wrong, "dropped-1", "retired-1")
    yield Called(step=STEPS[1], op="forget", about=("dropped-1",), answer=[forgotten])
    yield Called(step=STEPS[1], op="deprecate", about=("retired-1",), answer=[marked])
    yield ask(STEPS[1], wrong)


def ask(step: str, *more: str) -> Called:
    where = filtering.WHERE[("filter_kind",)]
    fitting = [piece for piece in PLAN.of("partly", "fit", "refiled") if piece.item.kind in where.kinds]
    hits = show([*fitting, *(PLAN.by_name[name] for name in more if name)])
    return Called(step=step, op="recall_where", request={"where": to_wire(where)}, answer=hits)


@pytest.mark.parametrize(("wrong", "times"), [("", 0), ("elsewhere-1", 2), ("lapsed-1", 2), ("unfit-11", 2)])
def test_what_fits_and_holds_elsewhere_or_no_more_is_not_to_come(tmp_path: Path, wrong: str, times: int) -> None:
    found = measured(METRICS, transcript(tmp_path, PLAN, [*play(wrong)], drill="keeping"))
    assert counts(found["filtered_wrong"])[0] == times
    assert counts(found["filtered_missed"]) == (0, 18)  # ten, of which one is deleted and one marked


@pytest.mark.parametrize(("superseded", "wrong"), [(True, 0), (False, 1)])
def test_what_was_marked_as_ended_may_come_with_a_warning(tmp_path: Path, superseded: bool, wrong: int) -> None:
    hits = [{**hit, "superseded": superseded} for hit in show([PLAN.by_name["retired-1"]])]
    late = ask(STEPS[2]).model_copy(update={"answer": [*show(PLAN.of("fit")), *hits]})
    events = [*play(), late]
    found = measured(METRICS, transcript(tmp_path, PLAN, events, drill="keeping"))
    assert counts(found["filtered_wrong"])[0] == wrong


def test_what_was_deleted_is_not_to_come_and_what_was_not_is(tmp_path: Path) -> None:
    late = [*play(), ask(STEPS[2], "dropped-1")]
    found = measured(METRICS, transcript(tmp_path / "deleted", PLAN, late, drill="keeping"))
    assert counts(found["filtered_wrong"])[0] == 1
    refused = measured(METRICS, transcript(tmp_path / "refused", PLAN, [*play(forgotten=False)], drill="keeping"))
    assert counts(refused["filtered_missed"])[0] == 1
    unmarked = measured(METRICS, transcript(tmp_path / "unmarked", PLAN, [*play(marked=False)], drill="keeping"))
    assert counts(unmarked["filtered_missed"])[0] == 1


@pytest.mark.parametrize(
    ("comes", "stays", "wrong", "missed"), [("", "", 0, 0), ("partly-1", "", 2, 0), ("", "fit", 0, 6)]
)
def test_a_question_with_two_conditions_brings_what_fits_both(
    tmp_path: Path, comes: str, stays: str, wrong: int, missed: int
) -> None:
    """Once a memory has come to fit, and when it fits no more. One comes, or those of a role stay away."""
    where = filtering.WHERE["filter_kind", "filter_path"]
    one, back = PLAN.by_name["refile-1"], PLAN.by_name["unfile-1"]

    def ask(step: str, stored: Sequence[Piece]) -> Called:
        hits = [piece for piece in stored if fits(piece.item, where) and piece.role != stays]
        more = [PLAN.by_name[comes]] if comes else []
        return Called(step=step, op="recall_where", request={"where": to_wire(where)}, answer=show([*hits, *more]))

    def change(step: str, piece: Piece) -> Called:
        return Called(step=step, op="update", about=(piece.name,), answer={"ids": [f"id-{piece.name}"]})

    pieces = [*PLAN.of("unfit", "partly", "fit"), PLAN.by_name["refiled-1"]]
    acks = [{"ids": [f"id-{piece.name}"]} for piece in pieces]
    told = Called(step=STEPS[0], op="remember", about=tuple(piece.name for piece in pieces), answer=acks)
    events = [told, change(STEPS[1], one), ask(STEPS[1], [*pieces, one]), change(STEPS[2], back), ask(STEPS[2], pieces)]
    found = measured(METRICS, transcript(tmp_path, PLAN, events, drill="keeping"))
    assert (counts(found["filtered_wrong"])[0], counts(found["filtered_missed"])[0]) == (wrong, missed)
