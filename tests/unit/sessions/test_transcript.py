"""Transcripts are written in the form of a story's, and read as they were; and a session knows its place."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.transcript import find_problems
from harness.secrets.detector import Secrets
from harness.sessions import place
from harness.sessions.recorded import Heading, Part, ToolRequest, ToolResponse, Utterance
from harness.sessions.transcript import SAID, Draft
from tasks import files, transcripts
from tests.support.foreign import Foreign

TEXTS = st.text(st.characters() | st.sampled_from(".\"\\\n'{}[]#="), max_size=200)
IDS = st.sampled_from(["a", "b", ""])
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Utterance, st.sampled_from(["user", "assistant"]), TEXTS),
    st.builds(ToolRequest, IDS, TEXTS, TEXTS),
    st.builds(ToolResponse, IDS, TEXTS),
)


@pytest.mark.slow
@given(st.lists(PARTS, max_size=8))
def test_what_is_written_is_what_is_read_by_the_loader_of_stories(parts: list[Part]) -> None:
    draft, secrets, left_out = Draft(), Secrets(), Counter[str]()
    for part in parts:
        draft.add(part, secrets, left_out)
    messages = draft.compose(left_out)
    assert not list(find_problems(messages))
    read = files.parse(transcripts.write(messages)).get("messages", [])
    assert [type(message).model_validate(each) for message, each in zip(messages, read, strict=True)] == list(messages)


@given(st.text("ab.", max_size=1000), st.integers(1, 3))
def test_a_line_of_many_dots_is_one_that_the_loader_takes(text: str, times: int) -> None:
    draft = Draft()
    draft.add(Utterance("user", "x" + text * times), Secrets(), Counter())
    [message] = draft.compose(Counter())
    [read] = files.parse(transcripts.write([message]))["messages"]
    assert read["content"] == "x" + text * times


def test_a_call_without_an_answer_gets_an_empty_one_and_an_answer_without_a_call_is_left_out() -> None:
    draft, left_out = Draft(), Counter[str]()
    for part in (
        ToolResponse("x", "whose?"),
        ToolRequest("a", "ls", "{}"),
        Utterance("user", "stop"),
        ToolResponse("a", "late"),
    ):
        draft.add(part, Secrets(), left_out)
    draft.add(ToolRequest("b", "ls", "{}"), Secrets(), left_out)
    messages = draft.compose(left_out)
    assert [(message.role, message.content) for message in messages] == [
        ("assistant", ""), ("tool", "late"), ("user", "stop"), ("assistant", ""), ("tool", ""),
    ]  # fmt: skip
    assert left_out == {"an answer to no call": 1, "the answer of a tool, which is not recorded": 1}


def test_a_long_text_says_how_long_it_was() -> None:
    draft, text = Draft(), "word " * 40_000
    for part in (Utterance("user", text), ToolRequest("a", "cat", text), ToolResponse("a", text)):
        draft.add(part, Secrets(), Counter())
    said, call, answer = draft.compose(Counter())
    shortened = (said.content, call.tool_calls[0].function.arguments, answer.content)
    assert ["[... of 200,000 characters ...]" in each for each in shortened] == [True] * 3


def test_a_further_part_of_a_long_session_has_room_for_tools_again() -> None:
    draft, left_out = Draft(), Counter[str]()
    while not draft.full:
        draft.add(Utterance("user", "x" * SAID), Secrets(), Counter())
    assert draft.compose(Counter())
    for part in (ToolRequest("a", "ls", "{}"), ToolResponse("a", "scripts")):
        draft.add(part, Secrets(), left_out)
    assert [message.content for message in draft.compose(left_out)] == ["", "scripts"] and not left_out


# --- place ---


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    repository = Foreign(tmp_path / "harbour")
    for day in (1, 3, 5):
        repository.at = f"2026-02-0{day}T10:00:00+00:00"
        repository.commit({"a.txt": str(day)})
    return repository


def heading(cwd: Path, day: int, branch: str = "trunk") -> Heading:
    return Heading("claude-code", "s1", datetime(2026, 2, day, 12, tzinfo=UTC), str(cwd), branch)


def test_the_commit_is_the_newest_of_the_branch_at_that_time(foreign: Foreign) -> None:
    inside = foreign.path / "src" / "deep"
    inside.mkdir(parents=True)
    commits = foreign.git("rev-list", "--reverse", "trunk").splitlines()
    found = [place.find_commit_then(heading(inside, day)) for day in (1, 2, 3, 4, 9)]
    assert found == [commits[0], commits[0], commits[1], commits[1], commits[2]]
    assert place.name_repository(heading(inside, 1)) == "harbour"


def test_of_two_work_trees_of_one_repository_each_has_its_own_branch(foreign: Foreign, tmp_path: Path) -> None:
    foreign.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "beside"), "HEAD~2")
    first = foreign.git("rev-list", "--max-parents=0", "trunk")
    there = heading(tmp_path / "beside", 9, "other")
    assert (place.find_commit_then(there), place.name_repository(there)) == (first, "harbour")
    assert place.find_commit_then(heading(foreign.path, 9)) != first


@pytest.mark.parametrize("branch", ["", "HEAD"])
def test_without_a_branch_it_is_the_commit_that_was_checked_out_then(foreign: Foreign, branch: str) -> None:
    commits = foreign.git("rev-list", "--reverse", "trunk").splitlines()
    foreign.at = "2026-02-07T10:00:00+00:00"
    foreign.git("checkout", "--quiet", "--detach", commits[0])
    found = [place.find_commit_then(heading(foreign.path, day, branch)) for day in (1, 3, 6, 9)]
    assert found == [commits[0], commits[1], commits[2], commits[0]]


@pytest.mark.parametrize(("cwd", "branch"), [("", "gone"), ("nowhere/else", "trunk"), ("nowhere/else", "")])
def test_what_is_not_known_is_not_guessed(foreign: Foreign, cwd: str, branch: str) -> None:
    folder = foreign.path.parent / cwd if cwd else foreign.path
    assert place.find_commit_then(heading(folder, 9, branch)) == ""


def test_before_the_first_commit_there_is_none(foreign: Foreign) -> None:
    early = heading(foreign.path, 1)
    early.at = datetime(2025, 1, 1, tzinfo=UTC)
    assert place.find_commit_then(early) == ""


def test_what_a_repository_configures_does_not_run(foreign: Foreign, tmp_path: Path) -> None:
    with (foreign.path / ".git" / "config").open("a") as stream:
        stream.write(f'[core]\n\tfsmonitor = "touch {tmp_path}/ran"\n[alias]\n\trev-list = "!touch {tmp_path}/ran"\n')
    assert place.find_commit_then(heading(foreign.path, 9))
    assert not (tmp_path / "ran").exists()


def test_the_name_of_a_folder_that_is_elsewhere_is_its_last_part() -> None:
    for cwd, name in (("/home/mira/harbour", "harbour"), ("C:\\Users\\mira\\harbour", "harbour"), ("", ""), ("/", "")):
        assert place.name_repository(Heading("codex", "s1", cwd=cwd)) == name
