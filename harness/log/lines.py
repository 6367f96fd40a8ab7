"""The lines of a log or transcript: one JSON object each, numbered from 1, the last one with the seal.

The seal is the sha256 of every byte before it, the last event's own included; in front of it stands what kinds of
trouble the events tell of. So a line that is changed, removed, added
or moved is seen when a closed log is read, and a gap is seen in one that was cut off. It protects against damage and
against a backend that writes to a log, not against whoever computes a new seal. Logs of schema 1 have neither.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from harness.log.blobs import Unwritable
from harness.log.events import SCHEMA, Event
from harness.log.redaction import Redactor
from harness.machine import files
from harness.model.backend import Fault

SEALED = 2
"""The first schema whose lines are numbered and sealed."""
_SEAL = re.compile(rb'(?:,"troubles":(\[[a-z",-]*\]))?,"sha256":"([0-9a-f]{64})"}\Z')
# the troubles are not among them, so the seal covers those
_SEAL_BYTES = len(b',"sha256":""}') + 64
_BLOB = re.compile(rb'"blob":"([0-9a-f]{64})"')
"""Inside of a text, a quotation mark has a backslash in front of it."""
_NUMBER = re.compile(rb'\{"n":(\d{1,15}),')


NOTHING = Redactor()


class LogError(Exception):
    """A log that cannot be read: which file, which line, why."""


class Unbegun(LogError):  # noqa: N818  what a kill leaves before the first event is no damage
    """A log that was cut off before its first event was whole: nothing happened in that attempt."""


@dataclass(frozen=True)
class SealedLines:
    """The events of a file as JSON, without number and seal.

    Attributes:
        sealed: The last one carries the seal.
        broken: That does not hold. Told after the events are read, as a line that is no event any more says more.
    """

    events: tuple[bytes, ...]
    sha256: str
    numbered: bool
    sealed: bool
    broken: bool = False


class Ends(NamedTuple):
    """The first and the last event of a sealed log that is whole, as JSON.

    Attributes:
        troubles: `Event.trouble` of all events, each kind once.
        blobs: The names of those that any event names.
    """

    first: bytes
    last: bytes
    troubles: frozenset[str]
    blobs: frozenset[str]


class Writer:
    """Appends events; each one is with the operating system before `append` returns.

    A log that holds anything but what was appended here, when it is closed, is set aside (`.forged`). In its place
    stands one with the first event and a closing event that says so: nothing else of that trial counts. One that was
    removed is the machine's doing, as anybody may clear a folder.
    """

    def __init__(self, path: Path, redactor: Redactor = NOTHING) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._redactor = redactor
        self._path, self._lines, self._bytes, self._digest = path, 0, 0, hashlib.sha256()
        self._first: Event | None = None
        self._troubles: set[str] = set()
        self.closed = False
        # Never a log over another one, never a line over another one, and no child process holds it.
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def append(self, event: Event) -> None:
        """Raises Unwritable; what cannot be written as JSON raises before anything is."""
        # redacted before anything is hashed: seal and digest are of the bytes in the file
        line = (
            b'{"n":%d,' % (self._lines + 1)
            + self._redactor.data(event.model_dump_json(exclude_none=True).encode())[1:-1]
        )
        self._troubles.add(event.trouble)
        if event.closes:
            line += b',"troubles":%s' % json.dumps(sorted(self._troubles - {""}), separators=(",", ":")).encode()
            # a copy, as the digest of the whole file goes on with the seal itself
            sealed = self._digest.copy()
            sealed.update(line)
            line += b',"sha256":"%s"' % sealed.hexdigest().encode()
        line += b"}\n"
        rest = line
        try:
            while rest:  # what was written in part is written on: the system then says what it lacks
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise Unwritable(error.errno, error.strerror, str(self._path)) from None
        self._digest.update(line)
        self._first = self._first or event
        self._lines, self._bytes, self.closed = self._lines + 1, self._bytes + len(line), event.closes
        if event.closes and not self._is_untouched():
            self._set_aside(event)

    def _is_untouched(self) -> bool:
        """Whether the file at this path is ours, and holds our bytes only."""
        try:
            ours, there = os.fstat(self._file), self._path.lstat()
        except OSError:
            return False
        alone = os.path.samestat(ours, there) and ours.st_size == self._bytes
        return alone and hashlib.sha256(os.pread(self._file, self._bytes, 0)).digest() == self._digest.digest()

    def _set_aside(self, last: Event) -> None:
        assert self._first is not None
        kept = self._path.with_suffix(".forged")
        note = f"something else wrote to its log, which is kept as {kept.name}"
        fault = Fault(kind="breach", op="log", message=note)
        try:
            self._path.replace(kept)
        except FileNotFoundError:  # there is nothing to keep, and nobody knows who did it
            fault = Fault(
                kind="machine", op="log", message="its log was removed while it was played; --resume plays it again"
            )
        except OSError as error:
            raise Unwritable(error.errno, error.strerror, str(self._path)) from None
        with Writer(self._path, self._redactor) as again:
            again.append(self._first)
            again.append(last.model_copy(update={"status": "failed", "fault": fault}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def load(path: Path, what: str) -> SealedLines:
    """The lines of a file whose numbers have no gap and whose seal, if it is closed, holds; else LogError.

    A last line that was cut off is left out: the file is then incomplete, not wrong.

    Args:
        what: A trial or a drill.
    """
    try:
        data = files.read_whole(path)
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror}") from None
    lines = data.split(b"\n")[:-1]
    if not lines:
        raise Unbegun(f"{path}: was cut off before the {what} began")
    if _read_schema(path, lines[0]) < SEALED:
        return SealedLines(tuple(lines), hashlib.sha256(data).hexdigest(), numbered=False, sealed=False)
    seal = _SEAL.search(lines[-1])
    before = len(data.rpartition(b"\n")[0]) - _SEAL_BYTES if seal else len(data)
    # what the seal holds ends here; the digest goes on below, so that no byte is hashed twice
    digest = hashlib.sha256(data[:before])
    if seal and not data.endswith(b"\n"):
        raise LogError(f"{path}:{len(lines) + 1}: something follows the line that closes the log")
    events = [_strip_number(path, number, line) for number, line in enumerate(lines, 1)]
    if not seal:
        return SealedLines(tuple(events), digest.hexdigest(), numbered=True, sealed=False)
    broken = digest.hexdigest().encode() != seal[2]
    events[-1] = events[-1][: -len(seal[0])] + b"}"
    digest.update(data[before:])
    return SealedLines(tuple(events), digest.hexdigest(), numbered=True, sealed=True, broken=broken)


def load_ends(path: Path) -> Ends | None:
    """None: `load` may know more, as this log is not closed, not whole, or says nothing of troubles.

    What lies between is vouched for by the seal, and not read. Raises LogError for a log that a newer coldwarm wrote.
    """
    try:
        data = files.read_whole(path)
    except OSError:
        return None
    end = len(data) - 1
    seal = _SEAL.search(data, max(0, data.rfind(b"\n", 0, end)), end) if data.endswith(b"\n") else None
    # a view, as a slice would copy the whole log
    if not seal or not seal[1] or hashlib.sha256(memoryview(data)[: end - _SEAL_BYTES]).hexdigest().encode() != seal[2]:
        return None
    first, last = data[: data.index(b"\n")], data[data.rfind(b"\n", 0, end) + 1 : seal.start()] + b"}"
    if _read_schema(path, first) < SEALED:
        return None
    return Ends(
        _NUMBER.sub(b"{", first, 1),
        _NUMBER.sub(b"{", last, 1),
        frozenset(json.loads(seal[1])),
        frozenset(name.decode() for name in _BLOB.findall(data)),
    )


def _read_schema(path: Path, line: bytes) -> int:
    """Refuses what a newer coldwarm wrote before its unknown fields can confuse anyone."""
    try:
        schema = json.loads(line)["log_schema"]
    # json raises RecursionError for what is nested too deeply
    except (ValueError, TypeError, KeyError, RecursionError):
        raise LogError(f"{path}:1: not an opening event") from None
    if schema not in range(1, SCHEMA + 1):
        raise LogError(
            f"{path}: written with log schema {schema}; this coldwarm reads schema {SCHEMA}: update coldwarm"
        )
    return int(schema)


def _strip_number(path: Path, number: int, line: bytes) -> bytes:
    found = _NUMBER.match(line)
    if not found:
        raise LogError(f"{path}:{number}: not a numbered event")
    if int(found[1]) != number:
        raise LogError(f"{path}:{number}: line {int(found[1])} stands here: lines were removed, added or moved")
    return b"{" + line[found.end() :]
