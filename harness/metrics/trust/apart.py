"""A transcript of isolation: what was asked where, what belongs there, and what came back all the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from harness.adapter import Scope, applies
from harness.metrics.trust.pieces import scope_of
from harness.metrics.trust.sights import Sights
from harness.transcript import Called


class Case(NamedTuple):
    """One that counts. receipt: the line of the call that decides. bad: None if it, or the look behind it, failed."""

    bad: bool | None
    receipt: str


class View(Sights):
    """A transcript of isolation: what was asked where, and what belongs there."""

    def found(self, name: str) -> bool:
        """The control of every search: asked for in its own scope, it came back."""
        return self.sees("own", name, "recall") is True or self.sees("place", name, "recall") is True

    def scope(self, name: str) -> Scope:
        return self.transcript.plan.by_name[name].item.scope

    def foreign(self, call: Called) -> bool | None:
        """Whether something came back that does not hold where it was asked for; None if the call failed."""
        if call.fault:
            return None
        place = scope_of(call)
        return any(not applies(piece.item.scope, place) for _, piece in self.hits(call))

    @cached_property
    def pairs(self) -> Mapping[str, list[str]]:
        """The memories of each pair."""
        pairs: dict[str, list[str]] = {}
        for name in self.transcript.plan.by_name:
            pairs.setdefault(pair_of(name), []).append(name)
        return pairs

    @cached_property
    def groups(self) -> Mapping[str, list[str]]:
        """The places of each group."""
        groups: dict[str, list[str]] = {}
        for piece in self.transcript.plan.of("place"):
            groups.setdefault(group_of(piece.name), []).append(piece.name)
        return groups

    def twin(self, name: str) -> str:
        return self.transcript.plan.by_name[name].twin or name


def group_of(name: str) -> str:
    return name.partition(".")[0]


def pair_of(name: str) -> str:
    return name.rpartition(".")[0]


def spilt(left: Iterable[bool | None]) -> bool | None:
    """Whether one of these is gone; None if none is, and the look at one of them failed."""
    seen = list(left)
    return True if False in seen else None if None in seen else False


view_of = lru_cache(maxsize=4)(View)
"""Many measures read one transcript."""
