"""Rollback, from transcripts made by hand: what a restore and an undo leave, take and bring back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from harness.adapter import Hit, to_wire
from harness.log.events import Event
from harness.log.transcript import Called
from harness.metrics.trust.rollback import METRICS, RESTORED
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, Measured, NotMeasured
from harness.play.drills.rollback import SCOPE, plan
from tests.support.drill_player import measured
from tests.support.measures import counts, value
from tests.support.transcripts import transcript

PLAN: Plan = plan(8, 1)
"""One task: five kept, one of which has ended, one changed; one erased, one other."""
KEPT, CHANGED, CHANGE, POISON, GOOD, ERASED = (
    [piece.name for piece in PLAN.of(role)] for role in ("kept", "changed", "change", "poison", "good", "erased")
)
QUERY = PLAN.of("changed")[0].query
MARK = [*KEPT, *CHANGED, *ERASED]
EXPECTED = [*KEPT, *CHANGED]
UNDONE = [*KEPT, *CHANGE, *GOOD]
INCIDENT = [*UNDONE, *POISON]
State = Sequence[str] | None
SOUND: Mapping[str, State] = {
    "mark": MARK,
    "incident": INCIDENT,
    "undone": UNDONE,
    "relapse": INCIDENT,
    **dict.fromkeys(RESTORED, EXPECTED),
}
"""What is there at each look; None: the look fails."""
TOP = {
    "mark": [*CHANGED, *KEPT[:4]],
    "undone": [*CHANGE, *KEPT[:4]],
    **{step: [*CHANGED, *KEPT[:4]] for step in RESTORED},
}
HIT = Fault(kind="crashed", op="recall", message="gone")


def hits(names: Iterable[str]) -> list[object]:
    return [to_wire(Hit(f"id of {name}", PLAN.by_name[name].item.text, scope=SCOPE)) for name in names]


def looks(step: str, state: State, top: Sequence[str] | None = None) -> list[Event]:
    """A listing, the question, and the erased by its own words."""
    if top is None:
        top = [*POISON, *CHANGE, *KEPT[:1]] if step in ("incident", "relapse") else TOP.get(step, ())
    erased = PLAN.by_name[ERASED[0]]
    about = (*CHANGED, *POISON)
    asked = {"scope": to_wire(SCOPE)}
    fault = HIT if state is None else None
    there = [name for name in ERASED if state and name in state]
    return [
        Called(step=step, op="entries", about=tuple(PLAN.by_name), request=asked, answer=_or(hits(state or ()), fault),
               fault=fault),
        Called(step=step, op="recall", about=about, request={**asked, "query": QUERY}, answer=_or(hits(top), fault),
               fault=fault),
        Called(step=step, op="recall", about=(erased.name,), request={**asked, "query": erased.item.text},
               answer=_or(hits([*there, *KEPT[:1]]), fault), fault=fault),
    ]  # fmt: skip


def _or(answer: list[object], fault: Fault | None) -> list[object] | None:
    return None if fault else answer


def found(
    folder: Path,
    changes: Mapping[str, State] | None = None,
    tops: Mapping[str, Sequence[str]] | None = None,
    lacks: Sequence[str] = (),
    snapshot: Fault | None = None,
) -> dict[str, Measure]:
    """What the measures say of the sound story with other states, or other answers to the question."""
    states = {**SOUND, **(changes or {})}
    events = [event for step, state in states.items() for event in looks(step, state, (tops or {}).get(step))]
    events.insert(3, Called(step="mark", op="snapshot", answer=None if snapshot else "m1", fault=snapshot))
    told = transcript(folder, PLAN, events, drill="rollback", lacks=dict.fromkeys(lacks, "not made for it"))
    return measured(METRICS, told)


def test_a_sound_backend(tmp_path: Path) -> None:
    measures = found(tmp_path)
    assert measures.pop("other_scopes_restored").status == "not-applicable", "no other scope was looked at"
    assert measures.pop("marks_restored").status == "not-applicable", "there is one mark"
    assert {name: counts(each) for name, each in measures.items()} == {
        "restored_exactly": (3, 3),
        "restored_probes": (3, 3),
        "left_after_restore": (0, 3),
        "resurrected_by_restore": (0, 1),
        "lost_by_restore": (0, 7),
        "good_lost_by_restore": (1, 1),
        "left_after_undo": (0, 3),
        "good_lost_by_undo": (0, 1),
        "kept_lost_by_undo": (0, 7),
    }


def test_a_restore_that_does_nothing_scores_low(tmp_path: Path) -> None:
    same = dict.fromkeys(RESTORED, INCIDENT)
    measures = found(tmp_path, same, {step: [*POISON, *CHANGE, *KEPT[:1]] for step in RESTORED})
    assert counts(measures["restored_exactly"]) == (0, 3)
    assert len(measures["restored_exactly"].receipts) == 3
    assert value(measures["restored_probes"]) == pytest.approx(1 / 9)
    assert counts(measures["left_after_restore"]) == (3, 3)
    assert counts(measures["lost_by_restore"]) == (1, 7), "what was updated is not as it was"
    assert counts(measures["good_lost_by_restore"]) == (0, 1)


WRONG: list[tuple[str, str, State, tuple[float, int]]] = [
    ("left_after_restore", "restored", [*EXPECTED, POISON[0]], (1, 3)),
    ("left_after_restore", "again", [*EXPECTED, *POISON], (3, 3)),
    ("resurrected_by_restore", "restored", MARK, (1, 1)),
    ("resurrected_by_restore", "reopened", MARK, (1, 1)),
    ("lost_by_restore", "reopened", EXPECTED[1:], (1, 7)),
    ("restored_exactly", "again", None, (2, 3)),
    ("restored_exactly", "restored", [*EXPECTED, *EXPECTED[:1]], (2, 3)),
    ("restored_probes", "again", None, (2, 3)),
    ("left_after_undo", "undone", INCIDENT, (3, 3)),
    ("good_lost_by_undo", "undone", [*KEPT, *CHANGE], (1, 1)),
    ("kept_lost_by_undo", "undone", [*KEPT, *GOOD], (1, 7)),
]


@pytest.mark.parametrize(("name", "step", "state", "expected"), WRONG)
def test_one_look_that_goes_wrong_is_enough(
    tmp_path: Path, name: str, step: str, state: State, expected: tuple[float, int]
) -> None:
    measure = found(tmp_path, {step: state})[name]
    assert counts(measure) == expected and measure.receipts


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("lost_by_restore", "again"),
        ("left_after_restore", "again"),
        ("resurrected_by_restore", "again"),
        ("kept_lost_by_undo", "undone"),
    ],
)
def test_a_look_that_failed_says_neither_that_it_is_there_nor_that_it_is_not(
    tmp_path: Path, name: str, step: str
) -> None:
    measure = found(tmp_path, {step: None})[name]
    assert measure.status == "failed" and measure.receipts


def test_good_memories_are_looked_for_right_after_the_restore_alone(tmp_path: Path) -> None:
    """What is gone by the next opening was lost by something else."""
    measure = found(tmp_path, {"restored": [*EXPECTED, *GOOD]})["good_lost_by_restore"]
    assert counts(measure) == (0, 1)


def test_a_question_that_was_not_asked_again_brings_nothing_and_has_no_receipt(tmp_path: Path) -> None:
    events = [event for step, state in SOUND.items() for event in looks(step, state)]
    events.insert(0, Called(step="mark", op="snapshot", answer="m1"))
    asked = [event for event in events if not (isinstance(event, Called) and _is_question(event, "again"))]
    measure = measured(METRICS, transcript(tmp_path, PLAN, asked, drill="rollback"))["restored_probes"]
    assert counts(measure) == (2, 3) and measure.receipts == ()


def _is_question(call: Called, step: str) -> bool:
    return (call.step, call.op, call.request.get("query")) == (step, "recall", QUERY)


def test_a_text_that_comes_back_marked_as_superseded_came_back(tmp_path: Path) -> None:
    events: list[Event] = [Called(step="mark", op="snapshot", answer="m1")]
    for step, state in SOUND.items():
        for each in looks(step, state):
            assert isinstance(each, Called)
            if step in RESTORED and _is_question(each, step):
                answer = [{**hit, "superseded": True} for hit in cast(list[dict[str, JsonValue]], each.answer)]
                events.append(each.model_copy(update={"answer": answer}))
            else:
                events.append(each)
    measure = measured(METRICS, transcript(tmp_path, PLAN, events, drill="rollback"))["restored_probes"]
    assert counts(measure) == (3, 3)


def test_poison_that_only_a_search_still_shows_is_left(tmp_path: Path) -> None:
    measure = found(tmp_path, tops={"reopened": [POISON[1], *KEPT[:4]]})
    assert counts(measure["left_after_restore"]) == (1, 3)
    assert counts(measure["restored_exactly"]) == (3, 3)
    assert value(measure["restored_probes"]) < 1


UNCONTROLLED: list[tuple[str, dict[str, State]]] = [
    ("left_after_restore", {"relapse": UNDONE}),
    ("resurrected_by_restore", {"relapse": [*INCIDENT, *ERASED]}),
    ("resurrected_by_restore", {"mark": EXPECTED}),
    ("good_lost_by_restore", {"relapse": [*KEPT, *CHANGE, *POISON]}),
    ("left_after_undo", {"incident": UNDONE}),
    ("good_lost_by_undo", {"incident": [*KEPT, *CHANGE, *POISON]}),
    ("restored_exactly", {"relapse": EXPECTED}),
]


@pytest.mark.parametrize(("name", "changes"), UNCONTROLLED)
def test_nothing_counts_that_was_not_seen_before(tmp_path: Path, name: str, changes: dict[str, State]) -> None:
    calm = dict.fromkeys(("incident", "relapse"), KEPT[:1])
    assert found(tmp_path, changes, calm)[name].status == "not-applicable"


@pytest.mark.parametrize("tops", [{"relapse": TOP["mark"]}, {"mark": [*CHANGED, *ERASED]}])
def test_a_question_counts_if_the_incident_changed_its_answer_and_nothing_erased_was_in_it(
    tmp_path: Path, tops: Mapping[str, Sequence[str]]
) -> None:
    assert found(tmp_path, tops=tops)["restored_probes"].status == "not-applicable"


def test_without_marks_only_the_undo_is_measured(tmp_path: Path) -> None:
    for name, measure in found(tmp_path, lacks=["restore"]).items():
        assert measure.status == ("measured" if name.endswith("_undo") else "unsupported"), name


def test_without_a_listing_searches_tell(tmp_path: Path) -> None:
    """One search for each memory, as no listing is there."""

    def searched(step: str, state: Sequence[str]) -> list[Event]:
        return [_search(step, piece, piece.name in state) for piece in PLAN.pieces]

    events = [event for step, state in SOUND.items() for event in searched(step, state or ())]
    events.insert(0, Called(step="mark", op="snapshot", answer="m1"))
    told = transcript(tmp_path, PLAN, events, drill="rollback", lacks={"entries": "no listing"})
    measures = measured(METRICS, told)
    assert measures["restored_exactly"].status == "unsupported"
    assert counts(measures["lost_by_restore"]) == (0, 7) and counts(measures["left_after_restore"]) == (0, 3)


def _search(step: str, piece: Piece, there: bool) -> Called:
    request = {"scope": to_wire(SCOPE), "query": piece.item.text}
    answer = hits([piece.name] if there else [])
    return Called(step=step, op="recall", about=(piece.name,), request=request, answer=answer)


def test_a_mark_that_could_not_be_made_has_failed(tmp_path: Path) -> None:
    measures = found(tmp_path, snapshot=Fault(kind="crashed", op="snapshot", message="disk\nfull"))
    reasons = {each.reason for each in measures.values() if not isinstance(each, Measured)}
    assert reasons == {"L5: snapshot: disk full"}
    assert {each.status for name, each in measures.items() if not name.endswith("_undo")} == {"failed"}
    assert {each.status for name, each in measures.items() if name.endswith("_undo")} == {"measured"}


def test_where_no_mark_was_made_there_is_nothing_to_restore(tmp_path: Path) -> None:
    events = [event for step, state in SOUND.items() for event in looks(step, state)]
    measures = measured(METRICS, transcript(tmp_path, PLAN, events, drill="rollback"))
    for name, measure in measures.items():
        if not name.endswith("_undo"):
            assert (measure.status, getattr(measure, "reason", "")) == ("failed", "no mark was made"), name


def test_an_undo_that_failed_is_no_undo(tmp_path: Path) -> None:
    """Its words are cut to one line."""
    events = [event for step, state in SOUND.items() for event in looks(step, state)]
    crash = Fault(kind="crashed", op="forget", message="the disk\nis full " + "x" * 400)
    events.insert(0, Called(step="undone", op="forget", about=tuple(POISON), fault=crash))
    measures = measured(METRICS, transcript(tmp_path, PLAN, events, drill="rollback"))
    for name in ("left_after_undo", "good_lost_by_undo", "kept_lost_by_undo"):
        measure = measures[name]
        assert isinstance(measure, NotMeasured) and (measure.status, measure.receipts) == ("failed", ("L2",))
        assert measure.reason.startswith("L2: forget: the disk is full x") and len(measure.reason) == 300


@pytest.mark.parametrize("again", [True, False])
def test_what_a_store_lists_of_its_own_belongs_to_the_mark_and_what_it_lists_with_an_erased_one_does_not(
    tmp_path: Path, again: bool
) -> None:
    """An index page that it wrote itself; and a note into which it put an erased memory and one that was kept."""
    page = to_wire(Hit("page", "Contents: 7 rules, 1 secret"))
    note = to_wire(Hit("note", " / ".join(PLAN.by_name[name].item.text for name in (KEPT[0], ERASED[0]))))
    more = {"mark": [page, note], **dict.fromkeys(RESTORED, [page] if again else [note])}
    events: list[Event] = [Called(step="mark", op="snapshot", answer="m1")]
    for step, state in SOUND.items():
        listing, *questions = looks(step, state)
        assert isinstance(listing, Called)
        answer = [*hits(state or ()), *more.get(step, [])]
        events += [listing.model_copy(update={"answer": answer}), *questions]
    measure = measured(METRICS, transcript(tmp_path, PLAN, events, drill="rollback"))["restored_exactly"]
    assert counts(measure) == (3 * again, 3)


def test_a_listing_that_failed_at_the_mark_leaves_nothing_to_compare_with(tmp_path: Path) -> None:
    assert found(tmp_path, {"mark": None})["restored_exactly"].status == "failed"


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (["abroad1"], (3, 3)),
        (["abroad1", "abroad later1"], (2, 3)),
        (["abroad1", "abroad erased1"], (2, 3)),
        ([], (2, 3)),
    ],
)
def test_a_restore_is_of_every_scope(tmp_path: Path, left: Sequence[str], expected: tuple[float, int]) -> None:
    measure = around(tmp_path, {"again": left})
    assert counts(measure) == expected and len(measure.receipts) == 3 - expected[0]


def test_a_look_that_failed_before_the_restore_shows_no_change(tmp_path: Path) -> None:
    measures = found(tmp_path, {"relapse": None})
    measures["other_scopes_restored"] = around(tmp_path / "around", {"relapse": None})
    for name in ("restored_exactly", "restored_probes", "other_scopes_restored"):
        assert measures[name].status == "not-applicable", name


def test_a_scope_that_the_incident_left_alone_counts_not(tmp_path: Path) -> None:
    assert around(tmp_path, {"relapse": ABROAD[:1]}).status == "not-applicable"


ABROAD = ["abroad1", "abroad erased1", "abroad later1"]


def around(folder: Path, changes: Mapping[str, State]) -> Measure:
    """Of another scope, in which the incident deletes a memory and writes one. None: the look at it fails."""
    there: dict[str, State] = {"mark": ABROAD[:2], "relapse": ABROAD[::2], **dict.fromkeys(RESTORED, ABROAD[:1])}
    there |= changes
    asked = {"scope": to_wire(PLAN.by_name[ABROAD[0]].item.scope)}
    events: list[Event] = [Called(step="mark", op="snapshot", answer="m1")]
    for step in SOUND:
        state = there.get(step, ())
        fault, answer = (HIT, None) if state is None else (None, hits(state))
        events += looks(step, SOUND[step])
        events += [Called(step=step, op="entries", about=tuple(ABROAD), request=asked, answer=answer, fault=fault)]
    folder.mkdir(exist_ok=True)
    return measured(METRICS, transcript(folder, PLAN, events, drill="rollback"))["other_scopes_restored"]
