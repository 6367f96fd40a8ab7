"""What a trial does, in which order, and what it never tells: played with fakes that write down every call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.adapter import Ack, Hit, Item, Layer, Scope, applies, to_wire
from harness.backend.client import MemoryFault
from harness.gateway import tokens
from harness.log.events import Event, Forgot, Listed, Metered, Recalled, Scanned, Settled, Sought, Worked, Wrote
from harness.log.events import Stage as Looks
from harness.log.reader import Log
from harness.model.backend import Fault
from harness.model.canary import memory_word, query, query_word
from harness.model.facts import Fact
from harness.model.job import Job
from harness.model.scenario import Forget, Learn, Probe, Remember, Session
from harness.model.trial import READ_POLICIES
from harness.play import engine, story_deletion
from harness.play import entries as play_entries
from harness.play.controls import KEPT
from harness.play.environment import Control
from harness.play.session import MemorySession
from tasks import loader
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.logs import canonical
from tests.support.story_player import Stage, kinds
from tests.unit.conftest import House

PIN = """
[[facts]]
id = "pin"
type = "project"
since = 2024-01-01T10:00:00Z
forms = [["{canary}"]]
identifier = "PIN = {canary}"
plain = "The door pin is {canary}"
paraphrase = "Get in with {canary}"
rewrites = ["pin: {canary}", "the pin is {canary}", "door pin {canary}"]

[[sessions]]
"""
FORGET = """
[[sessions]]
id = "saturday"
at = 2024-01-06T12:00:00Z
by = "ada"
commit = "0003"

[[sessions.steps]]
do = "remember"
texts = ["Lunch was late"]

[[sessions.steps]]
do = "forget"
facts = ["pin"]

[[sessions.steps]]
do = "probe"
id = "after-the-forget"
ask = {plain = "Which door pin is there?"}
"""


@pytest.fixture(scope="module")
def small(lasting: House) -> Stage:
    """The story of `story.toml` with a secret that is told on Monday and forgotten on Saturday."""
    text = lasting.story.replace("\n[[sessions]]\n", PIN, 1)
    text = text.replace('facts = ["old-platform"]', 'facts = ["old-platform", "pin"]')
    ((scenario, repo),) = loader.load([lasting.write(text + FORGET)], lasting.fixtures, lasting.cache)
    return Stage.of(scenario, repo)


REAL = ("stale-deploy-rule", "secret-erasure/partner-ticket", "branch-scope/two-trains", "preference/kiri-sails-away")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Stage]:
    """Some real stories: an old rule in a forgotten page, one that was only told, secrets that must go, branches."""
    cache = tmp_path_factory.mktemp("cache")
    loaded = loader.load(loader.find(paths.TASKS, REAL), paths.FIXTURES, cache)
    return [Stage.of(scenario, repo) for scenario, repo in loaded]


def host(tmp_path: Path, **more: Any) -> FakeHost:
    return FakeHost(tmp_path / "store", **more)


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


# --- write policies --------------------------------------------------------------------------------------------------


def test_append_only_appends(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    small.play(tmp_path, where)
    assert not where.asked("supersede")
    assert [len(items) for items in where.asked("remember")] == [1] * 5


def test_curated_looks_up_first_and_supersedes_what_it_finds(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    log = small.play(tmp_path, where, write_policy="curated")
    lookups = [event for event in log.list_events(Recalled) if event.purpose == "lookup"]
    assert [event.ref for event in lookups] == ["old-platform", "pin", "new-platform", "approver"]
    ((scope, replaced, item),) = where.asked("supersede")
    assert (scope, replaced) == (Scope(repo="shop"), ("m1",))
    assert isinstance(item, Item) and "kestrelway" in item.text
    (wrote,) = (event for event in log.list_events(Wrote) if event.op == "supersede")
    assert wrote.replaces == ("m1",) and wrote.ids == (("m3",),)
    assert not any("We deploy to harborline" in item.text for item in where.items.values())


class FakeForgetful(FakeMemory):
    """A fake that never finds the old rule."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [hit for hit in super().recall(query, scope, k, at) if "harborline" not in hit.text]


def test_what_the_look_up_does_not_bring_is_not_superseded(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path, memory=FakeForgetful)
    log = small.play(tmp_path, where, write_policy="curated")
    assert not where.asked("supersede")
    assert [event.op for event in log.list_events(Wrote)] == ["remember"] * len(log.list_events(Wrote))
    assert any("We deploy to harborline" in item.text for item in where.items.values())


class FakeMarking(FakeMemory):
    """A fake that marks every hit as superseded already."""

    def _hit(self, name: str) -> Hit:
        hit = super()._hit(name)
        return Hit(hit.memory_id, hit.text, superseded=True)


def test_what_is_marked_as_superseded_is_not_superseded_again(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path, memory=FakeMarking)
    small.play(tmp_path, where, write_policy="curated")
    assert not where.asked("supersede")


class FakeDump(FakeMemory):
    """A fake that answers with one hit: everything, line by line."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        self._hears("recall", query)
        return [Hit("whole", "\n".join(item.text for item in self._host.items.values()))] if self._host.items else []


def test_inside_a_whole_file_the_memory_is_looked_up_in_the_listing(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path, memory=FakeDump)
    log = small.play(tmp_path, where, write_policy="curated")
    assert [args[1] for args in where.asked("supersede")] == [("m1",)]
    assert log.list_events(Listed)[0].stage == "lookup"


# --- what is read of an answer ---------------------------------------------------------------------------------------


class FakeOldest(FakeMemory):
    """A fake that answers with what applies, in the order of writing."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [self._hit(name) for name, item in self._host.items.items() if applies(item.scope, scope)][:k]


class FakePacked(FakeOldest):
    """All of it as one hit, whatever k is."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        found = super().recall(query, scope, 10_000, at)
        return [Hit("packed", "\n".join(hit.text for hit in found))] if found else []


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["append", "curated"])
@pytest.mark.parametrize("amount", [0, 60])
def test_a_store_that_packs_its_scope_into_one_hit_decides_no_better(
    real: list[Stage], tmp_path: Path, policy: str, amount: int
) -> None:
    for stage in real:
        apart, packed = (
            stage.play(tmp_path / kind.__name__, host(tmp_path, memory=kind), write_policy=policy, amount=amount)
            for kind in (FakeOldest, FakePacked)
        )
        assert (chosen(packed), read_of(packed)) == (chosen(apart), read_of(apart))


def chosen(log: Log) -> list[str | None]:
    works = (event for event in log.list_events(Worked) if event.read_policy == "trusting")
    return [choice.value for event in works for choice in event.choices]


def read_of(log: Log) -> list[list[str]]:
    """The texts that were shown for each question."""
    return [texts(log, event)[: event.shown] for event in log.list_events(Recalled)]


def texts(log: Log, event: Recalled) -> list[str]:
    found = log.find_answer(event)
    return [found.hits[span.hit].text[span.start : span.end] for span in found.entries]


class FakeFile(FakeMemory):
    """A fake that has no rank: everything comes back, in the order of writing."""

    dated = True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        hits = map(self._hit, self._host.items)
        return [hit if self.dated else replace(hit, created=None) for hit in hits]


class FakeUndated(FakeFile):
    dated = False


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "newest"), [(FakeFile, True), (FakeUndated, False)])
def test_what_has_no_rank_is_read_in_its_order_as_far_as_the_budget_goes(
    real: list[Stage], tmp_path: Path, kind: type[FakeMemory], newest: bool
) -> None:
    (stage, *_) = real
    small_, large = (
        stage.play(tmp_path / str(budget), host(tmp_path, memory=kind, lacks=["ranked"]), amount=30, budget=budget)
        for budget in (150, 100_000)
    )
    last, whole = (log.list_events(Recalled)[-1] for log in (small_, large))
    written = texts(large, whole)
    assert whole.shown == len(written) == whole.pool > 30
    assert last.shown is not None and 3 < last.shown < last.pool
    assert texts(small_, last)[: last.shown] == (written[-last.shown :] if newest else written[: last.shown])
    spent = [span.tokens for span in small_.find_answer(last).entries]
    assert sum(spent[: last.shown]) <= 150 < sum(spent[: last.shown + 1])
    assert last.tokens == 150 < whole.tokens


def test_the_look_up_of_a_curator_reads_no_more_than_the_budget(small: Stage, tmp_path: Path) -> None:
    enough, little = (host(tmp_path / str(budget), memory=FakeFile, lacks=["ranked"]) for budget in (800, 1))
    for where, budget in ((enough, 800), (little, 1)):
        small.play(tmp_path / str(budget), where, write_policy="curated", budget=budget)
    assert [args[1] for args in enough.asked("supersede")] == [("m1",)]
    assert little.asked("supersede") == []


def test_a_curator_replaces_nothing_that_holds_elsewhere(small: Stage, tmp_path: Path) -> None:
    class FakeElsewhere(FakeMemory):
        """A fake that says that everything is of another repository."""

        def _hit(self, name: str) -> Hit:
            return replace(super()._hit(name), scope=Scope(repo="other"))

    where = host(tmp_path, memory=FakeElsewhere)
    small.play(tmp_path, where, write_policy="curated")
    assert not where.asked("supersede")


def test_a_store_that_cannot_supersede_is_unsupported_and_never_appended_to(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path, lacks=["supersede"])
    log = small.play(tmp_path, where, write_policy="curated")
    assert where.calls == []
    assert log.closed is not None and log.closed.status == "unsupported"
    assert log.closed.fault == Fault(kind="refused", op="supersede", message="no supersede")
    assert kinds(log.events) == ["opened", "closed"]


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


# --- deletion --------------------------------------------------------------------------------------------------------


def looks(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__.lower(), event.stage) for event in events if isinstance(event, Sought | Listed | Scanned)
    ]


def test_controls_come_before_the_forget_and_destructive_looks_at_the_very_end(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    log = small.play(tmp_path, where)
    events = list(log.events)
    forgot = next(i for i, event in enumerate(events) if isinstance(event, Forgot))
    assert {stage for _, stage in looks(events[:forgot])} == {"before"}
    assert {stage for _, stage in looks(events[forgot:])} == {"after", "reopened"}
    final = next(i for i, event in enumerate(events) if isinstance(event, Scanned) and event.stage == "after")
    assert not {"recalled", "wrote", "worked", "forgot", "began"} & set(kinds(events[final:]))
    found = {(event.stage, event.route): event.found for event in log.list_events(Sought)}
    assert found["before", "search"] and found["before", "entries"] and found["before", "get"]
    assert not any(value for (stage, _), value in found.items() if stage != "before")
    assert [(event.declared, len(event.sightings)) for event in log.list_events(Scanned)] == [
        (True, 1), (False, 0), (True, 0), (False, 0)
    ]  # fmt: skip


def test_bytes_are_looked_at_when_the_owner_is_gone_and_a_fresh_process_looks_again(
    small: Stage, tmp_path: Path
) -> None:
    where = host(tmp_path)
    small.play(tmp_path, where)
    ops = [op for op, _ in where.calls]
    closing = ops.index("close")
    assert ops[closing : closing + 3] == ["close", "layers", "open"]
    assert ops.count("open") == ops.count("close") == len(where.opened) == 2


class FakeGrowing(FakeHost):
    """A fake that moves what is deleted to a file that was not there before, as a store with segments may."""

    def flush(self) -> None:
        super().flush()
        if self.asked("forget"):
            (self.root / "segment").write_text(str(self.asked("remember")))

    def layers(self) -> list[Layer]:
        segment = [Layer("segment", "segment", "file")] if self.asked("forget") else []
        return [*super().layers(), *segment]


def test_a_layer_that_appears_with_the_deletion_is_looked_at(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, FakeGrowing(tmp_path / "store"))
    after = {event.layer.name: len(event.sightings) for event in log.list_events(Scanned) if event.stage == "after"}
    assert after == {"file": 0, "segment": 1, "undeclared places": 0}


@pytest.mark.parametrize("lacks", [["forget"], ["persistent"], ["entries"], ["get", "history"]])
def test_nothing_is_asked_that_was_not_declared(small: Stage, tmp_path: Path, lacks: list[str]) -> None:
    where = host(tmp_path, lacks=lacks)
    log = small.play(tmp_path, where)
    assert log.closed is not None and log.closed.status == "complete"
    assert not set(lacks) & {op for op, _ in where.calls}
    stages = {stage for _, stage in looks(log.events)}
    assert stages == {"forget": {"before"}, "persistent": {"before", "after"}}.get(
        lacks[0], {"before", "after", "reopened"}
    )


class FakeTurning(FakeMemory):
    """A fake whose ranking depends on how often it was asked before, as in stores that learn from use."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        hits, turns = super().recall(query, scope, k, at), len(self._host.asked("recall"))
        return [hits[(turns + i) % len(hits)] for i in range(len(hits))]


def without_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    look, listed, scanned = story_deletion._look, story_deletion._list_all, story_deletion._scan

    def _look(memory_session: MemorySession, session: Session, facts: Sequence[Fact], stage: Looks) -> Iterator[Event]:
        return iter(()) if stage == "before" else look(memory_session, session, facts, stage)

    def _listed(memory_session: MemorySession, facts: Sequence[Fact], stage: Looks) -> Iterator[Event]:
        return iter(()) if stage == "before" else listed(memory_session, facts, stage)

    def _scanned(memory_session: MemorySession, stage: Looks) -> Iterator[Event]:
        return iter(()) if stage == "before" else scanned(memory_session, stage)

    for name, function in (("_look", _look), ("_list_all", _listed), ("_scan", _scanned)):
        monkeypatch.setattr(story_deletion, name, function)


def later(log: Log) -> list[dict[str, Any]]:
    """All but the controls."""
    return [event for event in canonical(log.events) if event.get("stage") != "before"]


@pytest.mark.slow
def test_leaving_out_the_control_looks_changes_no_later_hit(
    small: Stage, real: list[Stage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [small, *real]
    with_controls = [stage.play(tmp_path, host(tmp_path)) for stage in stages]
    used = small.play(tmp_path, host(tmp_path, memory=FakeTurning))
    without_controls(monkeypatch)
    for stage, log in zip(stages, with_controls, strict=True):
        bare = stage.play(tmp_path, host(tmp_path))
        assert len(bare.events) < len(log.events) or not stage.scenario.forgotten
        assert canonical(bare.events) == later(bare) == later(log)
    # and the comparison can fail: a store that learns from being asked shows it
    assert later(small.play(tmp_path, host(tmp_path, memory=FakeTurning))) != later(used)


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


class FakeNothing(FakeMemory):
    """A fake that keeps nothing."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return []


@pytest.mark.slow
def test_who_remembers_nothing_decides_as_in_the_cold(real: list[Stage], tmp_path: Path) -> None:
    for stage in real:
        cold = {event.job: event for event in stage.cold(tmp_path).list_events(Worked)}
        warm = stage.play(tmp_path, host(tmp_path, memory=FakeNothing)).list_events(Worked)
        assert len(warm) == len(READ_POLICIES) * len(cold)
        for event in warm:
            same = {"choices", "reads", "prompt", "completion", "diff", "ran", "checks"}
            assert event.model_dump(include=same) == cold[event.job].model_dump(include=same)


def verdicts(log: Log) -> dict[tuple[str, str, str], tuple[str, str]]:
    """(job, decision, read policy) -> the verdict of its check, and where the value came from."""
    jobs = {job.id: job for _, job in log.scenario.jobs()}
    return {
        (event.job, decision.id, event.read_policy or "cold"): (
            decision.judge(check.exit, check.value),
            next(choice.origin for choice in event.choices if choice.decision == decision.id),
        )
        for event in log.list_events(Worked)
        for decision, check in zip(jobs[event.job].decisions, event.checks, strict=True)
    }  # fmt: skip


@pytest.mark.slow
def test_the_oracle_is_right_in_every_decision_under_every_policy(real: list[Stage], tmp_path: Path) -> None:
    for stage in real:
        found = verdicts(stage.gold(tmp_path, "oracle"))
        assert len(found) >= 4 * len(READ_POLICIES)
        assert set(found.values()) == {("right", "memory")}, found


@pytest.mark.slow
def test_the_stale_oracle_is_stale_wherever_a_decision_can_be(real: list[Stage], tmp_path: Path) -> None:
    """Under all read policies: a verifying reader that finds only contradicted entries still acts on the best one."""
    for stage in real:
        found = verdicts(stage.gold(tmp_path, "stale_oracle"))
        stale = {
            (job.id, decision.id)
            for _, job in stage.scenario.jobs()
            for decision in job.decisions
            if any(option.verdict == "stale" for option in decision.options)
        }
        assert len(stale) >= 3
        for (job, decision, policy), value in found.items():
            if (job, decision) in stale:
                assert value == ("stale", "memory"), (job, decision, policy)


@pytest.mark.slow
def test_the_controls_with_gold_tell_only_what_they_were_told(real: list[Stage], tmp_path: Path) -> None:
    for stage in real:
        for name in ("oracle", "stale_oracle"):
            log = stage.gold(tmp_path, name)
            told: set[str] = set()
            for event in log.events:
                if isinstance(event, Wrote):
                    told |= {each.item.text for each in log.items(event)}
                elif isinstance(event, Recalled):
                    assert {hit.text for hit in log.find_answer(event).hits} <= told
            assert log.opened.backend is not None
            assert {key for key, value in log.opened.backend.support.items() if value.level == "native"} == set(KEPT)


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
