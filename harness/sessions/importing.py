"""From files of recordings to a folder of transcripts: all of them are read for secrets first, then written without."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from harness.machine import files
from harness.machine.documents import DocumentError
from harness.model.trial import digest
from harness.report.words import format_count
from harness.secrets.detector import Secrets, TooManyError
from harness.sessions import opencode, place, transcript, values
from harness.sessions.claude_code import ClaudeCode
from harness.sessions.codex import Codex
from harness.sessions.folder import Entry, Index, SessionsError, is_imported
from harness.sessions.gemini import GeminiCli, QwenCode
from harness.sessions.messages import Messages, MiniSweAgent
from harness.sessions.opencode import Opencode
from harness.sessions.recorded import NO_MESSAGE, Form, Found, Heading, Part, Reader
from harness.sessions.spans import Spans
from tasks import transcripts

# the first that claims a value reads the file: lines of qwen-code would pass for Claude Code's
FORMS: Sequence[Form] = (
    QwenCode(),
    GeminiCli(),
    ClaudeCode(),
    Codex(),
    Opencode(),
    Spans(),
    MiniSweAgent(),
    Messages(),
)
ENDINGS = (".json", ".jsonl", ".ndjson", opencode.DATABASE)
"""What is read below a folder; a file that is named is read whatever its name."""
PEEKED = 200
"""Values of a file that are looked at to tell its form."""
HELD = 64_000_000
"""Bytes of transcripts of one file that are in memory at once: of more, all are written, and go on in further parts."""


class Source(NamedTuple):
    """A file, as large as it was when it was found."""

    path: Path
    size: int


@dataclass
class Listed:
    """What was read of one file, and what was left out and why.

    Attributes:
        program: Whose sessions it holds; empty: nobody's who is known.
    """

    path: str
    bytes: int = 0
    program: str = ""
    sessions: int = 0
    messages: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass
class Imported:
    """What an import read and wrote."""

    entries: dict[str, Entry] = field(default_factory=dict)
    listed: list[Listed] = field(default_factory=list)
    secrets: int = 0
    cut: int = 0

    @property
    def left_out(self) -> Counter[str]:
        return sum((each.left_out for each in self.listed), Counter())


def run(paths: Sequence[Path], folder: Path) -> Imported:
    """Raises SessionsError, and OSError for a folder that cannot be written or holds something."""
    imported, secrets = Imported(), Secrets()
    sources = [source for path in paths for source in _find(path, imported.listed)]
    try:
        for source in sources:
            for text in _list_texts(source):
                secrets.learn(text)
        with files.fill(folder) as draft:
            (draft / "sessions").mkdir()
            for source in sources:
                imported.listed.append(_import(source, secrets, draft, imported.entries))
            if not imported.entries:
                raise SessionsError(_tell_nothing(imported))
            _write_lists(imported, secrets, draft)
    except TooManyError as error:
        raise SessionsError(str(error)) from None
    return imported


def _tell_nothing(imported: Imported) -> str:
    reasons = "; ".join(f"{reason}: {count:,}" for reason, count in imported.left_out.most_common(3))
    return f"nothing that can be kept in {format_count(len(imported.listed), 'file')} ({reasons or 'there is none'})"


# --- files ---


def _find(named: Path, listed: list[Listed]) -> Iterator[Source]:
    """A file, or the files below a folder that may hold sessions. Raises SessionsError for what is neither."""
    try:
        about = named.stat()
        if stat.S_ISREG(about.st_mode):
            yield Source(named, about.st_size)
            return
        if not stat.S_ISDIR(about.st_mode):
            raise OSError("is no file and no folder")
        # fails for a folder that may not be read, which os.walk would pass over
        next(named.iterdir(), None)
    except (OSError, ValueError) as error:
        raise SessionsError(f"{named}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if is_imported(named):
        raise SessionsError(f"{named}: was imported already: name recordings, or this folder alone with -b")
    yield from _walk(named, listed)


def _walk(named: Path, listed: list[Listed]) -> Iterator[Source]:
    other = Listed(f"{_show(named)}/**")
    for below, folders, names in os.walk(named):
        # in place, as os.walk goes on by this list; a file system lists in any order
        folders.sort()
        if is_imported(Path(below)):
            folders.clear()
            listed.append(Listed(_show(Path(below)), left_out=Counter({"a folder that was imported already": 1})))
            continue
        if opencode.is_storage(Path(below)):
            # messages and parts are read with the session that they belong to
            folders[:], names = ["session"], []
        for name in sorted(names):
            path = Path(below, name)
            if not name.endswith(ENDINGS):
                other.left_out["a file of another kind"] += 1
            elif (size := _measure(path)) is None:
                listed.append(Listed(_show(path), left_out=Counter({"a link, a pipe, a device or a socket": 1})))
            else:
                yield Source(path, size)
    if other.left_out:
        listed.append(other)


def _measure(path: Path) -> int | None:
    """Its bytes; None if it is no regular file."""
    try:
        about = path.lstat()
    except OSError:
        return None
    return about.st_size if stat.S_ISREG(about.st_mode) else None


def _show(path: Path) -> str:
    # a name that is no UTF-8 could not be written into JSON
    return str(path).encode("utf-8", "backslashreplace").decode()


def _read(source: Source, listed: Listed) -> Iterator[Found]:
    """What was found after each value of a file; what is wrong with it is counted."""
    reader: Reader | None = None
    peeked = 0
    try:
        for value in _read_values(source, listed.left_out):
            if reader is None:
                form = next((each for each in FORMS if each.claims(value)), None)
                if form is None:
                    listed.left_out[NO_MESSAGE] += 1
                    peeked += 1
                    if peeked == PEEKED:
                        break
                    continue
                reader, listed.program = form.open(source.path), form.name
            try:
                reader.read(value)
            except RecursionError:
                reader.found.skip("a message that is nested too deeply")
            yield reader.found
    except (OSError, DocumentError) as error:
        listed.left_out[f"a file that cannot be read: {getattr(error, 'strerror', None) or 'it has changed'}"] += 1
    if reader is None:
        listed.left_out["a file in no form that is known"] += 1
    else:
        listed.left_out += reader.found.left_out


def _read_values(source: Source, wrong: Counter[str]) -> Iterator[Any]:
    if source.path.name.endswith(opencode.DATABASE):
        return opencode.read_database(source.path, wrong)
    return values.read(source.path, source.size, wrong)


def _list_texts(source: Source) -> Iterator[str]:
    """All of a file that may be written."""
    headings: dict[str, Heading] = {}
    # what is left out is counted when the file is read to be written
    for found in _read(source, Listed("")):
        headings = found.headings
        for _, part in found.take():
            yield from transcript.list_texts(transcript.prepare(part))
    for heading in headings.values():
        yield from map(transcript.clean, (heading.cwd, heading.branch, heading.remote, heading.id))


# --- sessions ---


def _import(source: Source, secrets: Secrets, folder: Path, entries: dict[str, Entry]) -> Listed:
    listed = Listed(_show(source.path), source.size)
    headings: dict[str, Heading] = {}
    room = folder / "new"
    # inside of the draft, as a rename does not cross file systems
    room.mkdir()
    writing = _Writing(source, secrets, listed, room)
    for found in _read(source, listed):
        headings = found.headings
        for session, part in found.take():
            writing.add(session, part, headings)
    writing.end(headings)
    for parts in writing.entries.values():
        _keep(parts, listed, room, folder / "sessions", entries)
    shutil.rmtree(room)
    return listed


class _Writing:
    """The sessions of one file while it is read: of each, a transcript at the most is in memory."""

    def __init__(self, source: Source, secrets: Secrets, listed: Listed, room: Path) -> None:
        self._source, self._secrets, self._listed, self._room = source, secrets, listed, room
        self._drafts: dict[str, transcript.Draft] = {}
        self._size = 0
        self.entries: dict[str, list[Entry]] = {}

    def add(self, session: str, part: Part, headings: Mapping[str, Heading]) -> None:
        draft = self._drafts.setdefault(session, transcript.Draft())
        before = draft.size
        draft.add(part, self._secrets, self._listed.left_out)
        self._size += draft.size - before
        if draft.full:
            self._write(session, headings[session])
        elif self._size > HELD:
            for each in self._drafts:
                self._write(each, headings[each])

    def end(self, headings: Mapping[str, Heading]) -> None:
        for session, draft in self._drafts.items():
            if draft.speaks or session in self.entries:
                self._write(session, headings[session])
            else:
                self._listed.left_out["a session in which nobody says anything"] += 1

    def _write(self, session: str, heading: Heading) -> None:
        """A part of a session, if anybody says anything in it."""
        draft = self._drafts[session]
        self._size -= draft.size
        # calls alone make no part, and are counted as left out
        if not draft.speaks:
            draft.give_way(0)
        if messages := draft.compose(self._listed.left_out):
            parts = self.entries.setdefault(session, [])
            if parts:  # it began later than its session
                heading = replace(heading, at=next(filter(None, (each.at for each in messages)), heading.at))
            entry = _describe(self._source, heading, len(messages), self._secrets)
            if parts:
                number = len(parts) + 1
                entry = entry.model_copy(update={"id": _name_part(parts[0].id, number), "part": number})
            parts.append(entry)
            (self._room / f"{entry.id}.toml").write_text(transcripts.write(messages), "utf-8")


def _name_part(session: str, number: int) -> str:
    return session if number == 1 else f"{session}-{number:03}"


def _keep(parts: Sequence[Entry], listed: Listed, room: Path, sessions: Path, entries: dict[str, Entry]) -> None:
    """Takes a session that was written, unless more of it was read before."""
    names = map(partial(_name_part, parts[0].id), count(1))
    before = [entries[name] for name in takewhile(entries.__contains__, names)]
    if before:
        listed.left_out["a session that was read from two files, of which the longer one stays"] += 1
    more = sum(each.messages for each in parts) - sum(each.messages for each in before)
    if more <= 0:
        return
    for each in before:
        (sessions / f"{each.id}.toml").unlink()
        del entries[each.id]
    for each in parts:
        (room / f"{each.id}.toml").rename(sessions / f"{each.id}.toml")
        entries[each.id] = each
    # one that was read before was counted with the other file
    listed.sessions += not before
    listed.messages += more


def _describe(source: Source, heading: Heading, messages: int, secrets: Secrets) -> Entry:
    at = heading.at or datetime.fromtimestamp(source.path.stat().st_mtime, UTC)
    at = at.astimezone(UTC).replace(microsecond=0)

    def shown(text: str) -> str:
        return secrets.redact(transcript.clean(text).replace("\n", " "))[:500]

    commit = place.find_commit_then(heading)
    # the path is no part of the id: a copy of a recording is the same session
    return Entry(
        id=f"{at:%Y-%m-%d}-{heading.program}-{digest([heading.program, heading.id])[:10]}",
        at=at,
        dated="recorded" if heading.at else "file",
        program=heading.program,
        recorded_id=shown(heading.id),
        file=shown(_show(source.path)),
        repository=shown(place.name_repository(heading)),
        branch=shown(heading.branch),
        commit=commit if re.fullmatch("[0-9a-f]{7,64}", commit) else "",
        messages=messages,
    )


def _write_lists(imported: Imported, secrets: Secrets, folder: Path) -> None:
    # only now, as some were listed before any file was read for secrets
    for each in imported.listed:
        each.path = secrets.redact(each.path)
    imported.secrets, imported.cut = len(secrets), secrets.cut
    ordered = sorted(imported.entries.values(), key=lambda entry: (entry.at, entry.id))
    index = Index(schema=1, secrets=imported.secrets, sessions=tuple(ordered))
    (folder / "sessions.json").write_text(index.model_dump_json(by_alias=True, indent=1) + "\n", "utf-8")
    summary = {"files": [*map(vars, imported.listed)], "left_out": dict(imported.left_out.most_common())}
    (folder / "read.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
