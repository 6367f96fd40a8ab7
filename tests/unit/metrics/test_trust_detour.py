"""History independence, from transcripts made by hand: what counts as another answer, and what hangs on ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.adapter import Hit, to_wire
from harness.log.transcript import Called
from harness.metrics.trust.detour import DETOUR, DIRECT, METRICS, ORDER, REOPENED
from harness.model.backend import Fault
from harness.model.drill import Plan
from harness.model.trial import Measure
from harness.play.drills import detour
from harness.play.drills.detour import HOME, plan
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

PLAN: Plan = plan(4, 1)
A, B, C, D = PLAN.of("kept")
WAYS = (DIRECT, ORDER, DETOUR, REOPENED)
Answer = Sequence[tuple[str, float | None]] | None
"""Names and scores; None: the question failed."""
SOUND: Answer = [("kept-0", 0.9), ("kept-1", 0.5), ("kept-2", 0.5)]
GONE = Fault(kind="crashed", op="recall", message="gone")


def ask(way: str, query: str, answer: Answer) -> Called:
    hits = [to_wire(Hit(f"id of {name}", PLAN.by_name[name].item.text, score)) for name, score in answer or ()]
    request = {"scope": to_wire(HOME), "query": query}
    fault = GONE if answer is None else None
    return Called(
        step=f"{way} 4", op="recall", about=(A.name,), request=request, answer=None if fault else hits, fault=fault
    )


def found(
    folder: Path, answers: Mapping[str, Answer], *, own: bool = False, lacks: Mapping[str, str] = {}
) -> dict[str, Measure]:
    """What the measures say of one question that is put to four stores."""
    query = A.item.text if own else A.query
    assert query
    events = [ask(way, query, answers.get(way, SOUND)) for way in WAYS]
    folder.mkdir(exist_ok=True)
    return measured(METRICS, transcript(folder, PLAN, events, drill="detour", lacks=lacks))


def test_the_drill_and_its_measures_name_the_ways_alike() -> None:
    assert (detour.DIRECT, detour.ORDER, detour.DETOUR, detour.REOPENED) == WAYS


def test_a_store_that_answers_alike(tmp_path: Path) -> None:
    told = found(tmp_path, {}, own=True)
    assert {name: counts(each) for name, each in told.items()} == dict.fromkeys(told, (0, 1))


@pytest.mark.parametrize("way", [DETOUR, REOPENED])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([("kept-1", 0.9), ("kept-0", 0.5), ("kept-2", 0.5)], id="another order"),
        pytest.param([("kept-0", 0.9), ("kept-1", 0.5)], id="one less"),
        pytest.param([("kept-0", 0.9), ("kept-1", 0.5), ("kept-3", 0.4)], id="another text"),
        pytest.param([], id="nothing"),
    ],
)
def test_another_answer_is_counted_once(tmp_path: Path, way: str, answer: Answer) -> None:
    told = found(tmp_path, {way: answer})
    assert counts(told["answers_changed_by_detour"]) == (1, 1)
    assert told["answers_changed_by_detour"].receipts == (f"L{WAYS.index(way) + 2}",)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([("kept-0", 0.9), ("kept-2", 0.5), ("kept-1", 0.5)], id="ties in another order"),
        pytest.param([("kept-0", 0.9), ("kept-1", 0.5), ("kept-3", 0.5)], id="another of those that tie at the end"),
        pytest.param([("kept-0", 0.8), ("kept-1", 0.4), ("kept-2", 0.4)], id="other scores"),
    ],
)
def test_ties_are_no_other_answer(tmp_path: Path, answer: Answer) -> None:
    told = found(tmp_path, {DETOUR: answer, ORDER: answer})
    assert counts(told["answers_changed_by_detour"]) == counts(told["answers_changed_by_order"]) == (0, 1)


def test_scores_that_differ_in_the_seventh_digit_tie(tmp_path: Path) -> None:
    before: Answer = [("kept-0", 0.9), ("kept-1", 0.9), ("kept-2", 0.5)]
    after: Answer = [("kept-1", 0.9000004), ("kept-0", 0.9), ("kept-2", 0.5)]
    told = found(tmp_path, {**dict.fromkeys(WAYS, before), DETOUR: after})
    assert counts(told["answers_changed_by_detour"]) == (0, 1)


def test_without_scores_the_order_is_what_came(tmp_path: Path) -> None:
    bare: Answer = [(name, None) for name, _ in SOUND or ()]
    other: Answer = [*reversed(bare or ())]
    assert counts(found(tmp_path / "1", {**dict.fromkeys(WAYS, bare), DETOUR: other})["answers_changed_by_detour"])[0]
    lacks = {"ranked": "one file"}
    told = found(tmp_path / "2", {**dict.fromkeys(WAYS, bare), DETOUR: other}, lacks=lacks)
    assert counts(told["answers_changed_by_detour"]) == (0, 1)


def test_what_the_order_of_writing_changes_says_nothing_of_the_detour(tmp_path: Path) -> None:
    other: Answer = [("kept-3", 0.9)]
    told = found(tmp_path, {ORDER: other, DETOUR: other})
    assert told["answers_changed_by_detour"].status == "not-applicable"
    assert counts(told["answers_changed_by_order"]) == (1, 1)


def test_questions_that_bring_nothing_tell_nothing(tmp_path: Path) -> None:
    told = found(tmp_path, {key: [] for key in WAYS}, own=True)
    assert {each.status for each in told.values()} == {"not-applicable"}


def test_a_bystander_that_its_own_text_does_not_bring_is_lost(tmp_path: Path) -> None:
    told = found(tmp_path, {REOPENED: [("kept-1", 0.9)]}, own=True)
    assert counts(told["bystanders_lost_by_detour"]) == (1, 1)
    told = found(tmp_path / "questions", {REOPENED: [("kept-1", 0.9)]})
    assert told["bystanders_lost_by_detour"].status == "not-applicable"


@pytest.mark.parametrize("own", [True, False])
def test_a_question_that_fails_after_the_detour_is_bad_and_alone_measures_nothing(tmp_path: Path, own: bool) -> None:
    told = found(tmp_path, {DETOUR: None}, own=own)
    assert told["answers_changed_by_detour"].status == "failed"
    lost = found(tmp_path / "both", {DETOUR: None, REOPENED: []}, own=True)["bystanders_lost_by_detour"]
    assert counts(lost) == (1, 1) and lost.receipts == ("L5",), "the look that tells, not the one that failed"


def test_hits_of_which_one_has_no_score_are_compared_as_they_came(tmp_path: Path) -> None:
    before: Answer = [("kept-1", None), ("kept-0", None), ("kept-2", 0.5)]
    after: Answer = [("kept-0", None), ("kept-1", None), ("kept-2", 0.5)]
    told = found(tmp_path, dict.fromkeys((DIRECT, ORDER), before) | dict.fromkeys((DETOUR, REOPENED), after))
    assert counts(told["answers_changed_by_detour"]) == (1, 1)
