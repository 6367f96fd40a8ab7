"""The agent reader with a program that misbehaves: how it ends, what of that is a fault, and what the report tells."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from harness.agents import profile
from harness.agents.reader import AgentReader
from harness.gateway.chat.client import Reply
from harness.log.events import Corrected, Worked
from harness.log.reader import Log
from harness.machine import bubblewrap, command
from harness.metrics import faults
from harness.metrics.view import Record, View
from harness.play.readers import ReaderError
from harness.report import progress
from harness.report.timeline.session import Telling
from tests.support.agent_player import EDIT, LABEL, RECALL, make, play
from tests.support.fake_model import FakeModel
from tests.support.fakes import FakeHost
from tests.support.measures import counts, measures
from tests.support.nights import leave_to_night
from tests.support.story_player import Stage
from tests.support.worked_job import CHECK, QUIET, Story, calls, load, verdict, worked
from tests.unit.conftest import House

pytestmark = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    return load(lasting, lasting.story.replace(CHECK, QUIET))


# --- a program that misbehaves ----------------------------------------------------------------------------------------


def count_faults(log: Log) -> int:
    return sum(each.count for each in faults.of_trial(log) if each.op == "chat")


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "it exits early": (
        {"what": "early"},
        "failed",
        "exit 3: it ended by itself, after 0 steps: a fake agent program, told: early",
    ),
    "it does nothing": ({"what": "idle"}, "failed", "exit 0, and it never asked its model"),
    "it hangs": ({"what": "hang", "first": "seconds = 2"}, "timed-out", "ended: 2 s are used up"),
    "it prints without end": ({"what": "loud"}, "failed", "exit 125: it printed too much, after 0 steps"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_who_does_not_do_the_job_has_failed_and_the_story_goes_on(
    story: Story, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "MOST", 300_000)
    made, outcome, why = BAD[name]
    log = play(story, tmp_path, EDIT, **made)
    last = calls(log)[-1]
    assert (last.outcome, last.why) == (outcome, why) and not last.answered
    assert verdict(log) == "unresolved" and count_faults(log) == 1
    assert log.closed and log.closed.status == "complete"


WANTS = {
    "update": "exit 4: it ended by itself, after 0 steps: A newer version is required, and could not be fetched.",
    "login": "exit 7: it ended by itself, after 0 steps: Visit https://login.example.com and paste the code:",
    "browse": "exit 5: it ended by itself, after 0 steps: No browser came back with a login.",
}
"""What a program wants of a person or of the network outside -> its end."""


@pytest.mark.slow
@pytest.mark.parametrize("what", WANTS)
def test_who_wants_something_from_outside_gets_nothing_and_its_end_says_what(
    story: Story, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = tmp_path / "opener"
    opener.write_text(f"#!/bin/sh\ntouch {tmp_path}/opened\n")
    opener.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(opener))
    monkeypatch.setenv("DISPLAY", ":0")
    with socket.create_server(("127.0.0.1", 0)) as outside:
        made = f"{what}+{outside.getsockname()[1]}"
        log = play(story, tmp_path / "bad", EDIT, what=made, rounds=2)
        outside.settimeout(0)
        with pytest.raises(BlockingIOError):
            outside.accept()
    assert not (tmp_path / "opened").exists()
    ends = [log.calls(each) for each in (worked(log), *log.list_events(Corrected))]
    assert [[each.why for each in calls] for calls in ends] == [[WANTS[what]]] * 2, (
        "each round is the program as it was"
    )
    (fault,) = [each for each in faults.of_trial(log) if each.op == "chat"]
    assert (fault.count, fault.message) == (2, WANTS[what])
    assert f"2 calls FAILED: raised in chat: {WANTS[what]}"[:120] in progress.format_line(log)
    assert verdict(log) == "unresolved" and log.closed and log.closed.status == "complete"
    assert verdict(play(story, tmp_path / "good", EDIT)) == "right", "another trial goes on"


@pytest.mark.slow
def test_who_never_opens_its_memory_was_not_warm(story: Story, tmp_path: Path) -> None:
    made = make(tmp_path, form="mcp")
    text = (tmp_path / "fake.toml").read_text()
    (tmp_path / "fake.toml").write_text(
        text.replace('command = ["${memory}"]', 'environment = { UNREAD = "${memory}" }')
    )
    made, model = AgentReader(str(tmp_path / "fake.toml"), "fake"), FakeModel(EDIT)
    store = FakeHost(tmp_path / "store")
    log = replace(Stage.of(*story), reader=made, ask_model=model).play(tmp_path, store, reader=LABEL)
    last = calls(log)[-1]
    assert (last.outcome, last.why) == ("failed", "exit 0, and it never opened its memory: this job was not warm")
    assert count_faults(log) == 1 and verdict(log) == "unfinished", "its right edit counts for nothing"


@pytest.mark.slow
def test_who_has_a_memory_and_does_not_ask_it_is_told_of(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT)
    assert (calls(log)[-1].outcome, calls(log)[-1].why) == ("finished", "it never asked its memory")
    assert count_faults(log) == 0


@pytest.mark.slow
def test_a_call_that_asks_for_another_model_is_answered_and_told_of(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, what="work+strays")
    said = "2 of its 2 calls asked for another model (small), and fake answered"
    last = calls(log)[-1]
    assert (last.outcome, last.why) == ("finished", f"it never asked its memory; {said}")
    assert count_faults(log) == 0 and verdict(log) == "right"
    assert said in "".join(map(str, Telling(View(Record(log), "model"), whole=False).sessions()))


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "why"), [("steps = 3", "3 steps"), ("tokens = 900", "900 tokens")])
def test_a_budget_ends_the_program(story: Story, tmp_path: Path, budget: str, why: str) -> None:
    log = play(story, tmp_path, EDIT, *[("bash", {"command": "ls"})] * 40, first=budget)
    last = calls(log)[-1]
    assert (last.outcome, last.why) == ("acted", f"ended: {why} are used up") and not last.answered
    assert len(calls(log)) < 10 and count_faults(log) == 0 and verdict(log) == "unfinished"
    found = measures(log)
    assert counts(found["jobs_done"]) == (0, 1) and counts(found["jobs_unfinished"]) == (1, 1)
    assert found["jobs_unfinished"].receipts, "it was right and is not done, as it did not end"
    page = "".join(map(str, Telling(View(Record(log), "model"), whole=False).sessions()))
    assert "\u25cc unfinished" in page and "kestrelway" in page


ENDS: dict[str, tuple[dict[str, Any], tuple[int, int], tuple[int, int]]] = {
    "it ends": ({}, (1, 1), (0, 1)),
    "it ends and did nothing": ({"steps": ()}, (0, 1), (0, 1)),
    "it crashes": ({"what": "work+crashes"}, (0, 1), (1, 1)),
    "it is killed": ({"what": "work+hangs", "first": "seconds = 8"}, (0, 1), (1, 1)),
    "its budget is used up": ({"first": "steps = 2"}, (0, 1), (1, 1)),  # it asks again once its edit is made
}
"""How a program ends whose edit is right -> what is right of its decisions, and unfinished of its jobs."""


@pytest.mark.slow
@pytest.mark.parametrize("cold", leave_to_night([False, True], 2))
@pytest.mark.parametrize("name", ENDS)
def test_what_an_unfinished_job_got_right_counts_for_nothing_in_either_arm(
    story: Story, tmp_path: Path, name: str, cold: bool
) -> None:
    made, right, unfinished = ENDS[name]
    log = play(
        story, tmp_path, *made.get("steps", (EDIT,)), cold=cold, **{k: v for k, v in made.items() if k != "steps"}
    )
    ((seen, *_),) = [event.checks for event in log.list_events(Worked)]
    assert seen.value == ("kestrelway" if "steps" not in made else None), "the check sees what it did"
    found = measures(log)
    assert (counts(found["decisions_right"]), counts(found["jobs_unfinished"])) == (right, unfinished)


@pytest.mark.slow
def test_a_limit_of_its_own_is_known_by_what_it_says(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, first='gave_up = ["no limit", "told: work"]')
    last = calls(log)[-1]
    assert (last.outcome, last.why) == ("acted", "ended: by a limit of its own (told: work)") and not last.answered
    assert count_faults(log) == 0


@pytest.mark.slow
def test_a_model_that_fails_is_a_fault_of_its_own(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, Reply("failed", why="502: ended before the answer was complete"))
    assert [each.outcome for each in calls(log)] == ["acted", "failed", "failed"]
    assert calls(log)[-1].why == "exit 1: it ended by itself, after 2 steps"
    assert count_faults(log) == 2 and verdict(log) == "unfinished"


@pytest.mark.slow
def test_a_store_that_dies_ends_the_story_and_its_program(story: Story, tmp_path: Path) -> None:
    counted = FakeHost(tmp_path / "counted")
    play(story, tmp_path / "before", form="mcp", store=counted)
    before = sum(op == "recall" for op, _ in counted.calls)
    model, store = FakeModel(*[RECALL] * 30), FakeHost(tmp_path / "store")
    store.faults["recall"] = [*[None] * before, ("crashed", False)]
    log = play(story, tmp_path, model=model, form="mcp", store=store)
    assert log.closed is not None and (log.closed.status, log.closed.fault and log.closed.fault.op) == (
        "failed",
        "recall",
    )
    assert not log.list_events(Worked) and len(model.heard) < 5


def test_a_program_that_is_not_there_is_said_before_anything_is_played(tmp_path: Path) -> None:
    make(tmp_path)
    text = (tmp_path / "fake.toml").read_text()
    (tmp_path / "fake.toml").write_text(text.replace('"python3", "${home}', '"no-such-program", "${home}', 1))
    with pytest.raises(ReaderError, match="there is no program 'no-such-program' where jobs run: fake has to be in"):
        AgentReader(str(tmp_path / "fake.toml"), "fake")


@pytest.mark.slow
def test_the_report_tells_each_step_how_the_program_ended_and_what_it_said_of_itself(
    story: Story, tmp_path: Path
) -> None:
    hostile = ("bash", {"command": "echo '<script>alert(1)</script>'; printf '\\342\\200\\256'; exit 3"})
    log = play(story, tmp_path, hostile, first='gave_up = ["told: work"]')
    assert log.opening.digests["program"] == profile.read("opencode").label, "as its label says here"
    page = "".join(map(str, Telling(View(Record(log), "model"), whole=False).sessions()))
    for said in (
        "what fake with fake did: 3 steps", "not end its job, acted: ended: by a limit of its own", "1 acted",
        "Points:", "the program told of itself:\\na fake agent program, told: work",
    ):  # fmt: skip
        assert said in page, said
    assert "\u202e" not in page
