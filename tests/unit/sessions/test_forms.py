"""Each form of recording is read as what was said in it, and nothing that anybody writes makes a reader fail."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.transcript import Message, find_problems
from harness.secrets.detector import Secrets
from harness.sessions import importing
from harness.sessions.folder import Spoken, read_index, read_session
from harness.sessions.importing import FORMS
from harness.sessions.recorded import read_time
from harness.sessions.transcript import Draft
from tests.support import recorded_sessions as recorded
from tests.support.recorded_sessions import ANSWERED, ASKED, RULE, WRITERS, claude_line, lines

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
WORDS = st.sampled_from(
    ["user", "assistant", "tool", "system", "text", "tool_use", "tool_result", "tool_call", "tool_call_response",
     "message", "session_meta", "response_item", "function_call", "function_call_output", "local_shell_call", "s1",
     "t1"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["type", "role", "content", "message", "sessionId", "payload", "id", "call_id", "tool_use_id", "tool_call_id",
     "name", "arguments", "input", "output", "text", "timestamp", "cwd", "git", "info", "messages", "parts", "state",
     "callID", "tool_calls", "function", "time", "created", "directory", "projectID", "resourceSpans", "scopeSpans",
     "spans", "attributes", "key",
     "value", "stringValue", "arrayValue", "values", "traceId", "instructions", "metadata"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=6),
    max_leaves=25,
)


def read(path: Path, folder: Path) -> tuple[importing.Imported, list[Spoken]]:
    imported = importing.run([path], folder)
    return imported, [read_session(folder, entry) for entry in read_index(folder).sessions]


def said(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages if message.content]


@pytest.mark.parametrize("name", WRITERS)
def test_what_was_said_is_read_in_order_and_each_call_has_its_answer(tmp_path: Path, name: str) -> None:
    _, [session] = read(WRITERS[name](tmp_path), tmp_path / "out")
    told = said(session.messages)
    assert told[0] == ("user", RULE) and told[-2:] == [("user", ASKED), ("assistant", ANSWERED)]
    assert ("tool", "scripts") in [(role, text.splitlines()[-1]) for role, text in told], told
    assert [text for role, text in told if role == "user"] == [RULE, ASKED] and len(told) == len(set(told)), told
    assert not list(find_problems(session.messages))
    assert session.entry.program == name.split(",")[0]


@pytest.mark.parametrize("name", [name for name in WRITERS if "lines" not in name])
def test_time_and_place_are_those_of_the_recording(tmp_path: Path, name: str) -> None:
    _, [session] = read(WRITERS[name](tmp_path), tmp_path / "out")
    assert (session.entry.dated, f"{session.entry.at:%Y-%m-%d %H:%M}") == ("recorded", "2026-02-03 09:00")
    assert session.entry.repository == ("" if name == "codex, old" else "harbour")


TIMED = (
    "claude-code", "claude-code, played", "codex", "codex, played", "opencode, played", "qwen-code", "gemini-cli",
    "gemini-cli, old", "spans",
)  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_a_message_has_its_own_time_where_one_is_recorded(tmp_path: Path, name: str) -> None:
    _, [session] = read(WRITERS[name](tmp_path), tmp_path / "out")
    times = {each.at and f"{each.at:%Y-%m-%d %H:%M}" for each in session.messages if each.role == "user"}
    assert times == {"2026-02-03 09:00" if name in TIMED else None}


def test_messages_of_one_session_keep_times_of_different_days(tmp_path: Path) -> None:
    days = [f"2026-02-{day:02}T09:00:00+00:00" for day in (3, 4, 5)]
    (tmp_path / "s.jsonl").write_text(
        lines(
            [
                claude_line("user", RULE, timestamp=days[0]),
                claude_line("assistant", "Yes.", timestamp=days[1].replace("T09:00:00+00:00", "T11:00:00+02:00")),
                claude_line("user", ASKED, timestamp=days[2]),
                claude_line("user", RULE, timestamp="0001-01-01T00:00:00+05:00"),
            ]
        )
    )
    told = {"messages": [{"role": "user", "content": day, "timestamp": day} for day in days]}
    (tmp_path / "t.json").write_text(json.dumps(told))
    exported = json.loads(recorded.write_opencode_export(tmp_path).read_text())
    for each, day in zip(exported["messages"], (*days, days[2]), strict=True):
        each["info"]["time"] = {"created": int(datetime.fromisoformat(day).timestamp() * 1000)}
    (tmp_path / "export.json").write_text(json.dumps(exported))
    _, sessions = read(tmp_path, tmp_path / "out")
    found = {
        each.entry.program: [
            message.at and message.at.isoformat() for message in each.messages if message.role != "tool"
        ]
        for each in sessions
    }
    assert found == {"claude-code": [*days, None], "messages": days, "opencode": [days[0], None, days[2], days[2]]}


def test_calls_side_by_side_stand_together_with_their_own_answers(tmp_path: Path) -> None:
    _, [session] = read(recorded.write_claude(tmp_path), tmp_path / "out")
    [calling] = [message for message in session.messages if message.tool_calls]
    assert calling.content == "I look." and [call.function.name for call in calling.tool_calls] == ["Bash", "Read"]
    assert [message.content for message in session.messages if message.role == "tool"] == ["scripts", "a file"]


def test_what_is_left_out_has_a_reason_and_a_count(tmp_path: Path) -> None:
    imported, _ = read(recorded.write_claude(tmp_path), tmp_path / "out")
    assert imported.left_out == {
        "a line that is no message": 1,
        "a line of a sub-agent": 1,
        "instructions and context that the program wrote itself": 1,
        "thinking of the model": 1,
        "an image or a file": 1,
    }
    [listed] = json.loads((tmp_path / "out" / "read.json").read_text())["files"]
    assert listed["left_out"] == dict(imported.left_out) and (listed["sessions"], listed["messages"]) == (1, 6)


def test_a_rollout_names_the_commit_that_it_recorded(tmp_path: Path) -> None:
    _, [session] = read(recorded.write_codex(tmp_path), tmp_path / "out")
    assert (session.entry.commit, session.entry.branch) == ("a" * 40, "trunk")


def test_a_tool_that_printed_nothing_is_told_so(tmp_path: Path) -> None:
    file = recorded.write_codex(tmp_path)
    printed = json.dumps({"output": "", "metadata": {"exit_code": 0}})
    items = (
        recorded.codex_item("function_call", call_id="t9", name="shell", arguments="{}"),
        recorded.codex_item("function_call_output", call_id="t9", output=printed),
    )
    with file.open("a") as stream:
        stream.write(lines(items))
    _, [session] = read(file, tmp_path / "out")
    assert session.messages[-1].role == "tool" and session.messages[-1].content == ""


def test_spans_stand_in_the_order_of_their_starts_whether_these_are_texts_or_numbers(tmp_path: Path) -> None:
    file = recorded.write_spans(tmp_path)
    _, [texts] = read(file, tmp_path / "texts")
    file.write_text(re.sub(r'"startTimeUnixNano": "(\d+)"', r'"startTimeUnixNano": \1', file.read_text()))
    _, [numbers] = read(file, tmp_path / "numbers")
    assert numbers.messages == texts.messages


def test_who_was_spawned_by_a_model_is_no_user(tmp_path: Path) -> None:
    """As Claude Code 2.1.332 and Codex 0.171.0 wrote it: a rollout of the sub-agent's own, and what it found for the
    model that asked, among the user's messages."""
    claude, codex = recorded.write_played_claude(tmp_path), recorded.write_played_codex(tmp_path)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "played", "depth": 1}}}
    (tmp_path / "rollout-of-a-sub-agent.jsonl").write_text(
        lines(
            [
                recorded.codex_line("session_meta", id="s2", cwd=recorded.CWD, source=spawned),
                recorded.codex_line("response_item", **recorded.codex_message("user", "Count the berths.")),
                recorded.codex_line("response_item", **recorded.codex_message("assistant", "There are three.")),
            ]
        )
    )
    notice = "<{}>\nThere are three.\n</{}>"
    with claude.open("a") as file:
        file.write(lines([claude_line("user", notice.format(*["task-notification"] * 2), session="played")]))
    with codex.open("a") as file:
        told = recorded.codex_message("user", notice.format(*["subagent_notification"] * 2))
        file.write(lines([recorded.codex_line("response_item", **told)]))
    imported, sessions = read(tmp_path, tmp_path / "out")
    assert [[text for role, text in said(each.messages) if role == "user"] for each in sessions] == [[RULE, ASKED]] * 2
    assert imported.left_out["a line of a sub-agent"] == 2


@pytest.mark.parametrize("why", ["", " for tool use"])
def test_an_interruption_is_told_by_the_program_and_not_by_the_user(tmp_path: Path, why: str) -> None:
    """As Claude Code 2.1.332 wrote it."""
    text = {"type": "text", "text": f"[Request interrupted by user{why}]"}
    (tmp_path / "s.jsonl").write_text(lines([claude_line("user", each) for each in (RULE, [text], ASKED)]))
    _, [session] = read(tmp_path / "s.jsonl", tmp_path / "out")
    assert said(session.messages) == [("user", RULE), ("user", ASKED)]


def test_two_sessions_at_once_in_one_file_are_two(tmp_path: Path) -> None:
    (tmp_path / "both.jsonl").write_text(
        lines(
            claude_line(role, f"{role} {name} {at}", session=name)
            for at in range(3)
            for role in ("user", "assistant")
            for name in ("one", "other")
        )
    )
    _, sessions = read(tmp_path / "both.jsonl", tmp_path / "out")
    assert len(sessions) == 2
    assert {len({text.split()[1] for _, text in said(session.messages)}) for session in sessions} == {1}


def test_the_longer_one_of_a_session_that_is_in_two_files_stays(tmp_path: Path) -> None:
    told = [claude_line("user", RULE), claude_line("assistant", "Yes."), claude_line("user", ASKED)]
    for name, amount in (("a", 1), ("b", 3), ("c", 2)):
        (tmp_path / f"{name}.jsonl").write_text(lines(told[:amount]))
    imported, [session] = read(tmp_path, tmp_path / "out")
    assert len(session.messages) == 3 and session.entry.file.endswith("b.jsonl")
    assert imported.left_out["a session that was read from two files, of which the longer one stays"] == 2


@pytest.mark.slow
@given(st.lists(VALUES, max_size=5))
def test_no_value_makes_a_reader_fail_and_what_it_reads_is_a_transcript(values: list[Any]) -> None:
    for form in FORMS:
        reader, secrets, left_out = form.open(Path("nowhere/session/x/y.json")), Secrets(), Counter[str]()
        drafts: dict[str, Draft] = {}
        for value in values:
            form.claims(value)
            reader.read(value)
            for session, part in reader.found.take():
                drafts.setdefault(session, Draft()).add(part, secrets, left_out)
        for draft in drafts.values():
            assert not list(find_problems(draft.compose(left_out)))


@pytest.mark.slow
@given(VALUES)
def test_no_value_is_taken_for_a_time_that_there_is_not(value: Any) -> None:
    assert (at := read_time(value)) is None or at.utcoffset() is not None
