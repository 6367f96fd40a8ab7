"""What gates do not demand, and how it stands: a gate that holds says nothing of what nobody asked for.

A gate that only compares with a baseline demands nothing of the number itself: what was bad may stay so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model.results import Pooled, Results
from harness.model.trial import Definition
from harness.report import headline, tables, words
from harness.report.worst import MARK, worst


@dataclass(frozen=True)
class Bad:
    """A headline that is bad in what no gate demands.

    Attributes:
        shown: Measure and figure, with the backends that have it.
    """

    head: str
    shown: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def backends(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, names in self.shown for name in names))

    def __str__(self) -> str:
        told = "; ".join(f"{words.join_words(names)} ({figure})" for figure, names in self.shown)
        return f"{self.head}: {told}"


@dataclass(frozen=True)
class Demanded:
    """What the gates demand, and what none of them does.

    Attributes:
        controls: How many of the verdicts are of controls.
        bad: What no gate demands and is bad now.
        never: Headlines of which no gate demands anything.
        free: Backends of which none demands anything.
    """

    controls: int
    gates: int
    bad: tuple[Bad, ...]
    never: tuple[str, ...]
    free: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The bad first; empty if there are no gates."""
        return list(self._lines()) if self.gates else []

    def _lines(self) -> Iterator[str]:
        for each in self.bad:
            yield f"{MARK} {each}"
        if self.controls:
            yield f"{self.controls} of {words.plural(self.gates, 'gate')} judge controls, and no backend"
        if self.free:
            yield f"of {words.join_words(self.free)}: nothing is demanded"
        if self.never:
            yield f"of no backend is anything demanded in: {words.join_words(self.never)}"


@dataclass(frozen=True)
class _HeadlineDemand:
    family: str
    text: str
    lead: str
    definitions: Mapping[str, Definition]
    measures: Mapping[str, Mapping[str, Pooled]]
    """Of each backend under test."""


def collect(results: Results) -> Demanded:
    tested = results.list_tested()
    controls = {name for name in results.backends if tables.group(results, name) == "control"}
    asked = {(gate.backend, gate.measure) for gate in results.gates if not gate.relative}
    heads = [head for head in _heads(results, tested) if any(head.lead in own for own in head.measures.values())]
    return Demanded(
        controls=sum(each.backend in controls for each in results.gates),
        gates=len(results.gates),
        bad=tuple(bad for head in heads if (bad := _bad(results, head, asked))),
        never=tuple(head.text for head in heads if not any(_asks(head, backend, asked) for backend in tested)),
        free=tuple(tables.show_name(results, name) for name in tested if name not in {backend for backend, _ in asked}),
    )


def _heads(results: Results, tested: Sequence[str]) -> Iterator[_HeadlineDemand]:
    rows = {name: results.backends[name].measures for name in tested if name in results.backends}
    for column in tables.COLUMNS:
        family = results.definitions[column.measure].column
        if column.write is None and family is not None:
            yield _HeadlineDemand(family, column.head.lower(), column.measure, results.definitions, rows)
    cells = {name: [cell for cell in results.trust if cell.backend == name] for name in tested}
    drilled = {
        name: {measure: Pooled.of_one(each) for cell in own for measure, each in cell.measures.items()}
        for name, own in cells.items()
    }
    for trusted in headline.COLUMNS:
        yield _HeadlineDemand(
            trusted.id, trusted.head.lower(), headline.lead(trusted), results.trust_definitions, drilled
        )


def _asks(head: _HeadlineDemand, backend: str, asked: set[tuple[str, str]]) -> bool:
    return any(
        name == backend and measure in head.definitions and _covers(head, measure) for name, measure in asked
    )  # fmt: skip


def _covers(head: _HeadlineDemand, measure: str) -> bool:
    return measure == head.lead or head.definitions[measure].column == head.family


def _bad(results: Results, head: _HeadlineDemand, asked: set[tuple[str, str]]) -> Bad | None:
    """The worst of what no gate demands, backend by backend; nothing where more or less is the answer and no fault."""
    if head.definitions is results.definitions and head.family not in tables.MARKED:
        return None
    told: dict[str, list[str]] = {}
    for backend, measures in head.measures.items():
        left = {name: each for name, each in measures.items() if (backend, name) not in asked}
        found = worst(head.definitions, left, head.family, head.lead)
        if found and (found.bad or found.pooled.failed):
            figure = f"{found.measure} {words.value(found.pooled)}"
            told.setdefault(figure, []).append(tables.show_name(results, backend))
    return Bad(head.text, tuple((figure, tuple(names)) for figure, names in told.items())) if told else None
