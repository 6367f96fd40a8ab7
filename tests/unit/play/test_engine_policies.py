"""What is written, read and decided under each policy: played with fakes that write down every call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Scope, applies
from harness.log.events import Listed, Recalled, Worked, Wrote
from harness.log.reader import Log
from harness.model.backend import Fault
from harness.model.trial import READ_POLICIES
from harness.play.controls import KEPT
from tests.support.engine_stories import host, load_real, load_small
from tests.support.fakes import FakeMemory
from tests.support.story_player import Stage, kinds
from tests.unit.conftest import House


@pytest.fixture(scope="module")
def small(lasting: House) -> Stage:
    return load_small(lasting)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Stage]:
    return load_real(tmp_path_factory.mktemp("cache"))


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


# --- what is decided -------------------------------------------------------------------------------------------------


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
