"""The agent reader, with a fake program in a real sandbox: how a job is done, and what becomes of what goes wrong."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from harness.agents import own_file, profile, program
from harness.agents.reader import AgentReader
from harness.compare import cost_model
from harness.gateway.chat.client import Reply
from harness.log.blobs import Ref
from harness.log.calls import ModelCall
from harness.log.events import Corrected, Recalled, Worked, Wrote
from harness.log.reader import Log
from harness.machine import bubblewrap, command
from harness.metrics import faults
from harness.metrics.view import Record, View
from harness.model.scenario import Scenario
from harness.play.readers import ReaderError
from harness.repo.checkout import Repo
from harness.report import progress
from harness.report.outputs import markdown
from harness.report.timeline.session import Telling
from tasks import loader
from tests.support import fake_agent
from tests.support.fake_model import FakeModel, Step
from tests.support.fakes import FakeHost
from tests.support.measures import counts, measures
from tests.support.story_player import Stage
from tests.unit.conftest import House

pytestmark = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")
Story = tuple[Scenario, Repo]
CHECK = '["cat", "ops/new.txt"]'
QUIET = '["sh", "-c", "cat ops/new.txt 2>/dev/null || true"]'
EDIT = ("bash", {"command": "printf kestrelway > ops/new.txt"})
RECALL = ("memory_recall", {"query": "where do we deploy to"})
LABEL = "agent:opencode@fake"
"""A profile that is there: only its text is read by that name, as these readers are made by the tests."""
PROFILE = """
about = "A fake agent program"
command = ["python3", "${home}/fake.py", "WHAT", "${url}", "${goal}"]
FIRST
[files]
"fake.py" = '''
SOURCE'''
[memory]
form = "FORM"
words = "There is a memory."
"""


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    ((scenario, repo),) = loader.load(
        [lasting.write(lasting.story.replace(CHECK, QUIET))], lasting.fixtures, lasting.cache
    )
    return scenario, repo


def make(folder: Path, what: str = "work", form: str = "command", first: str = "", way: str = "") -> AgentReader:
    """A reader by a profile of this fake."""
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(fake_agent.__file__).read_text("utf-8")
    text = PROFILE.replace("WHAT", what).replace("FIRST", first).replace("FORM", form)
    if form == "mcp":
        text += 'command = ["${memory}"]\n'
    (folder / "fake.toml").write_text(text.replace("SOURCE", source))
    return AgentReader(f"{folder / 'fake.toml'}{way}", "fake")


def play(
    story: Story,
    tmp_path: Path,
    *steps: Step,
    cold: bool = False,
    model: Any = None,
    store: Any = None,
    rounds: int = 1,
    **made: str,
) -> Log:
    stage = replace(Stage.of(*story), reader=make(tmp_path, **made), ask_model=model or FakeModel(*steps))
    if cold:
        return stage.cold(tmp_path, reader=LABEL)
    return stage.play(tmp_path, store or FakeHost(tmp_path / "store"), reader=LABEL, rounds=rounds)


def worked(log: Log) -> Worked:
    (found,) = log.list_events(Worked)
    return found


def calls(log: Log) -> tuple[ModelCall, ...]:
    return log.calls(worked(log))


def verdict(log: Log) -> str:
    (taken,) = Record(log).find_decided(worked(log).read_policy).values()
    return taken.verdict


def asked(log: Log) -> Sequence[Recalled]:
    return [each for each in log.list_events(Recalled) if each.purpose == "decision"]


# --- how a job is done ------------------------------------------------------------------------------------------------


def test_it_asks_over_mcp_edits_and_is_judged_by_the_check(story: Story, tmp_path: Path) -> None:
    model = FakeModel(RECALL, EDIT)
    log = play(story, tmp_path, model=model, form="mcp")
    assert [each.outcome for each in calls(log)] == ["acted", "acted", "acted", "finished"]
    assert (verdict(log), calls(log)[-1].why) == ("right", "")
    ((_, job),) = story[0].jobs()
    assert [(each.query, each.ref) for each in asked(log)] == [
        ("where do we deploy to", f"{job.id}/{job.decisions[0].id}")
    ]
    (choice,) = worked(log).choices
    assert (choice.value, choice.origin) == ("kestrelway", "memory") and choice.entry is not None
    (use,) = calls(log)[0].uses
    assert use.tool == "memory_recall" and "kestrelway" in use.result, "what its tool answered stands at its step"
    names = [each["function"]["name"] for each in model.heard[0]["tools"]]
    assert names == ["bash", "memory_remember", "memory_recall"]
    goal = model.heard[0]["messages"][1]["content"]
    assert job.goal in goal and job.decisions[0].question in goal and "There is a memory." in goal
    assert "harborline" not in goal, "no option is told"
    assert {(each["model"], each["seed"]) for each in model.heard} == {("fake", 1)}
    assert worked(log).prompt > 0 and worked(log).completion > 0
    printed = worked(log).printed
    assert isinstance(printed, Ref) and "a fake agent program, told: work" in log.blobs.text(printed)


OWN = 'own_file = "NOTES.md"'


def test_notes_of_the_memory_lie_in_the_programs_own_file_and_it_has_no_tools_for_them(
    story: Story, tmp_path: Path
) -> None:
    model = FakeModel(EDIT)
    log = play(story, tmp_path, model=model, form="mcp", first=OWN, way="+file")
    ((_, job),) = story[0].jobs()
    assert [each.query for each in asked(log)] == [each.question for each in job.decisions]
    notes, goal = (each["content"] for each in model.heard[0]["messages"])
    assert notes.startswith(own_file.HEAD) and "kestrelway" in notes and notes.rstrip().endswith(own_file.FOOT)
    assert "There is a memory." not in goal
    assert [each["function"]["name"] for each in model.heard[0]["tools"]] == ["bash"]
    (choice,) = worked(log).choices
    assert (verdict(log), choice.origin, calls(log)[-1].why) == ("right", "memory", "")
    printed = worked(log).printed
    assert isinstance(printed, Ref) and "left in its home" not in log.blobs.text(printed), "it was given all of it"


def test_notes_and_tools_may_both_be_there_and_cold_has_neither(story: Story, tmp_path: Path) -> None:
    model = FakeModel(RECALL, EDIT)
    log = play(story, tmp_path / "both", model=model, form="mcp", first=OWN, way="+both")
    assert model.heard[0]["messages"][0]["content"].startswith(own_file.HEAD)
    assert "memory_recall" in [each["function"]["name"] for each in model.heard[0]["tools"]]
    assert len(asked(log)) == 2 and verdict(log) == "right"
    model = FakeModel(EDIT)
    play(story, tmp_path / "cold", model=model, cold=True, form="mcp", first=OWN, way="+both")
    assert model.heard[0]["messages"][0]["content"] == "You are a fake."


def test_what_a_program_writes_into_its_own_file_is_kept_and_told(story: Story, tmp_path: Path) -> None:
    write = ("bash", {"command": "printf -- '- Orders are filled by the night crew\\n' >> $HOME/NOTES.md"})
    log = play(story, tmp_path, write, EDIT, form="mcp", first=OWN, way="+file")
    written = [each for event in log.list_events(Wrote) for each in log.items(event) if each.name.startswith("reader:")]
    assert [each.item.text for each in written] == ["Orders are filled by the night crew"]
    printed = worked(log).printed
    assert isinstance(printed, Ref)
    said = log.blobs.text(printed)
    assert "kept for later jobs: 1 line" in said and "left in its home, which no other job sees: NOTES.md" in said


def test_a_program_whose_model_never_saw_its_own_file_was_not_warm(story: Story, tmp_path: Path) -> None:
    elsewhere = 'own_file = "elsewhere.md"'
    log = play(story, tmp_path, EDIT, form="mcp", first=elsewhere, way="+file")
    assert calls(log)[-1].outcome == "failed" and "never saw its memory file" in calls(log)[-1].why


def test_a_program_without_a_memory_file_cannot_be_given_one(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="fake has no memory file of its own"):
        make(tmp_path, way="+file")


USAGE = """
[usage]
prompt = ["step.used.*.prompt_tokens"]
completion = ["step.used.*.completion_tokens", "step.used.none"]
"""


@pytest.mark.parametrize(
    ("what", "first", "told"), [("work", USAGE, (18, 4)), ("work+boasts", USAGE, (36, 8)), ("work", "", None)]
)
def test_what_a_program_counts_itself_is_kept_beside_and_relied_on_nowhere(
    story: Story, tmp_path: Path, what: str, first: str, told: tuple[int, int] | None
) -> None:
    log = play(story, tmp_path, RECALL, EDIT, what=what, first=first, form="mcp")
    own = worked(log).told
    assert (own and (own.prompt, own.completion)) == told
    assert sum(call.prompt_tokens for call in calls(log)) == 18, "as the endpoint counted"
    (row,) = cost_model.cost_story([View(Record(log), "model")])
    assert [(each.calls, each.prompt) for each in row.spent.values()] == [(3, 18)], "its end is no call"
    assert (row.told.rounds, row.told.differing) == (int(told is not None), int(what != "work"))
    page = markdown.write_costs([row], None)
    assert ("told no count of its own in 1 round of a job" in page) == (told is None)
    assert ("another number in 1 of 1" in page) == (what != "work")
    assert ("and the same in each" in page) == (told == (18, 4))


def test_the_memory_is_a_command_for_a_program_without_mcp(story: Story, tmp_path: Path) -> None:
    recall = ("bash", {"command": "memory recall where do we deploy to"})
    keep = ("bash", {"command": "memory remember 'The order of today was filled'; memory; echo $?; memory recall"})
    log = play(story, tmp_path, recall, keep, EDIT)
    assert verdict(log) == "right" and worked(log).choices[0].origin == "memory"
    assert "kestrelway" in calls(log)[0].uses[0].result
    assert "Remembered.\n" in calls(log)[1].uses[0].result and "usage: memory recall" in calls(log)[1].uses[0].result
    written = [each for event in log.list_events(Wrote) for each in log.items(event) if each.name.startswith("reader:")]
    assert [each.item.text for each in written] == ["The order of today was filled"]


def test_the_cold_arm_is_the_same_program_without_the_memory(story: Story, tmp_path: Path) -> None:
    model = FakeModel(("bash", {"command": "memory recall where; ls $HOME/bin; ls /srv/agent/run"}), EDIT)
    log = play(story, tmp_path, model=model, cold=True, form="mcp")
    assert [each["function"]["name"] for each in model.heard[0]["tools"]] == ["bash"]
    assert "There is a memory" not in model.heard[0]["messages"][1]["content"]
    said = calls(log)[0].uses[0].result
    assert "memory.sock" not in said and "not found" in said
    (choice,) = worked(log).choices
    assert (verdict(log), choice.value, choice.origin) == ("right", "kestrelway", "nowhere")
    assert calls(log)[-1].outcome == "finished"


def test_a_value_that_the_repository_said_is_from_there(lasting: House, tmp_path: Path) -> None:
    text = lasting.story.replace(CHECK, QUIET).replace('commit = "0003"', 'commit = "0002"')
    ((scenario, repo),) = loader.load([lasting.write(text)], lasting.fixtures, lasting.cache)
    log = play((scenario, repo), tmp_path, ("bash", {"command": "cat docs/deploy.md"}), EDIT)
    (choice,) = worked(log).choices
    assert (choice.value, choice.origin, choice.path, choice.line) == ("kestrelway", "repo", "docs/deploy.md", 3)


def test_todays_date_becomes_that_of_the_story_where_the_profile_says_how_it_is_told(
    story: Story, tmp_path: Path
) -> None:
    source = 'import datetime; goal += datetime.date.today().strftime(" now %a %b %d %Y")'
    made = make(tmp_path, first='dates = ["%a %b %d %Y"]')
    text = (tmp_path / "fake.toml").read_text()
    (tmp_path / "fake.toml").write_text(
        text.replace("    server = Server(memory)", f"    {source}\n    server = Server(memory)")
    )
    made, model = AgentReader(str(tmp_path / "fake.toml"), "fake"), FakeModel()
    replace(Stage.of(*story), reader=made, ask_model=model).cold(tmp_path, reader=LABEL)
    ((session, _),) = story[0].jobs()
    assert model.heard[0]["messages"][1]["content"].endswith(session.at.strftime(" now %a %b %d %Y"))


# --- until green ------------------------------------------------------------------------------------------------------


class Taught:
    """Edits as each round says, and asks the memory first; what it was told is kept."""

    def __init__(self, *rounds: Step) -> None:
        self._rounds, self.heard = rounds, list[str]()

    def __call__(self, body: Any) -> Reply:
        told = str(body["messages"][1]["content"])
        self.heard += [told] if told not in self.heard else []
        return FakeModel(RECALL, self._rounds[self.heard.index(told)])(body)


def write_value(value: str) -> Step:
    return "bash", {"command": f"cat ops/new.txt; ls; ls ..; printf '{value}' > ops/new.txt; touch left"}


def test_a_job_goes_on_in_its_tree_until_the_checks_see_what_is_right(story: Story, tmp_path: Path) -> None:
    model = Taught(write_value("harborline"), write_value("mayhap"), write_value("kestrelway"))
    log = play(story, tmp_path, model=model, form="mcp", rounds=5)
    first, (second, third) = worked(log), log.list_events(Corrected)
    assert [each.checks[0].value for each in (first, second, third)] == ["harborline", "mayhap", "kestrelway"]
    assert (second.number, third.number) == (2, 3)
    assert second.review in model.heard[1] and third.review in model.heard[2]
    assert "Review" not in model.heard[0]
    assert "Check target" in second.review and "it sees `harborline`" in second.review
    assert "it sees something else" in third.review
    assert "kestrelway" not in second.review + third.review, "what would be right is not told"
    uses = [log.calls(each)[1].uses[0].result for each in (first, second, third)]
    assert uses[1].startswith("harborline") and "left" in uses[1], "the same tree"
    purposes = [each.purpose for each in log.list_events(Recalled) if each.ref == asked(log)[0].ref]
    assert purposes == ["decision", "correction", "correction"], "each round asks anew, and is told apart"
    assert verdict(log) == "stale", "measures of work are of the first round"
    (row,) = cost_model.cost_story([View(Record(log), "model")])
    assert (row.jobs, row.done, row.calls) == (1, 1, 9), "all rounds are paid"
    page = "".join(map(str, Telling(View(Record(log), "model"), whole=True).sessions()))
    for said in ("round 2: ", "not right yet: target", "it sees something else", "every check sees what is right"):
        assert said in page, said


@pytest.mark.slow
def test_the_last_round_is_the_last_and_one_is_as_before(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, model=Taught(*[write_value("harborline")] * 3), form="mcp", rounds=2)
    assert [each.number for each in log.list_events(Corrected)] == [2]
    log = play(story, tmp_path / "one", write_value("harborline"))
    assert not log.list_events(Corrected) and '"rounds"' not in log.path.read_text()


def test_a_later_round_finds_no_hidden_test_and_is_told_of_visible_ones(lasting: House, tmp_path: Path) -> None:
    ((scenario, repo),) = loader.load(
        [lasting.write(lasting.story.replace(CHECK, QUIET))], lasting.fixtures, lasting.cache
    )
    plain = scenario.model_dump(mode="json", by_alias=True)
    ((_, job),) = scenario.jobs()
    for each in (step for session in plain["sessions"] for step in session["steps"] if step.get("id") == job.id):
        each["hidden"] = {"look.py": "print('harborline')"}
        each["visible"] = [["sh", "-c", "echo one test fails; exit 1"]]
        each["decisions"][0]["check"] = ["python3", "hidden/look.py"]
    model = Taught(*[write_value("harborline")] * 2)
    log = play((Scenario.model_validate(plain), repo), tmp_path, model=model, form="mcp", rounds=2)
    (second,) = log.list_events(Corrected)
    assert "exit 1\none test fails" in second.review
    seen = log.calls(second)[1].uses[0].result
    assert "left" in seen and "hidden" not in seen


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


def test_who_has_a_memory_and_does_not_ask_it_is_told_of(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT)
    assert (calls(log)[-1].outcome, calls(log)[-1].why) == ("finished", "it never asked its memory")
    assert count_faults(log) == 0


def test_a_call_that_asks_for_another_model_is_answered_and_told_of(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, what="work+strays")
    said = "2 of its 2 calls asked for another model (small), and fake answered"
    last = calls(log)[-1]
    assert (last.outcome, last.why) == ("finished", f"it never asked its memory; {said}")
    assert count_faults(log) == 0 and verdict(log) == "right"
    assert said in "".join(map(str, Telling(View(Record(log), "model"), whole=False).sessions()))


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
@pytest.mark.parametrize("cold", [True, False])
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


def test_a_limit_of_its_own_is_known_by_what_it_says(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, first='gave_up = ["no limit", "told: work"]')
    last = calls(log)[-1]
    assert (last.outcome, last.why) == ("acted", "ended: by a limit of its own (told: work)") and not last.answered
    assert count_faults(log) == 0


def test_a_model_that_fails_is_a_fault_of_its_own(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, Reply("failed", why="502: ended before the answer was complete"))
    assert [each.outcome for each in calls(log)] == ["acted", "failed", "failed"]
    assert calls(log)[-1].why == "exit 1: it ended by itself, after 2 steps"
    assert count_faults(log) == 2 and verdict(log) == "unfinished"


def test_what_it_leaves_running_ends_with_it(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, EDIT, what=f"fork+{tmp_path.name}-{os.getpid()}")
    assert calls(log)[-1].outcome == "finished"
    running = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if os.access(each, os.R_OK)]
    assert running and not any(f"fork+{tmp_path.name}-{os.getpid()}".encode() in each for each in running)


def test_what_it_keeps_of_its_own_is_told_and_seen_by_no_other_job(story: Story, tmp_path: Path) -> None:
    keep = (
        "bash",
        {"command": "cat ~/.digest /tmp/digest ../digest 2>&1; for at in ~/.digest /tmp/digest; do date > $at; done"},
    )
    for name in ("warm", "cold"):
        log = play(story, tmp_path / name, keep, EDIT, cold=name == "cold")
        assert calls(log)[0].uses[0].result.count("No such file") == 3
        printed = worked(log).printed
        assert isinstance(printed, Ref)
        assert "left in its home, which no other job sees: .digest" in log.blobs.text(printed)


ESCAPES = {
    "a file beside the tree": "touch ../planted",
    "a system file": "touch /etc/planted",
    "its sockets": "touch /srv/agent/run/planted",
    "the stories": f"ls {Path(loader.__file__).parent}/*/*.toml",
    "the environment of the run": "env; cat /proc/*/environ",
    "another network": "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)'",
    "a name": "python3 -c 'import socket; print(socket.getaddrinfo(\"example.com\", 80))'",
    "borrowed objects": "cat .git/objects/info/alternates",
}


def test_it_gets_out_by_no_command(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leaked")
    steps = [("bash", {"command": f"({each}) 2>&1; echo exit $?"}) for each in ESCAPES.values()]
    log = play(story, tmp_path, *steps)
    said = {name: call.uses[0].result for name, call in zip(ESCAPES, calls(log), strict=False)}
    assert "sk-leaked" not in json.dumps(said) and "COLDWARM" not in said["the environment of the run"]
    for name in {*ESCAPES} - {"the environment of the run", "a file beside the tree"}:
        assert "exit 0" not in said[name], (name, said[name])
    assert not (Path("/srv/agent") / "planted").exists() and not Path("/etc/planted").exists()
    diff = worked(log).diff
    assert isinstance(diff, Ref) and diff.bytes == 0


def test_it_finds_no_later_commit(lasting: House, tmp_path: Path) -> None:
    text = lasting.story.replace(CHECK, QUIET).replace('commit = "0003"', 'commit = "0002"')
    ((scenario, repo),) = loader.load([lasting.write(text)], lasting.fixtures, lasting.cache)
    count = "git cat-file --batch-all-objects --batch-check='%(objecttype)' | grep -c commit"
    log = play((scenario, repo), tmp_path, ("bash", {"command": f"{count}; git log --oneline | wc -l; git status"}))
    said = calls(log)[0].uses[0].result
    assert len(repo.commits) == 3 and said.split()[:2] == ["2", "2"] and "nothing to commit" in said


def test_without_bubblewrap_it_plays_only_where_somebody_says_so(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "is_available", lambda: False)
    with pytest.raises(ReaderError, match="bubblewrap is not here"):
        make(tmp_path)
    monkeypatch.setenv("COLDWARM_UNCONTAINED", "1")
    log = play(story, tmp_path, RECALL, EDIT, form="mcp")
    assert calls(log)[-1].outcome == "finished" and verdict(log) == "right"


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


def test_a_transcript_is_a_plain_file_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    assert [program.read_plain(tmp_path, name) for name in ("link", "pipe", "none", ".")] == [None] * 4


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


def test_what_is_hidden_is_empty_though_it_lies_in_what_is_lent(tmp_path: Path) -> None:
    lent, tree, home, shown = (tmp_path / name for name in ("lent", "tree", "home", "shown"))
    for folder in (lent / "stories", tree, home, shown):
        folder.mkdir(parents=True)
        (folder / "told").write_text("gold")
    seen = {home: Path("/srv/agent/home")}
    words = bubblewrap.wrap(
        tree, [lent], Path("/srv/agent/checkout"), seen, {shown: Path("/srv/agent/run")}, [lent / "stories", home]
    )
    script = (
        f"pwd; cat told; ls {lent}/stories | wc -l; cat ../home/told ../run/told; touch ../home/new; touch ../run/new"
    )
    done = command.run([*words, "sh", "-c", script], tree, {"PATH": "/usr/bin:/bin"}, 60)
    assert done.out.split() == [b"/srv/agent/checkout", b"gold0", b"goldgold"], done
    assert (home / "new").exists() and not (shown / "new").exists() and b"Read-only" in done.err
