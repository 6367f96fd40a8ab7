"""What messages and pieces of transcripts give away by words and lengths is measured, and a suite that does is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.selftest import transcripts
from harness.selftest.overlap import Leaning
from harness.selftest.proof import ScenarioProof
from harness.selftest.transcripts import Heard, Lengths
from tasks import loader
from tests.support.deep_house import SESSIONS, DeepHouse
from tests.unit.conftest import House, Series
from tests.unit.selftest.test_leaning import PLANTED, plant

EVEN = Leaning(current=3, superseded=3, of=100, picked=50)
LONGER, SHORTER = Lengths((9, 9, 9), (1, 1, 1)), Lengths((1, 1, 1), (9, 9, 9))


@pytest.fixture
def deep(tmp_path: Path, series: Series, monkeypatch: pytest.MonkeyPatch) -> DeepHouse:
    """A story whose question shares no word with what was said."""
    monkeypatch.setitem(SESSIONS, "monday", SESSIONS["monday"].replace("what do we charge?", "what is it?"))
    return DeepHouse(tmp_path, series)


def measure(proof: ScenarioProof) -> Heard:
    heard = transcripts.measure(proof)
    assert heard is not None
    return heard


@pytest.mark.parametrize("side", PLANTED)
def test_a_rare_word_that_only_a_message_holds_is_counted(deep: DeepHouse, side: str) -> None:
    for found in measure(plant(deep, side, learnt=False)).leaning.values():
        assert found == ((1, 0, 1, 1) if side == "current" else (0, 1, 1, 0))


def test_a_word_that_both_sides_say_leans_to_none(deep: DeepHouse) -> None:
    assert {found[:3] for found in measure(plant(deep, *PLANTED, learnt=False)).leaning.values()} == {(0, 0, 1)}


def test_what_is_learnt_and_never_said_is_not_what_a_session_holds(deep: DeepHouse) -> None:
    assert {found[:3] for found in measure(plant(deep, "current", learnt=True)).leaning.values()} == {(0, 0, 1)}


def test_a_story_with_enough_questions_may_lean_by_a_third(deep: DeepHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "ASKED", 1)
    proof = plant(deep, "superseded", learnt=False)
    measure(proof)
    assert [breach.key for breach in proof.breaches] == ["transcripts.messages", "transcripts.pieces"]
    assert all("charge.charge (thimbles)" in breach.reason for breach in proof.breaches)


def test_lengths_are_of_what_tells_and_of_what_tells_nothing(deep: DeepHouse) -> None:
    found = measure(deep.tell()).lengths
    assert found["current"] == Lengths(
        (len("dockleaf is history, larkspur from today on"),), (len("yes, dockleaf it is"),)
    )
    assert len(found["user"].these) == 2 and found["tool"].these == () and found["pieces"].those


def test_a_story_without_transcripts_has_nothing_to_measure(house: House) -> None:
    file = house.write(house.story)
    ((scenario, repo),) = loader.load([file], house.fixtures, house.cache)
    assert transcripts.measure(ScenarioProof(file, scenario, repo)) is None
    assert [*transcripts.describe([])] == [] == [*transcripts.judge([])]


@pytest.mark.parametrize(
    ("these", "those", "area"), [((), (1,), 0.5), ((2,), (1,), 1), ((1,), (1,), 0.5), ((1, 3), (2, 2), 0.5)]
)
def test_an_area_is_the_share_of_pairs(these: tuple[int, ...], those: tuple[int, ...], area: float) -> None:
    assert Lengths(these, those).area == area


@pytest.mark.parametrize(
    ("pieces", "lengths", "told"),
    [
        (EVEN, {}, []),
        (EVEN._replace(current=9), {}, ["pieces"]),
        (EVEN._replace(superseded=9), {}, ["pieces"]),
        (EVEN._replace(picked=61), {}, ["pieces"]),
        (EVEN._replace(picked=39), {}, ["pieces"]),
        (EVEN, {"user": LONGER}, ["user"]),
        (EVEN, {"current": SHORTER}, ["current"]),
        (EVEN, {"tool": SHORTER, "pieces": LONGER}, ["tool", "pieces"]),
    ],
)
def test_a_suite_that_gives_itself_away_is_told(pieces: Leaning, lengths: dict[str, Lengths], told: list[str]) -> None:
    heard = Heard({"messages": EVEN, "pieces": pieces}, lengths)
    assert [key for key, _ in transcripts.judge([heard])] == told
    assert len([*transcripts.describe([heard])]) == 2 + len(transcripts.BOUNDS)
