"""Sessions of opencode: as `opencode export` writes them, and as its storage has them, a file for each message and for
each part of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.machine import documents
from harness.machine.documents import DocumentError
from harness.sessions.recorded import (
    INSTRUCTIONS,
    MEDIA,
    NO_MESSAGE,
    OTHER_FORM,
    SUB_AGENT,
    THINKING,
    Answered,
    Called,
    Found,
    Said,
    as_dict,
    as_list,
    as_text,
    read_time,
)
from harness.sessions.values import tell_wrong

STORAGE = ("session", "message", "part")
"""Folders of a storage: sessions by project, messages by session, parts by message."""
_MOST = 16_000_000
_SILENT = ("step-start", "step-finish", "snapshot", "patch", "agent", "compaction", "retry", "subtask")


class Opencode:
    name = "opencode"

    def claims(self, value: Any) -> bool:
        return _is_exported(value) or _is_session(value)

    def open(self, file: Path) -> OpencodeReader:
        return OpencodeReader(self.name, file)


def is_storage(folder: Path) -> bool:
    return all((folder / name).is_dir() for name in STORAGE)


def _is_exported(value: Any) -> bool:
    return isinstance(as_dict(value).get("info"), dict) and isinstance(as_dict(value).get("messages"), list)


def _is_session(value: Any) -> bool:
    session = as_dict(value)
    return all(isinstance(session.get(key), str) for key in ("id", "projectID", "directory"))


class OpencodeReader:
    def __init__(self, program: str, file: Path) -> None:
        self.found, self._file = Found(program), file

    def read(self, value: Any) -> None:
        info = as_dict(as_dict(value).get("info")) if _is_exported(value) else as_dict(value)
        session = as_text(info.get("id"))
        if not session or not (_is_exported(value) or _is_session(value)):
            self.found.skip(NO_MESSAGE)
        elif info.get("parentID"):
            self.found.skip(f"a session {SUB_AGENT}")
        else:
            at = read_time(as_dict(info.get("time")).get("created"))
            self.found.heading(session).fill(at=at, cwd=info.get("directory"))
            told = self._list_exported(value) if _is_exported(value) else self._list_stored(session)
            for message, parts in told:
                self._read_message(session, message, parts)

    def _list_exported(self, value: Any) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        for each in as_list(as_dict(value).get("messages")):
            yield as_dict(as_dict(each).get("info")), as_list(as_dict(each).get("parts"))

    def _list_stored(self, session: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        """Ids sort by time. What a name may not hold names no folder."""
        storage = self._file.parent.parent.parent
        for message in self._load(storage / "message", session):
            yield message, list(self._load(storage / "part", as_text(message.get("id"))))

    def _load(self, folder: Path, name: str) -> Iterator[dict[str, Any]]:
        if not name.replace("_", "").replace("-", "").isalnum():
            return
        with suppress(OSError):
            for file in sorted((folder / name).glob("*.json")):
                try:
                    yield as_dict(documents.read_json(file, _MOST))
                except DocumentError as error:
                    self.found.skip(f"a message {tell_wrong(error)}")

    def _read_message(self, session: str, message: dict[str, Any], parts: list[Any]) -> None:
        role = message.get("role")
        if role not in ("user", "assistant"):
            self.found.skip(OTHER_FORM)
            return
        for part in map(as_dict, parts):
            kind = part.get("type")
            if part.get("synthetic") is True or part.get("ignored") is True:
                self.found.skip(INSTRUCTIONS)
            elif kind == "text":
                self.found.add(session, Said(role, as_text(part.get("text"))))
            elif kind == "tool":
                self._read_tool(session, part)
            elif kind not in _SILENT:
                self.found.skip({"reasoning": THINKING, "file": MEDIA}.get(as_text(kind), OTHER_FORM))

    def _read_tool(self, session: str, part: dict[str, Any]) -> None:
        state, call = as_dict(part.get("state")), as_text(part.get("callID"))
        arguments = json.dumps(state.get("input", {}), ensure_ascii=False)
        self.found.add(session, Called(call, as_text(part.get("tool")), arguments))
        said = state.get("output") if state.get("status") == "completed" else state.get("error")
        if isinstance(said, str):
            self.found.add(session, Answered(call, said))
