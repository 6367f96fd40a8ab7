"""The drill of isolation: what it writes, how it is played, and that the measures see a leaking backend by its leak."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter import Item, Scope, applies
from harness.log.transcript import Called, Drilled, Ended, Handled, Transcript
from harness.metrics.trust.isolation import LIKENESSES, METRICS
from harness.model.drill import Piece
from harness.model.trial import Measured, NotMeasured
from harness.play.drills import scopes
from harness.play.drills.isolation import DRILL, STORED, group, list_neighbours, plan
from tests.support.drill_player import drilled, measured
from tests.support.measures import number
from tests.support.nights import leave_to_night

REFERENCE = "adapters.reference:Reference"
SIZE = 32
PREFIX = {
    "leaks_by_prefix", "leaks_by_space", "leaks_by_length", "leaks_by_address", "leaks_by_number",
    "leaks_by_path", "leaks_by_separator",
    "leaks_into_empty_name",
}  # fmt: skip
BY_ID = ("read_across_scopes", "updated_across_scopes", "forgotten_across_scopes")


@pytest.mark.slow
@given(st.integers(1, 400), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_its_memories_are_told_apart(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len({piece.canary for piece in made.pieces}) == len({p.item.text for p in made.pieces}) == len(made.pieces)
    assert all(piece.canary and piece.canary in piece.item.text for piece in made.pieces)
    assert len(made.of(*STORED, "more")) == max(size, len(STORED))
    assert {piece.name for piece in made.of("place")} >= {name for name, _ in scopes.make_places()}


def test_pairs_differ_in_one_respect_only_and_all_names_are_there_at_every_size() -> None:
    named = list(scopes.make_pairs())
    for name, first, second in named:
        family, respect, _ = name.split("-")
        assert [part for part in vars(first) if getattr(first, part) != getattr(second, part)] == [respect]
        assert not applies(second, first) and applies(first, second) == (family == "nesting")
    everything = [scope for _, *both in named for scope in both] + [scope for _, scope in scopes.make_places()]
    assert len(set(everything)) == len(everything), "a leak between pairs would be taken for one inside a pair"
    for size in (4, DRILL.size):
        made = plan(size, 1)
        assert len(made.of("near")) == max(1, size // len(STORED))
        assert {piece.item.scope for piece in made.of("near", "far", "place")} == set(everything)
    few = [name.split("-")[0] for name, *_ in named[:12]]
    assert len(set(few)) >= 7, "the first few pairs are of every kind"


@pytest.mark.slow
def test_places_are_told_apart_as_their_group_says() -> None:
    placed = dict(scopes.make_places())
    for respect in scopes.RESPECTS:
        names = [str(getattr(scope, respect)) for name, scope in placed.items() if name.startswith(f"length-{respect}")]
        cuts = [{name[:length] for name in names} for length in (*scopes.LENGTHS, 300)]
        assert [len(each) < len(names) for each in cuts] == [True] * len(scopes.LENGTHS) + [False]
        assert [len(each) for each in cuts] == sorted(len(each) for each in cuts)
    lattice = [scope for name, scope in placed.items() if group(name) == scopes.LATTICE]
    for respect in scopes.RESPECTS:
        siblings = [
            one for one in lattice for two in list_neighbours(one, to_pieces(lattice))
            if None not in (getattr(one, respect), getattr(two.item.scope, respect))
            and getattr(one, respect) != getattr(two.item.scope, respect)
        ]  # fmt: skip
        contexts = {tuple(part for part in vars(one) if getattr(one, part) and part != respect) for one in siblings}
        assert len(contexts) == 8, "whatever else is set"
    for respect in scopes.RESPECTS:
        names = [str(getattr(scope, respect)) for name, scope in placed.items() if name.startswith(f"length-{respect}")]
        for length in scopes.LENGTHS:
            assert len({name[-length:] for name in names}) < len(names), "some differ only before their last characters"
    joined = [scope for name, scope in placed.items() if name.startswith("join-org-repo")]
    for separator in scopes.SEPARATORS:
        keys = [separator.join((scope.org or "", scope.repo or "")) for scope in joined]
        assert len(set(keys)) < len(keys)


@pytest.mark.parametrize(
    ("family", "read"),
    [
        ("path", lambda name: name.rpartition("/")[2]),
        ("path", lambda name: name.partition("/")[0]),
        ("path", posixpath.normpath),
        ("address", lambda name: name.partition("@")[0]),
        ("address", lambda name: name.rpartition("@")[2]),
        ("number", float),
        ("number", lambda name: name.lstrip("v0")),
        ("separator", lambda name: re.sub(r"[\W_]", "-", name)),
        ("separator", lambda name: name.replace("_", "-")),
        ("separator", unquote_plus),
        ("lookalike", lambda name: unicodedata.normalize("NFC", name)),
        ("lookalike", lambda name: unicodedata.normalize("NFKC", name)),
    ],
)
def test_names_as_teams_have_them_are_the_same_to_whoever_reads_them_otherwise(
    family: str, read: Callable[[str], object]
) -> None:
    def tried(name: str) -> object:
        with suppress(ValueError):
            return read(name)
        return name

    for respect in scopes.TEAMS[family][0]:
        group_of = (scope for name, scope in scopes.make_places() if name.startswith(f"{family}-{respect}."))
        names = [str(getattr(scope, respect)) for scope in group_of]
        assert len(names) == len(set(names)) > len(set(map(tried, names)))


def to_pieces(lattice: list[Scope]) -> list[Piece]:
    return [Piece(name=str(scope), role="place", item=Item("x", scope, "", "")) for scope in lattice]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SIZE)


@pytest.mark.slow
def test_the_sound_backend_leaks_nothing_and_every_measure_has_cases(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    measures = measured(METRICS, sound)
    assert measures.pop("deleted_history_across_scopes").status == "not-applicable", "what is deleted has no history"
    for name, measure in measures.items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == (1.0 if name == "scope_names_kept" else 0.0), name


@pytest.mark.slow
def test_looks_come_before_what_they_control(sound: Transcript) -> None:
    calls = [event for event in sound.events if isinstance(event, Called)]
    steps = list(dict.fromkeys(call.step for call in calls if call.op in ("entries", "update", "forget_scope")))
    order = ["listed", "cross", "cross written", "own", "own written", "before forget_scope", "across"]
    assert [step for step in steps if step in order] == order
    assert {after.op for before, after in pairwise(calls) if before.op == "forget_scope"} == {"settle"}
    assert [call for call in calls if call.op == "forget_scope"][-1].request["scope"] == {}, "what could take all"
    assert [event.what for _, event in sound.of(Handled)] == ["opened", "closed"]
    empty = [call for call in calls if call.step == "empty"]
    assert empty and all(call.request["scope"] == {} for call in empty)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    leave_to_night(
        [
            ("isolation:LeaksByPrefix", PREFIX),
            ("isolation:FiltersTooLate", {"crowded_out_of_scope"}),
            ("scopes:ForgetsTheWider", {"wider_scope_forgotten", "narrower_scope_forgotten"}),
            ("scopes:TellsAnyHistory", {"history_across_scopes"}),
        ],
        4,
    ),
)
def test_a_leak_is_flagged_by_its_own_measures(
    tmp_path: Path, sound: Transcript, fault: str, flagged: set[str]
) -> None:
    good = measured(METRICS, sound)
    found = measured(METRICS, drilled(tmp_path, DRILL, f"harness.selftest.planted.{fault}", SIZE))
    assert {name for name, measure in found.items() if number(measure) != number(good[name])} == flagged
    assert all(found[name].receipts for name in flagged)


@pytest.mark.nightly
@pytest.mark.slow
def test_what_is_not_told_apart_at_all_is_named_as_that(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, "harness.selftest.planted.isolation:KeepsNothingApart", SIZE))
    narrow = {name: found[f"leaks_by_{name}"] for name in LIKENESSES if name != "part"}
    assert number(found["leaks_by_part"]) == 1.0
    for measure in narrow.values():
        assert isinstance(measure, NotMeasured) and measure.status == "not-applicable"
        assert "branch and org and repo and user is not told apart: see leaks_by_part" in measure.reason


@pytest.mark.nightly
@pytest.mark.slow
def test_what_is_told_apart_by_other_parts_keeps_its_narrow_names(tmp_path: Path) -> None:
    """The user is ignored where an organisation is set: names of users alone are still compared."""
    found = measured(METRICS, drilled(tmp_path, DRILL, "harness.selftest.planted.scopes:DropsTheUser", SIZE))
    assert (number(found["leaks_by_part"]) or 0) > 0 and number(found["leaks_by_case"]) == 0.0


@pytest.mark.slow
def test_without_scopes_nothing_is_played(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "adapters.notes:Notes", 8)
    assert [type(event) for event in told.events] == [Drilled, Ended]
    for measure in measured(METRICS, told).values():
        assert measure.status == "unsupported" and "one file for all" in measure.reason


@pytest.mark.slow
def test_only_what_the_backend_keeps_apart_is_tried(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "tests.support.faulty_backends:Sound", DRILL.size)
    asked = {Scope(**call.request["scope"]) for _, call in told.calls("recall", "own")}  # type: ignore[arg-type]  # JSON
    assert asked and all(scope.user is None and scope.branch is None for scope in asked)
    assert any(scope.org for scope in asked) and any(scope.repo for scope in asked)
