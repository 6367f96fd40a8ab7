"""What a completed job has cost in tokens, who was paid, and how many jobs were completed at all; of each row in the
write policy that suits it best, with the other beneath."""

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
    TOKENS_PER_JOB,
    TOKENS_RECALL,
    TOKENS_TOTAL,
)
from harness.model.cells import Cell
from harness.model.results import Results
from harness.model.trial import Measured, WritePolicy
from harness.report import words
from harness.report.charts.chart import (
    NARROW,
    PALE,
    ROW,
    SOFT,
    VERMILLION,
    WARM,
    WARM_SHAPE,
    WIDTH,
    Chart,
    Scale,
    Sheet,
    draw_cold_line,
    draw_grid,
    draw_separator,
    finish,
    place,
    shorten_name,
    show,
    tell,
)
from harness.report.model import table, ways
from harness.report.model.ways import Spread

NAME, TITLE = "tokens", "Tokens for each completed job, by who was paid"
PAYERS: Mapping[str, tuple[str, str]] = {
    TOKENS_AGENT: ("the", "agent"),
    TOKENS_RECALL: ("recall", ""),
    TOKENS_INGEST: ("writing", ""),
    TOKENS_BACKEND: ("models", "inside"),
    EMBEDDING_TOKENS: ("pieces*", ""),
}
"""The parts of the total, and apart from it what was embedded: another unit, in no total."""
HEADS = (
    "backend", "written", "stories", "jobs completed", "tokens for each completed job", "agent", "recall", "writing",
    "models inside", "word pieces embedded",
)  # fmt: skip
NO_JOB = "no job"
LEAST = "\u2265 "
ASIDE = "\u21b3 "
"""Before the write policy that is not the one that suits its row."""


@dataclass(frozen=True)
class CostRow:
    """What the jobs of one backend cost under one write policy, over the read policies.

    Attributes:
        write: None without a memory.
        best: Under it the row decides best, as the verdict and the scoreboard have it.
        each: Tokens for each completed job, of all attempts.
        total: The same in words.
        parts: By payer, over all read policies together, or the word.
    """

    name: str
    write: WritePolicy | None
    best: bool
    stories: int
    jobs: Spread | None
    each: Spread | None
    total: str
    parts: tuple[float | str, ...]

    @property
    def done(self) -> str:
        """The completed jobs that the tokens rest on, of how many."""
        if self.jobs is None:
            return ""
        return f"{self.jobs.text}/{self.jobs.of:,}" if self.jobs.of else self.jobs.text


def chart_tokens(results: Results) -> Chart | None:
    # A stable sort: behind no memory the rows stay in the order of every table.
    names = sorted(table.list_rows(results), key=lambda name: name != COLD)
    rows = [_make_row(results, name, write) for name in names for write in ways.order_writes(results, name)]
    # Without stories the best way alone stays, as it tells why there is no number.
    rows = [row for row in rows if row.best or row.stories]
    if not any(row.each is not None for row in rows):
        return None
    body = [
        (
            show(row.name), _name_write(row), str(row.stories), row.done, row.total,
            *(part if isinstance(part, str) else words.format_number(round(part)) for part in row.parts),
        )
        for row in rows
    ]  # fmt: skip
    told_of = [
        line for line, row in zip(body, rows, strict=True)
        if row.best and table.group(results, row.name) == "ranked"
    ]  # fmt: skip
    cold = next((line for line in body if line[0] == COLD), None)
    return finish(_draw_sheet(results, rows), NAME, "cost", TITLE, describe(told_of, cold), HEADS, body)


def _make_row(results: Results, name: str, write: WritePolicy) -> CostRow:
    """Failures included: all tokens of the stories whose total is known, over the jobs that were completed in them."""
    cells = [cell for cell in ways.list_cells(results, name, write) if _value(cell, TOKENS_TOTAL) is not None]
    done = sum(jobs.hits or 0 for cell in cells if isinstance(jobs := cell.measures.get(JOBS_DONE), Measured))
    each = ways.spread(results, name, TOKENS_PER_JOB, write)
    if each is None:
        total = NO_JOB if cells else tell(results.backends[name].measures[TOKENS_TOTAL])
    else:
        least = any(pooled.at_least for pooled in each.by_read.values())
        total = f"{LEAST if least else ''}{ways.show_range(*map(round, each.numbers))}"
    return CostRow(
        name,
        None if name == COLD else write,
        name == COLD or write == ways.best_write(results, name),
        len({cell.scenario for cell in cells}),
        ways.spread(results, name, JOBS_DONE, write),
        each,
        total,
        tuple(_read_part(results, name, cells, measure, done) for measure in PAYERS),
    )


def _value(cell: Cell, measure: str) -> float | None:
    known = cell.measures.get(measure)
    return known.value if isinstance(known, Measured) else None


def _read_part(results: Results, name: str, cells: Sequence[Cell], measure: str, done: float) -> float | str:
    values = [value for cell in cells if (value := _value(cell, measure)) is not None]
    if not values:
        return tell(results.backends[name].measures.get(measure))
    return sum(values) / done if done else NO_JOB


def _name_write(row: CostRow) -> str:
    return "" if row.write is None else ways.WRITE_LABELS[row.write] + ("" if row.best else ", for comparison")


def describe(ranked: Sequence[Sequence[str]], cold: Sequence[str] | None) -> str:
    """From the rows of the table: what each completed job has cost in the write policy that suits a row best, and how
    many jobs there were."""
    without = f"{cold[4]} without memory ({cold[3]} jobs)" if cold else ""
    told_of = words.join_words([f"{row[0]} {row[4]} ({row[1]}, {row[3]} jobs)" for row in ranked])
    parts = "; ".join(filter(None, [without, told_of])) or "only controls were played"
    return f"Tokens for each completed job, written as suits each backend best: {parts}."


def _draw_sheet(results: Results, rows: Sequence[CostRow]) -> Sheet:
    sheet = Sheet()
    _draw_done(sheet, results, rows)
    _draw_paid(sheet, results, [row for row in rows if row.best], sheet.height + 22)
    return sheet


def _draw_done(sheet: Sheet, results: Results, rows: Sequence[CostRow]) -> None:
    """Jobs completed, beside what each has cost; over the read policies."""
    known = [value for row in rows if row.each for value in row.each.numbers]
    jobs, cost = Scale(0, 1, NARROW + 8, 190), Scale.decades(known, 266, 344)
    sheet.text(0, 8, "backend, how it is written", colour=SOFT)
    sheet.text(256, 8, "jobs completed", "right", colour=SOFT)
    sheet.text(WIDTH, 8, "tokens for each of them", "right", colour=SOFT)
    heights = [y for _, y in place(results, [row.name for row in rows], 32)]
    at = list(zip(rows, heights, strict=True))
    bottom = heights[-1] + 14
    draw_grid(sheet, jobs, 20, bottom, ((0.0, "none"), (0.5, ""), (1.0, "all")))
    draw_grid(sheet, cost, 20, bottom, _list_decades(cost))
    draw_separator(sheet, results, ((row.name, y) for row, y in at))
    cold = next((row for row in rows if row.name == COLD), None)
    for spread, scale in ((cold and cold.each, cost), (cold and cold.jobs, jobs)):
        if spread:
            # Without a memory nothing is read, so both ends of the range are one number.
            draw_cold_line(sheet, scale((spread.numbers if scale is cost else spread.shares)[0]), 20, bottom)
    for row, y in at:
        colour = VERMILLION if row.name == COLD else WARM if row.best else SOFT
        sheet.text(0, y, _label(row), colour=WARM if row.best else SOFT)
        for spread, scale in ((row.jobs, jobs), (row.each, cost)):
            if spread:
                _reach(sheet, spread.numbers if scale is cost else spread.shares, scale, y, row, colour)
        sheet.text(250, y, row.done, "right", colour=WARM if row.best else SOFT)
        plain = row.each is not None and row.best
        sheet.text(WIDTH, y, row.total, "right", italic=row.each is None, colour=WARM if plain else SOFT)


def _label(row: CostRow) -> str:
    if row.write is None:
        return "no memory"
    return (
        f"{shorten_name(row.name, 11)}, {ways.WRITE_LABELS[row.write]}"
        if row.best
        else f"{ASIDE}{ways.WRITE_LABELS[row.write]}"
    )


def _reach(sheet: Sheet, ends: tuple[float, float], scale: Scale, y: float, row: CostRow, colour: str) -> None:
    """From the lowest to the highest of the read policies."""
    low, high = map(scale, ends)
    sheet.line((low, y), (high, y), colour=colour, width=2)
    cold = row.name == COLD
    sheet.mark((low + high) / 2, y, "circle" if cold else WARM_SHAPE, colour, hollow=cold or not row.best)


def _draw_paid(sheet: Sheet, results: Results, rows: Sequence[CostRow], top: float) -> None:
    """By payer, on one scale of decades; the embedder's pieces on one of their own."""
    step, left = 65, NARROW - 11
    for column, head in enumerate(PAYERS.values()):
        for nth, word in enumerate(head if head[1] else ("", head[0])):
            sheet.text(left + step * (column + 1), top + 8 + 14 * nth, word, "right", colour=SOFT)
    sheet.text(0, top + 22, "of these tokens, to", colour=SOFT)
    # A word counts as 0, which `decades` leaves out.
    parts = [[part if isinstance(part, float) else 0 for part in row.parts] for row in rows]
    # The last of PAYERS is in another unit: it has to stay the last.
    paid = Scale.decades([value for each in parts for value in each[:-1]], 0, step - 12)
    pieces = Scale.decades([each[-1] for each in parts], 0, step - 12)
    y, aside = top + 44, False
    for row in rows:
        if not aside and table.group(results, row.name) == "control":
            aside = True
            sheet.line((0, y - 13), (WIDTH, y - 13), colour=SOFT, width=0.8)
        sheet.text(0, y, _label(row))
        for column, part in enumerate(row.parts):
            x, scale = left + step * column, pieces if column == len(row.parts) - 1 else paid
            known = isinstance(part, float)
            text = words.format_number(round(part)) if isinstance(part, float) else part if part != NO_JOB else "\u2013"
            sheet.text(x + step, y, text, "right", italic=not known, colour=WARM if known else SOFT)
            if isinstance(part, float) and part > 0:
                sheet.line((x + 12 + scale.start, y + 11), (x + 12 + scale.end, y + 11), colour=PALE, width=2)
                sheet.mark(x + 12 + scale(part), y + 11, WARM_SHAPE, WARM, size=6)
        y += ROW + 8

    for scale, unit, x in ((paid, "tokens", left + step * 3), (pieces, "pieces", WIDTH)):
        sheet.text(x, y - 2, f"{unit}: {compact(scale.low)} to {compact(scale.high)}", "right", colour=SOFT)
    sheet.text(0, y - 2, "scales, by tens", colour=SOFT)
    sheet.text(0, y + 16, "* word pieces embedded: another unit, in no total", colour=SOFT)
    sheet.text(0, y + 32, "ranges are over the ways to read; parts are of all of them together", colour=SOFT)


def _list_decades(scale: Scale) -> list[tuple[float, str]]:
    powers = scale.powers()
    # Rounded up, so that at most three words stand below a scale.
    every = -(-len(powers) // 3)
    return [(power, compact(power) if nth % every == 0 else "") for nth, power in enumerate(powers)]


def compact(value: float) -> str:
    """1k for 1,000."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
