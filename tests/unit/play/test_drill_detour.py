"""The drill of the detour: what it writes, how its stores are filled, and which faults it shows."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics.trust.detour import METRICS
from harness.model.trial import Measured
from harness.play.drills.detour import DRILL, plan
from tests.support.drill_player import drilled, measured

SIZE = 24


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_no_text_holds_another(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len(made.of("kept")) == len(made.of("passing")) == size and len(made.of("draft")) == -(-size // 3)
    texts = sorted(piece.item.text for piece in made.pieces)
    assert len(set(texts)) == len(texts)
    assert not any(later.startswith(text) for text, later in itertools.pairwise(texts))
    asked = [piece.query for piece in made.pieces if piece.query]
    assert len(set(asked)) == len(asked) == min(size, 30)


@pytest.mark.slow
@given(st.integers(30, 200))
def test_a_smaller_store_holds_the_first_memories_of_a_larger_one(size: int) -> None:
    assert plan(size, 1).of("kept")[:30] == plan(30, 1).of("kept")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, "adapters.reference:Reference", SIZE)


@pytest.mark.slow
def test_the_sound_backend_answers_alike_whatever_the_way(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    for name, measure in measured(METRICS, sound).items():
        assert isinstance(measure, Measured) and measure.value == 0 and measure.of, name


@pytest.mark.slow
def test_each_way_begins_with_an_empty_store_and_ends_with_the_same_memories(sound: Transcript) -> None:
    opened = [event.step for _, event in sound.of(Handled) if event.what == "opened"]
    ways = ("direct", "other order", "detour", "detour, reopened")
    assert opened == [f"{way} {size}" for size in (20, SIZE) for way in ways]
    first = {event.step: event.about for _, event in sound.calls("remember")}
    assert len(first["direct 20"]) == 20 and len(first["detour 20"]) == 40
    assert first["direct 20"] != first["other order 20"] and {*first["direct 20"]} == {*first["other order 20"]}
    back = [event.about[0] for _, event in sound.calls("update", "detour 20")]
    assert len(back) == 14 and back[:2] == ["draft-0", "kept-0"]
    gone = [name for _, event in sound.calls("forget", "detour 20") for name in event.about]
    assert gone == [f"passing-{number}" for number in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        ("DeletedTakePlaces", {"answers_changed_by_detour"}),
        ("UpdatesBlendVectors", {"answers_changed_by_detour"}),
        ("CompactsTooMuch", {"answers_changed_by_detour", "bystanders_lost_by_detour"}),
    ],
)
def test_a_store_that_remembers_its_past_is_flagged(tmp_path: Path, fault: str, flagged: set[str]) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, f"harness.selftest.planted.detours:{fault}", SIZE))
    assert {name for name, measure in found.items() if isinstance(measure, Measured) and measure.value} >= flagged
    assert all(found[name].receipts for name in flagged)


@pytest.mark.slow
def test_a_whole_file_is_told_by_the_memories_in_it(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, "adapters.notes:Notes", SIZE))
    assert all(isinstance(measure, Measured) and measure.value == 0 for measure in found.values())


@pytest.mark.slow
def test_without_forgetting_nothing_is_played(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "adapters.none:Nothing", SIZE)
    assert told.ended is not None and told.ended.status == "unsupported"
    assert not [event for _, event in told.of(Called)]
