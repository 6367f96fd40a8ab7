"""What a reader finds in a recording, and what every reader is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from harness.model.dates import parse_moment

INSTRUCTIONS = "instructions and context that the program wrote itself"
THINKING = "thinking of the model"
MEDIA = "an image or a file"
NO_MESSAGE = "a line that is no message"
SUB_AGENT = "of a sub-agent"
OTHER_FORM = "a message of another form"
"""Why something is left out, where several readers leave it out."""


@dataclass(frozen=True)
class Utterance:
    """A text of the user's or the model's. `at`: when, if that is recorded."""

    role: Literal["user", "assistant"]
    text: str
    at: datetime | None = None


@dataclass(frozen=True)
class ToolRequest:
    """A tool was called; `arguments` are JSON, or a text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolResponse:
    """What a tool said to a call."""

    id: str
    text: str


Part: TypeAlias = Utterance | ToolRequest | ToolResponse


@dataclass
class Heading:
    """Where and when a session was. What is not recorded is empty.

    Attributes:
        id: As the program calls it.
        cwd: The folder in which the program worked.
        remote: The URL of the repository.
    """

    program: str
    id: str
    at: datetime | None = None
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    remote: str = ""

    def fill(self, *, at: datetime | None = None, **more: Any) -> None:
        """What is not known yet; the first that is recorded holds, and of times the earliest."""
        if at is not None:
            self.at = min(self.at, at) if self.at else at
        for key, value in more.items():
            if isinstance(value, str) and value and not getattr(self, key):
                setattr(self, key, value)


@dataclass
class Found:
    """What was found in one file: parts by session, and what was left out of it.

    Attributes:
        at: When the message that is read was said. None: that is not recorded.
    """

    program: str
    at: datetime | None = None
    parts: list[tuple[str, Part]] = field(default_factory=list)
    headings: dict[str, Heading] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def heading(self, session: str) -> Heading:
        return self.headings.setdefault(session, Heading(self.program, session))

    def add(self, session: str, part: Part) -> None:
        if isinstance(part, Utterance):
            if not part.text.strip():
                return
            part = replace(part, at=self.at)
        self.heading(session)
        self.parts.append((session, part))

    def skip(self, reason: str, times: int = 1) -> None:
        if times:
            self.left_out[reason] += times

    def take(self) -> Iterator[tuple[str, Part]]:
        """What was found since it was last called."""
        parts, self.parts = self.parts, []
        yield from parts


class Reader(Protocol):
    """Reads the values of one file, a line or a document each, in their order.

    Attributes:
        found: What was found; whoever reads takes its parts after each value.
    """

    found: Found

    def read(self, value: Any) -> None:
        """Of a value of any form. Raises nothing: what is not understood is left out."""


class Form(Protocol):
    """A form of recording.

    Attributes:
        name: In lists; also in the names of sessions.
    """

    name: str

    def claims(self, value: Any) -> bool:
        """Whether a value can only be of this form."""

    def open(self, file: Path) -> Reader: ...


def _read_moment(text: str) -> datetime | None:
    moment = parse_moment(text)
    try:
        return moment and moment.astimezone(UTC)
    # the first and the last moments of the calendar may be none in UTC
    except OverflowError:
        return None


def as_dict(value: Any) -> dict[str, Any]:
    """The value, or an empty one in place of what is no object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def read_time(value: Any) -> datetime | None:
    """ISO 8601, or seconds, milliseconds or nanoseconds since 1970, as a number or a text. In UTC."""
    if isinstance(value, str):
        if not value.isdecimal():
            return _read_moment(value)
        # nanoseconds since 1970 have 19 digits
        value = int(value) if len(value) < 20 else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # of each unit the years 1973 to 2286, so that no number can mean two times
    for scale in (1, 10**3, 10**9):
        if 10**8 * scale <= value < 10**10 * scale:
            return datetime.fromtimestamp(value / scale, UTC)
    return None
