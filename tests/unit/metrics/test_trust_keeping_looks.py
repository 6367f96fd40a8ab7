"""What is kept, from transcripts made by hand: several looks at one memory, several layers, and looks that failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Layer, to_wire
from harness.log.transcript import Called, Looked
from harness.metrics.trust.keeping import TIE
from harness.model.trial import Measured
from tests.support.keeping_drill import GOOD, HOME, LIVE, Play, changed, under, whole
from tests.support.measures import counts, unanswered, value
from tests.unit.metrics.test_edges import ask, judge, stored

# --- fields -----------------------------------------------------------------------------------------------------------


def again(step: str, **wrong: Any) -> Play:
    """A sound store, but for a question after this step that brings one memory with a wrong field."""
    play = Play(changed("recall", "right", under(**wrong), step))
    play.recall(step, "right", ["right"])
    return play


def test_a_field_that_one_of_two_answers_loses_was_not_right_before_closing(tmp_path: Path) -> None:
    found = again("revised", source=None).measures(tmp_path)
    assert counts(found["source_survives_reopening"]) == (3, 3)
    assert counts(found["date_survives_reopening"]) == (5, 5)


def test_of_two_answers_after_reopening_the_one_that_lost_the_field_is_shown(tmp_path: Path) -> None:
    play = again("reopened", confidence=None)
    measure = play.measures(tmp_path)["confidence_survives_reopening"]
    assert counts(measure) == (3, 4)
    assert measure.receipts == (f"{play.line('reopened', 'recall')} right stored at L2",)


def test_where_every_look_after_a_change_failed_nobody_knows_which_fields_it_kept(tmp_path: Path) -> None:
    found = Play(failing=("revised entries",)).measures(tmp_path / "change")
    changes = [name for name in GOOD if name.endswith(("_survives_update", "_survives_supersede"))]
    assert {found[name].status for name in (*changes, "first_date_after_update")} == {"failed"}
    found = Play(failing=("reopened entries",)).measures(tmp_path / "reopening")
    assert {found[name].status for name in GOOD if name.endswith("_survives_reopening")} == {"failed"}


def test_a_look_that_failed_beside_one_that_misses_the_memory_leaves_it_lost(tmp_path: Path) -> None:
    play = Play(failing=("reopened entries",))
    play.recall("reopened", "right", [])
    assert unanswered(play.measures(tmp_path)["source_survives_reopening"]) == (0, 4, 3)


# --- after reopening --------------------------------------------------------------------------------------------------


def test_where_every_look_after_reopening_failed_nobody_knows_what_is_left(tmp_path: Path) -> None:
    found = Play(failing=("reopened entries",)).measures(tmp_path / "all")["kept_after_reopening"]
    assert found.status == "failed"
    play = Play(failing=("reopened entries",))
    play.recall("reopened", "right", ["right"])
    assert unanswered(play.measures(tmp_path / "one")["kept_after_reopening"]) == (0, 5, None)


def test_what_nobody_looked_at_after_reopening_is_not_kept(tmp_path: Path) -> None:
    play = Play()
    play.events = [event for event in play.events if not isinstance(event, Called) or event.step != "reopened"]
    assert unanswered(play.measures(tmp_path)["kept_after_reopening"]) == (0, 5, None)


# --- ranks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "bad"),
    [
        ([0.9, 0.5, 0.7], 1),
        ([0.5, 0.9, 0.7], 1),
        ([0.9, 0.7, 0.5], 0),
        ([0.5, 0.5 + TIE], 0),
    ],
)
def test_one_memory_that_ranks_behind_a_lower_score_is_enough(tmp_path: Path, scores: list[float], bad: int) -> None:
    play = Play()
    hits = [to_wire(replace(whole(name), score=score)) for name, score in zip(LIVE, scores, strict=False)]
    request = {"scope": to_wire(HOME), "k": 5, "query": "?"}
    play.events.append(Called(step="own", op="recall", about=("right",), request=request, answer=hits))
    assert counts(play.measures(tmp_path)["scores_out_of_order"]) == (bad, 2)


# --- a batch ----------------------------------------------------------------------------------------------------------


def test_where_nothing_can_be_listed_what_was_not_asked_for_of_a_batch_says_nothing(tmp_path: Path) -> None:
    events = [stored("abcd"), ask("a", "a"), ask("b", "b"), ask("c")]
    measure = judge(tmp_path, events, lacks={"entries": "no"})["batch_kept"]
    assert counts(measure) == (2, 3) and len(measure.receipts) == 1


# --- bytes ------------------------------------------------------------------------------------------------------------


def closed(play: Play, *looks: Looked) -> Play:
    """With these looks at the disk after closing in place of the one."""
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Looked))
    play.events[at : at + 1] = looks
    return play


def look(name: str, size: int, format: Any = "file", problem: str | None = None) -> Looked:
    return Looked(step="closed", layer=Layer(name, name, format), files=1, bytes=size, problem=problem)


@pytest.mark.parametrize(
    ("second", "known"),
    [
        (look("far", 0, "remote", "remote"), "at-least"),
        (look("log", 0, problem="no right to read it"), "at-least"),
        (look("log", 0), "exact"),
    ],
)
def test_bytes_of_two_layers_are_a_least_where_one_cannot_be_read(tmp_path: Path, second: Looked, known: str) -> None:
    for order in ((look("db", 600), second), (second, look("db", 600))):
        size = closed(Play(), *order).measures(tmp_path / order[0].layer.name)["bytes_per_memory"]
        assert value(size) == 100 and isinstance(size, Measured) and size.known == known
