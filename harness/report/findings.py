"""The summary of findings: rows are backends, columns the questions of a run, each under every write policy played."""

from __future__ import annotations

from dataclasses import dataclass

from harness import metrics
from harness.compare.rows import COLD
from harness.metrics.words import Question
from harness.model.results import Results
from harness.model.trial import WritePolicy
from harness.report import tables, words
from harness.report.tables import Figure, TableLine


@dataclass(frozen=True)
class FindingQuestion:
    """One question of the findings table.

    Attributes:
        topic: The part of the page that goes on with it.
        asks: As the words of the measure ask it.
    """

    topic: str
    measure: str
    asks: Question

    @property
    def head(self) -> str:
        return self.asks.head


QUESTIONS = tuple(
    FindingQuestion(asked.topic.id, name, asked.question)
    for name in metrics.FIRST
    if (asked := metrics.words_of(name)).question
)


@dataclass(frozen=True)
class FindingColumn:
    """One column: a question, and how memory was written, where that matters.

    Attributes:
        at: Its place in a row, from 1.
    """

    question: FindingQuestion
    write: WritePolicy | None
    head: str
    at: int


@dataclass(frozen=True)
class Head:
    """A question over its columns.

    Attributes:
        beside: What cold reached, or which direction is better.
    """

    question: FindingQuestion
    writes: tuple[WritePolicy, ...]
    beside: str


@dataclass(frozen=True)
class Findings:
    heads: tuple[Head, ...]
    columns: tuple[FindingColumn, ...]
    lines: tuple[TableLine, ...]


def collect(results: Results) -> Findings:
    """Questions, columns, and rows in the order of every table; what could not run keeps its row."""
    writes = _writes(results)
    heads = tuple(Head(each, writes if each.asks.both else (), _beside(results, each)) for each in QUESTIONS)
    chosen = [(head, write) for head in heads for write in (head.writes or (None,))]
    columns = tuple(
        FindingColumn(head.question, write, _head(head, write), at) for at, (head, write) in enumerate(chosen, 1)
    )
    lines = tables.rows(results, lambda name: tuple(_figure(results, name, each) for each in columns), len(columns))
    return Findings(heads, columns, tuple(lines))


def _writes(results: Results) -> tuple[WritePolicy, ...]:
    """Those that were played; one alone needs no name."""
    found = tuple(results.list_writes())
    return found if len(found) > 1 else ()


def _head(head: Head, write: WritePolicy | None) -> str:
    return f"{head.question.head}, {write}" if write else head.question.head


def _beside(results: Results, question: FindingQuestion) -> str:
    """What the cold arm reached, where there is such a thing; else which direction is better."""
    row = results.backends.get(COLD)
    cold = row.measures.get(question.measure) if row and question.asks.cold else None
    if cold is not None and cold.value is not None:
        return f"cold {words.value(cold)}"
    return f"{results.definitions[question.measure].better} is better"


def _figure(results: Results, name: str, column: FindingColumn) -> Figure:
    measure = column.question.measure
    elsewhere = column.write not in (None, results.run.conditions.headline_write)
    if elsewhere and name == COLD:
        return Figure(words.NOT_MEASURED["not-applicable"], measured=False, why="the cold arm writes nothing")
    own = (
        tables.contrast(results, name, column.write) if elsewhere and column.write else results.backends[name].measures
    )
    return tables.show_headline(results.definitions, own or {}, measure)


def list_lacking(results: Results) -> list[str]:
    """The questions without a number, of the backends under test, each with its word and reason."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for name in tables.names(results):
        for question in QUESTIONS:
            found = tables.show_family(results.definitions, results.backends[name].measures, question.measure)
            pooled = found.pooled if found else None
            if tables.group(results, name) == "ranked" and pooled is not None and pooled.value is None:
                why = "; ".join(words.visible(reason, 120) for reason in pooled.reasons)
                told.setdefault((question.head.lower(), words.value(pooled), why), []).append(
                    tables.show_name(results, name)
                )
    merged: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (head, word, why), held in told.items():
        merged.setdefault((word, why, tuple(held)), []).append(head)
    said = [
        f"{words.join_words(heads)} of {words.join_words(held)}: {word} ({why})"
        for (word, why, held), heads in merged.items()
    ]
    absent = [(words.visible(each.backend, 60), words.visible(each.reason, 120)) for each in results.run.unplayed]
    return said + [f"{name}: not run ({why})" for name, why in absent]
