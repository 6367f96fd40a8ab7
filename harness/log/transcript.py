"""The transcript of a drill: every call over the wire, every look at the disk, every opening and kill; no scores.

An append-only file of events like a trial's log: the first is `drilled`, the last `ended`; without it, the transcript
is incomplete.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

from harness.adapter import Hit, Layer
from harness.log.blobs import Blobs, Ref, unpack
from harness.log.events import LATE, PROTOCOL, SCHEMA, Event
from harness.log.lines import LogError
from harness.log.parts import WEIGHTS, Sighting, Weight
from harness.log.reader import FileKind, Outline, Played, read_file, read_told, skim
from harness.log.receipts import Receipt
from harness.model.backend import Backend, Fault
from harness.model.drill import DrillTrial, Plan
from harness.model.sequence import Answer, Difference, Steps

Op = Literal[
    "remember", "settle", "recall", "recall_where", "entries", "get", "history", "update", "supersede", "deprecate",
    "forget", "forget_scope", "snapshot", "restore",
]  # fmt: skip

WRITES: tuple[Op, ...] = ("remember", "update", "supersede")
READS: tuple[Op, ...] = ("recall", "recall_where", "entries", "get")
"""What hits answer."""


class Drilled(Event):
    """The opening event: who is tested with what.

    Attributes:
        older: The release that hands its store over, in a drill of that.
    """

    kind: Literal["drilled"] = "drilled"
    log_schema: int = SCHEMA
    protocol: int = PROTOCOL
    trial: DrillTrial
    backend: Backend
    older: Backend | None = None
    plan: Ref
    digests: Mapping[str, str]
    host: Mapping[str, str] = {}


class Called(Event):
    """One call to an open memory, as it went over the wire.

    Attributes:
        step: Which part of the drill.
        who: The handle, `a` unless there are two.
        about: The pieces that it is about, in the order of its arguments.
        request: The arguments by name, items left out (they are the pieces).
        answer: What came back, None if nothing did.
    """

    kind: Literal["called"] = "called"
    step: str
    who: str = "a"
    op: Op
    about: tuple[str, ...] = ()
    request: Mapping[str, JsonValue] = {}
    answer: Ref | JsonValue = Field(None, union_mode="left_to_right")  # a Ref is JSON, too
    fault: Fault | None = None

    @property
    def trouble(self) -> str:
        return super().trouble or (LATE if self.op == "settle" and self.answer is False else "")


class Handled(Event):
    """A process with the store open came or went, or another embedder was put behind the endpoint.

    A kill may leave a write in flight: `about` names its pieces.

    Attributes:
        worked: Processor seconds of its processes, when it was opened, or right before it was closed.
    """

    kind: Literal["handled"] = "handled"
    step: str
    who: str = "a"
    what: Literal["opened", "closed", "killed", "compacted", "switched"]
    about: tuple[str, ...] = ()
    fault: Fault | None = None
    worked: float | None = Field(None, exclude_if=lambda value: value is None)


class Looked(Event):
    """A look at the bytes of one declared layer. `sightings` are packed: a name may be seen many times.

    Attributes:
        declared: False for all that lies in the drill's folder outside of what the adapter declares.
        dark: Bytes that look like no text, in files in which nothing was recognised; None in an old transcript.
        vectorless: The same, in files in which no vector was recognised.
        weights: None in an old transcript.
    """

    kind: Literal["looked"] = "looked"
    step: str
    layer: Layer
    declared: bool = True
    files: int
    bytes: int
    dark: int | None = Field(None, exclude_if=lambda value: value is None)
    vectorless: int | None = Field(None, exclude_if=lambda value: value is None)
    sightings: tuple[Sighting, ...] | Ref = ()
    weights: tuple[Weight, ...] | Ref | None = Field(None, exclude_if=lambda value: value is None)
    problem: str | None = None


class Tried(Event):
    """Sequences of operations were played, each on a store of its own, up to the first answer that was wrong.

    Attributes:
        calls: Of the backend, the wrong one included.
    """

    kind: Literal["tried"] = "tried"
    sequences: int
    calls: int


class Broke(Event):
    """The shortest sequence that shows a wrong answer, with every answer.

    Attributes:
        other: Of what is random, what was wrong when it was played again; None: nothing.
        random: Played again, it did not end in the same way.
        shrunk: No step can be left out. False: the time was over before.
        program: The same against the backend's own SDK; "" if its adapter prints none.
    """

    kind: Literal["broke"] = "broke"
    steps: Steps | Ref
    answers: tuple[Answer, ...] | Ref
    other: Difference | None = None
    random: bool = False
    shrunk: bool = True
    program: str = ""


class Ended(Event):
    """The last event. unsupported: the backend declares that it lacks what this drill is about."""

    closes: ClassVar[bool] = True
    kind: Literal["ended"] = "ended"
    status: Literal["complete", "failed", "unsupported"]
    fault: Fault | None = None


DrillEvent: TypeAlias = Annotated[
    Drilled | Called | Handled | Looked | Tried | Broke | Ended, Field(discriminator="kind")
]
DRILL_EVENT: TypeAdapter[DrillEvent] = TypeAdapter(DrillEvent)
LARGE = 1_000_000
"""Bytes of a plan that is not kept for the next transcript, and of an answer of which only the last one's hits are kept
for the next measure: a drill may list a large store forty times."""
PLAN: TypeAdapter[Plan] = TypeAdapter(Plan)
ANSWER: TypeAdapter[Any] = TypeAdapter(JsonValue)
SIGHTINGS: TypeAdapter[tuple[Sighting, ...]] = TypeAdapter(tuple[Sighting, ...])
STEPS: TypeAdapter[Steps] = TypeAdapter(Steps)
ANSWERS: TypeAdapter[tuple[Answer, ...]] = TypeAdapter(tuple[Answer, ...])
_HITS: TypeAdapter[tuple[Hit, ...]] = TypeAdapter(tuple[Hit, ...])
_SAID: TypeAdapter[list[bool] | None] = TypeAdapter(list[bool] | None)
_LISTS: Mapping[str, TypeAdapter[Any]] = {
    "deprecate": _SAID,
    "forget": _SAID,
    "history": TypeAdapter(list[str] | None),
}
"""Operation -> its answer, where measures read the list as it stands in the file."""


@dataclass(frozen=True, eq=False)
class Transcript(Played):
    """A transcript that was read. `ended` is None if the drill did not get to its end. Equal to itself only."""

    noun = "transcript"
    drilled: Drilled
    ended: Ended | None
    _hits: dict[int, tuple[Hit, ...]] = field(default_factory=dict, repr=False)
    _large: dict[int, tuple[Hit, ...]] = field(default_factory=dict, repr=False)

    @property
    def opening(self) -> Drilled:
        return self.drilled

    @cached_property
    def plan(self) -> Plan:
        """What was written. Raises LogError, but not after `read`."""
        return read_told(self.path, self.blobs, self.drilled, TRANSCRIPT)

    @property
    def trial(self) -> DrillTrial:
        return self.drilled.trial

    @property
    def end(self) -> Ended | None:
        return self.ended

    @cached_property
    def _by_op(self) -> Mapping[str, list[tuple[int, Called]]]:
        found: dict[str, list[tuple[int, Called]]] = {}
        for line, event in self.of(Called):
            found.setdefault(event.op, []).append((line, event))
        return found

    def calls(self, op: Op, step: str | None = None, who: str | None = None) -> Iterator[tuple[int, Called]]:
        """The calls of an operation, of one step or handle if named, with their lines."""
        for line, event in self._by_op.get(op, ()):
            if step in (None, event.step) and who in (None, event.who):
                yield line, event

    @cached_property
    def stored(self) -> Mapping[str, int]:
        """Memory -> the line of the call that was to store it. An update or supersede stores the last it is about."""
        first: dict[str, int] = {}
        for line, call in self.of(Called):
            if call.op in WRITES:
                for name in call.about if call.op == "remember" else call.about[-1:]:
                    first.setdefault(name, line)
        return first

    def receipt(self, line: int | None, name: str) -> str:
        """The receipt for what a line shows of a memory; without a line, for the memory alone: nothing looked at it."""
        stored = self.stored.get(name)
        if stored is None:
            return str(Receipt(line or 1))
        return str(Receipt(line or stored, None, name, stored))

    def looks(self, step: str | None = None) -> Iterator[tuple[int, Looked]]:
        return ((line, event) for line, event in self.of(Looked) if step in (None, event.step))

    def answer(self, call: Called) -> Any:
        """What came back as plain JSON values; None for a fault."""
        return unpack(self.blobs, ANSWER, call.answer)

    def hits(self, call: Called) -> tuple[Hit, ...]:
        """The hits of a recall, a listing or a get (none or one); none for a fault."""
        key, value = id(call), call.answer  # many measures ask, and each call is an object of this transcript
        kept = self._large if isinstance(value, Ref) and value.bytes > LARGE else self._hits
        if key not in kept:
            if kept is self._large:
                kept.clear()
            data = self.blobs.get(value) if isinstance(value, Ref) else json.dumps(value).encode()
            # a get brings one hit or null, and no list
            listed = data if data.startswith(b"[") else b"[%s]" % (b"" if data == b"null" else data)
            kept[key] = _HITS.validate_json(listed)
        return kept[key]

    def ids(self, call: Called) -> tuple[tuple[str, ...], ...]:
        """The ids that a write acknowledged, a tuple for each piece that it is about; empty tuples for a fault."""
        value = self.answer(call)
        if value is None:
            return tuple(() for _ in call.about)
        acks = value if isinstance(value, list) else [value]
        return tuple(tuple(ack["ids"]) for ack in acks)

    def sightings(self, look: Looked) -> tuple[Sighting, ...]:
        return unpack(self.blobs, SIGHTINGS, look.sightings)

    def weights(self, look: Looked) -> tuple[Weight, ...]:
        return unpack(self.blobs, WEIGHTS, look.weights or ())

    def supports(self, capability: str) -> bool:
        """Whether a capability was declared; one that did not exist then was not."""
        return self.drilled.backend.supports(capability)

    def check(self) -> None:
        """Answers are plain JSON in the file: what no seal vouches for may have another form. Raises LogError."""
        for line, call in self.of(Called):
            try:
                if call.op in READS:
                    self.hits(call)
                elif call.op in WRITES:
                    self.ids(call)
                elif call.op in _LISTS:
                    _LISTS[call.op].validate_python(self.answer(call), strict=True)
            except (TypeError, KeyError, ValueError) as error:
                why = str(error).splitlines()[0]
                raise LogError(f"{self.path}:{line}: not the answer to {call.op}: {why}") from None


def _plan(data: bytes) -> Plan:
    return _parse_plan(data) if len(data) < LARGE else PLAN.validate_json(data)


@lru_cache(maxsize=16)
def _parse_plan(data: bytes) -> Plan:
    """Every backend of a run is put to the same few drills."""
    return PLAN.validate_json(data)


TRANSCRIPT = FileKind("drill", DRILL_EVENT, Drilled, "plan", _plan)


def read(path: Path, blobs: Blobs) -> Transcript:
    """The transcript at `path`, with every blob that it names in its place, and its plan. Raises LogError."""
    transcript = read_calls(path, blobs)
    transcript.plan  # noqa: B018  read to see that it can be
    return transcript


def read_calls(path: Path, blobs: Blobs) -> Transcript:
    """Reads a transcript as `read` does; its plan, most of the memory that a large drill takes, is read if anybody asks
    for it.
    """
    file, drilled = read_file(path, blobs, TRANSCRIPT)
    last = file.events[-1]
    transcript = Transcript(*file, drilled, last if isinstance(last, Ended) else None)
    if not transcript.sealed:
        transcript.check()
    return transcript


def read_outline(path: Path, blobs: Blobs) -> Outline:
    """The outline of a drill, as `harness.log.reader.read_outline` has it."""
    return skim(path, blobs, TRANSCRIPT) or read(path, blobs).outline
