"""Sessions of Gemini CLI, and of qwen-code, which descends from it: texts and calls are parts as Google's API has them.

Gemini CLI writes a message again when its calls are answered, and the answers once more as the next message: what was
read before is passed over. Its older sessions are one document instead of lines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from harness.machine import files
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

_CONTEXT = ("<session_context>", "This is the Gemini CLI.", "This is the Qwen Code.")
"""How a message of the user's begins that the program wrote itself."""
_SILENT = ("info", "error", "warning")


class Parts:
    """Reads parts into what is found; a call or an answer of an id that is known is passed over."""

    def __init__(self, found: Found) -> None:
        self._found, self._known = found, set[tuple[str, str, str]]()

    def read(self, session: str, role: Literal["user", "assistant"], parts: Any) -> None:
        listed = [{"text": parts}] if isinstance(parts, str) else parts if isinstance(parts, list) else [parts]
        for part in map(as_dict, listed):
            if part.get("thought"):
                self._found.skip(THINKING)
            elif isinstance(part.get("functionCall"), dict):
                call = part["functionCall"]
                self.call(session, as_text(call.get("id")), as_text(call.get("name")), call.get("args"))
            elif isinstance(part.get("functionResponse"), dict):
                self._answer(session, part["functionResponse"])
            elif isinstance(text := part.get("text"), str):
                if role == "user" and text.lstrip().startswith(_CONTEXT):
                    self._found.skip(INSTRUCTIONS)
                else:
                    self._found.add(session, Utterance(role, text))
            else:
                self._found.skip(MEDIA if "inlineData" in part or "fileData" in part else OTHER_FORM)

    def call(self, session: str, name: str, tool: str, arguments: Any) -> None:
        if self._is_new("call", session, name):
            self._found.add(session, ToolRequest(name, tool, json.dumps(arguments, ensure_ascii=False)))

    def _answer(self, session: str, answer: dict[str, Any]) -> None:
        name, response = as_text(answer.get("id")), as_dict(answer.get("response"))
        text = next((response[key] for key in ("output", "error") if isinstance(response.get(key), str)), None)
        if self._is_new("answer", session, name):
            self._found.add(
                session, ToolResponse(name, json.dumps(response, ensure_ascii=False) if text is None else text)
            )

    def _is_new(self, kind: str, session: str, name: str) -> bool:
        known = (kind, session, name) in self._known
        self._known.add((kind, session, name))
        # without an id, nothing tells a repeated call from a second one
        return not (known and name)


class GeminiCli:
    name = "gemini-cli"

    def claims(self, value: Any) -> bool:
        record = as_dict(value)
        return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)

    def open(self, file: Path) -> GeminiReader:
        return GeminiReader(self.name, file)


class GeminiReader:
    def __init__(self, program: str, file: Path) -> None:
        self.found, self._file, self._session = Found(program), file, ""
        self._parts, self._said, self._silent = Parts(self.found), set[tuple[str, str]](), False

    def read(self, value: Any) -> None:
        record = as_dict(value)
        if isinstance(record.get("projectHash"), str):
            self._session = as_text(record.get("sessionId"))
            self._silent = record.get("kind", "main") != "main"
            if self._silent:
                self.found.skip(f"a session {SUB_AGENT}")
            elif self._session:
                self.found.heading(self._session).fill(at=read_time(record.get("startTime")), cwd=self._find_folder())
        more = record.get("messages", as_dict(record.get("$set")).get("messages"))
        for each in map(as_dict, more if isinstance(more, list) else [record] if "id" in record else []):
            self._read_message(each)

    def _find_folder(self) -> str:
        """The folder in which it worked, beside its chats. Empty: it is not there."""
        try:
            # no path of Linux is longer
            return files.read(self._file.parent.parent / ".project_root", 4096).decode().strip()
        except (OSError, ValueError):
            return ""

    def _read_message(self, message: dict[str, Any]) -> None:
        kind, session = as_text(message.get("type")), self._session
        if not session or self._silent or kind in _SILENT:
            self.found.skip(NO_MESSAGE)
        elif kind not in ("user", "gemini"):
            self.found.skip(OTHER_FORM)
        else:
            # with its content, as a message may be written again when there is more of it
            known = (as_text(message.get("id")), json.dumps(message.get("content")))
            self.found.at = read_time(message.get("timestamp"))
            # the calls below are read all the same: a message that is written again may bring their answers
            if known not in self._said:
                self._said.add(known)
                self._parts.read(session, "user" if kind == "user" else "assistant", message.get("content"))
            self.found.skip(THINKING, len(as_list(message.get("thoughts"))))
            for call in map(as_dict, as_list(message.get("toolCalls"))):
                self._parts.call(session, as_text(call.get("id")), as_text(call.get("name")), call.get("args"))
                self._parts.read(session, "user", as_list(call.get("result")))


class QwenCode:
    name = "qwen-code"

    def claims(self, value: Any) -> bool:
        line = as_dict(value)
        own = "provenance" in line or "systemPayload" in line or "parts" in as_dict(line.get("message"))
        return own and all(isinstance(line.get(key), str) for key in ("sessionId", "type"))

    def open(self, file: Path) -> QwenReader:
        return QwenReader(self.name)


class QwenReader:
    def __init__(self, program: str) -> None:
        self.found = Found(program)
        self._parts = Parts(self.found)

    def read(self, value: Any) -> None:
        line = as_dict(value)
        session, kind = as_text(line.get("sessionId")), line.get("type")
        parts = as_dict(line.get("message")).get("parts")
        if kind not in ("user", "assistant", "tool_result") or not session:
            self.found.skip(NO_MESSAGE)
        elif line.get("isSidechain") is True:
            self.found.skip(f"a line {SUB_AGENT}")
        elif not isinstance(parts, list):
            self.found.skip(OTHER_FORM)
        else:
            self.found.at = at = read_time(line.get("timestamp"))
            self._parts.read(session, "assistant" if kind == "assistant" else "user", parts)
            if session in self.found.headings:
                self.found.heading(session).fill(at=at, cwd=line.get("cwd"), branch=line.get("gitBranch"))
