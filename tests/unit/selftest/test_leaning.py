"""A question that shares a word with one of two rules is counted to its side, and a suite that leans is told."""

from __future__ import annotations

import pytest

from harness.selftest import overlap
from harness.selftest.overlap import Leaning
from harness.selftest.proof import ScenarioProof
from tasks import loader
from tests.unit.conftest import House

SOUND = Leaning(current=0, superseded=0, of=5)


def weighed(house: House, old: str = "", new: str = "") -> tuple[Leaning, str]:
    file = house.write(house.changed(old, new) if old else house.story)
    ((scenario, repo),) = loader.load([file], house.fixtures, house.cache)
    told = ScenarioProof(file, scenario, repo)
    return overlap.measure_leaning(told), "\n".join(str(note) for note in told.notes)


def test_questions_in_words_of_neither_rule_or_of_both_lean_to_none(house: House) -> None:
    found, notes = weighed(house)
    assert (found.current, found.superseded, notes) == (0, 0, "") and found.of > 0


@pytest.mark.parametrize(
    ("word", "current", "superseded"),
    [("to harborline.", 0, 1), ("kestrelway instead", 1, 0), ("signs every", 0, 0)],
)
def test_a_rare_word_of_one_side_is_counted_to_it(house: House, word: str, current: int, superseded: int) -> None:
    text = house.story.replace(word, f"parcels {word}").replace("Where do we deploy?", "Where go parcels?")
    file = house.write(text)
    ((scenario, repo),) = loader.load([file], house.fixtures, house.cache)
    assert overlap.measure_leaning(ScenarioProof(file, scenario, repo))[:2] == (current, superseded)


@pytest.mark.parametrize(("many", "told"), [((10, 10, 100), []), ((0, 5, 100), []), ((0, 6, 100), ["superseded"]),
                                            ((9, 2, 100), ["current"]), ((0, 0, 0), [])])  # fmt: skip
def test_a_suite_may_lean_by_a_twentieth(many: tuple[int, int, int], told: list[str]) -> None:
    said = [*overlap.judge([Leaning(*many, picked=many[2] / 2)])]
    assert [side for line in said for side in ("current", "superseded") if f"the {side} rule" in line] == told


def test_what_is_added_up_is_counted_once() -> None:
    assert overlap.add([Leaning(1, 2, 3, 0.5), Leaning(4, 5, 6, 2)]) == (5, 7, 9, 2.5)
    assert overlap.add([]) == (0, 0, 0, 0)


@pytest.mark.parametrize(("picked", "said"), [(40, 0), (60, 0), (39, 1), (61, 1)])
def test_who_counts_words_may_do_no_better_or_worse_than_a_coin(picked: float, said: int) -> None:
    assert len([*overlap.judge([Leaning(0, 0, 100, picked)])]) == said
    assert not [*overlap.judge([Leaning(0, 0, 10, picked / 10)])]


def test_of_two_rules_that_with_more_of_the_words_for_its_length_is_picked() -> None:
    asked = {"which", "platform"}
    assert overlap._pick(asked, ["platform moved"], ["hosts moved"]) == 1
    assert overlap._pick(asked, ["platform moved yesterday evening"], ["platform moved"]) == 0
    assert overlap._pick(asked, ["hosts moved"], ["hosts left"]) == 0.5
