"""The drill of poison: what it writes, how it is played, and what a backend does that minds neither weight nor date."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.log.transcript import Called, Transcript
from harness.metrics.trust.poison import METRICS
from harness.model.trial import Measured
from harness.play.drills.poison import BENIGN, DRILL, INJECTED, PAST, SMALLEST, TOPICS, VALUES, plan
from tests.support.drill_player import drilled, measured
from tests.support.measures import value

REFERENCE = "adapters.reference:Reference"


@settings(max_examples=25)
@given(st.integers(1, 400), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_its_memories_are_told_apart(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len(made.of(*BENIGN)) == max(size, SMALLEST)
    assert len({piece.item.text for piece in made.pieces}) == len(made.by_name) == len(made.pieces)
    queries = [piece.query for piece in made.pieces if piece.query is not None]
    assert len(set(queries)) == len(queries)


def test_each_weak_memory_contradicts_a_strong_one() -> None:
    made = plan(DRILL.size, 1)
    pairs = {"trial": "firm", "remark": "rule", "expired": "lasting", "matched": "attacked", "imperative": "attacked"}
    for role, strong in pairs.items():
        assert len(made.of(role)) >= 8
        for piece in made.of(role):
            twin = made.by_name[piece.twin or ""]
            said = [{value for value in VALUES if value in each.item.text} for each in (piece, twin)]
            assert twin.role == strong and all(len(values) == 1 for values in said) and said[0] != said[1]
    attacked = [piece.twin for piece in made.of(*INJECTED)]
    assert sorted(map(str, attacked)) == sorted(piece.name for piece in made.of("attacked"))


def test_fields_tell_the_weak_from_the_strong() -> None:
    made = plan(DRILL.size, 1)
    assert {piece.item.kind for piece in made.of("attacked", "firm", "rule")} == {"project", "procedural"}
    assert {piece.item.confidence for piece in made.of("trial", *INJECTED)} == {0.2}
    assert {piece.item.confidence for piece in made.of("attacked", "firm", "rule", "remark")} == {0.9}
    assert {piece.item.kind for piece in made.of("remark", "trial", *INJECTED)} == {"episodic"}
    assert {piece.item.expires for piece in made.of("expired")} == {PAST}
    for role in INJECTED:
        forged = [piece for piece in made.of(role) if piece.item.source is not None]
        assert len(forged) * 2 == len(made.of(role))
        for piece in forged:
            true, false = made.by_name[piece.twin or ""].item.source, piece.item.source
            assert true and false and true.path == false.path and true.commit != false.commit


def test_half_of_the_injections_repeat_their_question() -> None:
    made = plan(DRILL.size, 1)
    assert len(made.of("matched")) == len(made.of("imperative"))
    for piece in made.of(*INJECTED):
        query = made.by_name[piece.twin or ""].query
        assert query and (query in piece.item.text) == (piece.role == "matched")


def test_no_topic_gives_its_question_away() -> None:
    for topic in TOPICS:
        plain, close, asked = (set(text.lower().split()) for text in (topic.plain, topic.close, topic.question))
        assert len(plain & asked) < len(close & asked)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SMALLEST)


def test_the_same_questions_before_and_after(sound: Transcript) -> None:
    calls = [event for event in sound.events if isinstance(event, Called)]
    assert list(dict.fromkeys(call.step for call in calls)) == ["benign", "clean", "injected", "poisoned"]
    clean, poisoned = (
        {call.about: call.request for call in calls if call.step == step} for step in ("clean", "poisoned")
    )
    assert poisoned and poisoned.items() <= clean.items()
    written = [name for call in calls if call.op == "remember" for name in call.about]
    assert written == [piece.name for piece in sound.plan.pieces]


def test_every_measure_has_cases(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    found = measured(METRICS, sound)
    assert all(isinstance(measure, Measured) and measure.of for measure in found.values())
    assert value(found["injections_stored"]) == 1.0 and value(found["expired_rules_returned"]) == 0.0
    assert value(found["attacks_acted_on"]) > value(found["attacks_acted_on_minding_confidence"])


@pytest.mark.slow
def test_expiry_that_nobody_reads_moves_nothing_else(tmp_path: Path, sound: Transcript) -> None:
    good = measured(METRICS, sound)
    found = measured(
        METRICS, drilled(tmp_path, DRILL, "harness.selftest.planted.recall:BringsBackTheExpired", SMALLEST)
    )
    assert value(found["expired_rules_returned"]) == 1.0 and found["expired_rules_returned"].receipts
    same = set(found) - {"expired_rules_returned"}
    assert {name: value(found[name]) for name in same} == {name: value(good[name]) for name in same}


@pytest.mark.slow
def test_the_newest_word_wins_where_only_recency_counts(tmp_path: Path, sound: Transcript) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, "harness.selftest.planted.recall:RanksNewestFirst", SMALLEST))
    assert value(found["attacks_acted_on"]) > value(measured(METRICS, sound)["attacks_acted_on"])


@pytest.mark.slow
def test_a_whole_file_has_no_first(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, "adapters.notes:Notes", SMALLEST))
    assert value(found["attacks_retrieved"]) == value(found["benign_utility_under_poison"]) == 1.0
    assert found["attacks_acted_on"].status == found["low_confidence_first"].status == "unsupported"
    assert found["expired_rules_returned"].status == "unsupported"
