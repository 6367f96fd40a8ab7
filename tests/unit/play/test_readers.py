"""The seam of readers: who is found, what is asked and logged, and what becomes of a job whose store dies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Hit, Source
from harness.log.events import Recalled, Worked
from harness.play import readers
from harness.play.readers import Reader, ReaderError, render
from tests.support.curious_reader import Breaking, Curious, Silent, Stubborn
from tests.support.fakes import FakeHost
from tests.support.story_player import Stage


def test_a_reader_asks_in_its_own_words_and_each_question_is_logged_once(small: Stage, tmp_path: Path) -> None:
    log = replace(small, reader=Curious()).play(tmp_path, FakeHost(tmp_path / "store"))
    ((_, job),) = small.scenario.jobs()
    asked = [event for event in log.list_events(Recalled) if event.purpose == "decision"]
    assert [event.query for event in asked] == [job.goal, job.decisions[0].question]
    assert {event.ref for event in asked} == {f"{job.id}/{job.decisions[0].id}"}
    (worked,) = log.list_events(Worked)
    assert worked.read_policy == "trusting" and worked.choices[0].origin == "memory"
    kinds = [type(event) for event in log.events]
    assert kinds.index(Worked) > max(
        place for place, kind in enumerate(kinds) if kind is Recalled and place < kinds.index(Worked)
    )


@pytest.mark.parametrize("reader", [Curious(), Stubborn()])
def test_a_store_that_dies_under_a_question_ends_the_story(small: Stage, tmp_path: Path, reader: Reader) -> None:
    probes = sum(1 for _, probe in small.scenario.probes() for _ in probe.ask.phrasings())
    where = FakeHost(tmp_path / "store", faults={"recall": [*[None] * probes, ("crashed", False)]})
    log = replace(small, reader=reader).play(tmp_path, where)
    assert log.closed is not None and (log.closed.status, log.closed.fault and log.closed.fault.kind) == (
        "failed",
        "crashed",
    )
    asked = [event for event in log.list_events(Recalled) if event.purpose == "decision"]
    assert [event.fault and event.fault.kind for event in asked] == ["crashed"]


def test_the_cold_arm_brings_nothing_to_any_reader(small: Stage, tmp_path: Path) -> None:
    log = replace(small, reader=Curious()).cold(tmp_path)
    assert [event.choices[0].origin for event in log.list_events(Worked)] == ["nowhere"]
    assert log.list_events(Recalled) == []


@pytest.mark.parametrize(
    ("reader", "why"), [(Breaking(), "RuntimeError: this reader breaks"), (Silent(), "no Outcome")]
)
def test_a_reader_that_breaks_is_to_blame_itself(small: Stage, tmp_path: Path, reader: Reader, why: str) -> None:
    log = replace(small, reader=reader).play(tmp_path, FakeHost(tmp_path / "store"))
    assert log.closed is not None and log.closed.fault is not None
    fault = log.closed.fault
    assert fault.kind == "harness" and why in fault.message
    assert "a fault of the reader, not of the backend" in fault.message


def test_readers_are_found_by_name_and_by_place() -> None:
    assert type(readers.find("scripted")).__name__ == "Scripted"
    assert type(readers.find("tests.support.curious_reader:Curious")).__name__ == "Curious"
    assert readers.digest("scripted") != readers.digest("tests.support.curious_reader:Curious")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("scriptd", "did you mean scripted"),
        ("scripted@some", "asks no model: leave out --model"),
        ("nobody", "known: .*scripted"),
        ("tests.support.curious_reader:Nobody", "cannot be made: AttributeError"),
        ("tests.nowhere:Nobody", "cannot be made: ModuleNotFoundError"),
        ("tests.support.curious_reader:Idle", "is none: it needs"),
    ],
)
def test_what_is_no_reader_is_one_line(name: str, why: str) -> None:
    with pytest.raises(ReaderError, match=why) as caught:
        readers.find(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("line", "shown"), [(3, "a.md:3 @ 1a2b3c4"), (None, "a.md @ 1a2b3c4")])
def test_a_source_is_shown_as_far_as_it_goes(line: int | None, shown: str) -> None:
    hit = Hit("m1", "the queue is redis", source=Source("1a2b3c4d", "a.md", line))
    assert render(hit.text, hit) == f"- the queue is redis ({shown})"
