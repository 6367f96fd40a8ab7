"""Recall, stale exposure, time and bytes over the number of memories: a row of four curves for each backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.model.results import Pooled
from harness.report import words
from harness.report.charts.chart import WARM, Chart, finish, parse_counts, shorten_name, show, tell
from harness.report.charts.cost_chart import compact
from harness.report.charts.sheet import PALE, SOFT, VERMILLION, WIDTH, Scale, Sheet
from harness.report.model.growth import Level

NAME, TITLE = "growth", "As the memory grows: recall, stale exposure, time and bytes"
HEADS = ("backend", "noise", "stories", "recalled", "shown stale", "recall, ms", "stored, kB")
NO_SAMPLE = "no sample"
_LEFT, _TALL, _GAP = 78, 84, 22


class _Column(NamedTuple):
    """A curve: what it is called, its number at a level (None: there is none), and the word that is shown for it."""

    head: str
    colour: str
    value: Callable[[Level], float | None]
    show: Callable[[Level], str]


COLUMNS = (
    _Column("recalled", WARM, lambda each: each.recalled.value, lambda each: tell(each.recalled)),
    _Column("shown stale", VERMILLION, lambda each: each.exposed.value, lambda each: tell(each.exposed)),
    _Column("recall, ms", WARM, lambda each: _scale(each.seconds, 1e3), lambda each: _read_number(each.seconds, 1e3)),
    _Column("stored, kB", WARM, lambda each: _scale(each.bytes, 1e-3), lambda each: _read_number(each.bytes, 1e-3)),
)
SHARES = 2
"""Columns that are shares; the others are drawn over powers of ten."""


def chart(levels: Sequence[Level]) -> Chart | None:
    if not levels:
        return None
    body = [
        (
            show(each.backend),
            f"{each.noise:,}",
            str(each.recalled.scenarios),
            *(column.show(each) for column in COLUMNS),
        )
        for each in levels
    ]
    return finish(_draw_sheet(levels), NAME, "growth", TITLE, describe(levels), HEADS, body)


def describe(levels: Sequence[Level]) -> str:
    """Of each backend its counts at the least and the most noise that it was played at."""
    parts = []
    for name in dict.fromkeys(each.backend for each in levels):
        own = sorted((each for each in levels if each.backend == name), key=_read_noise)
        first, last = own[0], own[-1]
        if first is last:
            continue
        sentences = [
            _change("recalls", first.recalled, last.recalled),
            _change("shows stale in", first.exposed, last.exposed),
        ]
        if first.seconds is not None and last.seconds is not None:
            sentences.append(
                f"takes {_read_number(last.seconds, 1e3)} ms for a recall (before {_read_number(first.seconds, 1e3)})"
            )
        if first.bytes is not None and last.bytes is not None:
            sentences.append(f"keeps {_read_number(last.bytes, 1e-3)} kB (before {_read_number(first.bytes, 1e-3)})")
        if known := list(filter(None, sentences)):
            parts.append(f"{show(name)} {words.join_words(known)}")
    if not parts:
        return "No backend was played at several levels."
    least, most = min(map(_read_noise, levels)), max(map(_read_noise, levels))
    return f"Among {most:,} unrelated memories instead of {least:,}: {'; '.join(parts)}."


def _read_noise(level: Level) -> int:
    return level.noise


def _change(what: str, first: Pooled, last: Pooled) -> str:
    one, other = tell(first), tell(last)
    return f"{what} {other} (before {one})" if parse_counts(one) and parse_counts(other) else ""


def _scale(value: float | None, by: float) -> float | None:
    return None if value is None else value * by


def _read_number(value: float | None, by: float) -> str:
    return NO_SAMPLE if value is None else words.format_number(value * by)


def _draw_sheet(levels: Sequence[Level]) -> Sheet:
    sheet, step = Sheet(), (WIDTH - _LEFT) / len(COLUMNS)
    names = list(dict.fromkeys(each.backend for each in levels))
    sizes = sorted({each.noise for each in levels})
    least = min(size for size in sizes if size)
    across = Scale(least / 10 if 0 in sizes else least, max(*sizes, least * 10), 6, step - _GAP, log=True)
    bottom = 28 + len(names) * _TALL
    for column, each in enumerate(COLUMNS):
        left = _LEFT + step * column
        sheet.text(left, 8, each.head, bold=True)
        known = [value for level in levels if (value := each.value(level)) is not None]
        up = Scale(0, 1, 72, 30) if column < SHARES else Scale.decades(known, 72, 30)
        for row, name in enumerate(names):
            own = [level for level in levels if level.backend == name]
            _draw_panel(sheet, own, each, (left, 22 + row * _TALL), across, up)
        for size in dict.fromkeys((sizes[0], sizes[-1])):
            sheet.text(left + across(size), bottom, compact(size), "center", colour=SOFT)
    for row, name in enumerate(names):
        sheet.text(0, 34 + row * _TALL, shorten_name(name, 10), bold=True)
    sheet.text(0, bottom, "noise:", colour=SOFT)
    sheet.text(0, bottom + 20, "Pale lines: none and all; of time and bytes ten times the one below.", colour=SOFT)
    return sheet


def _draw_panel(
    sheet: Sheet, levels: Sequence[Level], column: _Column, at: tuple[float, float], across: Scale, up: Scale
) -> None:
    """The curve of one backend; above it its first and its last number."""
    left, top = at
    for mark in up.powers() if up.log else (0.0, 1.0):
        sheet.line((left, top + up(mark)), (left + across.end, top + up(mark)), colour=PALE, width=0.8)
    known = [(each, value) for each in levels if (value := column.value(each)) is not None]
    if not known:
        sheet.text(left, top + 12, column.show(levels[0]), italic=True, colour=SOFT)
        return
    ends = dict.fromkeys((known[0][1], known[-1][1]))
    shown = [f"{value:.0%}" if not up.log else words.format_number(value) for value in ends]
    sheet.text(left, top + 12, "\u2192".join(shown))
    places = [(left + across(each.noise), top + up(value)) for each, value in known]
    if len(places) > 1:
        sheet.line(*places, colour=column.colour)
    for x, y in places:
        sheet.mark(x, y, "circle", column.colour, size=5)
