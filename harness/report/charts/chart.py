"""What a chart is, and what all of them need: names that fit, groups of rows, words for what was not measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.machine import extras
from harness.model.results import Pooled, Results
from harness.report import words
from harness.report.charts.sheet import INK, PALE, ROW, SOFT, VERMILLION, Scale, Shape, Sheet
from harness.report.model import table

NARROW = 126
"""Where a plot begins, right of the names."""
CONTROLS = "controls, never ranked"
STAR = "* as the oracle, which is handed the answers"
"""What a star behind a name says."""
UNDRAWN = (
    "<p>Not drawn: matplotlib is not installed (the extra <code>report</code>). The table holds the same numbers.</p>"
)


@dataclass(frozen=True)
class Chart:
    """A figure, its finding in one sentence, and the rows that it was drawn from.

    Attributes:
        topic: The question that it answers, as the page calls it.
        title: Its words stand in its SVG, too.
    """

    name: str
    topic: str
    title: str
    says: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    svg: str


def finish(
    sheet: Sheet, name: str, topic: str, title: str, says: str, heads: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
) -> Chart:  # fmt: skip
    drawn = UNDRAWN if extras.explain_missing(["matplotlib"]) else sheet.svg(name, title, says)
    return Chart(name, topic, title, says, heads, tuple(rows), drawn)


def rank(results: Results) -> list[str]:
    return table.list_ranked(results)


def show(name: str) -> str:
    """A name as a table has it."""
    return words.make_visible(name, 60)


def shorten_name(name: str, limit: int = 13) -> str:
    """A name as it fits beside a row: cut in its middle, as long names differ in their settings."""
    safe = words.make_visible(name)
    return safe if len(safe) <= limit else f"{safe[: limit // 2]}\u2026{safe[len(safe) - (limit - 1) // 2 :]}"


def mark_oracle(results: Results, name: str) -> str:
    """Stands behind the name of a row that equals the oracle."""
    return " *" if name in results.like_oracle else ""


def explain_star(results: Results, names: Iterable[str]) -> str:
    """Empty if no name has one."""
    held = [show(name) for name in names if mark_oracle(results, name)]
    return f"{STAR}: {words.join_words(held)}." if held else ""


def count(name: str, n: int) -> str:
    return f"{shorten_name(name, 12)} ({n})"


def place(results: Results, names: Iterable[str], y: float) -> Iterator[tuple[str, float]]:
    """Each row's height in turn, with room for a line above the first control."""
    aside = False
    for name in names:
        if not aside and table.group(results, name) == "control":
            aside, y = True, y + ROW
        yield name, y
        y += ROW


def draw_separator(sheet: Sheet, results: Results, rows: Iterable[tuple[str, float]]) -> None:
    """The line above the first control."""
    first = next((y for name, y in rows if table.group(results, name) == "control"), None)
    if first is not None:
        sheet.text(0, first - ROW, CONTROLS, colour=SOFT, italic=True)


def draw_dot(
    sheet: Sheet, pooled: Pooled | None, scale: Scale, y: float, shape: Shape, colour: str, *, hollow: bool = False
) -> None:
    """A mean with its interval, or the word for there being none."""
    if pooled is None or pooled.value is None:
        sheet.text(scale.start, y, tell(pooled), italic=True, colour=SOFT)
        return
    sheet.interval(pooled.interval, scale, y, colour)
    sheet.mark(scale(pooled.value), y, shape, colour, hollow=hollow)


def tell(pooled: Pooled | None) -> str:
    """The number or its word; what no cell has was not run."""
    return words.NOT_MEASURED["not-run"] if pooled is None else words.value(pooled)


_COUNT = re.compile(r"(?:\u2265 )?([\d,.]+)/([\d,]+)")


def parse_counts(text: str) -> tuple[float, int] | None:
    """Hits and cases of a text of a table; None for one of the words."""
    found = _COUNT.fullmatch(text)
    return (float(found[1].replace(",", "")), int(found[2].replace(",", ""))) if found else None


def format_interval(pooled: Pooled | None) -> str:
    """The interval as a table has it."""
    return words.format_interval(pooled.interval) if pooled and pooled.value is not None and pooled.interval else ""


def draw_grid(sheet: Sheet, scale: Scale, top: float, bottom: float, ticks: Iterable[tuple[float, str]]) -> None:
    """Pale upright lines with their words below."""
    for value, said in ticks:
        sheet.line((scale(value), top), (scale(value), bottom), colour=PALE)
        if said:
            sheet.text(scale(value), bottom + 10, said, "center", colour=SOFT)


SHARES = ((0.0, "none"), (0.5, "half"), (1.0, "all"))
WARM: str = INK
WARM_SHAPE: Shape = "diamond"


def draw_cold_line(sheet: Sheet, x: float, top: float, bottom: float) -> None:
    """Where the cold arm stands, through all rows."""
    sheet.line((x, top), (x, bottom), colour=VERMILLION, width=1, dash=(4, 3))
