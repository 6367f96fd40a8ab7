"""The drill of sharing: agents in turn, two handles at once, and which faults it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.log.transcript import Ended, Handled, Transcript
from harness.metrics.trust.sharing import METRICS
from harness.model.trial import Measured
from harness.play.drills.sharing import DRILL, plan
from tests.support.drill_player import drilled, measured

SIZE = 16
GOOD = {"handed_over": 1.0, "deleted_for_writer": 1.0, "kept_for_writer": 1.0, "wrong_between_agents": 0.0}
TWO_AT_ONCE = {each.definition.name for each in METRICS} - set(GOOD)
BEST = {**GOOD, "versions_of_two_told": 1.0}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    """The sound backend, played once."""
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, "adapters.reference:Reference", SIZE)


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_its_memories_are_told_apart(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len({piece.canary for piece in made.pieces}) == len({p.item.text for p in made.pieces}) == len(made.pieces)
    assert len(made.pieces) - len(made.of("ended", "edited", "edit")) == size
    assert {piece.item.scope.user for piece in made.of("own")} <= {"ana"}
    if size >= 24:
        assert abs(len(made.of("a", "a-dropped")) - len(made.of("b", "b-dropped"))) <= 1
        assert made.of("a-dropped") and made.of("b-dropped") and made.of("dropped") and made.of("own")


@pytest.mark.slow
def test_the_sound_backend_shares_all(told: Transcript) -> None:
    assert told.ended == Ended(status="complete")
    for name, measure in measured(METRICS, told).items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == BEST.get(name, 0.0), name


@pytest.mark.slow
def test_agents_come_in_turn_and_handles_together(told: Transcript) -> None:
    story = [(event.what, event.who) for _, event in told.of(Handled)]
    turn = [("opened", "a"), ("closed", "a")]
    assert story == [*turn * 4, ("opened", "a"), ("opened", "b"), ("closed", "a"), ("closed", "b"), *turn]


@pytest.mark.slow
def test_a_turn_of_one_comes_between_the_turns_of_the_other(told: Transcript) -> None:
    turns = [call.who for _, call in told.calls("remember", "both write")]
    assert set(turns) == {"a", "b"}
    assert not any(one == two == three for one, two, three in zip(turns, turns[1:], turns[2:], strict=False))


@pytest.mark.slow
def test_each_asks_at_its_own_place_and_deletes_where_it_is_shared(told: Transcript) -> None:
    places = {step: {str(call.request["scope"]) for _, call in told.calls("recall", step)} for step in (
        "first writes", "second reads", "first reads again",
    )}  # fmt: skip
    assert places["first writes"] == places["first reads again"] == {"{'repo': 'tidewater', 'user': 'ana'}"}
    assert places["second reads"] == {"{'repo': 'tidewater', 'user': 'ben'}"}
    assert {str(call.request["scope"]) for _, call in told.calls("forget")} == {"{'repo': 'tidewater'}"}


@pytest.mark.slow
def test_a_backend_for_one_process_is_not_opened_twice(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "adapters.bm25:Bm25", SIZE)
    assert {event.who for _, event in told.of(Handled)} == {"a"}
    measures = measured(METRICS, told)
    assert {name for name, each in measures.items() if each.status == "unsupported"} == TWO_AT_ONCE
    assert all(isinstance(measures[name], Measured) for name in GOOD)


@pytest.mark.slow
def test_a_backend_without_users_shares_without_them(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "adapters.notes:Notes", SIZE)
    assert {str(call.request["scope"]) for _, call in told.calls("recall")} == {"{'repo': 'tidewater'}"}
    assert not {name for _, call in told.calls("remember") for name in call.about} & {
        p.name for p in plan(SIZE, 1).of("own")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        ("WritesTheWholeStore", {"lost_between_handles"}),
        ("ServesStaleHits", {"stale_after_other_deletes", "stale_after_settling"}),
    ],
)
def test_a_fault_is_seen(tmp_path: Path, fault: str, flagged: set[str]) -> None:
    measures = measured(METRICS, drilled(tmp_path, DRILL, f"harness.selftest.planted.lasting:{fault}", SIZE))
    assert flagged <= {
        name for name, each in measures.items() if isinstance(each, Measured) and each.value != BEST.get(name, 0)
    }
