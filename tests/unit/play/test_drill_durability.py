"""The drill of durability: its moments, what it asks around each kill, and what it does when a store stays shut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter import Item
from harness.log.blobs import Blobs
from harness.log.lines import Writer
from harness.log.transcript import Called, Ended, Handled, Transcript, read
from harness.metrics.trust.durability import METRICS
from harness.model.backend import FaultKind
from harness.model.drill import DrillTrial
from harness.model.trial import Measured, NotMeasured
from harness.play import drills
from harness.play.drills import durability
from harness.play.drills.durability import DRILL, END, ROUNDS, SMALLEST, plan, plan_rounds, write_lesson
from harness.play.drills.stage import DrillStore
from tests.support.drill_player import drilled, measured
from tests.support.fakes import FakeHost, FakeMemory

SIZE = 24
"""Six rounds."""


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_its_memories_are_told_apart(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len({piece.canary for piece in made.pieces}) == len({p.item.text for p in made.pieces}) == len(made.pieces)
    assert all(piece.item.text.endswith(f" {piece.canary}") for piece in made.pieces)
    writes = [piece for piece in made.of("kept", "listed", "air") if not piece.twin]
    assert len(writes) == max(size, SMALLEST) + 1
    updates = [*made.of("new"), *(piece for piece in made.of("air") if piece.twin)]
    assert all(made.by_name[piece.twin or ""].role == "kept" for piece in updates)


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 5))
def test_half_of_the_rounds_are_killed_with_a_write_in_the_air(size: int, seed: int) -> None:
    schedule = plan_rounds(size, seed)
    assert len(schedule) == max(1, min(ROUNDS, size // SMALLEST))
    assert sum(bool(each.air) for each in schedule) == len(schedule) // 2
    for each in schedule:
        assert len(each.batches) >= 2 and all(each.batches), "something to look at, and something behind the look"
        assert bool(each.seconds) == bool(each.air) and each.seconds < 0.2


def test_seeds_draw_other_moments() -> None:
    drawn = {
        tuple((len(each.batches), len(each.air), each.seconds) for each in plan_rounds(120, seed)) for seed in range(5)
    }
    assert len(drawn) == 5


def test_names_and_drills_have_texts_of_their_own() -> None:
    scope = plan(4, 1).pieces[0].item.scope
    told = [
        write_lesson("durability", 1, "x", scope),
        write_lesson("sharing", 1, "x", scope),
        write_lesson("durability", 2, "x", scope),
    ]
    assert len({item.text for item, _ in told}) == len({canary for _, canary in told}) == 3


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    """The sound backend, played once."""
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, "adapters.reference:Reference", SIZE)


@pytest.mark.slow
def test_the_sound_backend_keeps_all_it_acknowledged(told: Transcript) -> None:
    assert told.ended == Ended(status="complete")
    measures = measured(METRICS, told)
    torn = measures.pop("torn_by_kill")  # whether a write in flight came back is a matter of milliseconds
    assert torn.status == "not-applicable" or (isinstance(torn, Measured) and torn.value == 0)
    for name, measure in measures.items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == (1 if name == "usable_after_kill" else 0), name


@pytest.mark.slow
def test_every_kill_comes_right_behind_an_acknowledgement_and_is_followed_by_a_fresh_process(told: Transcript) -> None:
    killed = [(line - 1, event.about) for line, event in told.of(Handled) if event.what == "killed"]
    kills, in_flight = [at for at, _ in killed], [about for _, about in killed]
    assert len(kills) == SIZE // SMALLEST
    assert sum(bool(about) for about in in_flight) == len(kills) // 2
    for at in kills:
        before, after = told.events[at - 1], told.events[at + 1]
        assert isinstance(before, Called) and before.op in ("remember", "forget", "update") and before.answer
        assert isinstance(after, Handled) and after.what == "opened"
    written = {name for _, call in told.calls("remember") for name in call.about}
    assert not written & {name for about in in_flight for name in about}, "nobody knows of what was in flight"


@pytest.mark.slow
def test_everything_is_asked_for_behind_the_last_kill(told: Transcript) -> None:
    last = [call.step for _, call in told.calls("entries")][-1]
    asked = {call.about[0] for _, call in told.calls("recall", last)}
    assert asked == {piece.name for piece in told.plan.pieces if piece.role != "air"} - {END}


@pytest.mark.slow
def test_a_store_that_is_saved_on_closing_has_lost_all(tmp_path: Path) -> None:
    measure = measured(METRICS, drilled(tmp_path, DRILL, "harness.selftest.planted.lasting:SavesOnClosing", 8))[
        "lost_by_kill"
    ]
    assert isinstance(measure, Measured) and measure.value == 1


@pytest.mark.slow
@pytest.mark.parametrize("lacks", [["update"], ["update", "entries"]])
@pytest.mark.parametrize("forgets", [False, True])
def test_of_a_large_store_some_are_asked_for_and_all_are_counted_that_were_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: list[str], *, forgets: bool
) -> None:
    monkeypatch.setattr(durability, "ASKED", 40)
    host = FakeHost(tmp_path / "s", lacks=lacks, memory=Forgetful if forgets else Killed)
    told = played(tmp_path, host, size=400)
    listed = {piece.name for piece in told.plan.of("listed")}
    last = [call.step for _, call in told.calls("recall")][-1]
    asked = {call.about[0] for _, call in told.calls("recall", last)}
    assert len(listed) > 300 and len(asked) > 20 and not asked & listed
    measures = measured(METRICS, told)
    lost = measures["lost_by_kill"]
    assert isinstance(lost, Measured) and lost.value == float(forgets)
    assert lost.of == pytest.approx(len(asked) if "entries" in lacks else 380, abs=30)
    if not forgets and "entries" not in lacks:
        unfindable = measures["unfindable_after_kill"]
        assert isinstance(unfindable, Measured) and unfindable.value == 0
        assert unfindable.of == (lost.of or 0) - len(listed)


# --- stores that stay shut --------------------------------------------------------------------------------------------


class Killed(FakeMemory):
    """What is in flight is never stored."""

    def kill_during(self, op: str, items: Sequence[Item], *, seconds: float) -> None:
        self._host.calls.append(("in flight", tuple(items)))
        self.kill()


class Forgetful(Killed):
    """A kill takes all that was stored."""

    def kill(self) -> None:
        super().kill()
        self._host.items.clear()


def played(folder: Path, host: FakeHost, size: int = 12) -> Transcript:
    trial = DrillTrial(backend="fake", drill="durability", size=size, seed=1, k=5)
    blobs, path = Blobs(folder / "blobs"), folder / "fake.1.jsonl"
    with Writer(path) as log, patch.object(drills, "ALL", {"durability": DRILL}):
        drills.play(trial, plan(size, 1), cast(DrillStore, host), blobs, log.append, lambda texts: [], {}, {})
    return read(path, blobs)


def test_a_store_that_does_not_open_after_a_kill_is_a_result_not_the_end_of_it(tmp_path: Path) -> None:
    shut: tuple[FaultKind, bool] = ("crashed", False)
    host = FakeHost(tmp_path / "s", lacks=["update"], memory=Killed, faults={"open": [None, None, shut, shut]})
    told = played(tmp_path, host)
    assert told.ended == Ended(status="complete")
    assert len(host.opened) == 4, "two tries, and no more"
    measures = measured(METRICS, told)
    usable, lost = measures["usable_after_kill"], measures["lost_by_kill"]
    assert isinstance(usable, Measured) and (usable.hits, usable.of) == (1, 2)
    assert isinstance(lost, Measured) and lost.value == 1 and lost.of


def test_a_child_that_dies_in_the_first_look_after_a_kill_is_asked_again_in_a_fresh_process(tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "s", lacks=["update"], memory=Killed, faults={"settle": [None, ("crashed", False)]})
    told = played(tmp_path, host)
    (died,) = [call for call in told.list_events(Called) if call.fault]
    assert told.ended == Ended(status="complete") and died.step.startswith("after the kill of ")
    assert any(call.step.startswith("once more") and call.op == "recall" for call in told.list_events(Called))


def test_a_store_that_opens_at_the_second_try_is_played_to_the_end(tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "s", lacks=["update"], memory=Killed, faults={"open": [None, ("crashed", False)]})
    measures = measured(METRICS, played(tmp_path, host))
    usable, lost = measures["usable_after_kill"], measures["lost_by_kill"]
    assert isinstance(usable, Measured) and (usable.hits, usable.of) == (2, 3)
    assert isinstance(lost, Measured) and lost.value == 0


def test_a_process_that_dies_at_the_first_look_behind_a_kill_is_a_result(tmp_path: Path) -> None:
    dies: tuple[FaultKind, bool] = ("crashed", False)
    host = FakeHost(tmp_path / "s", lacks=["update"], memory=Killed, faults={"entries": [None, dies, dies]})
    told = played(tmp_path, host)
    assert told.ended == Ended(status="complete")
    measures = measured(METRICS, told)
    usable, lost = measures["usable_after_kill"], measures["lost_by_kill"]
    assert isinstance(usable, Measured) and (usable.hits, usable.of) == (0, 1)
    assert isinstance(lost, NotMeasured) and lost.status == "failed", "no call showed whether anything was lost"
    assert isinstance(measures["unfindable_after_kill"], NotMeasured)


def test_a_process_that_dies_unasked_before_any_kill_ends_the_drill_as_failed(tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "s", memory=Killed, faults={"remember": [("crashed", False)]})
    told = played(tmp_path, host)
    assert told.ended is not None and told.ended.status == "failed"
    assert measured(METRICS, told)["usable_after_kill"].status == "failed"


def test_what_is_not_supported_is_not_called(tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "s", lacks=["update", "forget", "entries"], memory=Killed)
    told = played(tmp_path, host)
    assert told.ended == Ended(status="complete")
    assert not {op for op, _ in host.calls} & {"update", "forget", "entries"}
    measures = measured(METRICS, told)
    assert {name for name, each in measures.items() if each.status == "unsupported"} == {
        "torn_by_kill", "forget_undone_by_kill", "update_undone_by_kill", "unfindable_after_kill",
    }  # fmt: skip
    lost = measures["lost_by_kill"]
    assert isinstance(lost, Measured) and lost.value == 0 and lost.of, "its own text says what is stored"


def test_a_store_in_memory_is_not_killed(tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "s", lacks=["persistent"], memory=Killed)
    told = played(tmp_path, host)
    assert told.ended is not None and told.ended.status == "unsupported"
    assert not host.opened
