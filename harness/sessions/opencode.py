"""Sessions of opencode: as `opencode export` writes them, as its database has them, and as its storage had them before,
a file for each message and for each part of one.
"""

from __future__ import annotations

import errno
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.machine import documents, files
from harness.machine.documents import DocumentError
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


DATABASE = "opencode.db"


def read_database(file: Path, wrong: Counter[str]) -> Iterator[Any]:
    """Its messages, each as an export of one. Raises OSError.

    Args:
        wrong: Takes what is wrong with messages -> how often.
    """
    with files.open_regular(file):  # what is no file is not opened by SQLite either
        pass
    # Where a log is, SQLite has to read it; where none is, it must not make one beside somebody else's file.
    mode = "mode=ro" if file.with_name(f"{file.name}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?{mode}", uri=True)) as link:
            yield from _read_rows(link, wrong)
    except sqlite3.Error as error:
        raise OSError(errno.EINVAL, f"not a database of opencode ({type(error).__name__})") from None


def _read_rows(link: sqlite3.Connection, wrong: Counter[str]) -> Iterator[Any]:
    # a text that is no UTF-8 would end the whole query with an error
    link.text_factory = bytes
    sessions = link.execute("select id, parent_id, directory, time_created from session order by time_created, id")
    for id_, parent, directory, created in sessions:
        info = {
            "id": _read_text(id_),
            "parentID": _read_text(parent),
            "directory": _read_text(directory),
            "time": {"created": created},
        }
        # as texts, since SQLite takes bytes for a blob, which equals no text
        for name, data in link.execute(
            "select id, data from message where session_id = ? order by id", [_read_text(id_)]
        ):
            message = _parse(data, wrong)
            parts = link.execute("select data from part where message_id = ? order by id", [_read_text(name)])
            listed = [_parse(each, wrong) for (each,) in parts]
            yield {"info": info, "messages": [{"info": message, "parts": listed}]}


def _read_text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _parse(data: Any, wrong: Counter[str]) -> Any:
    try:
        return documents.parse_json(documents.decode(data if isinstance(data, bytes) else b""))
    except DocumentError as error:
        wrong[f"a message {tell_wrong(error)}"] += 1
        return {}


def _is_exported(value: Any) -> bool:
    """An object with the session's record and messages, whose roles stand in records of their own."""
    messages = as_dict(value).get("messages")
    has_id = isinstance(as_dict(as_dict(value).get("info")).get("id"), str)
    return has_id and isinstance(messages, list) and not any("role" in as_dict(each) for each in messages)


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
            messages = self._list_exported(value) if _is_exported(value) else self._list_stored(session)
            for message, parts in messages:
                self._read_message(session, message, parts)

    def _list_exported(self, value: Any) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        for each in as_list(as_dict(value).get("messages")):
            yield as_dict(as_dict(each).get("info")), as_list(as_dict(each).get("parts"))

    def _list_stored(self, session: str) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        """Ids sort by time. What a name may not hold names no folder."""
        storage = self._file.parent.parent.parent  # storage/session/PROJECT/SESSION.json
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
        self.found.at = read_time(as_dict(message.get("time")).get("created"))
        for part in map(as_dict, parts):
            kind = part.get("type")
            if part.get("synthetic") is True or part.get("ignored") is True:
                self.found.skip(INSTRUCTIONS)
            elif kind == "text":
                self.found.add(session, Utterance(role, as_text(part.get("text"))))
            elif kind == "tool":
                self._read_tool(session, part)
            elif kind not in _SILENT:
                self.found.skip({"reasoning": THINKING, "file": MEDIA}.get(as_text(kind), OTHER_FORM))

    def _read_tool(self, session: str, part: dict[str, Any]) -> None:
        state, call = as_dict(part.get("state")), as_text(part.get("callID"))
        arguments = json.dumps(state.get("input", {}), ensure_ascii=False)
        self.found.add(session, ToolRequest(call, as_text(part.get("tool")), arguments))
        output = state.get("output") if state.get("status") == "completed" else state.get("error")
        if isinstance(output, str):
            self.found.add(session, ToolResponse(call, output))
