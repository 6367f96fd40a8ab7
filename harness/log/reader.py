"""The log of a trial: an append-only file of events (its lines: harness/log/lines.py).

The first event is `opened`, the last one `closed`; a log without its closing event is incomplete. A log is never
rewritten. Payloads beyond a few kilobytes are blobs that are in place before the event that names them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from harness.adapter import Hit
from harness.log.blobs import BlobError, Blobs, Ref, unpack
from harness.log.calls import CALLS, DRAFTS, Draft, ModelCall
from harness.log.events import (
    EVENT,
    SCHEMA,
    UNANSWERED,
    Closed,
    Drafted,
    Event,
    Listed,
    Opened,
    Recalled,
    Round,
    Wrote,
)
from harness.log.lines import LogError, SealedLines, load, load_ends
from harness.log.parts import FOUND, HITS, WRITTEN, Found, Written
from harness.machine import documents, files
from harness.model.backend import NOBODYS, Fault
from harness.model.drill import DrillTrial
from harness.model.scenario import Scenario
from harness.model.trial import Trial

_PAGE_BYTES = 2**20
# `memory_id` is the first field of a hit, and fields are written in their order
_BETWEEN_HITS = b'},{"memory_id":'
"""Inside of a text, a quotation mark has a backslash in front of it."""
E = TypeVar("E", bound=Event)
Opening = TypeVar("Opening", bound=Event)
Told = TypeVar("Told")


class End(Protocol):
    """The event that closes a log."""

    @property
    def status(self) -> Literal["complete", "failed", "unsupported"]: ...
    @property
    def fault(self) -> Fault | None: ...


class Start(Protocol):
    """The event that opens a log."""

    @property
    def trial(self) -> Trial | DrillTrial: ...
    @property
    def digests(self) -> Mapping[str, str]: ...
    @property
    def host(self) -> Mapping[str, str]: ...


class Outline(NamedTuple):
    """What the first and the last event of a log say, and what it says of all events; the log and its blobs are whole.

    Attributes:
        end: None if it did not get to its end.
        troubles: `Event.trouble` of all events, each kind once.
    """

    opening: Start
    end: End | None
    sealed: bool
    troubles: frozenset[str]

    @property
    def trial(self) -> Trial | DrillTrial:
        return self.opening.trial

    @property
    def unanswered(self) -> bool:
        """Whether a chat model of ours gave no answer where another try may get one."""
        return UNANSWERED in self.troubles

    @property
    def final(self) -> bool:
        """Whether the trial came to its end by what backend and models did; else it is worth another try."""
        return self.end is not None and not self.unanswered and not (self.end.fault and self.end.fault.kind in NOBODYS)


@dataclass(frozen=True, eq=False)
class Played:
    """What was played and read back, a trial or a drill: its file, events and blobs."""

    noun: ClassVar[str]
    path: Path
    sha256: str
    events: tuple[Event, ...]
    blobs: Blobs
    sealed: bool

    @cached_property
    def _by_kind(self) -> Mapping[type[Event], list[tuple[int, Event]]]:
        found = defaultdict[type[Event], list[tuple[int, Event]]](list)
        for line, event in enumerate(self.events, 1):
            found[type(event)].append((line, event))
        return found

    def of(self, kind: type[E]) -> list[tuple[int, E]]:
        """The events of a kind, with their line in the file, counted from 1. The list is kept: read only."""
        return cast("list[tuple[int, E]]", self._by_kind.get(kind, []))

    def list_events(self, kind: type[E]) -> list[E]:
        """`of`, for whom lines mean nothing."""
        return [event for _, event in self.of(kind)]

    @property
    def end(self) -> End | None:
        """None if it did not get to its end."""
        raise NotImplementedError

    @property
    def status(self) -> Literal["complete", "failed", "unsupported", "incomplete"]:
        return self.end.status if self.end else "incomplete"

    @property
    def opening(self) -> Start:
        raise NotImplementedError

    @property
    def outline(self) -> Outline:
        troubles = frozenset(event.trouble for event in self.events) - {""}
        return Outline(self.opening, self.end, self.sealed, troubles)

    @property
    def final(self) -> bool:
        """Whether the trial came to its end by what the backend did, as its outline says."""
        return self.outline.final

    @property
    def reason(self) -> str:
        """Why it ended as it did; one line, empty if it is complete."""
        if self.end is None:
            return f"the {self.noun} is incomplete"
        fault = self.end.fault
        return f"{fault.op}: {fault.line}"[:300] if fault else ""


@dataclass(frozen=True)
class Log(Played):
    """A log that was read. `closed` is None if the trial did not get to its end."""

    noun = "log"
    opened: Opened
    closed: Closed | None
    scenario: Scenario

    @property
    def end(self) -> Closed | None:
        return self.closed

    @property
    def opening(self) -> Opened:
        return self.opened

    @property
    def trial(self) -> Trial:
        return self.opened.trial

    def items(self, event: Wrote) -> tuple[Written, ...]:
        return unpack(self.blobs, WRITTEN, event.items)

    def told(self, event: Drafted) -> tuple[Written, ...]:
        return unpack(self.blobs, WRITTEN, event.told)

    def known(self, event: Drafted) -> tuple[Hit, ...]:
        return unpack(self.blobs, HITS, event.known)

    def drafts(self, event: Drafted) -> tuple[Draft, ...]:
        return unpack(self.blobs, DRAFTS, event.kept)

    def find_answer(self, event: Recalled) -> Found:
        return unpack(self.blobs, FOUND, event.found)

    def calls(self, event: Round | Drafted) -> tuple[ModelCall, ...]:
        """What the reader or the writer asked of its chat model."""
        return unpack(self.blobs, CALLS, event.calls or ())

    def hits(self, event: Listed) -> Iterator[Hit]:
        """One page after the other: a listing of a large store is as much memory as the rest of the log."""
        if not isinstance(event.hits, Ref):
            yield from event.hits
            return
        # behind the bracket that opens the list
        data, begin = self.blobs.get(event.hits), 1
        while begin < len(data):
            # a page ends between two hits, so that it is JSON by itself
            cut = data.find(_BETWEEN_HITS, begin + _PAGE_BYTES)
            end = cut + 1 if cut >= 0 else len(data) - 1
            yield from HITS.validate_json(b"[%s]" % data[begin:end])
            begin = end + 1


class PlayedFile(NamedTuple):
    """A file as it was read, in the order of the fields of `Played`."""

    path: Path
    sha256: str
    events: tuple[Event, ...]
    blobs: Blobs
    sealed: bool


@dataclass(frozen=True)
class FileKind(Generic[Opening, Told]):
    """What tells the files of trials and of drills apart.

    Attributes:
        told: The field of the opening event that names the blob of what is told.
    """

    noun: Literal["trial", "drill"]
    event: TypeAdapter[Any]
    opening: type[Opening]
    told: Literal["scenario", "plan"]
    load: Callable[[bytes], Told]


def read_file(path: Path, blobs: Blobs, kind: FileKind[Opening, Told]) -> tuple[PlayedFile, Opening]:
    """The file and its opening event; every blob that it names is there. Raises LogError."""
    lines = load(path, kind.noun)
    events = tuple(_parse(path, kind.event, lines))
    opening = events[0]
    if not isinstance(opening, kind.opening):
        raise LogError(f"{path}:1: not the opening event of a {kind.noun}")
    _check(path, events, blobs)
    return PlayedFile(path, lines.sha256, events, blobs, lines.sealed), opening


def read_told(path: Path, blobs: Blobs, opening: Opening, kind: FileKind[Opening, Told]) -> Told:
    """What is told in a file. Raises LogError."""
    try:
        return kind.load(blobs.get(getattr(opening, kind.told)))
    except (BlobError, ValidationError) as error:
        raise LogError(f"{path}: its {kind.told} cannot be read: {str(error).splitlines()[0]}") from None


def _parse(path: Path, form: TypeAdapter[Event], lines: SealedLines) -> Iterator[Event]:
    """The events. Of a sealed log the last one closes it, and no other does."""
    for number, line in enumerate(lines.events, 1):
        try:
            event = form.validate_json(line)
        except ValidationError as error:
            why = documents.tell_first(error)
            raise LogError(f"{path}:{number}: not an event of schema {SCHEMA}: {why}") from None
        if lines.numbered and event.closes != (lines.sealed and number == len(lines.events)):
            complaint = "closes the log, and is not its sealed end" if event.closes else "is sealed, and closes no log"
            raise LogError(f"{path}:{number}: {complaint}")
        yield event
    if lines.broken:
        raise LogError(f"{path}:{len(lines.events)}: its seal is broken: a line was changed after the log was closed")


def _check(path: Path, events: Sequence[Event], blobs: Blobs) -> None:
    """Every blob that an event names is there and whole: else it would be missed in the middle of a measure."""
    for number, event in enumerate(events, 1):
        for value in vars(event).values():
            if isinstance(value, Ref):
                try:
                    blobs.check(value)
                except BlobError as error:
                    raise LogError(f"{path}:{number}: {error}") from None


@lru_cache(maxsize=64)
def _parse_scenario(data: bytes) -> Scenario:
    """Hundreds of logs of a run tell the same few stories."""
    return Scenario.model_validate_json(data)


LOG = FileKind("trial", EVENT, Opened, "scenario", _parse_scenario)


def read(path: Path, blobs: Blobs) -> Log:
    """The log at `path`, with every blob that it names in its place. Raises LogError."""
    file, opened = read_file(path, blobs, LOG)
    scenario = read_told(path, blobs, opened, LOG)
    last = file.events[-1]
    return Log(*file, opened, last if isinstance(last, Closed) else None, scenario)


def skim(path: Path, blobs: Blobs, kind: FileKind[Any, Any]) -> Outline | None:
    """The outline of a log from its first and last line; None: it has to be read. Raises LogError."""
    ends = load_ends(path)
    if ends is None:
        return None
    try:
        opening, end = kind.event.validate_json(ends.first), kind.event.validate_json(ends.last)
        for name in ends.blobs:
            blobs.check(blobs.find(name))
    # read as a whole, it is told by the line what is wrong with it
    except (ValidationError, BlobError):
        # `read` says what is wrong, and in which line
        return None
    if not isinstance(opening, kind.opening) or not end.closes:
        return None
    return Outline(opening, end, True, ends.troubles)


def read_outline(path: Path, blobs: Blobs) -> Outline:
    """The outline of the log at `path`; one that was closed and is whole is not read through. Raises LogError."""
    return skim(path, blobs, LOG) or read(path, blobs).outline


def find_story(path: Path) -> str | None:
    """The blob of the scenario that a log plays, from its first line alone; None if that cannot be read."""
    try:
        return str(json.loads(next(files.read_pieces(path)).partition(b"\n")[0])["scenario"]["blob"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError, StopIteration):
        return None
