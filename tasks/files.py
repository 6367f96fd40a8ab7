"""The files of a story: its own, and those in the folder of its name, which hold transcripts and hidden tests.

<kind>/<name>.toml                the story
<kind>/<name>/<session>.toml      what was said in a session
<kind>/<name>/hidden/<file>       hidden tests, laid into a work tree to judge a job
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.machine import documents
from harness.model.job import HIDDEN

LIMIT = 1_000_000
"""Bytes of the largest file that is read."""
_DOTS = 64
"""Most dots in a line: the parser's memory grows with the square of a dotted key, and no key is that long."""


class BrokenError(Exception):
    """Everything found to be wrong with one file, as `key: reason`; never empty."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__(*found)
        self.found = found


def read(path: Path) -> str:
    try:
        data = documents.read_bytes(path, LIMIT)
    except documents.DocumentError as error:
        raise BrokenError([f"file: {error}"]) from None
    if not data.strip():
        raise BrokenError(["file: is empty"])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenError([f"file: is not UTF-8 text (at line {line})"]) from None


def parse(text: str) -> dict[str, Any]:
    for at, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _DOTS:
            raise BrokenError([f"file: has more than {_DOTS} dots in one line (at line {at}); break the line"])
    try:
        return documents.parse_toml(text)
    except documents.DocumentError as error:
        raise BrokenError([f"file: is {error}"]) from None


def attach(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The story with the transcripts of its sessions and the texts of its hidden tests; `data` is not changed.

    Raises BrokenError, one reason for each file that cannot be read or belongs to no session.
    """
    sessions = data.get("sessions")
    if not isinstance(sessions, list):
        return data
    problems = list(_find_strays(folder, {str(each.get("id")) for each in sessions if isinstance(each, dict)}))
    found = [_attach_session(each, folder, problems) if isinstance(each, dict) else each for each in sessions]
    if problems:
        raise BrokenError(problems)
    return {**data, "sessions": found}


def _find_strays(folder: Path, sessions: set[str]) -> Iterator[str]:
    for path in sorted(folder.glob("*.toml")):
        if path.stem not in sessions:
            yield f"transcripts.{path.stem}: there is no session of this name"


def _attach_session(session: dict[str, Any], folder: Path, problems: list[str]) -> dict[str, Any]:
    file = folder / f"{session.get('id')}.toml"
    made = dict(session)
    if file.exists():
        try:
            told = parse(read(file))
            problems += [f"transcripts.{file.stem}.{key}: unknown key" for key in told.keys() - {"messages"}]
            made["transcript"] = told.get("messages", [])
        except BrokenError as error:
            problems += [f"transcripts.{file.stem}.{each}" for each in error.found]
    if isinstance(session.get("steps"), list):
        made["steps"] = [_attach_tests(each, folder / HIDDEN, problems) for each in session["steps"]]
    return made


def _attach_tests(step: Any, folder: Path, problems: list[str]) -> Any:
    """A job with the texts of the hidden tests that it names."""
    if not isinstance(step, dict) or not isinstance(step.get(HIDDEN), list):
        return step
    texts = {}
    for name in step[HIDDEN]:
        try:
            if not isinstance(name, str) or "/" in name:
                raise BrokenError(["is no name of a file"])
            texts[name] = read(folder / name)
        except BrokenError as error:
            problems += [
                f"jobs.{step.get('id')}.{HIDDEN}: '{name}' {each.removeprefix('file: ')}" for each in error.found
            ]
    return {**step, HIDDEN: texts}
