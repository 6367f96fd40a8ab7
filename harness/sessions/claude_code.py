"""Sessions of Claude Code: a file of JSON lines for each, below ~/.claude/projects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.sessions.recorded import (
    INSTRUCTIONS,
    MEDIA,
    NO_MESSAGE,
    OTHER_FORM,
    SUB_AGENT,
    THINKING,
    Found,
    ToolRequest,
    ToolResponse,
    Utterance,
    as_dict,
    as_list,
    as_text,
    read_time,
)

_OWN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
"""A line that says one of these was written by the program, not by the user or the model."""
_MARKS = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-caveat>", "<bash-stdout>",
    "<task-notification>", "[Request interrupted by user",
)  # fmt: skip
"""How a text begins that the program wrote itself: of its commands, a task in the background or an interruption."""
_MEANWHILE = ("queued_command", "prompt")
"""What a line attaches if the user said something while the model worked; `prompt`: no notice of the program's own."""


class ClaudeCode:
    name = "claude-code"

    def claims(self, value: Any) -> bool:
        line = as_dict(value)
        return isinstance(line.get("sessionId"), str) and isinstance(line.get("type"), str) and "payload" not in line

    def open(self, file: Path) -> ClaudeCodeReader:
        return ClaudeCodeReader(self.name)


class ClaudeCodeReader:
    def __init__(self, program: str) -> None:
        self.found = Found(program)

    def read(self, value: Any) -> None:
        line = as_dict(value)
        session, role = as_text(line.get("sessionId")), line.get("type")
        content, attached = as_dict(line.get("message")).get("content"), as_dict(line.get("attachment"))
        if (attached.get("type"), attached.get("commandMode")) == _MEANWHILE:
            role, content = "user", attached.get("prompt")
        if role not in ("user", "assistant") or not session:
            self.found.skip(NO_MESSAGE)
        elif line.get("isSidechain") is True:
            self.found.skip(f"a line {SUB_AGENT}")
        elif any(line.get(name) is True for name in _OWN):
            self.found.skip(INSTRUCTIONS)
        else:
            self.found.at = at = read_time(line.get("timestamp"))
            self._read(session, role, content)
            # a line in which nothing is said makes no session
            if session in self.found.headings:
                self.found.heading(session).fill(at=at, cwd=line.get("cwd"), branch=line.get("gitBranch"))

    def _read(self, session: str, role: Any, content: Any) -> None:
        if not isinstance(content, str | list):
            self.found.skip(OTHER_FORM)
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content):
            self._read_block(session, role, as_dict(block))

    def _read_block(self, session: str, role: Any, block: dict[str, Any]) -> None:
        kind, found = block.get("type"), self.found
        if kind == "text" and isinstance(text := block.get("text"), str):
            if role == "user" and text.lstrip().startswith(_MARKS):
                found.skip(INSTRUCTIONS)
            else:
                found.add(session, Utterance(role, text))
        elif kind == "tool_use" and role == "assistant":
            arguments = json.dumps(block.get("input"), ensure_ascii=False)
            found.add(session, ToolRequest(as_text(block.get("id")), as_text(block.get("name")), arguments))
        elif kind == "tool_result" and role == "user":
            found.add(session, ToolResponse(as_text(block.get("tool_use_id")), self._tell(block.get("content"))))
        else:
            reasons = {"thinking": THINKING, "redacted_thinking": THINKING, "image": MEDIA, "document": MEDIA}
            found.skip(reasons.get(as_text(kind), OTHER_FORM))

    def _tell(self, content: Any) -> str:
        if isinstance(content, str):
            return content
        blocks = [as_dict(each) for each in as_list(content)]
        self.found.skip(MEDIA, sum(each.get("type") == "image" for each in blocks))
        return "\n".join(as_text(each.get("text")) for each in blocks if each.get("type") == "text")
