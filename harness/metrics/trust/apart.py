"""A transcript of the drill `isolation`: each question's scope, what belongs there, and what came back nevertheless."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from harness.adapter import Scope, applies
from harness.log.transcript import Called
from harness.metrics.trust.view import DrillView, scope_of


class ScopeCase(NamedTuple):
    """One that counts.

    Attributes:
        receipt: The line of the call that decides.
        bad: None if it, or the look behind it, failed.
    """

    bad: bool | None
    receipt: str


class ScopeView(DrillView):
    """A transcript of isolation: what was asked where, and what belongs there."""

    def tell_crossing(self, line: int, name: str) -> str:
        """The look at what a change of another scope left; without one, that change."""
        return self.line("cross written", name) or self.transcript.receipt(line, name)

    def was_found(self, name: str) -> bool:
        """The control of every search: asked for in its own scope, it came back."""
        return self.sees("own", name, "recall") is True or self.sees("place", name, "recall") is True

    def scope(self, name: str) -> Scope:
        return self.plan.by_name[name].item.scope

    def find_crossing(self, line: int, call: Called, among: Collection[str] | None = None) -> ScopeCase:
        """Whether something came back that does not hold where it was asked for, or one of these. Names the first."""
        place, shown = scope_of(call), [piece for _, piece in self.hits(call)]
        if among is None:
            wrong = [each.name for each in shown if not applies(each.item.scope, place)]
        else:
            wrong = [each.name for each in shown if each.name in among]
        return self.case(None if call.fault else bool(wrong), line, next(iter((*wrong, *call.about)), ""))

    def case(self, bad: bool | None, line: int, name: str) -> ScopeCase:
        """A case with its receipt.

        Args:
            name: The memory that it is about.
            line: The call that shows what became of it.
        """
        return ScopeCase(bad, self.transcript.receipt(line, name))

    def find_loss(self, step: str, names: Sequence[str], line: int) -> ScopeCase:
        """Whether one of these is gone from a look; None if none is, and the look at one of them failed.

        Args:
            line: Of what took it, if no look was taken.
        """
        seen = {name: self.sees(step, name) for name in names}
        # a loss that was seen outweighs a look that failed
        bad = True if False in seen.values() else None if None in seen.values() else False
        name = next((each for each, there in seen.items() if there is not True), names[0])
        return ScopeCase(bad, self.line(step, name) or self.transcript.receipt(line, name))

    @cached_property
    def pairs(self) -> Mapping[str, list[str]]:
        """The memories of each pair."""
        pairs: dict[str, list[str]] = {}
        for name in self.plan.by_name:
            pairs.setdefault(pair_of(name), []).append(name)
        return pairs

    @cached_property
    def groups(self) -> Mapping[str, list[str]]:
        """The places of each group."""
        groups: dict[str, list[str]] = {}
        for piece in self.plan.of("place"):
            groups.setdefault(group_of(piece.name), []).append(piece.name)
        return groups

    def twin(self, name: str) -> str:
        return self.plan.by_name[name].twin or name


def group_of(name: str) -> str:
    return name.partition(".")[0]


def pair_of(name: str) -> str:
    return name.rpartition(".")[0]
