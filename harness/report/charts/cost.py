"""What a job that got done has cost in tokens, who was paid, and how many jobs got done at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.compare.rows import COLD
from harness.metrics.completion import JOBS_DONE
from harness.metrics.tokens import (
    EMBEDDING_TOKENS,
    TOKENS_AGENT,
    TOKENS_BACKEND,
    TOKENS_INGEST,
    TOKENS_RECALL,
    TOKENS_TOTAL,
)
from harness.model.results import Cell, Pooled, Results
from harness.model.trial import Measured
from harness.report import words
from harness.report.charts.chart import (
    NARROW,
    SHARES,
    WARM,
    WARM_SHAPE,
    Chart,
    apart,
    cold_line,
    count,
    dot,
    finish,
    grid,
    place,
    show,
    tell,
    within,
)
from harness.report.charts.drawing import PALE, ROW, SOFT, VERMILLION, WIDTH, Scale, Shape, Sheet
from harness.report.model import table

NAME, TITLE = "tokens", "Tokens for each job done, by who was paid"
PAYERS: Mapping[str, tuple[str, str]] = {
    TOKENS_AGENT: ("the", "agent"),
    TOKENS_RECALL: ("recall", ""),
    TOKENS_INGEST: ("writing", ""),
    TOKENS_BACKEND: ("models", "inside"),
    EMBEDDING_TOKENS: ("pieces*", ""),
}
"""The parts of the total, and apart from it what was embedded: another unit, in no total."""
HEADS = (
    "backend", "stories", "jobs done", "interval", "tokens for each job done", "agent", "recall", "writing",
    "models inside", "word pieces embedded",
)  # fmt: skip
NO_JOB = "no job done"
LEAST = "\u2265 "


@dataclass(frozen=True)
class CostRow:
    """What the jobs of one backend cost.

    Attributes:
        each: Tokens for each job done, of all attempts.
        total: The same in words.
        parts: By payer, or the word.
    """

    name: str
    stories: int
    jobs: Pooled
    each: float | None
    total: str
    parts: tuple[float | str, ...]


def chart(results: Results) -> Chart | None:
    rows = [_row(results, name) for name in sorted(table.list_rows(results), key=lambda name: name != COLD)]
    if not any(row.each is not None for row in rows):
        return None
    body = [
        (
            show(row.name), str(row.stories), tell(row.jobs), within(row.jobs), row.total,
            *(part if isinstance(part, str) else words.number(round(part)) for part in row.parts),
        )
        for row in rows
    ]  # fmt: skip
    told_of = [line for line, row in zip(body, rows, strict=True) if table.group(results, row.name) == "ranked"]
    cold = next((line for line in body if line[0] == COLD), None)
    return finish(_sheet(results, rows), NAME, "cost", TITLE, says(told_of, cold), HEADS, body)


def _row(results: Results, name: str) -> CostRow:
    """All tokens of the stories whose total is known, failures included, over the jobs that got done in them."""
    cells = [cell for cell in table.list_cells(results, name) if _value(cell, TOKENS_TOTAL) is not None]
    done = sum(jobs.hits or 0 for cell in cells if isinstance(jobs := cell.measures.get(JOBS_DONE), Measured))
    spent = [tokens for cell in cells if isinstance(tokens := cell.measures[TOKENS_TOTAL], Measured)]
    each = sum(tokens.value for tokens in spent) / done if done else None
    if each is None:
        total = NO_JOB if cells else tell(results.backends[name].measures[TOKENS_TOTAL])
    else:
        least = any(tokens.known == "at-least" for tokens in spent)
        total = f"{LEAST if least else ''}{words.number(round(each))}"
    return CostRow(
        name,
        len({cell.scenario for cell in cells}),
        results.backends[name].measures[JOBS_DONE],
        each,
        total,
        tuple(_part(results, name, cells, measure, done) for measure in PAYERS),
    )


def _value(cell: Cell, measure: str) -> float | None:
    known = cell.measures.get(measure)
    return known.value if isinstance(known, Measured) else None


def _part(results: Results, name: str, cells: Sequence[Cell], measure: str, done: float) -> float | str:
    values = [value for cell in cells if (value := _value(cell, measure)) is not None]
    if not values:
        return tell(results.backends[name].measures.get(measure))
    return sum(values) / done if done else NO_JOB


def says(ranked: Sequence[Sequence[str]], cold: Sequence[str] | None) -> str:
    """From the rows of the table: what each job done has cost, and how many there were."""
    without = [f"{cold[4]} without memory ({cold[2]} jobs)"] if cold else []
    told_of = words.join_words([f"{row[0]} {row[4]} ({row[2]} jobs)" for row in ranked])
    return f"Tokens for each job that got done: {'; '.join(filter(None, [*without, told_of]))}."


def _sheet(results: Results, rows: Sequence[CostRow]) -> Sheet:
    sheet = Sheet()
    _done(sheet, results, rows)
    _paid(sheet, results, rows, sheet.height + 22)
    return sheet


def _done(sheet: Sheet, results: Results, rows: Sequence[CostRow]) -> None:
    """Jobs done, beside what each has cost."""
    jobs, cost = Scale(0, 1, NARROW + 8, 202), Scale.decades([row.each or 0 for row in rows], 270, 362)
    sheet.text(0, 8, "backend (stories)", colour=SOFT)
    sheet.text(254, 8, "jobs done", "right", colour=SOFT)
    sheet.text(WIDTH, 8, "tokens for each job done", "right", colour=SOFT)
    at = list(place(results, [row.name for row in rows], 32))
    bottom = at[-1][1] + 14
    grid(sheet, jobs, 20, bottom, SHARES)
    grid(sheet, cost, 20, bottom, _decades(cost))
    apart(sheet, results, at)
    cold = next((row for row in rows if row.name == COLD), None)
    if cold is not None and cold.each is not None:
        cold_line(sheet, cost(cold.each), 20, bottom)
    if cold is not None and cold.jobs.value is not None:
        cold_line(sheet, jobs(cold.jobs.value), 20, bottom)
    for row, (_, y) in zip(rows, at, strict=True):
        known = row.each is not None
        sheet.text(0, y, count(row.name, row.stories))
        cold_row = row.name == COLD
        shape: Shape = "circle" if cold_row else WARM_SHAPE
        colour = VERMILLION if cold_row else WARM
        dot(sheet, row.jobs, jobs, y, shape, colour, hollow=cold_row)
        sheet.text(254, y, tell(row.jobs) if row.jobs.value is not None else "", "right")
        sheet.text(WIDTH, y, row.total, "right", italic=not known, colour=WARM if known else SOFT)
        if row.each is not None:
            sheet.mark(cost(row.each), y, shape, colour, hollow=cold_row)


def _paid(sheet: Sheet, results: Results, rows: Sequence[CostRow], top: float) -> None:
    """By payer, on one scale of decades; the embedder's pieces on one of their own."""
    step, left = 65, NARROW - 11
    for column, head in enumerate(PAYERS.values()):
        for nth, word in enumerate(head if head[1] else ("", head[0])):
            sheet.text(left + step * (column + 1), top + 8 + 14 * nth, word, "right", colour=SOFT)
    sheet.text(0, top + 22, "of these tokens, to", colour=SOFT)
    parts = [[part if isinstance(part, float) else 0 for part in row.parts] for row in rows]
    paid = Scale.decades([value for each in parts for value in each[:-1]], 0, step - 12)
    pieces = Scale.decades([each[-1] for each in parts], 0, step - 12)
    y, aside = top + 44, False
    for row in rows:
        if not aside and table.group(results, row.name) == "control":
            aside = True
            sheet.line((0, y - 13), (WIDTH, y - 13), colour=SOFT, width=0.8)
        sheet.text(0, y, count(row.name, row.stories))
        for column, part in enumerate(row.parts):
            x, scale = left + step * column, pieces if column == len(row.parts) - 1 else paid
            known = isinstance(part, float)
            text = words.number(round(part)) if isinstance(part, float) else part if part != NO_JOB else "\u2013"
            sheet.text(x + step, y, text, "right", italic=not known, colour=WARM if known else SOFT)
            if isinstance(part, float) and part > 0:
                sheet.line((x + 12 + scale.start, y + 11), (x + 12 + scale.end, y + 11), colour=PALE, width=2)
                sheet.mark(x + 12 + scale(part), y + 11, WARM_SHAPE, WARM, size=6)
        y += ROW + 8

    for scale, unit, x in ((paid, "tokens", left + step * 3), (pieces, "pieces", WIDTH)):
        sheet.text(x, y - 2, f"{unit}: {compact(scale.low)} to {compact(scale.high)}", "right", colour=SOFT)
    sheet.text(0, y - 2, "scales, by tens", colour=SOFT)
    sheet.text(0, y + 16, "* word pieces embedded: another unit, in no total", colour=SOFT)


def _decades(scale: Scale) -> list[tuple[float, str]]:
    powers = scale.powers()
    every = -(-len(powers) // 3)
    return [(power, compact(power) if nth % every == 0 else "") for nth, power in enumerate(powers)]


def compact(value: float) -> str:
    """1k for 1,000."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
