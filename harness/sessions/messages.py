"""Messages as OpenAI's chat API has them: a list, an object with `messages`, or lines of these or of messages."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.sessions.recorded import (
    INSTRUCTIONS,
    MEDIA,
    NO_MESSAGE,
    OTHER_FORM,
    Found,
    ToolRequest,
    ToolResponse,
    Utterance,
    as_dict,
    as_list,
    as_text,
    read_time,
)

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_TIMES = ("timestamp", "created_at", "created", "date")


class Messages:
    name = "messages"

    def claims(self, value: Any) -> bool:
        listed = value if isinstance(value, list) else as_dict(value).get("messages")
        return _is_message(value) or any(map(_is_message, as_list(listed)[:1]))

    def open(self, file: Path) -> MessagesReader:
        return MessagesReader(self.name, file)


class MiniSweAgent:
    """Its trajectory, an object with `messages`; the last of them only says how it ended."""

    name = "mini-swe-agent"

    def claims(self, value: Any) -> bool:
        return as_text(as_dict(value).get("trajectory_format")).startswith("mini-swe-agent")

    def open(self, file: Path) -> MessagesReader:
        return MessagesReader(self.name, file)


def _is_message(value: Any) -> bool:
    message = as_dict(value)
    return message.get("role") in _ROLES and ("content" in message or "tool_calls" in message)


def _read_first_time(about: dict[str, Any]) -> datetime | None:
    return next(filter(None, (read_time(about.get(key)) for key in _TIMES)), None)


class MessagesReader:
    def __init__(self, program: str, file: Path) -> None:
        self.found, self._path, self._count = Found(program), str(file), 0

    def read(self, value: Any) -> None:
        listed = value if isinstance(value, list) else as_dict(value).get("messages")
        if isinstance(listed, list):
            self._count += 1
            session = as_text(as_dict(value).get("id")) or f"{self._path}#{self._count}"
            for each in listed:
                self._read_message(session, as_dict(each))
            if session in self.found.headings:
                self._fill(session, as_dict(value))
        else:
            self._read_message(self._path, as_dict(value))

    def _fill(self, session: str, record: dict[str, Any]) -> None:
        # what the record says itself counts before what is said about it
        about = as_dict(record.get("metadata")) | as_dict(record.get("extra")) | record
        at = _read_first_time(about)
        config = as_dict(as_dict(record.get("info")).get("config"))  # of mini-swe-agent
        about = {"cwd": as_dict(config.get("environment")).get("cwd")} | about
        known = {key: about.get(key) for key in ("cwd", "branch", "commit")}
        self.found.heading(session).fill(at=at, remote=about.get("repository"), **known)

    def _read_message(self, session: str, message: dict[str, Any]) -> None:
        role, found = message.get("role"), self.found
        found.at = _read_first_time(message)
        text = self._tell(message.get("content"))
        if role == "user":
            found.add(session, Utterance("user", text))
        elif role == "assistant":
            found.add(session, Utterance("assistant", text))
            for each in as_list(message.get("tool_calls")):
                self._call(session, as_text(as_dict(each).get("id")), as_dict(as_dict(each).get("function")))
            if isinstance(message.get("function_call"), dict):
                # a `function_call` has no id: its answer names the function
                self._call(session, as_text(message["function_call"].get("name")), message["function_call"])
        elif role in ("tool", "function"):
            found.add(session, ToolResponse(as_text(message.get("tool_call_id") or message.get("name")), text))
        else:
            # mini-swe-agent's last message says how it ended
            known = {**dict.fromkeys(_ROLES, INSTRUCTIONS), "exit": NO_MESSAGE}
            found.skip(known.get(as_text(role), OTHER_FORM if "role" in message else NO_MESSAGE))
        if session in found.headings:
            self._fill(session, message)

    def _call(self, session: str, name: str, function: dict[str, Any]) -> None:
        value = function.get("arguments")
        arguments = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        self.found.add(session, ToolRequest(name, as_text(function.get("name")), arguments))

    def _tell(self, content: Any) -> str:
        if isinstance(content, str):
            return content
        blocks = [as_dict(each) for each in as_list(content)]
        texts = [each.get("text") for each in blocks if isinstance(each.get("text"), str)]
        self.found.skip(MEDIA, len(blocks) - len(texts))
        return "\n".join(map(as_text, texts))
