"""What a child answers: the forms of its replies, validated before anybody reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from pydantic import ConfigDict, Field, TypeAdapter, field_validator

from harness.adapter import CAPABILITIES, UNDECLARED, Ack, Hit, Layer, Server, Usage
from harness.machine import npm
from harness.model.backend import Declared
from harness.model.trial import Model

T = TypeVar("T")
OWES: Mapping[str, str] = {
    "remember": "it must return a list with one Ack for each item",
    "observe": "it must return an Ack",
    "burst": "each `remember` must return a list with one Ack",
    "settle": "it must return True or False",
    **dict.fromkeys(("recall", "recall_where"), "it must return a list of Hit"),
    "entries": "it must return a list of Hit, or a generator of them",
    "get": "it must return a Hit or None",
    "history": "it must return a list of str",
    "update": "it must return an Ack",
    "supersede": "it must return an Ack",
    "deprecate": "it must return a list with one bool for each id",
    "forget": "it must return a list with one bool for each id",
    "snapshot": "it must return a str",
    "usage": "it must return a Usage or None",
}
"""What an author of an adapter is told whose operation answers something else."""


class Error(Model):
    """What an operation raised.

    Attributes:
        at: FILE:LINE of the adapter.
        causes: What led to it, the nearest first.
    """

    kind: Literal["raised", "breach", "refused", "limit"]
    message: str
    at: str = ""
    causes: tuple[str, ...] = ()
    trace: str = ""


class Reply(Model, Generic[T]):
    """One answer, with the number of its request. Nothing is converted: a word is no flag.

    Attributes:
        more: It is a page of a list, and others follow under the same number.
        took: Seconds in the adapter so far.
    """

    model_config = ConfigDict(strict=True)
    n: int
    more: bool = False
    ok: T | None = None
    error: Error | None = None
    took: float


def read_requirement(text: str) -> tuple[str, SpecifierSet]:
    """Name and releases of a Python package, or of a Node package as npm:NAME. Raises InvalidRequirement."""
    if text.startswith(npm.PREFIX):
        return npm.read_requirement(text)
    needed = Requirement(text)
    return needed.name, needed.specifier


class BurstWrite(Model):
    """What came of one write among those that were in flight at once."""

    ack: Ack | None = None
    error: Error | None = None
    took: float


class Package(Model):
    """What an adapter needs installed, and which release is installed where it runs, if any."""

    requirement: str
    installed: str | None = None

    @field_validator("requirement")
    @classmethod
    def _readable(cls, text: str) -> str:
        try:
            read_requirement(text)
        except InvalidRequirement:
            raise ValueError(f"'{text}' is no requirement, as 'some-sdk>=1.0,<2' or 'npm:some-server>=1' is") from None
        return text

    @property
    def unfit(self) -> str:
        """Why the release that is installed is of no use; empty if it fits, or if none is installed."""
        name, allowed = read_requirement(self.requirement)
        # as in `environments`: a pre-release that somebody has installed is meant
        if self.installed is None or allowed.contains(self.installed, prereleases=True):
            return ""
        return f"{name} {self.installed} is installed, and its adapter needs {self.requirement}"


class Declaration(Model):
    """What an adapter says of itself wherever it is read, its SDK installed or not.

    Attributes:
        packages: What it needs installed, the backend's own first.
        embeds: It cannot do without an embedder.
        clients: Languages in which an agent can use these memories.
        call_seconds: What a call of its may take, if that is longer than usual.
        problem: What is wrong with a setting's value.
    """

    support: Mapping[str, Declared]
    settings: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    embeds: bool = False
    clients: tuple[str, ...] = ()
    call_seconds: float = Field(0.0, ge=0, le=86_400)
    problem: str = ""

    @field_validator("support", mode="before")
    @classmethod
    def _later(cls, support: Any) -> Any:
        """Adapters that name every capability themselves know none that came later."""
        later = {word: {"level": "unsupported", "note": note} for word, note in UNDECLARED.items()}
        return {**later, **support} if isinstance(support, Mapping) else support

    @field_validator("support")
    @classmethod
    def _total(cls, support: Mapping[str, Declared]) -> Mapping[str, Declared]:
        wrong = sorted(set(support) ^ set(CAPABILITIES))
        if wrong:
            raise ValueError(f"must name every capability and no other; missing or unknown: {', '.join(wrong)}")
        return support


class Description(Declaration):
    """What it says where it is to be opened; `source` is the digest of its code, `server` what it needs running.

    Attributes:
        secrets: The environment variables that it opens with.
    """

    name: str
    version: str
    secrets: tuple[str, ...] = ()
    server: Server | None = None
    source: str

    @property
    def unfit(self) -> str:
        """Why nothing should be tried with what is installed; empty if there is no reason."""
        return "; ".join(filter(None, (each.unfit for each in self.packages)))


DESCRIPTION: TypeAdapter[Reply[Description]] = TypeAdapter(Reply[Description])
DECLARATION: TypeAdapter[Reply[Declaration]] = TypeAdapter(Reply[Declaration])
LAYERS: TypeAdapter[Reply[list[Layer]]] = TypeAdapter(Reply[list[Layer]])
SERVER: TypeAdapter[Reply[Server]] = TypeAdapter(Reply[Server])
NOTHING: TypeAdapter[Reply[None]] = TypeAdapter(Reply[None])
ACK: TypeAdapter[Reply[Ack]] = TypeAdapter(Reply[Ack])
ACKS: TypeAdapter[Reply[list[Ack]]] = TypeAdapter(Reply[list[Ack]])
BURST: TypeAdapter[Reply[list[BurstWrite]]] = TypeAdapter(Reply[list[BurstWrite]])
NUMBER: TypeAdapter[Reply[float]] = TypeAdapter(Reply[float])
BOOL: TypeAdapter[Reply[bool]] = TypeAdapter(Reply[bool])
BOOLS: TypeAdapter[Reply[list[bool]]] = TypeAdapter(Reply[list[bool]])
HIT: TypeAdapter[Reply[Hit]] = TypeAdapter(Reply[Hit])
HITS: TypeAdapter[Reply[list[Hit]]] = TypeAdapter(Reply[list[Hit]])
TEXT: TypeAdapter[Reply[str]] = TypeAdapter(Reply[str])
TEXTS: TypeAdapter[Reply[list[str]]] = TypeAdapter(Reply[list[str]])
USAGE: TypeAdapter[Reply[Usage]] = TypeAdapter(Reply[Usage])
