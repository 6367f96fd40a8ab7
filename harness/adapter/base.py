"""Base classes and helpers for authors of adapters."""

from __future__ import annotations

import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar, Self

from harness.adapter.capabilities import CAPABILITIES, NOT_OFFERED, UNDECLARED
from harness.adapter.contract import (
    Ack,
    Call,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Scope,
    Server,
    Space,
    Support,
    Unsupported,
    Usage,
)


class BaseMemory(ABC):
    """A base for stores of authors: the optional operations refuse until they are written."""

    @abstractmethod
    def remember(self, items: Sequence[Item]) -> list[Ack]: ...
    @abstractmethod
    def settle(self, seconds: float) -> bool: ...
    @abstractmethod
    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]: ...
    @abstractmethod
    def close(self) -> None: ...

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        raise Unsupported("observe")

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        raise Unsupported("recall_where")

    def entries(self, scope: Scope) -> list[Hit] | Iterator[Hit]:
        raise Unsupported("entries")

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        raise Unsupported("get")

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        raise Unsupported("history")

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        raise Unsupported("update")

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        raise Unsupported("supersede")

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        raise Unsupported("deprecate")

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        raise Unsupported("forget")

    def forget_scope(self, scope: Scope) -> None:
        raise Unsupported("forget_scope")

    def snapshot(self) -> str:
        raise Unsupported("snapshot")

    def restore(self, mark: str) -> None:
        raise Unsupported("restore")

    def usage(self) -> Usage | None:
        return None


class BaseAdapter(ABC):
    """A base for adapters of authors: three short lists declare what is there; what none of them
    names is unsupported.
    """

    name: ClassVar[str]
    settings: ClassVar[Sequence[str]] = ()
    imports: ClassVar[Sequence[str]] = ()
    packages: Sequence[str] = ()
    files: Sequence[str] = ()
    secrets: ClassVar[Sequence[str]] = ()
    embeds: bool = False
    clients: ClassVar[Sequence[str]] = ()
    call_seconds: float = 0.0
    native: ClassVar[tuple[str, ...]] = ()
    emulated: ClassVar[Mapping[str, str]] = {}
    unsupported: ClassVar[Mapping[str, str]] = {}

    def configured(self, settings: Mapping[str, str]) -> Self:
        return self

    @property
    def support(self) -> Mapping[str, Support]:
        named = [*self.native, *self.emulated, *self.unsupported]
        wrong = sorted({word for word in named if word not in CAPABILITIES or named.count(word) > 1})
        if wrong:
            raise ValueError(f"{self.name} declares unknown or repeated capabilities: {', '.join(wrong)}")
        return {
            word: Support("native") if word in self.native
            else Support("emulated", self.emulated[word]) if word in self.emulated
            else Support("unsupported", self.unsupported.get(word, UNDECLARED.get(word, NOT_OFFERED)))
            for word in CAPABILITIES
        }  # fmt: skip

    @abstractmethod
    def version(self) -> str: ...
    @abstractmethod
    def open(self, space: Space) -> Memory: ...
    @abstractmethod
    def storage(self, space: Space) -> list[Layer]: ...

    def compact(self, space: Space) -> None:
        raise Unsupported("compact")

    def serve(self, gateway: str) -> Server | None:
        return None

    def program(self, calls: Sequence[Call]) -> str:
        """A program of a few lines that makes these calls with the backend's own SDK alone, without this adapter, and
        prints what the last one brings; "" where there is none. For a report to those who maintain it.
        """
        return ""


def find_installed(requirement: str) -> str | None:
    """The release of a package that is installed here, as `packages` names it; None if there is none.

    A Node package lies in the environment of this interpreter.
    """
    # a package that is damaged, or half removed, counts as not installed
    with suppress(OSError, ValueError, LookupError, PackageNotFoundError):
        if node := re.match(r"npm:([@\w./-]+)", requirement):
            return str(json.loads(Path(sys.prefix, "node_modules", node[1], "package.json").read_bytes())["version"])
        if named := re.match(r"[\w.-]+", requirement):
            return version(named[0])
    return None


def delete_and_add(memory: Memory, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
    """`supersede` for a backend without one: two calls, not atomic. Declare it as emulated."""
    # a blank item is not stored, and replaces nothing: see `supersede` of the contract
    if item.text.strip():
        memory.forget(scope, memory_ids)
    return memory.remember([item])[0]


def applies(limit: Scope, place: Scope) -> bool:
    """Whether what is limited to `limit` holds at `place`: every respect that `limit` names is the same there."""
    return (
        limit.repo in (None, place.repo)
        and limit.org in (None, place.org)
        and limit.branch in (None, place.branch)
        and limit.user in (None, place.user)
    )


def fits(item: Item, where: Filter) -> bool:
    """Whether a memory is one that the filter lets through."""
    # without a source this is None, which equals no path that is asked for
    return (
        (not where.kinds or item.kind in where.kinds)
        and where.path in (None, item.source and item.source.path)
        and (where.confidence is None or item.confidence is None or item.confidence >= where.confidence)
    )
