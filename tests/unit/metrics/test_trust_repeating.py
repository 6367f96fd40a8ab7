"""What the first time does not show, told by hand-made transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from harness.adapter import Hit, Item, Scope, Source, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Op, Transcript
from harness.metrics.trust import fields, repeating, rollback
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, Measured
from tests.support.transcripts import transcript

HOME = Scope("shop", "acme")
FAULT = Fault(kind="raised", op="recall", message="no more")
PLACE = to_wire(HOME)


def piece(name: str, role: str, source: Source | None = None, scope: Scope = HOME, text: str = "") -> Piece:
    item = Item(text or f"Rule of {name} cw{name}", scope, "2026-01-01T09:00:00Z", "project", source)
    return Piece(name, role, item, f"cw{name}")


def stored(*pieces: Piece, step: str = "late") -> Called:
    ids = [{"ids": [f"id-{each.name}"]} for each in pieces]
    return Called(step=step, op="remember", about=tuple(each.name for each in pieces), answer=ids)


def look(step: str, about: Sequence[Piece], *shown: Piece, op: Any = "recall", fails: bool = False) -> Called:
    hits: list[Any] = [
        to_wire(Hit(f"id-{each.name}", each.item.text, source=each.item.source, scope=each.item.scope))
        for each in shown
    ]
    request = {"scope": to_wire(about[0].item.scope), "query": "?"} if op == "recall" else {"scope": PLACE}
    named = tuple(each.name for each in about)
    fault = FAULT if fails else None
    return Called(step=step, op=op, about=named, request=request, answer=None if fails else hits, fault=fault)


def told(folder: Path, pieces: Sequence[Piece], events: Sequence[Event], drill: str = "keeping") -> Transcript:
    return transcript(folder, Plan(pieces=tuple(pieces)), events, drill=drill)


def counted(measure: Measure) -> tuple[float | None, int | None, int | None]:
    assert isinstance(measure, Measured), measure
    return measure.hits, measure.of, measure.unanswered


@pytest.mark.parametrize(("shows", "fails", "counts"), [(True, False, 1), (False, False, 0), (False, True, 0)])
def test_what_was_asked_for_too_early_is_found_then(tmp_path: Path, shows: bool, fails: bool, counts: int) -> None:
    late, other = piece("a", "late"), piece("b", "late")
    events = [look("not yet", [each]) for each in (late, other)]
    events += [stored(late, other), look("late", [late], *([late] if shows else []), fails=fails)]
    events += [look("late", [other], other)]
    found = repeating.found_after_a_miss(told(tmp_path, [late, other], events))
    assert counted(found) == (1 + counts, 2, 1 if fails else None)


def test_what_an_early_question_brought_was_no_miss(tmp_path: Path) -> None:
    late = piece("a", "late")
    found = repeating.found_after_a_miss(told(tmp_path, [late], [look("not yet", [late], fails=True), stored(late)]))
    assert found.status == "not-applicable"


@pytest.mark.parametrize("stale", [True, False])
def test_the_same_question_sees_what_was_deleted(tmp_path: Path, stale: bool) -> None:
    once = piece("a", "once")
    forget = Called(step="once", op="forget", about=("a",), request={"memory_ids": ["id-a"]}, answer=[True])
    events = [stored(once), look("once", [once], once), forget, look("once more", [once], *([once] if stale else []))]
    found = repeating.changed_after_a_hit(told(tmp_path, [once], events))
    assert counted(found) == (int(not stale), 1, None)


@pytest.mark.parametrize(("kept", "good"), [(0, 0), (1, 1)])
def test_the_same_text_comes_back_with_its_new_source(tmp_path: Path, kept: int, good: int) -> None:
    sources = (Source(session="first"), Source(session="then"))
    first = piece("a", "told", sources[0])
    again = replace(first, name="b", role="retold", twin="a", item=replace(first.item, source=sources[1]))
    hit = to_wire(Hit("id-a", first.item.text, source=sources[kept], scope=HOME))
    before = to_wire(Hit("id-a", first.item.text, source=sources[0], scope=HOME))
    where = {"scope": PLACE}
    events = [
        stored(first, step="told"),
        Called(step="told", op="entries", about=("a",), request=where, answer=[before]),
        Called(step="written", op="entries", about=("a",), request=where, answer=[before]),
        Called(step="retold", op="update", about=("b",), request=where, answer={"ids": ["id-a"]}),
        Called(step="retold", op="entries", about=("b",), request=where, answer=[hit]),
    ]
    assert counted(repeating.same_text_updated(told(tmp_path, [first, again], events))) == (good, 1, None)


def test_a_history_tells_every_version_in_both_processes(tmp_path: Path) -> None:
    versions = [piece(f"v{number}", "version") for number in range(3)]
    names = tuple(each.name for each in versions)
    events: list[Event] = [stored(versions[0], step="told")]
    events += [
        Called(step="version", op="update", about=(each.name,), answer={"ids": ["id-v0"]}) for each in versions[1:]
    ]
    for step, texts in (("history", versions), ("history reopened", versions[1:])):
        answer = [each.item.text for each in texts]
        request = {"scope": PLACE, "memory_id": "id-v0"}
        events.append(Called(step=step, op="history", about=names, request=request, answer=answer))
    assert counted(repeating.history_tells_all_versions(told(tmp_path, versions, events))) == (5, 6, None)
    broken = [*events[:-1], events[-1].model_copy(update={"answer": None, "fault": FAULT})]
    again = repeating.history_tells_all_versions(told(tmp_path / "broken", versions, broken))
    assert counted(again) == (3, 6, 3)


@pytest.mark.parametrize("told_too", [False, True])
def test_a_namesake_has_no_history_but_its_own(tmp_path: Path, told_too: bool) -> None:
    changed = [piece("v0", "version"), piece("v1", "version")]
    echo = replace(changed[1], name="echo", role="echo", item=replace(changed[1].item, scope=Scope("apart", "acme")))
    texts = [each.item.text for each in (changed if told_too else [echo])]
    events: list[Event] = [
        stored(changed[0], echo, step="told"),
        Called(step="version", op="update", about=("v1",), answer={"ids": ["id-v0"]}),
        Called(
            step="history",
            op="history",
            about=("echo",),
            request={"scope": to_wire(echo.item.scope), "memory_id": "id-echo"},
            answer=texts,
        ),
    ]
    found = repeating.history_of_equal_text(told(tmp_path, [*changed, echo], events))
    assert counted(found) == (int(told_too), 1, None)
    broken = [*events[:-1], events[-1].model_copy(update={"answer": None, "fault": FAULT})]
    failed = repeating.history_of_equal_text(told(tmp_path / "broken", [*changed, echo], broken))
    assert failed.status == "failed"


def test_a_day_that_misses_a_memory_counts_whatever_the_next_one_shows(tmp_path: Path) -> None:
    one, two = piece("a", "day 0"), piece("b", "day 0")
    days = {"day 0": (one, two), "day 1": (two,), "day 3": (one, two)}
    events: list[Event] = [stored(one, two, step="day 0")]
    for step, shown in days.items():
        events += [look(step, [each], *([each] if each in shown else [])) for each in (one, two)]
    assert counted(repeating.kept_through_days(told(tmp_path, [one, two], events))) == (1, 2, None)


def test_of_a_short_question_only_its_own_memory_is_an_answer(tmp_path: Path) -> None:
    terms = [piece("a", "term"), piece("b", "term")]
    events = [stored(*terms, step="short"), look("short", terms[:1], terms[0]), look("short", terms[1:], terms[0])]
    assert counted(repeating.short_questions_answered(told(tmp_path, terms, events))) == (1, 2, None)


def test_one_question_for_many_counts_each_of_them(tmp_path: Path) -> None:
    lockers = [piece(name, "locker") for name in "abc"]
    events = [stored(*lockers, step="many"), look("many", lockers, *lockers[:2])]
    assert counted(repeating.many_found_at_once(told(tmp_path, lockers, events))) == (2, 3, None)


@pytest.mark.parametrize("fails", [False, True])
def test_one_call_forgets_half_of_a_batch_and_nothing_else(tmp_path: Path, fails: bool) -> None:
    batch = [piece(str(number), "bulk") for number in range(6)]
    names = tuple(each.name for each in batch[::2])
    forget = Called(
        step="forgotten", op="forget", about=names, request={"memory_ids": [f"id-{name}" for name in names]},
        answer=None if fails else [True] * 3, fault=FAULT if fails else None,
    )  # fmt: skip
    left = (batch[0], *batch[1:4:2])
    events = [stored(*batch, step="at once"), look("at once", batch, *batch, op="entries"), forget]
    events.append(look("forgotten", batch, *left, op="entries"))
    found = told(tmp_path, batch, events)
    assert counted(repeating.forgotten_at_once(found)) == (2, 3, None)
    lost = repeating.lost_by_forgetting_at_once(found)
    assert lost.status == "failed" if fails else counted(lost) == (1, 3, None)


def test_a_full_store_loses_what_stood_beside_the_batch(tmp_path: Path) -> None:
    before, bulk = [piece(name, "plain") for name in "abc"], piece("z", "bulk", scope=Scope("archive", "acme"))
    events = [stored(*before, step="written"), look("written", before, *before, op="entries")]
    events += [stored(bulk, step="at once"), look("beside", before, *before[1:], op="entries")]
    assert counted(repeating.kept_beside_a_batch(told(tmp_path, [*before, bulk], events))) == (2, 3, None)
    silent = [*events[:-1], look("beside", before, op="entries", fails=True)]
    assert repeating.kept_beside_a_batch(told(tmp_path / "silent", [*before, bulk], silent)).status == "failed"


@pytest.mark.parametrize(("second", "good"), [("right", 2), ("wrong", 1), ("failed", 1)])
def test_each_of_several_marks_is_restored_for_itself(tmp_path: Path, second: str, good: int) -> None:
    pieces = [piece("a", "first marked"), piece("b", "second marked")]
    events: list[Event] = []
    for number in (1, 2):
        shown = pieces[:number]
        events.append(look(f"mark {number}", pieces, *shown, op="entries"))
        events.append(Called(step=f"mark {number}", op="snapshot", answer=str(number)))
    for number in (2, 1):
        fails = number == 2 and second == "failed"
        shown = pieces[:1] if number == 2 and second == "wrong" else pieces[:number]
        events.append(Called(step=f"restored {number}", op="restore", fault=FAULT if fails else None))
        events.append(look(f"restored {number}", pieces, *shown, op="entries"))
    view = rollback.RollbackView.of(told(tmp_path, pieces, events, "rollback"))
    found = rollback.marks_restored(view)
    assert counted(found) == (good, 2, 1 if second == "failed" else None)


@pytest.mark.parametrize(("again", "good"), [(["one", "two", "three"], 2), (["two"], 1), (None, 1)])
def test_a_restored_history_tells_each_text_again(tmp_path: Path, again: list[str] | None, good: int) -> None:
    """It may tell what came later, too."""
    one, events = piece("a", "first marked"), list[Event]()
    request = {"memory_id": "id-a"}
    for number in (1, 2):
        shown = look(f"mark {number}", [one], one, op="entries")
        history = Called(step=f"mark {number}", op="history", about=("a",), request=request, answer=["one", "two"])
        events += [shown, history, Called(step=f"mark {number}", op="snapshot", answer=str(number))]
    for number, texts in ((2, again), (1, ["one", "two"])):
        step, fault = f"restored {number}", None if texts else FAULT
        events += [Called(step=step, op="restore"), look(step, [one], one, op="entries")]
        events.append(Called(step=step, op="history", about=("a",), request=request, answer=texts, fault=fault))
    found = rollback.marks_restored(rollback.RollbackView.of(told(tmp_path, [one], events, "rollback")))
    assert counted(found) == (good, 2, None if again else 1)
    assert found.receipts == (() if good == 2 else ("L10",))


@pytest.mark.parametrize("op", ["history", "get"])
def test_a_mark_at_which_a_read_failed_leaves_nothing_to_compare_with(tmp_path: Path, op: Op) -> None:
    one = piece("a", "first marked")
    there = look("mark 1", [one], one, op="entries")
    answer = ["one"] if op == "history" else cast(list[Any], there.answer)[0]
    read = Called(step="mark 1", op=op, about=("a",), request={"memory_id": "id-a"}, answer=answer)
    events: list[Event] = [
        there,
        read.model_copy(update={"answer": None, "fault": FAULT}),
        Called(step="mark 1", op="snapshot", answer="1"),
        Called(step="restored 1", op="restore"),
        there.model_copy(update={"step": "restored 1"}),
        read.model_copy(update={"step": "restored 1"}),
    ]
    found = rollback.marks_restored(rollback.RollbackView.of(told(tmp_path, [one], events, "rollback")))
    assert found.status == "failed" and found.receipts


def test_a_deletion_leaves_sources_where_they_were(tmp_path: Path) -> None:
    """What does not come back is counted as lost; what had no source or another one before says nothing."""
    batch = [piece(str(number), "bulk", Source(path="boxes.md", line=number)) for number in range(1, 6)]
    bare, (_, moved, gone, known, wrong) = piece("0", "bulk"), batch
    other = Source(path="boxes.md", line=1)
    first = [each if each != wrong else replace(each, item=replace(each.item, source=other)) for each in (bare, *batch)]
    then = [bare, replace(moved, item=replace(moved.item, source=other)), known, wrong]
    events = [stored(bare, *batch, step="at once"), look("at once", [bare, *batch], *first, op="entries")]
    events.append(look("forgotten", [bare, *batch], *then, op="entries"))
    found = fields.source_survives_deletion(told(tmp_path, [bare, *batch], events))
    assert counted(found) == (1, 2, None) and gone.name == "3"
