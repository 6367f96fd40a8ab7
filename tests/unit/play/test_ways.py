"""Ways of writing, each played with fakes that write down every call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import paths
from harness.adapter import Ack, Item
from harness.backend.client import MemoryFault
from harness.log.events import Recalled, Retired, Withheld, Wrote
from harness.log.parts import Written
from harness.log.reader import Log
from harness.metrics.dropped import find_drops, true_memories_dropped
from harness.metrics.faults import of_trial
from harness.metrics.view import Record, View
from harness.model.backend import Fault
from harness.model.scenario import Session
from harness.model.trial import NEEDS, Measured, NotMeasured, WritePolicy
from harness.play.session import MemorySession
from harness.play.writing import matched
from harness.play.writing.expire import LIFETIMES
from harness.play.writing.on_commit import find_change
from harness.play.writing.reviewed import SURE, Reviewed
from tasks import loader
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.story_player import Stage
from tests.unit.conftest import House

LATER = """
[[sessions]]
id = "autumn"
at = 2024-09-30T12:00:00Z
by = "ben"
commit = "0003"

[[sessions.steps]]
do = "probe"
id = "still"
ask = {plain = "Whose word does an order need?"}
gold = ["approver"]
"""


@pytest.fixture(scope="module")
def small(lasting: House) -> Stage:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story + LATER)], lasting.fixtures, lasting.cache)
    return Stage.of(scenario, repo)


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A real story with hunches of low confidence."""
    found = loader.find(paths.TASKS, ("experiment/median-hunch",))
    ((scenario, repo),) = loader.load(found, paths.FIXTURES, tmp_path_factory.mktemp("cache"))
    return Stage.of(scenario, repo)


def play(stage: Stage, folder: Path, write: WritePolicy, clock: str = "wall", **more: object) -> tuple[Log, FakeHost]:
    where = FakeHost(folder / "store", **more)  # type: ignore[arg-type]
    return stage.play(folder, where, write_policy=write, clock=clock), where


def measure(log: Log) -> Measured | NotMeasured:
    return true_memories_dropped(View(Record(log), "trusting"))


@pytest.mark.parametrize("write", get_args(WritePolicy))
def test_a_backend_that_lacks_what_a_way_needs_is_not_played_as_another_way(
    small: Stage, tmp_path: Path, write: WritePolicy
) -> None:
    for at, needed in enumerate(NEEDS[write]):
        log, where = play(small, tmp_path / str(at), write, lacks=[needed])
        assert log.closed is not None and log.closed.status == "unsupported" and not where.calls
        assert log.closed.fault is not None and log.closed.fault.op == needed
    log, _ = play(small, tmp_path / "all", write)
    assert log.closed is not None and log.closed.status == "complete"


def test_an_appending_agent_only_adds(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "append")
    assert not (where.asked("supersede") or where.asked("forget"))
    assert not log.list_events(Retired) and not log.list_events(Withheld)
    assert isinstance(measure(log), NotMeasured)


# --- deprecate -------------------------------------------------------------------------------------------------------


def test_what_is_contradicted_is_marked_as_ended_after_the_new_memory_is_written_and_stays(
    small: Stage, tmp_path: Path
) -> None:
    log, where = play(small, tmp_path, "deprecate")
    (retired,) = log.list_events(Retired)
    assert (retired.op, retired.rule, retired.names) == ("deprecate", "replaced", ("fact:old-platform",))
    session = next(each for each in small.scenario.sessions if each.id == retired.session)
    assert where.asked("deprecate") == [(small.scenario.scope, retired.ids, session.at.isoformat())]
    assert set(retired.ids) <= where.items.keys(), "it stays in the store"
    wrote = [event for event in log.list_events(Wrote) for each in log.items(event) if each.name == "fact:new-platform"]
    assert [event.op for event in wrote] == ["remember"] and not where.asked("supersede")
    events = list(log.events)
    assert events.index(wrote[0]) < events.index(retired)


def test_a_question_about_the_past_is_asked_as_of_the_last_session_in_which_its_answer_held(
    unsure: Stage, tmp_path: Path
) -> None:
    log, where = play(unsure, tmp_path, "deprecate")
    asked = [each for each in log.list_events(Recalled) if each.day is not None]
    history = {probe.id for _, probe in unsure.scenario.probes() if probe.history}
    assert asked and {each.ref for each in asked} == history
    for each in asked:
        assert each.day is not None and each.day < each.at
        (probe,) = (probe for _, probe in unsure.scenario.probes() if probe.id == each.ref)
        assert all(unsure.scenario.find_standing(name, each.day, each.scope) == "current" for name in probe.gold)
    assert {args[3] for args in where.asked("recall")} >= {each.day.isoformat() for each in asked if each.day}


class FakeRefusing(FakeMemory):
    """Takes nothing about the new platform."""

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        if any("kestrelway" in item.text for item in items):
            raise MemoryFault(Fault(kind="raised", op="remember", message="a fake fault"), alive=True)
        return super().remember(items)


def test_what_could_not_be_written_ends_nothing(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "deprecate", memory=FakeRefusing)
    assert [each.op for each in of_trial(log)] == ["remember"]
    assert not log.list_events(Retired) and not where.ended


def test_a_mark_that_fails_is_told_with_its_fault_and_loses_nothing(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "deprecate", faults={"deprecate": [("raised", True)]})
    (retired,) = log.list_events(Retired)
    assert retired.fault is not None and retired.said is None and not where.ended
    assert [(each.op, each.kind) for each in of_trial(log)] == [("deprecate", "raised")]


def test_a_hook_that_marks_deletes_nothing(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "deprecate-on-commit")
    assert not where.asked("forget")
    retired = log.list_events(Retired)
    assert {each.op for each in retired} == {"deprecate"} and {each.rule for each in retired} >= {"gone"}
    assert {name for each in retired for name in each.ids} <= where.items.keys()


# --- on-commit -------------------------------------------------------------------------------------------------------


def test_a_hook_rewrites_what_the_line_says_now_and_deletes_what_it_no_longer_says(
    small: Stage, tmp_path: Path
) -> None:
    log, where = play(small, tmp_path, "on-commit")
    ((_, replaced, item),) = where.asked("supersede")
    assert isinstance(item, Item) and replaced == ("m1",)
    assert item.text == "We deploy to kestrelway."
    assert item.source is not None and item.source.commit == small.scenario.sessions[1].commit
    (retired,) = log.list_events(Retired)
    assert retired.rule == "gone" and set(retired.names) == {"fact:new-platform", "rewritten:tuesday:1"}
    assert [each.text for each in where.items.values()] == ["The release-council signs every order."]


def test_what_cites_no_line_is_never_touched_by_a_hook(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "on-commit")
    touched = {name for event in log.list_events(Retired) for name in event.names}
    assert "fact:approver" not in touched and any("council" in each.text for each in where.items.values())


def test_a_hook_that_fails_keeps_the_old_memory_and_tries_again(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "on-commit", faults={"supersede": [("raised", True)]})
    failed, *_ = [event for event in log.list_events(Wrote) if event.op == "supersede"]
    assert failed.ids is None and failed.fault is not None
    (retired,) = log.list_events(Retired)
    assert "fact:old-platform" in retired.names, "at the next commit its line is gone"
    assert "m1" in retired.ids and "m1" not in where.items


def test_what_a_hook_could_not_delete_is_deleted_in_the_next_session(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "on-commit", faults={"forget": [("raised", True)]})
    failed, again = log.list_events(Retired)
    assert failed.said is None and failed.fault is not None
    assert again.ids == failed.ids and again.said and set(again.ids).isdisjoint(where.items), "at the same commit"
    assert [(each.op, each.kind, each.count) for each in of_trial(log)] == [("forget", "raised", 1)]


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("platform: harborline", "platform: kestrelway", ("harborline", "kestrelway")),
        ("run: deploy --to harborline -v", "run: deploy --to kestrel way -v", ("harborline", "kestrel way")),
        ("port = 8123", "port = 9123  # moved", None),
        ("port = 8123", "port = 8123", None),
        ("a = 1, b = 2", "a = 2, b = 3", None),
        ("timeout 30", "timeout", None),
    ],
)
def test_a_change_of_one_stretch_is_mechanical(old: str, new: str, change: tuple[str, str] | None) -> None:
    assert find_change(old, new) == change


@given(st.lists(st.from_regex(r"[a-z]{2,6}", fullmatch=True), min_size=2, max_size=6, unique=True), st.data())
def test_one_changed_word_is_found(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    new = [*words[:at], "7.1", *words[at + 1 :]]
    assert find_change(" ".join(words), " ".join(new)) == (words[at], "7.1")


# --- expire ----------------------------------------------------------------------------------------------------------


def test_what_has_outlived_its_kind_is_deleted_and_counted_if_it_was_still_true(small: Stage, tmp_path: Path) -> None:
    log, where = play(small, tmp_path, "expire", lacks=["expiry"])
    retired = log.list_events(Retired)
    told = {fact.id: fact for fact in small.scenario.facts}
    for event in retired:
        at = next(each.at for each in small.scenario.sessions if each.id == event.session)
        for name in event.names:
            fact = told[name.removeprefix("fact:")]
            lifetime = LIFETIMES[fact.type]
            assert lifetime is not None and told_at(small, fact.id) + lifetime <= at
    assert {name for event in retired for name in event.names} == {
        "fact:old-platform", "fact:new-platform", "fact:approver",
    } and not where.items  # fmt: skip
    found = measure(log)
    assert isinstance(found, Measured) and (found.hits, found.of) == (2, 3), "the old platform held no longer"


def test_a_backend_with_a_lifetime_is_told_when_it_is_over(small: Stage, tmp_path: Path) -> None:
    (deleted, without), (log, where) = (
        play(small, tmp_path / each, "expire", lacks=[each]) for each in ("expiry", "verdict")
    )
    retired = log.list_events(Retired)
    assert [(each.session, each.names) for each in retired] == [
        (each.session, each.names) for each in deleted.list_events(Retired)
    ]
    assert {each.op for each in retired} == {"expire"} and not where.asked("forget") and not without.asked("update")
    for _, name, item in where.asked("update"):
        assert isinstance(item, Item) and item.expires is not None
        event = next(each for each in retired if name in each.ids)
        at = next(each.at for each in small.scenario.sessions if each.id == event.session)
        assert datetime.fromisoformat(item.expires) <= at, "what is told is over"
    assert measure(log) == measure(deleted)


def test_a_backend_with_the_clock_of_the_story_is_told_its_ends_at_the_write(small: Stage, tmp_path: Path) -> None:
    (by_wall, _), (log, where) = (play(small, tmp_path / each, "expire", clock=each) for each in ("wall", "story"))
    retired = log.list_events(Retired)
    assert [(each.session, each.names) for each in retired] == [
        (each.session, each.names) for each in by_wall.list_events(Retired)
    ]
    assert {(each.op, each.took, each.fault) for each in retired} == {("lapse", 0.0, None)}
    assert not where.asked("update") and not where.asked("forget")
    for event in log.list_events(Wrote):
        for each in log.items(event):
            lifetime, at = LIFETIMES[each.item.kind], datetime.fromisoformat(each.item.at)
            assert each.item.expires == (None if lifetime is None else (at + lifetime).isoformat())
    assert measure(log) == measure(by_wall) and not {call.op for call in of_trial(log)}
    lacking, asked = play(small, tmp_path / "lacking", "expire", lacks=["expiry"], clock="story")
    assert {each.op for each in lacking.list_events(Retired)} == {"forget"} and asked.asked("forget")
    assert all(each.item.expires is None for event in lacking.list_events(Wrote) for each in lacking.items(event))


def test_an_update_that_fails_is_told_as_one(small: Stage, tmp_path: Path) -> None:
    log, _ = play(small, tmp_path, "expire", faults={"update": [("raised", True)]})
    assert [(each.op, each.kind) for each in of_trial(log)] == [("update", "raised")]


def told_at(stage: Stage, fact: str) -> datetime:
    return next(session.at for session, step in stage.scenario.steps() if step.do == "learn" and fact in step.facts)


# --- reviewed --------------------------------------------------------------------------------------------------------


def test_what_is_unsure_waits_until_it_is_confirmed(unsure: Stage, tmp_path: Path) -> None:
    log, _ = play(unsure, tmp_path, "reviewed")
    withheld = [each for event in log.list_events(Withheld) for each in event.items]
    assert withheld and all(each.item.confidence is not None and each.item.confidence < SURE for each in withheld)
    at_once = [
        each.name for event in log.list_events(Wrote) for each in log.items(event)
        if each.item.confidence is not None and each.item.confidence < SURE
    ]  # fmt: skip
    assert set(at_once) < {each.name for each in withheld}, "some are confirmed, and some never"


def test_a_session_does_not_confirm_itself_by_what_it_tells_later(small: Stage, tmp_path: Path) -> None:
    (fact,) = (each for each in small.scenario.facts if each.id == "approver")
    hunch = Written(
        "hunch", Item(fact.plain.text, small.scenario.scope, "2024-01-02T12:00:00+00:00", "project", confidence=0.1)
    )
    told = replace(hunch, name="told", item=replace(hunch.item, confidence=0.9))
    monday, tuesday, *_ = small.scenario.sessions
    way = Reviewed(cast(MemorySession, SimpleNamespace(tools=SimpleNamespace(classifier=small.story.classifier))))
    assert take(way, monday, [hunch]) == [] and take(way, monday, [told]) == [told]
    assert take(way, tuesday, [told]) == [hunch, told]


def take(way: Reviewed, session: Session, written: Sequence[Written]) -> list[Written]:
    steps = way.take(session, written)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


# --- matched ---------------------------------------------------------------------------------------------------------


def test_who_compares_words_replaces_what_is_worded_alike(unsure: Stage, tmp_path: Path) -> None:
    log, _ = play(unsure, tmp_path, "matched")
    held: dict[str, str] = {}
    pairs = []
    for event in log.list_events(Wrote):
        for each, ids in zip(log.items(event), event.ids or (), strict=False):
            pairs += [(held[old], each.item.text) for old in event.replaces]
            held |= dict.fromkeys(ids, each.item.text)
    assert pairs
    for old, new in pairs:
        assert matched.compare(matched.list_words(old), matched.list_words(new)) >= matched.ALIKE


@pytest.mark.slow
def test_every_way_says_what_true_memories_it_dropped(unsure: Stage, tmp_path: Path) -> None:
    for write in get_args(WritePolicy):
        log, _ = play(unsure, tmp_path / write, write)
        drops = find_drops(Record(log))
        found = measure(log)
        if isinstance(found, Measured):
            assert found.of == len(drops) and found.hits == sum(true for _, true in drops)
        if write == "curated":
            assert not any(true for _, true in drops), "who understands every memory replaces only what ended"
