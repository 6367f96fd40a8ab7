"""A folder of imported sessions: `sessions.json` lists them, `read.json` says what was read and left out, and
`sessions/<id>.toml` holds what was said in one, in the form of a story's transcripts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field, ValidationError

from harness.machine import documents
from harness.machine.documents import DocumentError
from harness.model.facts import Slug
from harness.model.transcript import Message, find_problems
from harness.model.trial import Model
from tasks import files
from tasks.files import BrokenError

INDEX = "sessions.json"


class SessionsError(Exception):
    """What cannot be imported or read. One line."""


class Entry(Model):
    """A session in the list, or a part of a long one.

    Attributes:
        dated: Where its time is from: it is recorded, or that of the file.
        recorded_id: Its name in the program that recorded it.
        commit: That of the recording, or the newest of the branch at that time; empty: not known.
    """

    id: Slug
    at: AwareDatetime
    dated: Literal["recorded", "file"]
    program: str
    recorded_id: str
    file: str
    repository: str
    branch: str
    commit: str
    messages: int
    part: int = 1


class Index(Model):
    """The list of a folder.

    Attributes:
        secrets: Different ones that were cut out; `{canary:secret-1}` stands where the first of them stood.
        sessions: In the order of their times.
    """

    # `schema` is a method of pydantic's own models
    schema_: Literal[1] = Field(alias="schema")
    secrets: int
    sessions: tuple[Entry, ...]


class Spoken(Model):
    """A session with its messages."""

    entry: Entry
    messages: tuple[Message, ...]


def is_imported(folder: Path) -> bool:
    return (folder / INDEX).is_file()


def read_index(folder: Path) -> Index:
    """Raises SessionsError."""
    try:
        return Index.model_validate(documents.read_json(folder / INDEX))
    except DocumentError as error:
        raise SessionsError(f"{folder / INDEX}: {error}") from None
    except ValidationError as error:
        raise SessionsError(f"{folder / INDEX}: {documents.tell_first(error)}") from None


def read_session(folder: Path, entry: Entry) -> Spoken:
    """Raises SessionsError."""
    path = folder / "sessions" / f"{entry.id}.toml"
    try:
        spoken = Spoken.model_validate({"entry": entry, **files.parse(files.read(path))})
    except BrokenError as error:
        raise SessionsError(f"{path}: {error.found[0]}") from None
    except ValidationError as error:
        raise SessionsError(f"{path}: {documents.tell_first(error)}") from None
    for problem in find_problems(spoken.messages):
        raise SessionsError(f"{path}: {problem}")
    return spoken
