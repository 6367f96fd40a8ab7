"""What is wrong with a file is skipped, counted and told in a line; it never ends in a traceback."""

from __future__ import annotations

import json
import os
import sqlite3
import tracemalloc
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from harness.cli import commands
from harness.sessions import importing, transcript, values
from harness.sessions.folder import SessionsError, read_index, read_session
from tests.support.recorded_sessions import (
    ANSWERED,
    ASKED,
    KEY,
    RULE,
    claude_line,
    lines,
    write_claude,
    write_messages,
    write_opencode_database,
)

GOOD = lines([claude_line("user", RULE)]).encode()
BAD_LINES = {
    "a line that is not whole JSON": GOOD[:-20] + b"\n",
    "a line that is not UTF-8": b'{"type": "user", "text": "\xff\xfe"}\n',
    "a line with a key that stands twice": b'{"type": "user", "type": "user"}\n',
    "a line with a number of too many digits": b'{"n": ' + b"9" * 5000 + b"}\n",
    "a line that is nested too deeply": b"[" * 200_000 + b"]" * 200_000 + b"\n",
    "a line with NaN or Infinity": b'{"n": NaN}\n',
}


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(commands, ["import", "sessions", *map(str, words)])


@pytest.mark.parametrize("reason", BAD_LINES)
def test_a_bad_line_is_skipped_and_counted(tmp_path: Path, reason: str) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD + BAD_LINES[reason] + GOOD + BAD_LINES[reason])
    done = run(file, "--to", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert f"       2  {reason}" in done.output.splitlines()
    [entry] = read_index(tmp_path / "out").sessions
    assert entry.messages == 2


def test_a_file_whose_first_line_is_bad_is_read_from_the_second_on(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"type": "us\n' + GOOD)
    assert importing.run([tmp_path], tmp_path / "out").left_out == {"a line that is not whole JSON": 1}


def test_a_line_that_is_too_long_is_passed_without_keeping_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "LONGEST", 1000)
    (tmp_path / "s.jsonl").write_bytes(GOOD + b'{"x": "' + b"y" * 5000 + b'"}\n' + GOOD)
    imported = importing.run([tmp_path], tmp_path / "out")
    assert imported.left_out == {"a line of more than 1,000 bytes": 1}
    assert [entry.messages for entry in imported.entries.values()] == [2]


def measure_import(file: Path) -> int:
    """Bytes that were held at most."""
    tracemalloc.start()
    importing.run([file], file.with_name(f"out-{file.stem}"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_the_memory_that_it_takes_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def measure(amount: int) -> int:
        picture = {"type": "image", "source": {"type": "base64", "data": "A" * 100_000}}
        result = {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{"type": "text", "text": "o" * 3_000}, picture],
        }
        call = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
        file = tmp_path / f"{amount}.jsonl"
        with file.open("w") as stream:
            for _ in range(amount):
                stream.write(lines([claude_line("assistant", [call]), claude_line("user", [result])]))
            stream.write(lines([claude_line("user", RULE)]))
        return measure_import(file)

    measure(1)
    assert measure(60) < measure(15) + 3_000_000


@pytest.mark.slow
def test_the_memory_that_it_takes_does_not_grow_with_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MOST", 100_000)

    def measure(amount: int) -> int:
        file = tmp_path / f"{amount}.jsonl"
        with file.open("w") as stream:
            for at in range(amount):
                stream.write(lines([claude_line("user", f"{at} " + "said " * 3_900), *list_work(at, 2_000)]))
        return measure_import(file)

    measure(1)
    assert measure(60) < measure(15) + 300_000


def test_what_is_long_is_bounded_and_counted(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Write", "input": {"content": "c" * 50_000}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "begin" + "o" * 500_000 + "end"}
    said = [claude_line("assistant", [call]), claude_line("user", [result]), claude_line("user", "u" * 100_000)]
    (tmp_path / "s.jsonl").write_text(lines(said))
    imported = importing.run([tmp_path], tmp_path / "out")
    assert imported.left_out == {"the middle of what a tool was told or said": 2, "the middle of a long text": 1}
    [entry] = imported.entries.values()
    _, tool, user = read_session(tmp_path / "out", entry).messages
    assert tool.content.startswith("begin") and tool.content.endswith("end") and len(tool.content) < 2100
    assert user.content.startswith("uuu") and 19_000 < len(user.content) < 21_000


@pytest.mark.slow
def test_a_long_session_becomes_parts_that_the_loader_of_stories_takes(tmp_path: Path) -> None:
    said = [claude_line("user", f"{at} {'.' * 15_000} \\ {chr(34) * 3_000}") for at in range(65)]
    (tmp_path / "s.jsonl").write_text(lines(said))
    done = run(tmp_path, "--to", tmp_path / "out")
    assert "1 session of claude-code with 65 messages" in done.output, done.output
    assert "1 further part of long sessions, each listed as a session" in done.output and "left out" not in done.output
    first, second = entries = read_index(tmp_path / "out").sessions
    assert (first.part, second.part, second.id, second.recorded_id) == (1, 2, f"{first.id}-002", first.recorded_id)
    kept = [message for entry in entries for message in read_session(tmp_path / "out", entry).messages]
    assert [message.content for message in kept] == [line["message"]["content"] for line in said]


def list_work(at: int, size: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{at}", "name": "Read", "input": {"path": f"{at}.txt"}}
    result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": "o" * size}
    return [claude_line("assistant", [call]), claude_line("user", [result])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("amount", "size", "reasons"),
    [
        (600, 1_900, {"most of what a tool was told or said, in a long session": 600}),
        (3_000, 1_000, {"all of what a tool was told or said, in a long session": 6_000}),
    ],
)
def test_in_a_long_session_the_output_of_tools_gives_way_to_what_was_said(
    tmp_path: Path, amount: int, size: int, reasons: dict[str, int]
) -> None:
    said = [f"{at}: {RULE}" for at in range(amount)]
    with (tmp_path / "s.jsonl").open("w") as stream:
        for at, text in enumerate(said):
            stream.write(lines([claude_line("user", text), *list_work(at, size)]))
        stream.write(lines([claude_line("user", ASKED), claude_line("assistant", ANSWERED)]))
    imported = importing.run([tmp_path], tmp_path / "out")
    assert imported.left_out == reasons
    [entry] = imported.entries.values()
    messages = read_session(tmp_path / "out", entry).messages
    assert [each.content for each in messages if each.role != "tool" and each.content] == [*said, ASKED, ANSWERED]
    assert sum(len(each.content) for each in messages if each.role == "tool") < 210 * amount
    [listed] = json.loads((tmp_path / "out" / "read.json").read_text())["files"]
    assert listed["left_out"] == reasons


@pytest.mark.slow
def test_a_long_session_whose_only_user_message_comes_last_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "MOST", 100_000)
    work = [line for at in range(500) for line in list_work(at, 1_000)]
    (tmp_path / "s.jsonl").write_text(lines([*work, claude_line("user", RULE)]))
    [entry] = importing.run([tmp_path], tmp_path / "out").entries.values()
    assert [each.content for each in read_session(tmp_path / "out", entry).messages] == [RULE]


def test_sessions_that_are_much_together_are_written_while_their_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "HELD", 5_000)
    said = [f"{at}: {RULE}" for at in range(40)]
    names = [claude_line("user", text, session=name) for text in said for name in ("one", "other")]
    quiet = [line | {"sessionId": "quiet"} for at in range(20) for line in list_work(at, 500)]
    (tmp_path / "s.jsonl").write_text(lines([*quiet, *names]))
    (tmp_path / "t.jsonl").write_text(lines(names[:-20]))
    imported = importing.run([tmp_path], tmp_path / "out")
    told: dict[str, list[str]] = {"one": [], "other": []}
    for entry in read_index(tmp_path / "out").sessions:
        told[entry.recorded_id] += [each.content for each in read_session(tmp_path / "out", entry).messages]
        assert (tmp_path / "out" / entry.file).name == "s.jsonl"
    assert told == {"one": said, "other": said}
    assert imported.left_out["a session in which nobody says anything"] == 1
    assert len(list((tmp_path / "out" / "sessions").iterdir())) == len(imported.entries) > 4
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["read.json", "sessions", "sessions.json"]


def test_what_is_no_file_is_told_and_not_opened(tmp_path: Path) -> None:
    write_claude(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "device.jsonl").symlink_to("/dev/zero")
    (tmp_path / "notes.md").write_text("No session.")
    (tmp_path / "other.json").write_text('{"name": "package"}')
    done = run(tmp_path, "--to", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "       2  a link, a pipe, a device or a socket" in done.output
    assert (
        "       1  a file of another kind" in done.output and "       1  a file in no form that is known" in done.output
    )
    for named in ("pipe.jsonl", "device.jsonl", "missing"):
        done = run(tmp_path / named, "--to", tmp_path / "other")
        assert done.exit_code == 2 and done.output.count("\n") == 1 and "Traceback" not in done.output, done.output
    assert not (tmp_path / "other").exists()


def test_a_folder_that_was_imported_is_told_apart_from_recordings(tmp_path: Path) -> None:
    write_claude(tmp_path)
    importing.run([tmp_path], tmp_path / "out")
    done = run(tmp_path / "out", tmp_path / "claude.jsonl", "--to", tmp_path / "other")
    assert done.exit_code == 2 and "out: was imported already: name recordings" in done.output, done.output
    done = run(tmp_path, "--to", tmp_path / "other")
    assert done.exit_code == 0 and "       1  a folder that was imported already" in done.output, done.output


def test_what_holds_no_session_is_bad_input_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"type": "user", "sessionId": "s1", "message": {"content": 5}}\n')
    done = run(tmp_path, "--to", tmp_path / "out")
    says = "nothing that can be kept in 1 file (a message of another form: 1)"
    assert (done.exit_code, done.output) == (2, f"coldwarm: {says}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


def test_a_folder_that_holds_something_stays_as_it_is(tmp_path: Path) -> None:
    file, out = write_claude(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    done = run(file, "--to", out)
    assert (done.exit_code, done.output) == (2, f"coldwarm: {out}: is not empty; choose another with --to\n")
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_a_transcript_of_another_version_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    said = [
        claude_line("user", RULE, version="99.0"),
        claude_line("assistant", [{"type": "hologram", "light": 1}, {"type": "text", "text": ANSWERED}]),
        claude_line("user", {"parts": []}),
        {"type": "telepathy", "sessionId": "s1", "thought": ASKED},
    ]
    (tmp_path / "s.jsonl").write_text(lines(said))
    imported = importing.run([tmp_path], tmp_path / "out")
    assert imported.left_out == {"a message of another form": 2, "a line that is no message": 1}
    assert [entry.messages for entry in imported.entries.values()] == [2]


def test_bytes_that_come_while_it_reads_are_left_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(GOOD)
    [source] = importing._find(file, [])
    file.write_bytes(GOOD + lines([claude_line("user", f"now {KEY}")]).encode())
    assert len(list(values.read(source.path, source.size, Counter()))) == 1


def test_an_imported_folder_that_was_changed_is_told_in_a_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    importing.run([write_messages(tmp_path)], out)
    [entry] = read_index(out).sessions
    file = out / "sessions" / f"{entry.id}.toml"
    for broken in (
        "[[messages]",
        '[[messages]]\nrole = "judge"\n',
        '[[messages]]\nrole = "tool"\ntool_call_id = "c9"\n',
    ):
        file.write_text(broken)
        with pytest.raises(SessionsError, match=entry.id):
            read_session(out, entry)
    for index in ("{", json.dumps({"schema": 2}), "[]"):
        (out / "sessions.json").write_text(index)
        with pytest.raises(SessionsError, match=r"sessions\.json: "):
            read_index(out)


@pytest.mark.slow
@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "s.jsonl").write_bytes(GOOD + data)
    importing.run([folder / "s.jsonl"], folder / "out")


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + b"x" * 500, b"no database"])
def test_a_database_that_is_none_is_a_file_that_cannot_be_read(tmp_path: Path, data: bytes) -> None:
    write_claude(tmp_path)
    (tmp_path / "opencode.db").write_bytes(data)
    before = sorted(path.name for path in tmp_path.iterdir())
    imported = importing.run([tmp_path], tmp_path / "out")
    assert any(reason.startswith("a file that cannot be read: not a database") for reason in imported.left_out)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "out"])


def test_a_broken_message_of_a_database_is_counted_and_nothing_is_written_beside_it(tmp_path: Path) -> None:
    file = write_opencode_database(tmp_path)
    with closing(sqlite3.connect(file)) as link:
        link.execute("update part set data = ? where message_id = 'ses_1msg_1'", [b"\xff{"])
        link.commit()
        imported = importing.run([file], tmp_path / "out")  # while opencode has it open
    assert imported.left_out["a message that is not UTF-8"] == 2
    assert [entry.messages for entry in imported.entries.values()] == [4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["opencode.db", "out"]
