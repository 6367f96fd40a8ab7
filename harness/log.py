"""The log of a trial: an append-only file of events, one JSON object a line.

The first event is `opened`, the last one `closed`; a log without its closing event is incomplete. A log is never
rewritten. Payloads beyond a few kilobytes are blobs that are in place before the event that names them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from harness.adapter import Hit
from harness.blobs import BlobError, Blobs, unpack
from harness.events import (
    EVENT,
    FOUND,
    HITS,
    SCHEMA,
    WRITTEN,
    AnyEvent,
    Closed,
    Event,
    Found,
    Listed,
    Opened,
    Recalled,
    Written,
    Wrote,
)  # fmt: skip
from harness.model import Trial
from harness.scenario import Scenario


class LogError(Exception):
    """A log that cannot be read: which file, which line, why."""


class Unbegun(LogError):  # noqa: N818  what a kill leaves before the first event is no damage
    """A log that was cut off before its first event was whole: nothing happened in that attempt."""


class Writer:
    """Appends events; each one is with the operating system before `append` returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)

    def append(self, event: Event) -> None:
        line = event.model_dump_json(exclude_none=True).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Log:
    """A log that was read. `closed` is None if the trial did not get to its end."""

    path: Path
    sha256: str
    opened: Opened
    events: tuple[Event, ...]
    closed: Closed | None
    scenario: Scenario
    blobs: Blobs

    @property
    def trial(self) -> Trial:
        return self.opened.trial

    def of(self, kind: type[E]) -> Iterator[E]:
        return (event for event in self.events if isinstance(event, kind))

    def items(self, event: Wrote) -> tuple[Written, ...]:
        return unpack(self.blobs, WRITTEN, event.items)

    def found(self, event: Recalled) -> Found:
        return unpack(self.blobs, FOUND, event.found)

    def hits(self, event: Listed) -> tuple[Hit, ...]:
        return unpack(self.blobs, HITS, event.hits)


def read(path: Path, blobs: Blobs) -> Log:
    """The log at `path`. A last line that was cut off is left out: the log is then incomplete, not wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror}") from None
    lines = data.split(b"\n")[:-1]
    events = [_event(path, number, line) for number, line in enumerate(lines, 1)]
    if not events:
        raise Unbegun(f"{path}: was cut off before the trial began")
    if not isinstance(events[0], Opened):
        raise LogError(f"{path}:1: not an opening event")
    opened, last = events[0], events[-1]
    try:
        scenario = _scenario(blobs.get(opened.scenario))
    except (BlobError, ValidationError) as error:
        raise LogError(f"{path}: its scenario cannot be read: {str(error).splitlines()[0]}") from None
    closed = last if isinstance(last, Closed) else None
    return Log(path, hashlib.sha256(data).hexdigest(), opened, tuple(events), closed, scenario, blobs)


def story_of(path: Path) -> str | None:
    """The blob of the scenario that a log plays, from its first line alone; None if that cannot be read."""
    try:
        with path.open("rb") as file:
            return str(json.loads(file.readline())["scenario"]["blob"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


@lru_cache(maxsize=64)
def _scenario(data: bytes) -> Scenario:
    """Hundreds of logs of a run tell the same few stories."""
    return Scenario.model_validate_json(data)


def _event(path: Path, number: int, line: bytes) -> AnyEvent:
    if number == 1:
        line = _current(path, line)
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise LogError(f"{path}:{number}: not an event of schema {SCHEMA}: {where}: {first['msg']}") from None


def _current(path: Path, line: bytes) -> bytes:
    """Refuses what a newer coldwarm wrote before its unknown fields can confuse anyone."""
    try:
        schema = json.loads(line)["log_schema"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise LogError(f"{path}:1: not an opening event") from None
    if schema != SCHEMA:
        raise LogError(
            f"{path}: written with log schema {schema}; this coldwarm reads schema {SCHEMA}: update coldwarm"
        )
    return line


def canonical(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events without their timings: what two runs of one trial must have in common."""
    return [event.model_dump(mode="json", exclude={"took"}, exclude_none=True) for event in events]
