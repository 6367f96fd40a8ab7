"""What a published set is once it was read: stores of documents, and questions whose answers are documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from harness.model.trial import Model

Unit = Literal["session", "turn", "fact"]
Wording = Literal["text", "said"]
"""How a turn is written down: its text alone, or `NAME said, "TEXT"`. Published figures differ in it."""

T = TypeVar("T")
_KINDS = {"str": "text", "list": "list", "dict": "object", "int": "whole number"}


class SetError(Exception):
    """A file that is not the set that it is said to be. One line."""


class Document(Model):
    """What is remembered as one memory.

    Attributes:
        session: The sitting that it is from, or that it is.
        at: ISO 8601.
    """

    name: str
    session: str
    at: str
    text: str


class Question(Model):
    """What is asked once everything of its store is remembered.

    Attributes:
        way: How it is asked, where the same is asked in several ways.
        turns: The turns that answer it; empty if the set names none, or names sessions only.
        sessions: The sessions that answer it.
        stale: The sessions that say what was replaced since.
        contains, lacks: What the memories that come back have to say, and what they must not, in any case of letters.
    """

    id: str
    way: str
    text: str
    turns: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class Mutation(Model):
    """A wish to change what is remembered, in words: whoever carries it out has to look for what is meant.

    Attributes:
        text: What takes its place; empty: nothing does.
    """

    op: Literal["supersede", "release", "purge"]
    query: str
    text: str = ""


class Haystack(Model):
    """One store: its documents in the order of their times, what is changed then, and what is asked of it."""

    id: str
    documents: tuple[Document, ...]
    mutations: tuple[Mutation, ...] = ()
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class PublishedSet:
    """A set as it was read from the user's file.

    Attributes:
        sha256: Of the bytes that were read.
        odd: What of it cannot be used as it is -> how often.
    """

    name: str
    unit: Unit
    wording: Wording
    sha256: str
    haystacks: tuple[Haystack, ...]
    odd: Mapping[str, int]


@dataclass(frozen=True)
class Format:
    """A set that can be read.

    Attributes:
        home: Where its owners publish it, and which file or folder of it is read.
        licence: Under which its owners publish it, and what follows for the user.
        k: What its figures are told at, largest last.
    """

    name: str
    title: str
    home: str
    licence: str
    units: tuple[Unit, ...]
    wordings: tuple[Wording, ...]
    k: tuple[int, ...]
    read: Callable[[Path, Unit, Wording], PublishedSet]

    def load(self, file: Path, unit: str | None = None, wording: str | None = None) -> PublishedSet:
        """The set in a file or folder of the user's. Raises SetError.

        Args:
            unit, wording: As the set can be cut and written; None: as its figures are most often told.
        """
        dataset = self.read(
            file, self._choose(self.units, unit, "memories"), self._choose(self.wordings, wording, "words")
        )
        # others are not played, so that nothing in them can be wrong
        haystacks = [each for each in dataset.haystacks if each.questions]
        if not haystacks:
            raise SetError(f"{file}: asks nothing that could be measured")
        seen = set[str]()
        for each in haystacks:
            if each.id in seen:
                raise SetError(f"{file}: holds '{each.id}' twice: what is asked of one is not answered by the other")
            seen.add(each.id)
            if not each.documents:
                raise SetError(f"{file}: {each.id} holds nothing that could be remembered")
        return dataset

    def _choose(self, known: tuple[T, ...], wanted: str | None, what: str) -> T:
        for each in known:
            # without a wish, the first is the usual one
            if wanted in (None, each):
                return each
        raise SetError(f"{self.name}: {what} can be {' or '.join(map(str, known))}, not {wanted}")


def word_turn(who: str, text: str, wording: Wording) -> str:
    return f'{who} said, "{text}"' if wording == "said" else text


class Shape:
    """Looks into JSON of a known form; what is not there is told by its place."""

    def __init__(self, file: Path, value: Any, where: str = "") -> None:
        self._file, self.value, self._where = file, value, where

    def __getitem__(self, key: str | int) -> Shape:
        try:
            return Shape(self._file, self.value[key], f"{self._where}[{key!r}]")
        except (TypeError, KeyError, IndexError):
            raise SetError(f"{self._file}: {self._where or 'the top level'} has no {key!r}") from None

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def __iter__(self) -> Iterator[Shape]:
        for at, value in enumerate(self.take(list)):
            yield Shape(self._file, value, f"{self._where}[{at}]")

    def take(self, kind: type) -> Any:
        """The value, if it is of that kind."""
        if not isinstance(self.value, kind):
            name = _KINDS[kind.__name__]
            raise SetError(f"{self._file}: {self._where or 'the top level'} is no {name}")
        return self.value

    def take_date(self, read: Callable[[str], datetime], form: str) -> datetime:
        """A time of the story. A date that is none is wrong, and never another one in its place."""
        try:
            return read(self.text)
        except (ValueError, OverflowError):
            raise self.wrong(f"is no date as {form}: '{self.text[:60]}'") from None

    def wrong(self, what: str) -> SetError:
        return SetError(f"{self._file}: {self._where} {what}")

    @property
    def text(self) -> str:
        text: str = self.take(str)
        return text


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
