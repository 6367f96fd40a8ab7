"""Which calls failed, in words: one statement a backend, the same in every output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.cells import Faults
from harness.model.results import Results
from harness.report import words

MESSAGE = 160


@dataclass(frozen=True)
class Failing:
    """One operation of one backend: `count` of `calls` of the trials in which it failed, and the first of them."""

    op: str
    count: int
    calls: int
    trials: int
    kinds: str
    first: Faults

    @property
    def says(self) -> str:
        where = f"{self.first.trial} {self.first.receipt}"
        trials = words.format_count(self.trials, "trial")
        sentence = f"{self.op} {words.count(self.count, self.calls)} in {trials} ({self.kinds})"
        return f"{sentence}, first {where}: {words.make_visible(self.first.message, MESSAGE)}"


@dataclass(frozen=True)
class Statement:
    """A backend whose calls failed.

    Attributes:
        bad: More of them than were allowed by name, or any that no allowance names.
    """

    backend: str
    head: str
    bad: bool
    failing: tuple[Failing, ...]

    @property
    def line(self) -> str:
        return f"{self.head}: {'; '.join(each.says for each in self.failing)}"


def statements(results: Results) -> list[Statement]:
    """What failed of each backend; then, for each, what a drill provoked, which is no fault."""
    beyond = results.beyond()
    found = [
        _statement(name, own, results.run.allowed_faults.get(name), bad=name in beyond)
        for name, own in results.group_faults().items()
    ]
    provoked: dict[str, list[Faults]] = {}
    for each in results.faults:
        if each.provoked:
            provoked.setdefault(each.backend, []).append(each)
    return found + [_statement(name, own, None, bad=False, provoked=True) for name, own in provoked.items()]


def _statement(
    name: str, own: Sequence[Faults], allowed: int | None, *, bad: bool, provoked: bool = False
) -> Statement:
    sentence = f"{words.format_count(sum(each.count for each in own), 'call')}"
    how = "refused where a drill provoked it, not counted as faults" if provoked else "failed"
    beside = f" ({allowed:,} allowed)" if allowed is not None else ""
    by_op: dict[str, list[Faults]] = {}
    for each in own:
        by_op.setdefault(each.op, []).append(each)
    ops = sorted((_find_failing(op, each) for op, each in by_op.items()), key=lambda failing: -failing.count)
    return Statement(name, f"{words.make_visible(name, 60)}: {sentence} {how}{beside}", bad, tuple(ops))


def _find_failing(op: str, own: Sequence[Faults]) -> Failing:
    calls = {each.trial: each.calls for each in own}
    kinds = words.join_words(list(dict.fromkeys(each.kind.replace("-", " ") for each in own)))
    return Failing(op, sum(each.count for each in own), sum(calls.values()), len(calls), kinds, own[0])
