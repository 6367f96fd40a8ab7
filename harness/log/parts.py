"""The parts of events: what a recall brought, what a job chose, read and ran, and what a scan saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter

from harness.adapter import Hit, Item, Message, Source
from harness.model.trial import Model


class Span(Model):
    """One entry: a stretch of one hit's text, and its size in tokens as rendered for the reader."""

    hit: int
    start: int
    end: int
    tokens: int


class Found(Model):
    """What a recall brought: hits as the backend ranked them, and the entries in the order in which they are read.

    A hit that nobody stored has no entry; in logs of before it has.
    """

    hits: tuple[Hit, ...] = ()
    entries: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """An item as it was handed to the backend, and which text of the harness it is. A run may hold 100,000 of them.

    Attributes:
        said: What was said in a session, which was handed over instead of the item's text.
    """

    name: str
    item: Item
    said: Annotated[tuple[Message, ...], Field(exclude_if=lambda said: not said)] = ()  # so that other logs keep theirs
    # as in `Model`, which takes more memory than a dataclass with slots
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    @property
    def noise(self) -> bool:
        """Whether the text is noise, and no part of the story."""
        return self.name.startswith("noise:")

    @property
    def texts(self) -> tuple[str, ...]:
        """What may come back word for word."""
        return tuple(each.content for each in self.said) or (self.item.text,)


class Checked(Model):
    source: Source
    says: str | None = None
    state: Literal["same", "moved", "renamed", "gone", "dangling", "elsewhere"]
    path: str | None = None
    line: int | None = None
    by: str | None = None


class Choice(Model):
    """One decision as the reader took it. `entry` indexes the recall's entries, `line` counts from 1.

    Attributes:
        origin: Where what decided stands; nowhere, although there is a value: a chat model guessed it, or it is what
            is done by who knows nothing. run: a command of the job printed it, and `path` is that command.
        entry: None, although memory decided: a question for another decision brought what asserts it.
        query: Of the question that brought the entry; None: the last one that was asked for the decision.
        refused: What was taken before, and given up as a command of the job refused it.
    """

    decision: str
    value: str | None = None
    origin: Literal["memory", "repo", "run", "nowhere"]
    fact: str | None = None
    entry: int | None = None
    memory_id: str | None = None
    path: str | None = None
    line: int | None = None
    usable: int = 0
    undated: int = 0
    standing: Literal["verified", "unverifiable", "contradicted"] | None = None
    query: str | None = Field(None, exclude_if=lambda query: query is None)  # so that other logs keep their bytes
    refused: tuple[str, ...] = Field((), exclude_if=lambda refused: not refused)


class Read(Model):
    """A look at the repository, paid by the token. `digest` names the content.

    Attributes:
        line: Only that line was read.
    """

    decision: str
    path: str
    line: int | None = None
    digest: str
    tokens: int


class Check(Model):
    """A check as it ran in the work tree; `value` is what it printed, None if it printed nothing."""

    decision: str
    command: tuple[str, ...]
    exit: int
    value: str | None = None
    output: str


class Sighting(Model):
    """What was looked for, seen in a file of the storage: how often, and the offset of the first.

    Attributes:
        fact: Whose canary or vector it is.
        form: In which encoding.
        place: Where inside of the file, if its format tells (a table's rows, a free page, the write-ahead log).
        nearness: The cosine of a vector that is not the very same.
    """

    fact: str
    path: str
    form: str
    count: int
    offset: int
    place: str = ""
    nearness: float | None = None


class Weight(Model):
    """How many bytes one place of the storage holds that are not zero, and how many of them look like no text.

    Attributes:
        place: The rows of a column, as in a sighting; "" for a file that is no database.
    """

    path: str
    place: str = ""
    bytes: int
    dark: int


class ChatRefused(Model):
    """Chat calls that were answered with an error: in which phase, with which status, what was said, how often."""

    phase: str
    status: int
    message: str
    times: int


FOUND: TypeAdapter[Found] = TypeAdapter(Found)
WRITTEN: TypeAdapter[tuple[Written, ...]] = TypeAdapter(tuple[Written, ...])
HITS: TypeAdapter[tuple[Hit, ...]] = TypeAdapter(tuple[Hit, ...])
WEIGHTS: TypeAdapter[tuple[Weight, ...]] = TypeAdapter(tuple[Weight, ...])
