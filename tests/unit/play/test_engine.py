"""What a trial does, in which order, and what it never tells: played with fakes that write down every call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Ack, Hit, Item, Scope, to_wire
from harness.backend.client import MemoryFault
from harness.gateway import tokens
from harness.log.events import Forgot, Listed, Metered, Recalled, Scanned, Settled, Sought, Worked, Wrote
from harness.model.backend import Fault
from harness.model.canary import memory_word, query, query_word
from harness.model.job import Job
from harness.model.scenario import Forget, Learn, Probe, Remember
from harness.model.trial import READ_POLICIES
from harness.play import engine
from harness.play import entries as play_entries
from harness.play.environment import Control
from tests.support.engine_stories import host, load_real, load_small
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.logs import canonical
from tests.support.story_player import Stage, kinds
from tests.unit.conftest import House


@pytest.fixture(scope="module")
def small(lasting: House) -> Stage:
    return load_small(lasting)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Stage]:
    return load_real(tmp_path_factory.mktemp("cache"))


# --- the order of things ---------------------------------------------------------------------------------------------


def test_the_events_of_a_small_story(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, host(tmp_path))
    assert log.closed is not None and log.closed.status == "complete"
    look, scan = ["sought"] * 5 + ["listed"], ["scanned"] * 2
    assert kinds(log.events) == [
        "opened",
        "began", "wrote", "wrote",
        "began", "wrote", "wrote", "settled", "recalled", "resolved",
        "began", "recalled", "resolved", *["worked"] * len(READ_POLICIES),
        "began", "wrote", "settled", *look, *scan, "forgot", "settled", *look, "recalled",
        *scan, *look, "metered", "closed",
    ]  # fmt: skip
    assert [event.read_policy for event in log.list_events(Worked)] == list(READ_POLICIES)
    assert log.closed.stored == (tmp_path / "store" / "items.json").stat().st_size


def test_what_an_extracting_backend_is_left_with_is_listed_before_the_last_looks(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path, extracts=True)
    log = small.play(tmp_path, where)
    plain = kinds(small.play(tmp_path / "plain", host(tmp_path / "plain")).events)
    ends = [(at, event) for at, event in enumerate(log.events) if isinstance(event, Listed) and event.stage == "end"]
    homes = {small.scenario.home(fact) for fact in small.scenario.facts}
    assert {event.scope for _, event in ends} == homes and len(ends) == len(homes)
    (first, *_) = (at for at, _ in ends)
    more = {*dict(ends), *(at for at, event in enumerate(log.events) if getattr(event, "stage", "") == "lookup")}
    assert [kind for at, kind in enumerate(kinds(log.events)) if at not in more] == plain
    assert isinstance(log.events[first - 1], Recalled) and isinstance(log.events[ends[-1][0] + 1], Scanned)
    unlisted = small.play(tmp_path / "unlisted", host(tmp_path / "unlisted", extracts=True, lacks=["entries"]))
    assert not unlisted.list_events(Listed)


class FakeMerging(FakeMemory):
    """A fake that also keeps a copy of what it is told under an id that it does not tell."""

    def _store(self, item: Item) -> Ack:
        ack = super()._store(item)
        super()._store(item)
        return ack


def test_a_forget_asks_an_extracting_backend_for_every_listed_id_with_the_canary(small: Stage, tmp_path: Path) -> None:
    ids = {}
    for extracts in (True, False):
        where = host(tmp_path / str(extracts), extracts=extracts, memory=FakeMerging)
        (forgot,) = small.play(tmp_path / str(extracts), where).list_events(Forgot)
        ids[extracts] = forgot.ids
    assert len(ids[False]) == 1 and len(ids[True]) == 2 and ids[True][0] == ids[False][0]


def test_noise_is_mixed_into_what_the_sessions_write(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    log = small.play(tmp_path, where, amount=40)
    wrote = log.list_events(Wrote)
    written = [each for event in wrote for each in log.items(event)]
    assert sum(each.noise for each in written) == 40 and len(written) == 45
    assert all(len(items) <= 1 + 40 // engine.SHARE for items in where.asked("remember"))
    sessions = {session.id: session for session in small.scenario.sessions}
    for event in wrote:
        mixed = log.items(event)
        assert {each.item.at for each in mixed} == {sessions[event.session].at.isoformat()}
        assert event.noise == sum(tokens.count(each.item.text) for each in mixed if each.noise)
        assert event.tokens == sum(tokens.count(each.item.text) for each in mixed if not each.noise)
    first = [each.noise for each in written[:20]]
    assert first != sorted(first) and first != sorted(first, reverse=True)


@pytest.mark.parametrize("policy", ["append", "curated"])
def test_an_undated_story_tells_one_date_and_is_another_trial(small: Stage, tmp_path: Path, policy: str) -> None:
    where = host(tmp_path)
    log = small.play(tmp_path, where, amount=10, write_policy=policy, undated=True)
    first = small.scenario.sessions[0].at.isoformat()
    written = [each.item for event in log.list_events(Wrote) for each in log.items(event)]
    assert {item.at for item in written} == {first} and len({event.session for event in log.list_events(Wrote)}) > 1
    asked = {event.at for event in log.list_events(Recalled)}
    assert len(asked) > 1, "the agent still knows what day it is"
    dated = small.part("fake", amount=10, write_policy=policy).trial
    assert dated.id != log.trial.id and "undated" not in dated.model_dump(mode="json")


class FakeClocked(FakeHost):
    """Notes what its clock shows as one more call."""

    def set_clock(self, at: str) -> None:
        self.calls.append(("clock", (at,)))


def test_each_call_is_made_at_the_time_that_it_tells_and_others_in_their_session(
    real: list[Stage], tmp_path: Path
) -> None:
    stage, where = real[0], FakeClocked(tmp_path / "store")
    log = stage.play(tmp_path, where, clock="story")
    first, *coming = (session.at.isoformat() for session in stage.scenario.sessions)
    current = now = first
    assert where.calls[0] == ("clock", (first,)) and where.calls[1][0] == "open", "an SDK looks as it is opened"
    for (op, args), after in pairwise([*where.calls, ("end", ())]):
        if op == "clock":
            now = str(args[0])
            current = coming.pop(0) if coming and now == coming[0] else current
        elif op == "recall":
            assert args[3] == now
            assert now == current or after == ("clock", (current,)), "a question about the past is over"
        else:
            assert now == current
    assert any(event.day for event in log.list_events(Recalled)) and not coming


def test_of_an_undated_story_the_clock_goes_back_to_the_session_after_a_write(small: Stage, tmp_path: Path) -> None:
    where = FakeClocked(tmp_path / "store")
    small.play(tmp_path, where, clock="story", undated=True)
    first, *later = (session.at.isoformat() for session in small.scenario.sessions)
    shown = {op: set[object]() for op in ("remember", "settle")}
    now = ""
    for op, args in where.calls:
        if op == "clock":
            now = str(args[0])
        elif op in shown:
            shown[op].add(now)
    assert shown["remember"] == {first} and set() < shown["settle"] <= {*later}


def test_a_curator_writes_noise_and_remarks_first(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, host(tmp_path), amount=40, write_policy="curated")
    for event in log.list_events(Wrote):
        names = {each.name.partition(":")[0] for each in log.items(event)}
        assert names == {"fact"} if event.purpose == "learn" else names <= {"noise", "remark"}


def test_a_store_is_asked_to_settle_once_after_each_run_of_writes(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    log = small.play(tmp_path, where, amount=40)
    ops = [op for op, _ in where.calls]
    assert len(where.asked("settle")) == len(log.list_events(Settled))
    for before, after in pairwise(ops):
        assert (before, after) != ("settle", "settle")
        assert not (before in ("remember", "forget") and after in ("recall", "entries", "get"))


def test_the_cold_arm_does_the_jobs_and_nothing_else(small: Stage, tmp_path: Path) -> None:
    log = small.cold(tmp_path)
    assert kinds(log.events) == ["opened", *["began"] * 3, "worked", "began", "closed"]
    assert log.trial.backend is None and log.opened.backend is None


# --- faults ----------------------------------------------------------------------------------------------------------


class FakeBreaking(FakeMemory):
    """A fake store whose listing breaks off after its first page."""

    def page_entries(self, scope: Scope, take: Callable[[list[Hit]], object]) -> None:
        super().page_entries(scope, take)
        raise MemoryFault(Fault(kind="breach", op="entries", message="a fake fault"), alive=True)


def test_of_a_listing_that_broke_off_nothing_is_believed(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, host(tmp_path, memory=FakeBreaking))
    listed = log.list_events(Listed)
    assert listed and all(event.fault and event.hits == () for event in listed)
    by_listing = [event for event in log.list_events(Sought) if event.route == "entries"]
    assert by_listing and all(event.fault and event.found is None for event in by_listing)
    assert log.closed is not None and log.closed.status == "complete"


@pytest.mark.parametrize("kind", ["crashed", "breach", "refused"])
def test_a_fault_of_one_recall_is_logged_and_the_story_goes_on(small: Stage, tmp_path: Path, kind: Any) -> None:
    log = small.play(tmp_path, host(tmp_path, faults={"recall": [(kind, True)]}))
    good = small.play(tmp_path, host(tmp_path))
    faults = [event.fault for event in log.list_events(Recalled)]
    assert faults == [Fault(kind=kind, op="recall", message="a fake fault"), *[None] * (len(faults) - 1)]
    assert log.closed is not None and log.closed.status == "complete"
    assert [kind for kind in kinds(log.events) if kind != "resolved"] == [
        kind for kind in kinds(good.events) if kind != "resolved"
    ]


@pytest.mark.parametrize(
    "op", ["open", "remember", "settle", "recall", "entries", "get", "history", "forget", "usage", "close"]
)
def test_a_dead_child_closes_the_trial_as_failed_with_its_last_event(small: Stage, tmp_path: Path, op: str) -> None:
    where = host(tmp_path, faults={op: [("crashed", False)]})
    log = small.play(tmp_path, where)
    assert log.closed is not None and log.closed.status == "failed"
    assert log.closed.fault == Fault(kind="crashed", op=op, message="a fake fault")
    if op not in ("open", "close", "usage"):
        assert getattr(log.events[-2], "fault") == log.closed.fault  # noqa: B009  of whatever event it is
    dead = next(i for i, (name, _) in enumerate(where.calls) if name == op)
    assert where.calls[dead + 1 :] == []
    assert op in ("open", "close") or where.opened[-1].killed


def test_a_write_whose_child_died_has_an_unknown_outcome_and_is_not_repeated(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path, faults={"remember": [None, ("timed-out", False)]})
    log = small.play(tmp_path, where)
    assert [event.ids is None for event in log.list_events(Wrote)] == [False, True]
    assert len(where.asked("remember")) == 2


def test_a_fault_of_telling_where_the_data_lies_ends_the_trial_and_not_the_run(small: Stage, tmp_path: Path) -> None:
    class FakeLost(FakeHost):
        def layers(self) -> list[Any]:
            self.open()._hears("layers")
            return []

    log = small.play(tmp_path, FakeLost(tmp_path / "store", faults={"layers": [("crashed", True)]}))
    assert log.closed is not None and log.closed.status == "failed"
    assert log.closed.fault == Fault(kind="crashed", op="layers", message="a fake fault")


def test_an_abandoned_trial_leaves_no_process(small: Stage, tmp_path: Path) -> None:
    control = Control()

    class FakeLast(FakeMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            control.stop.set()
            return super().recall(query, scope, k, at)

    where = host(tmp_path, memory=FakeLast)
    log = small.play(tmp_path, where, control=control)
    assert log.closed is None and not log.list_events(Recalled) and where.opened[-1].killed


# --- gold ------------------------------------------------------------------------------------------------------------


def strings(value: Any) -> Iterator[str]:
    """Every key and every text of plain data."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["append", "curated"])
def test_gold_never_reaches_an_adapter(real: list[Stage], tmp_path: Path, policy: str) -> None:
    for stage in real:
        where, story = host(tmp_path), stage.scenario
        stage.play(tmp_path, where, write_policy=policy, amount=20)
        handed = [list(strings([to_wire(part) for part in args])) for _, args in where.calls]
        sent = [text for texts in handed for text in texts]
        steps = [step for _, step in story.steps()]
        secret = [fact.id for fact in story.facts]
        secret += [step.id for step in steps if isinstance(step, Probe | Job)]
        secret = sorted(set(secret) - {session.id for session in story.sessions})  # a source names its session
        whole = "\n".join(sent)
        for name in secret:  # an id of one word may be a word of a text as well
            assert name not in sent
            assert "-" not in name or not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", whole), name
        assert not {"right", "stale", "lure", "gold", "asserts", "mentions", "denies", "forms", "supersedes"} & set(
            sent
        )
        allowed = {
            text for fact in story.facts for text in (fact.identifier.text, fact.plain.text, fact.paraphrase.text)
        }
        allowed |= {text.text for step in steps if isinstance(step, Remember) for text in step.texts}
        told = [item.text for args in where.asked("remember") for item in args if isinstance(item, Item)]
        canaries = stage.part("fake").canaries
        plain = {text.replace("{canary}", mark) for text in allowed for mark in ("{canary}", *canaries.values())}
        noise = {written.item.text for written in stage.part("fake", amount=20).noise}
        assert set(told) <= plain | noise
        queries = {text for step in steps if isinstance(step, Probe) for _, text in step.ask.phrasings()}
        queries |= {decision.question for step in steps if isinstance(step, Job) for decision in step.decisions}
        words = {memory_word(mark) for mark in canaries.values()}
        queries |= {query_word(mark) for mark in canaries.values()}
        queries |= {query(text.replace("{canary}", mark), mark) for text in allowed for mark in canaries.values()}
        assert not [text for text in queries if any(word in text for word in words)]
        queries |= {" ".join(text.replace("{canary}", " ").split()) for text in allowed}
        assert {args[0] for args in where.asked("recall")} <= queries


@pytest.mark.slow
def test_every_item_is_learnt_at_its_time_in_its_scope_with_its_source(real: list[Stage], tmp_path: Path) -> None:
    for stage in real:
        where, story = host(tmp_path), stage.scenario
        log = stage.play(tmp_path, where)
        written = {each.name: each for event in log.list_events(Wrote) for each in log.items(event)}
        planned = [(s, name) for s, step in story.steps() if isinstance(step, Learn) for name in step.facts]
        assert {name for name in written if name.startswith("fact:")} == {f"fact:{name}" for _, name in planned}
        for session, name in planned:
            each, fact = written[f"fact:{name}"], story.by_id[name]
            assert (each.item.scope, each.item.at) == (story.home(fact), session.at.isoformat())
            assert each.item.source is not None and each.item.source.session == session.id
            assert each.item.source.path == (fact.source.path if fact.source else None)
        forgotten = {name for _, step in story.steps() if isinstance(step, Forget) for name in step.facts}
        assert {event.fact for event in log.list_events(Forgot)} == forgotten


# --- what must be the same -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["append", "curated"])
def test_two_plays_give_equal_events(real: list[Stage], tmp_path: Path, policy: str) -> None:
    for stage in real:
        first, second = (stage.play(tmp_path, host(tmp_path), write_policy=policy, amount=30) for _ in range(2))
        assert canonical(first.events) == canonical(second.events)
        other = stage.play(tmp_path, host(tmp_path), write_policy=policy, amount=30, seed=2)
        assert canonical(first.events) != canonical(other.events)


def test_the_meter_is_asked_once(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    (metered,) = small.play(tmp_path, where).list_events(Metered)
    assert (metered.prompt, metered.completion, metered.calls) == (0, 0, 0)
    (silent,) = small.play(tmp_path, host(tmp_path, lacks=["usage"])).list_events(Metered)
    assert silent.prompt is None


def test_what_was_handed_over_can_be_written_as_json(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    small.play(tmp_path, where, amount=5)
    for _, args in where.calls:
        json.dumps([to_wire(part) for part in args])


def test_what_takes_us_too_long_to_read_ends_the_trial_and_says_so(
    small: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_entries, "OWN_SECONDS", -1.0)
    log = small.play(tmp_path, host(tmp_path))
    assert log.closed is not None and log.closed.status == "failed"
    assert (
        log.closed.fault is not None and log.closed.fault.kind == "limit" and "took us more" in log.closed.fault.message
    )
    (asked,) = [event for event in log.list_events(Recalled) if event.fault]
    assert asked.fault == log.closed.fault
