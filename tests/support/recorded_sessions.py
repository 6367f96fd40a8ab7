"""Recordings of sessions in each form that is read, of invented people, as small as they can be."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

KEY = "sk-invented" + "4f9a1c7be2d80563"  # in two halves: scanners of this repository would take it for one
RULE = "Deploy with scripts/ship --target blimp, never by hand."
ASKED, ANSWERED = "Who numbers the invoices?", "The clerk of the north harbour does."
CWD = "/home/mira/harbour"
AT = "2026-02-03T09:00:00.000Z"


def lines(values: Iterable[Any]) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def list_forms(secret: str) -> list[str]:
    """A secret in every form that SECURITY.md names."""
    data = secret.encode()
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    based = [base64.b64encode(b" " * before + data).decode() for before in range(3)]
    url = "".join(f"%{byte:02X}" for byte in data)
    return [secret, escaped, quote(secret, safe=""), url, *based, data.hex(), data.hex().upper()]


def claude_line(role: str, content: Any, session: str = "s1", **more: Any) -> dict[str, Any]:
    return {
        "type": role, "sessionId": session, "cwd": CWD, "gitBranch": "trunk", "version": "2.1.0", "timestamp": AT,
        "uuid": "u", "message": {"role": role, "content": content}, **more,
    }  # fmt: skip


def write_claude(folder: Path) -> Path:
    file = folder / "claude.jsonl"
    file.write_text(
        lines(
            [
                {"type": "summary", "summary": "The harbour", "leafUuid": "u"},
                claude_line("user", RULE),
                claude_line("user", "You are in a folder.", isMeta=True),
                claude_line("user", "Search for it.", isSidechain=True),
                claude_line("assistant", [{"type": "thinking", "thinking": "Let me see."}]),
                claude_line("assistant", [{"type": "text", "text": "I look."}]),
                claude_line("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"sh": "ls"}}]),
                claude_line("assistant", [{"type": "tool_use", "id": "t2", "name": "Read", "input": {"path": "a"}}]),
                claude_line("user", [{"type": "tool_result", "tool_use_id": "t2", "content": "a file"}]),
                claude_line(
                    "user",
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": [{"type": "text", "text": "scripts"}, {"type": "image", "source": {}}],
                        }
                    ],
                ),
                claude_line("user", ASKED),
                claude_line("assistant", [{"type": "text", "text": ANSWERED}]),
            ]
        )
    )
    return file


def codex_line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def codex_message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def codex_item(kind: str, **item: Any) -> dict[str, Any]:
    return codex_line("response_item") | {"payload": {"type": kind, **item}}


def write_codex(folder: Path) -> Path:
    git = {"commit_hash": "a" * 40, "branch": "trunk", "repository_url": "git@example.com:port/harbour.git"}
    file = folder / "rollout-2026-02-03T09-00-00-s1.jsonl"
    file.write_text(
        lines(
            [
                codex_line("session_meta", id="s1", timestamp=AT, cwd=CWD, git=git),
                codex_line("response_item", **codex_message("developer", "Be brief.")),
                codex_line("response_item", **codex_message("user", "<environment_context>x</environment_context>")),
                codex_line("response_item", **codex_message("user", RULE)),
                codex_line("event_msg", type="user_message", message=RULE),
                codex_item("reasoning", summary=[], encrypted_content="x"),
                codex_line("response_item", **codex_message("assistant", "I look.")),
                codex_item("function_call", name="shell", call_id="t1", arguments='{"command":"ls"}'),
                codex_item("function_call_output", call_id="t1", output='{"output":"scripts"}'),
                codex_item("custom_tool_call", name="apply_patch", call_id="t2", input="+a"),
                codex_item(
                    "custom_tool_call_output",
                    call_id="t2",
                    output=[{"type": "input_text", "text": "ok"}],
                ),
                codex_line("response_item", **codex_message("user", ASKED)),
                codex_line("response_item", **codex_message("assistant", ANSWERED)),
            ]
        )
    )
    return file


def write_old_codex(folder: Path) -> Path:
    """As Codex wrote rollouts before it put each item into an object of its own."""
    file = folder / "rollout-old.jsonl"
    file.write_text(
        lines(
            [
                {"id": "s1", "timestamp": AT, "instructions": None, "git": {"branch": "trunk"}},
                {"record_type": "state"},
                codex_message("user", RULE),
                {"type": "local_shell_call", "call_id": "t1", "action": {"type": "exec", "command": ["ls"]}},
                {"type": "function_call_output", "call_id": "t1", "output": "scripts"},
                codex_message("user", ASKED),
                codex_message("assistant", ANSWERED),
            ]
        )
    )
    return file


def list_opencode() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    tool = {
        "type": "tool", "tool": "bash", "callID": "t1",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "scripts"},
    }  # fmt: skip
    return [
        (
            {"id": "msg_1", "role": "user"},
            [{"type": "text", "text": RULE}, {"type": "text", "text": "x", "synthetic": True}],
        ),
        (
            {"id": "msg_2", "role": "assistant"},
            [{"type": "reasoning", "text": "Let me see."}, tool, {"type": "step-finish"}],
        ),
        ({"id": "msg_3", "role": "user"}, [{"type": "text", "text": ASKED}, {"type": "file", "mime": "image/png"}]),
        ({"id": "msg_4", "role": "assistant"}, [{"type": "text", "text": ANSWERED}]),
    ]


SESSION = {
    "id": "ses_1",
    "projectID": "global",
    "directory": CWD,
    "title": "Harbour",
    "time": {"created": 1770109200000},
}


def write_opencode_export(folder: Path) -> Path:
    file = folder / "export.json"
    messages = [{"info": info, "parts": parts} for info, parts in list_opencode()]
    file.write_text(json.dumps({"info": SESSION, "messages": messages}, indent=2))
    return file


def write_opencode_storage(folder: Path) -> Path:
    storage = folder / "storage"
    files: dict[str, Any] = {"session/global/ses_1.json": SESSION}
    for info, parts in list_opencode():
        files[f"message/ses_1/{info['id']}.json"] = info
        for at, part in enumerate(parts):
            files[f"part/{info['id']}/prt_{at}.json"] = part
    for name, value in files.items():
        (storage / name).parent.mkdir(parents=True, exist_ok=True)
        (storage / name).write_text(json.dumps(value))
    return storage


def write_opencode_database(folder: Path) -> Path:
    """As opencode 1.18 made it, of its columns those that are read."""
    file = folder / "opencode.db"
    with closing(sqlite3.connect(file)) as link:
        link.execute("pragma journal_mode=wal")
        link.execute("create table session (id text, parent_id text, directory text, time_created integer)")
        link.execute("create table message (id text, session_id text, data text)")
        link.execute("create table part (id text, message_id text, data text)")
        link.execute("insert into session values ('ses_1', null, ?, 1770109200000)", [CWD])
        link.execute("insert into session values ('ses_2', 'ses_1', ?, 1770109200000)", [CWD])
        for info, parts in list_opencode():
            for session in ("ses_1", "ses_2"):
                data = json.dumps({"role": info["role"]})
                link.execute("insert into message values (?, ?, ?)", [session + info["id"], session, data])
                for at, part in enumerate(parts):
                    row = [f"prt_{at}", session + info["id"], json.dumps(part)]
                    link.execute("insert into part values (?, ?, ?)", row)
        link.commit()
    return file


def list_messages() -> list[dict[str, Any]]:
    call = {"id": "t1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    return [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": RULE}, {"type": "image_url", "image_url": {"url": "data:"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "scripts"},
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": ANSWERED},
    ]


def write_messages(folder: Path) -> Path:
    file = folder / "messages.json"
    file.write_text(
        json.dumps({"id": "s1", "created_at": AT, "metadata": {"cwd": CWD}, "messages": list_messages()}, indent=1)
    )
    return file


def write_message_lines(folder: Path) -> Path:
    file = folder / "message-lines.jsonl"
    file.write_text(lines(list_messages()))
    return file


PLAYED = Path(__file__).parent / "played"
"""Sessions as the programs themselves wrote them, shortened, with invented words in place of what was said and of the
programs' own instructions. opencode's are a database: of its three tables that are read, rows and some columns."""


def write_played_claude(folder: Path) -> Path:
    return _copy(folder, "claude-code-2.1.332.jsonl")


def write_played_codex(folder: Path) -> Path:
    return _copy(folder, "codex-0.171.0.jsonl")


def write_played_opencode(folder: Path) -> Path:
    file = folder / "opencode.db"
    with closing(sqlite3.connect(file)) as link:
        link.executescript((PLAYED / "opencode-1.18.33.sql").read_text())
    return file


def write_qwen(folder: Path) -> Path:
    return _copy(folder, "qwen-code-0.24.4.jsonl")


def write_gemini(folder: Path) -> Path:
    (folder / ".project_root").write_text(CWD)
    (folder / "chats").mkdir()
    return _copy(folder / "chats", "gemini-cli-0.61.0.jsonl")


def write_old_gemini(folder: Path) -> Path:
    """As Gemini CLI wrote a session before it did so line by line."""
    head, _, *more = [json.loads(line) for line in (PLAYED / "gemini-cli-0.61.0.jsonl").read_text().splitlines()]
    (folder / ".project_root").write_text(CWD)
    file = folder / "chats" / "session-old.json"
    file.parent.mkdir()
    file.write_text(json.dumps(head | {"messages": [each for each in more if "id" in each]}, indent=2))
    return file


def write_mini_swe_agent(folder: Path) -> Path:
    return _copy(folder, "mini-swe-agent-2.4.6.json")


def _copy(folder: Path, name: str) -> Path:
    return Path(shutil.copy(PLAYED / name, folder))


def _part(role: str, **part: Any) -> dict[str, Any]:
    return {"role": role, "parts": [part]}


def write_spans(folder: Path) -> Path:
    """Three calls, each of which repeats what was said before."""
    told = [
        _part("system", type="text", content="Be brief."),
        _part("user", type="text", content=RULE),
        _part("assistant", type="tool_call", id="t1", name="bash", arguments={"command": "ls"}),
        _part("tool", type="tool_call_response", id="t1", response="scripts"),
        _part("assistant", type="text", content="I looked."),
        _part("user", type="text", content=ASKED),
        _part("assistant", type="text", content=ANSWERED),
    ]
    spans = []
    for number, end in enumerate((2, 4, 6), 1):
        values = {
            "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s1",
            "gen_ai.input.messages": json.dumps(told[:end]), "gen_ai.output.messages": json.dumps(told[end : end + 1]),
        }  # fmt: skip
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        start = str(1770109200 * 10**9 + number)
        spans.append({"traceId": "t", "spanId": str(number), "startTimeUnixNano": start, "attributes": attributes})
    spans.append({"traceId": "t", "spanId": "9", "attributes": []})
    resource = {"attributes": [{"key": "process.working_directory", "value": {"stringValue": CWD}}]}
    file = folder / "spans.json"
    file.write_text(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans[::-1]}]}]}))
    return file


WRITERS: dict[str, Callable[[Path], Path]] = {
    "claude-code": write_claude, "codex": write_codex, "codex, old": write_old_codex,
    "opencode, exported": write_opencode_export, "opencode, stored": write_opencode_storage,
    "opencode, database": write_opencode_database,
    "claude-code, played": write_played_claude, "codex, played": write_played_codex,
    "opencode, played": write_played_opencode,
    "qwen-code": write_qwen, "gemini-cli": write_gemini, "gemini-cli, old": write_old_gemini,
    "mini-swe-agent": write_mini_swe_agent, "messages": write_messages,
    "messages, lines": write_message_lines, "spans": write_spans,
}  # fmt: skip
