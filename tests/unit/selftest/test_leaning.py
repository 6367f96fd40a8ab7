"""A question that shares a word with one of two rules is counted to its side, and a suite that leans is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.selftest import overlap
from harness.selftest.overlap import Leaning
from harness.selftest.proof import ScenarioProof
from tasks import loader
from tests.support.deep_house import SESSIONS, STORY, DeepHouse
from tests.unit.conftest import House, Series

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


PLANTED = {
    "current": ("fee-new", "By now larkspur", "tuesday", "larkspur from"),
    "superseded": ("fee-old", "A fee is", "monday", "yes, dockleaf"),
}
"""Side -> its fact, words of what is learnt of it, and words of what is said of it in a session."""


def plant(house: DeepHouse, *sides: str, learnt: bool) -> ScenarioProof:
    """A spoken story in which a rare word of its question stands in what these sides are told by.

    Args:
        learnt: It stands in a sentence that is learnt; else a message alone tells the fact.
    """
    house.story = STORY.replace("How much do we charge?", "How many thimbles do we charge?")
    for fact, plain, session, said in map(PLANTED.__getitem__, sides):
        step, probe = (
            f'{{do = "learn", facts = ["{fact}"]}}',
            f'{{do = "probe", id = "{fact}", ask = {{plain = "Who?"}}}}',
        )
        assert plain in STORY and step in STORY and said in SESSIONS[session]
        if learnt:
            house.story = house.story.replace(plain, f"In thimbles: {plain}")
        else:
            house.story = house.story.replace(step, probe)
            (house.beside / f"{session}.toml").write_text(SESSIONS[session].replace(said, f"in thimbles, {said}"))
    return house.tell()


@pytest.mark.parametrize("learnt", [True, False], ids=["learnt", "told in a transcript alone"])
@pytest.mark.parametrize("side", PLANTED)
def test_no_question_of_a_spoken_story_may_lean(tmp_path: Path, series: Series, side: str, learnt: bool) -> None:
    proof = plant(DeepHouse(tmp_path, series), side, learnt=learnt)
    found = overlap.measure_leaning(proof)
    assert (found.current, found.superseded, found.of) == ((1, 0, 1) if side == "current" else (0, 1, 1))
    assert [(breach.key, breach.reason) for breach in proof.breaches] == [
        ("questions", f"charge.charge (thimbles) shares a rare word with the {side} rule only")
    ]
    assert proof.notes == []


@pytest.mark.parametrize("learnt", [True, False], ids=["learnt", "told in transcripts alone"])
def test_a_rare_word_of_both_sides_of_a_spoken_story_is_no_breach(tmp_path: Path, series: Series, learnt: bool) -> None:
    proof = plant(DeepHouse(tmp_path, series), *PLANTED, learnt=learnt)
    assert overlap.measure_leaning(proof)[:3] == (0, 0, 1) and proof.breaches == []


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
