"""Sessions of Codex: a rollout of JSON lines for each, below ~/.codex/sessions.

Codex writes what was said twice, as items of the model's responses and as events for its screen; only items are read.
Rollouts of before September 2025 have the items bare, without `payload` around them.
"""

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

_LINES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_ITEMS = ("message", "function_call", "function_call_output", "reasoning", "local_shell_call", "custom_tool_call")
_CONTEXT = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>",
    "<subagent_notification>", "<turn_aborted>",
)  # fmt: skip
"""How a message of the user's begins that Codex wrote itself."""
_TEXTS = ("input_text", "output_text", "text")


class Codex:
    name = "codex"

    def claims(self, value: Any) -> bool:
        line = as_dict(value)
        if line.get("type") in _LINES and isinstance(line.get("payload"), dict):
            return True
        bare = "role" not in line and isinstance(line.get("timestamp"), str) and "instructions" in line
        return (bare and isinstance(line.get("id"), str)) or line.get("type") in _ITEMS

    def open(self, file: Path) -> CodexReader:
        return CodexReader(self.name, file.stem)


class CodexReader:
    def __init__(self, program: str, session: str) -> None:
        self.found, self._session, self._named, self._spawned = Found(program), session, False, False

    def read(self, value: Any) -> None:
        line = as_dict(value)
        kind, item = line.get("type"), as_dict(line.get("payload"))
        # before September 2025, a heading has no type
        if kind == "session_meta" or (kind is None and "instructions" in line and "id" in line):
            self._read_heading(item or line)
        elif self._spawned:
            self.found.skip(f"a line {SUB_AGENT}")
        elif kind == "turn_context":
            self.found.heading(self._session).fill(cwd=item.get("cwd"))
        elif kind == "response_item" or ("payload" not in line and kind in (*_ITEMS, "custom_tool_call_output")):
            self.found.at = read_time(line.get("timestamp"))
            self.found.heading(self._session).fill(at=self.found.at)
            self._read_item(item or line)
        else:
            self.found.skip(NO_MESSAGE)

    def _read_heading(self, heading: dict[str, Any]) -> None:
        """Of the first one: a session that goes on from another one repeats the other's."""
        if self._named:
            return
        # `source` is a plain text unless another agent started the session
        self._named, self._spawned = True, "subagent" in as_dict(heading.get("source"))
        if self._spawned:
            return
        self._session = as_text(heading.get("id")) or self._session
        git = as_dict(heading.get("git"))
        self.found.heading(self._session).fill(
            at=read_time(heading.get("timestamp")),
            cwd=heading.get("cwd"),
            branch=git.get("branch"),
            commit=git.get("commit_hash"),
            remote=git.get("repository_url"),
        )

    def _read_item(self, item: dict[str, Any]) -> None:
        kind, found, name = as_text(item.get("type")), self.found, as_text(item.get("name"))
        call = as_text(item.get("call_id")) or as_text(item.get("id"))
        if kind == "message":
            self._read_message(item)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments" if kind == "function_call" else "input")
            found.add(
                self._session, ToolRequest(call, name, arguments if isinstance(arguments, str) else _spell(arguments))
            )
        elif kind == "local_shell_call":
            found.add(self._session, ToolRequest(call, "shell", _spell(item.get("action"))))
        elif kind.endswith("_call_output"):
            found.add(self._session, ToolResponse(call, self._join_texts(item.get("output"))))
        else:
            found.skip(THINKING if kind == "reasoning" else OTHER_FORM)

    def _read_message(self, item: dict[str, Any]) -> None:
        role, text = item.get("role"), self._join_texts(item.get("content"))
        if role == "user" and not text.lstrip().startswith(_CONTEXT):
            self.found.add(self._session, Utterance("user", text))
        elif role == "assistant":
            self.found.add(self._session, Utterance("assistant", text))
        else:
            self.found.skip(INSTRUCTIONS if role in ("user", "system", "developer") else OTHER_FORM)

    def _join_texts(self, content: Any) -> str:
        """A text, texts in a list, or an object of either; older ones are JSON in a text."""
        if isinstance(content, str):
            return _unwrap(content)
        if isinstance(content, dict):
            return self._join_texts(content.get("content") or content.get("output") or "")
        blocks = [as_dict(each) for each in as_list(content)]
        self.found.skip(MEDIA, sum(each.get("type") in ("input_image", "output_image") for each in blocks))
        return "\n".join(as_text(each.get("text")) for each in blocks if each.get("type") in _TEXTS)


def _unwrap(text: str) -> str:
    if text.startswith('{"output":'):
        try:
            output = as_dict(json.loads(text)).get("output")
            return output if isinstance(output, str) else text
        except (ValueError, RecursionError):
            # what a tool printed may only look like it
            pass
    return text


def _spell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
