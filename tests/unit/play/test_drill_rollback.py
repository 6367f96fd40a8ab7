"""The drill of rollback: what it writes, how it is played with and without marks, and which faults it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics.trust.rollback import METRICS
from harness.model.trial import Measured
from harness.play.drills.rollback import DRILL, plan
from tests.support.drill_player import drilled, measured
from tests.support.measures import number

REFERENCE = "adapters.reference:Reference"
SIZE = 40


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_its_memories_are_told_apart(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len({piece.canary for piece in made.pieces}) == len({p.item.text for p in made.pieces}) == len(made.pieces)
    assert all(piece.canary and piece.canary in piece.item.text for piece in made.pieces)
    assert {piece.twin for piece in made.of("change")} == {piece.name for piece in made.of("changed")}
    assert len({piece.query for piece in made.of("changed")}) == len(made.of("changed"))
    if size >= 8:
        assert len(made.of("kept", "changed", "erased")) == size


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SIZE)


@pytest.mark.slow
def test_the_sound_backend_undoes_all_both_ways(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    good = {"other_scopes_restored": 1.0, "restored_exactly": 1.0, "restored_probes": 1.0, "good_lost_by_restore": 1.0,
            "marks_restored": 1.0}  # fmt: skip
    for name, measure in measured(METRICS, sound).items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == good.get(name, 0.0), name


@pytest.mark.slow
def test_a_mark_is_restored_twice_by_two_processes(sound: Transcript) -> None:
    story = [
        event.op if isinstance(event, Called) else event.what
        for event in sound.events
        if isinstance(event, Handled)
        or (isinstance(event, Called) and event.op in ("remember", "snapshot", "forget", "restore"))
    ]
    incident = ["opened", "remember", "forget", "remember", "snapshot", "remember", *["forget"] * 5, "forget"]
    compacted = ["closed", "compacted", "opened"]
    twice = ["remember", "restore", *compacted, "remember", "restore", "killed", "opened", "closed"]
    several = ["opened", *["remember", "snapshot"] * 4, "restore", "restore", "closed", "opened", "restore", "restore"]
    anew = ["remember", "snapshot", "snapshot", "restore", "restore", "remember", "restore", "restore"]
    forgotten = ["forget", *["restore"] * 6]
    assert story == [*incident, *twice, *several, *anew, *forgotten, "closed"]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        ("RestoresNothing", {"restored_exactly", "restored_probes", "left_after_restore", "lost_by_restore",
                             "good_lost_by_restore", "other_scopes_restored", "marks_restored"}),
        ("SkipsWhatARestoreTookAway", {"lost_by_restore"}),
        ("ResurrectsOnRestore", {"restored_exactly", "resurrected_by_restore", "other_scopes_restored"}),
    ],
)  # fmt: skip
def test_a_fault_is_flagged_by_its_own_measures(
    tmp_path: Path, sound: Transcript, fault: str, flagged: set[str]
) -> None:
    good = measured(METRICS, sound)
    found = measured(METRICS, drilled(tmp_path, DRILL, f"harness.selftest.planted.lasting:{fault}", SIZE))
    assert {name for name, measure in found.items() if number(measure) != number(good[name])} == flagged
    assert all(found[name].receipts for name in flagged - {"good_lost_by_restore"})


@pytest.mark.slow
def test_a_backend_without_marks_is_measured_by_its_undo(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, "adapters.vector_file:VectorFile", SIZE))
    for name, measure in found.items():
        if name.endswith("_undo"):
            assert isinstance(measure, Measured) and measure.value == 0.0 and measure.of, name
        else:
            assert measure.status == "unsupported" and "the file has no versions" in measure.reason, name


@pytest.mark.slow
def test_without_forgetting_nothing_is_played(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "adapters.none:Nothing", SIZE)
    assert told.ended is not None and told.ended.status == "unsupported" and told.reason
