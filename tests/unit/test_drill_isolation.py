"""The drill of isolation: what it writes, how it is played, and that the measures see a leaking backend by its leak."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter import Scope, applies
from harness.drills.isolation import DRILL, STORED, plan
from harness.metrics.trust.isolation import METRICS
from harness.model import Measured
from harness.transcript import Called, Drilled, Ended, Handled, Transcript
from tests.drilled import drilled, measured

REFERENCE = "adapters.reference:Reference"
SIZE = 32
BY_ID = ("read_across_scopes", "updated_across_scopes", "forgotten_across_scopes")


@given(st.integers(1, 400), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_its_memories_are_told_apart(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len({piece.canary for piece in made.pieces}) == len({p.item.text for p in made.pieces}) == len(made.pieces)
    assert all(piece.canary and piece.canary in piece.item.text for piece in made.pieces)
    assert len(made.of(*STORED, "more")) == max(size, len(STORED))


def test_all_pairs_are_there_and_differ_in_one_respect_only() -> None:
    made = plan(DRILL.size, 1)
    assert len(made.of("near")) == DRILL.size // len(STORED)
    for near in made.of("near"):
        far = made.by_name[near.twin or ""]
        _, respect, _ = near.name.split("-", 2)
        first, second = vars(near.item.scope), vars(far.item.scope)
        assert [part for part in first if first[part] != second[part]] == [respect]
        assert not applies(near.item.scope, far.item.scope) and not applies(far.item.scope, near.item.scope)
    scopes = [made.by_name[piece.twin or ""].item.scope for piece in made.of("near")]
    scopes += [piece.item.scope for piece in made.of("near")]
    assert len(set(scopes)) == len(scopes), "a leak between pairs would be taken for one inside a pair"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SIZE)


def test_the_sound_backend_leaks_nothing_and_every_measure_has_cases(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    for name, measure in measured(METRICS, sound).items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == (1.0 if name == "scope_names_kept" else 0.0), name


def test_looks_come_before_what_they_control(sound: Transcript) -> None:
    calls = [event for event in sound.events if isinstance(event, Called)]
    steps = list(dict.fromkeys(call.step for call in calls if call.op in ("entries", "update", "forget_scope")))
    order = ["listed", "cross", "cross written", "own", "own written", "before forget_scope", "across"]
    assert [step for step in steps if step in order] == order
    assert {after.op for before, after in pairwise(calls) if before.op == "forget_scope"} == {"settle"}
    assert [event.what for _, event in sound.of(Handled)] == ["opened", "closed"]
    empty = [call for call in calls if call.step == "empty"]
    assert empty and all(call.request["scope"] == {} for call in empty)


@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        ("LeaksByPrefix", {"leaks_by_prefix", "leaks_by_space", *BY_ID}),
        ("FiltersTooLate", {"crowded_out_of_scope"}),
    ],
)
def test_a_leak_is_flagged_by_its_own_measures(
    tmp_path: Path, sound: Transcript, fault: str, flagged: set[str]
) -> None:
    good = measured(METRICS, sound)
    found = measured(METRICS, drilled(tmp_path, DRILL, f"tests.planted.isolation:{fault}", SIZE))
    assert {name for name, measure in found.items() if _value(measure) != _value(good[name])} == flagged
    assert all(found[name].receipts for name in flagged)


def _value(measure: object) -> float | None:
    return measure.value if isinstance(measure, Measured) else None


def test_without_scopes_nothing_is_played(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "adapters.notes:Notes", 8)
    assert [type(event) for event in told.events] == [Drilled, Ended]
    for measure in measured(METRICS, told).values():
        assert measure.status == "unsupported" and "one file for all" in measure.reason


def test_only_what_the_backend_keeps_apart_is_tried(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "tests.faulty:Sound", DRILL.size)
    asked = {Scope(**call.request["scope"]) for _, call in told.calls("recall", "own")}  # type: ignore[arg-type]  # JSON
    assert asked and all(scope.user is None and scope.branch is None for scope in asked)
    assert any(scope.org for scope in asked) and any(scope.repo for scope in asked)
