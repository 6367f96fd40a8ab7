"""What is kept, where something is lacking: calls that failed, capabilities, an answer beside the silence, bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Layer
from harness.log.transcript import Called, Looked
from harness.model.trial import Measured, NotMeasured
from tests.support.keeping_drill import FIRST, GOOD, METRICS, Play, changed, lost
from tests.support.measures import counts, value


def test_failed_calls_count_as_the_worst(tmp_path: Path) -> None:
    play = Play(failing=("own recall", "unknown recall", "written entries", "reopened entries"))
    found = play.measures(tmp_path)
    assert counts(found["calls_failed"]) == (10, 18)
    failed = ("self_reachability", "own_text_first", "writes_kept", "writes_listed", "unknown_answered_with_silence",
              "odd_texts_exact")  # fmt: skip
    assert [found[name].status for name in failed] == ["failed"] * len(failed)
    for name in ("kept_after_reopening", "source_survives_reopening"):
        assert found[name].status == "failed" or counts(found[name])[0] == 0, name
    seconds = found["recall_seconds"]
    assert isinstance(seconds, Measured) and seconds.of == 1


@pytest.mark.parametrize(
    ("capability", "names"),
    [
        ("ranked", {"own_text_first", "answer_among_look_alikes", "scores_out_of_order", "right_before_look_alike"}),
        ("abstains", {"unknown_answered_with_silence"}),
        ("expiry", {"expiry_by_wall_clock", "expiry_lost", "ended_late", "ended_early"}),
        (
            "forget",
            {
                "ids_reissued",
                "deprecated_undeleted",
                "forgotten_at_once",
                "lost_by_forgetting_at_once",
                "delete_seconds",
                "source_survives_deletion",
            },
        ),
        (
            "source",
            {"same_text_updated", "source_survives_deletion", *(name for name in GOOD if name.startswith("source_"))},
        ),
        ("created", {"first_date_after_update", *(name for name in GOOD if name.startswith("date_"))}),
        ("entries", {"entries_unaccounted", "writes_listed", "list_seconds"}),
        ("scope_repo", {"answer_among_look_alikes", *(name for name in GOOD if name.startswith("scope_"))}),
        (
            "update",
            {
                "first_date_after_update",
                "history_of_equal_text",
                "history_tells_all_versions",
                "same_text_updated",
                "updated_found",
                "update_seconds",
                *(name for name in GOOD if name.endswith("_update")),
            },
        ),
        ("supersede", {"several_superseded", *(name for name in GOOD if name.endswith("_supersede"))}),
        (
            "persistent",
            {
                "bytes_per_memory",
                "bytes_per_question",
                "first_answer_seconds",
                "undeclared_bytes",
                *(name for name in GOOD if name.endswith("_reopening")),
            },
        ),
    ],
)
def test_what_is_lacking_is_unsupported(tmp_path: Path, capability: str, names: set[str]) -> None:
    found = Play().measures(tmp_path, {capability: "never was"})
    refused = {name: each for name, each in found.items() if each.status == "unsupported"}
    assert set(refused) == names
    assert all(isinstance(each, NotMeasured) and "never was" in each.reason for each in refused.values())


def test_who_has_no_field_for_a_confidence_loses_none(tmp_path: Path) -> None:
    """It declares no filter by one and never shows one. Who shows a single one has the field."""
    lacks, name = {"filter_confidence": "never was"}, "confidence_survives_writing"
    bare = Play(lambda _step, _op, _name, hit: replace(hit, confidence=None))
    assert counts(bare.measures(tmp_path / "filter")[name]) == (0, 5)
    assert bare.measures(tmp_path / "none", lacks)[name].status == "unsupported"
    one = Play(lambda _step, _op, name, hit: replace(hit, confidence=None) if name != "right" else hit)
    assert counts(one.measures(tmp_path / "one", lacks)[name]) == (1, 5)


def test_silence_counts_only_beside_an_answer(tmp_path: Path) -> None:
    found = Play(changed("recall", "right", lost, "asked")).measures(tmp_path)
    assert counts(found["answer_among_look_alikes"]) == (0, 1)
    assert found["unknown_answered_with_silence"].status == "not-applicable"
    assert counts(Play(unknown=("odd",)).measures(tmp_path / "talks")["unknown_answered_with_silence"]) == (0, 1)


def test_a_source_that_never_was_right_cannot_survive(tmp_path: Path) -> None:
    found = Play(lambda step, op, name, hit: replace(hit, source=None)).measures(tmp_path)
    assert counts(found["source_survives_writing"]) == (0, 5)
    for name in ("source_survives_update", "source_survives_supersede", "source_survives_reopening"):
        assert found[name].status == "not-applicable"


@pytest.mark.parametrize(
    ("look", "status", "known"),
    [
        ({"bytes": 600, "problem": "half of it cannot be read"}, "measured", "at-least"),
        ({"bytes": 0, "problem": "remote"}, "not-applicable", None),
    ],
)
def test_bytes_that_cannot_be_read(tmp_path: Path, look: Any, status: str, known: str | None) -> None:
    play = Play()
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Looked))
    play.events[at] = Looked(step="closed", layer=Layer("file", "a.db", "file"), files=1, **look)
    size = play.measures(tmp_path)["bytes_per_memory"]
    assert size.status == status and getattr(size, "known", None) == known


def test_bytes_are_those_that_are_found_and_not_those_that_are_declared(tmp_path: Path) -> None:
    play = Play()
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Looked))
    layers = {"db": Layer("db", "empty", "file"), "far": Layer("far", "far", "remote")}
    elsewhere = Looked(step="closed", layer=Layer("else", "..", "file"), declared=False, files=2, bytes=600)
    play.events[at : at + 1] = [Looked(step="closed", layer=layers["db"], files=1, bytes=0), elsewhere]
    found = play.measures(tmp_path / "db")
    assert value(found["bytes_per_memory"]) == 100 and counts(found["undeclared_bytes"]) == (600, 600)
    play.events[at] = Looked(step="closed", layer=layers["far"], files=0, bytes=0, problem="remote")
    assert play.measures(tmp_path / "far")["bytes_per_memory"].status == "not-applicable"


def test_no_look_at_the_disk_is_a_failure(tmp_path: Path) -> None:
    play = Play()
    play.events = [event for event in play.events if not isinstance(event, Looked)]
    assert play.measures(tmp_path)["bytes_per_memory"].status == "failed"


def test_a_store_that_takes_nothing_has_nothing_to_show(tmp_path: Path) -> None:
    play = Play(lambda step, op, name, hit: None)
    play.events[0] = Called(step="written", op="remember", about=FIRST, answer=[{"ids": []} for _ in FIRST])
    found = play.measures(tmp_path)
    assert counts(found["writes_not_acknowledged"]) == (6, 6)
    clean = {name for name, each in found.items() if each.status == "measured"} - {"writes_not_acknowledged"}
    assert clean == {"calls_failed", "recall_seconds", "update_seconds", "list_seconds"}


def test_failed_calls_are_counted_even_if_the_drill_was_cut_off() -> None:
    assert {metric.definition.name for metric in METRICS if not metric.whole} == {"calls_failed"}
    assert {metric.drill for metric in METRICS} == {"keeping"}
