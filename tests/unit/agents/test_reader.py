"""The agent reader, with a fake program in a real sandbox: how a job is done, and how it goes on until it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from harness.adapter import Scope
from harness.agents import own_file
from harness.agents.reader import AgentReader, find_lines
from harness.compare import cost_model
from harness.gateway.chat.client import Reply
from harness.log.blobs import Ref
from harness.log.events import Corrected, Recalled, Wrote
from harness.log.reader import Log
from harness.machine import bubblewrap
from harness.metrics.view import Record, View
from harness.model.scenario import Scenario
from harness.play.readers import Context, ReaderError
from harness.play.readers.explore import Explorer
from harness.repo.checkout import Repo
from harness.report.outputs import markdown
from harness.report.timeline.session import Telling
from harness.text.classify import Classifier
from tasks import loader
from tests.support.agent_player import EDIT, LABEL, RECALL, make, play
from tests.support.fake_model import FakeModel, Step
from tests.support.story_player import Stage
from tests.support.worked_job import CHECK, QUIET, Story, calls, load, verdict, worked
from tests.unit.conftest import House

pytestmark = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    return load(lasting, lasting.story.replace(CHECK, QUIET))


def asked(log: Log) -> Sequence[Recalled]:
    return [each for each in log.list_events(Recalled) if each.purpose == "decision"]


# --- how a job is done ------------------------------------------------------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_notes_and_tools_may_both_be_there_and_cold_has_neither(story: Story, tmp_path: Path) -> None:
    model = FakeModel(RECALL, EDIT)
    log = play(story, tmp_path / "both", model=model, form="mcp", first=OWN, way="+both")
    assert model.heard[0]["messages"][0]["content"].startswith(own_file.HEAD)
    assert "memory_recall" in [each["function"]["name"] for each in model.heard[0]["tools"]]
    assert len(asked(log)) == 2 and verdict(log) == "right"
    model = FakeModel(EDIT)
    play(story, tmp_path / "cold", model=model, cold=True, form="mcp", first=OWN, way="+both")
    assert model.heard[0]["messages"][0]["content"] == "You are a fake."


@pytest.mark.slow
def test_what_a_program_writes_into_its_own_file_is_kept_and_told(story: Story, tmp_path: Path) -> None:
    write = ("bash", {"command": "printf -- '- Orders are filled by the night crew\\n' >> $HOME/NOTES.md"})
    log = play(story, tmp_path, write, EDIT, form="mcp", first=OWN, way="+file")
    written = [each for event in log.list_events(Wrote) for each in log.items(event) if each.name.startswith("reader:")]
    assert [each.item.text for each in written] == ["Orders are filled by the night crew"]
    printed = worked(log).printed
    assert isinstance(printed, Ref)
    said = log.blobs.text(printed)
    assert "kept for later jobs: 1 line" in said and "left in its home, which no other job sees: NOTES.md" in said


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_memory_is_a_command_for_a_program_without_mcp(story: Story, tmp_path: Path) -> None:
    recall = ("bash", {"command": "memory recall where do we deploy to"})
    keep = ("bash", {"command": "memory remember 'The order of today was filled'; memory; echo $?; memory recall"})
    log = play(story, tmp_path, recall, keep, EDIT)
    assert verdict(log) == "right" and worked(log).choices[0].origin == "memory"
    assert "kestrelway" in calls(log)[0].uses[0].result
    assert "Remembered.\n" in calls(log)[1].uses[0].result and "usage: memory recall" in calls(log)[1].uses[0].result
    written = [each for event in log.list_events(Wrote) for each in log.items(event) if each.name.startswith("reader:")]
    assert [each.item.text for each in written] == ["The order of today was filled"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_value_that_the_repository_said_is_from_there(lasting: House, tmp_path: Path) -> None:
    text = lasting.story.replace(CHECK, QUIET).replace('commit = "0003"', 'commit = "0002"')
    ((scenario, repo),) = loader.load([lasting.write(text)], lasting.fixtures, lasting.cache)
    log = play((scenario, repo), tmp_path, ("bash", {"command": "cat docs/deploy.md"}), EDIT)
    (choice,) = worked(log).choices
    assert (choice.value, choice.origin, choice.path, choice.line) == ("kestrelway", "repo", "docs/deploy.md", 3)


def test_a_line_that_was_shown_has_the_number_that_git_gives_it(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, repo = story
    said = "# Deploy\x0c\N{LINE SEPARATOR}\n\nThe platform is harborline.\n"
    monkeypatch.setattr(Repo, "files", lambda *_: {"docs/deploy.md": said})
    context = Context(
        repo, Explorer(repo), Classifier(scenario), len, repo.resolve("0001"), Scope(repo="shop"),
        datetime(2024, 1, 5, tzinfo=UTC), "model",
    )  # fmt: skip
    (line,) = find_lines(context, [fact.id for fact in scenario.facts], [said])
    assert (line.path, line.number) == ("docs/deploy.md", 3)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
