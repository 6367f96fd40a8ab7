"""What gates do not demand, and how it stands: a gate that holds says nothing of what nobody asked for.

A gate that only compares with a baseline demands nothing of the number itself: what was bad may stay so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from harness.metrics.columns import COLUMNS
from harness.model.results import Results
from harness.report import words
from harness.report.model import table
from harness.report.model.board import Board
from harness.report.model.score import Case
from harness.report.model.trust import Member, list_members


@dataclass(frozen=True)
class Ungated:
    """A column in which something is wrong that no gate demands.

    Attributes:
        shown: The gravest such case of each backend.
    """

    head: str
    shown: tuple[tuple[str, Case], ...]

    def __str__(self) -> str:
        return f"{self.head}: {'; '.join(f'{name}, {case.told}' for name, case in self.shown)}"


@dataclass(frozen=True)
class Demanded:
    """What the gates demand, and what none of them does.

    Attributes:
        controls: How many of the verdicts are of controls.
        never: Columns of which no gate demands anything.
        free: Backends of which none demands anything.
    """

    controls: int
    gates: int
    bad: tuple[Ungated, ...]
    never: tuple[str, ...]
    free: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The failing first; empty if there are no gates."""
        return list(self._list_lines()) if self.gates else []

    def _list_lines(self) -> Iterator[str]:
        for each in self.bad:
            yield f"\u25b2 {each}"
        if self.controls:
            yield f"{self.controls} of {words.format_count(self.gates, 'gate')} judge controls, and no backend."
        if self.free:
            yield f"No gate covers {words.join_words(self.free)}."
        if self.never:
            yield f"No gate covers, of any backend: {', '.join(self.never)}."


def collect(results: Results, board: Board) -> Demanded:
    controls = {name for name in results.backends if table.group(results, name) == "control"}
    gated = {(gate.backend, gate.measure) for gate in results.gates if not gate.relative}
    tested = results.list_tested()
    covered = {_find_column(results, measure) for _, measure in gated}
    return Demanded(
        controls=sum(each.backend in controls for each in results.gates),
        gates=len(results.gates),
        bad=tuple(_list_bad(results, board, gated)),
        never=tuple(each.head for each in board.columns if each.id not in covered),
        free=tuple(table.show_name(results, name) for name in tested if name not in {name for name, _ in gated}),
    )


def _find_column(results: Results, measure: str) -> str | None:
    definition = results.definitions.get(measure) or results.trust_definitions.get(measure)
    return definition.column if definition else None


def _list_bad(results: Results, board: Board, gated: set[tuple[str, str]]) -> Iterator[Ungated]:
    for column in COLUMNS.values():
        if not column.order:
            continue
        shown = []
        for row in board.rows:
            members = list_members(results, row.key, column.id)
            free = [each for each in members if (row.key, each.definition.name) not in gated]
            wrong = (each.case for each in free if each.wrong)
            broken = (_describe_failed(each) for each in free if each.pooled.failed)
            if (case := next(chain(wrong, broken), None)) is not None:
                shown.append((row.name, case))
        if shown:
            yield Ungated(column.head, tuple(shown))


def _describe_failed(member: Member) -> Case:
    """What was tried and broke, which is bad and has no number."""
    sentence = f"{words.label(member.definition.name)}: failed"
    return Case(member.definition.name, sentence, 0, 0)
