"""Trends as one file: a chart for each measure, over runs or releases, drawn as those of a report; no script."""

from __future__ import annotations

from collections.abc import Sequence

from harness.regress.baseline import DEFINITIONS, Baseline
from harness.regress.trend import Trend, TrendLine
from harness.report import words
from harness.report.charts.chart import PALE, SOFT, WARM, WIDTH, Chart, Scale, Sheet, finish, shorten_name, show
from harness.report.outputs.template import fill_template

STYLES = ("style.css", "first.css")
ACROSS, TALL = 3, 124
NAMED = 4
"""Backends that the sentence of a chart names."""


def write_page(runs: Sequence[Baseline], trends: Sequence[Trend]) -> str:
    """The whole file."""
    return fill_template(
        "trend.html.j2",
        STYLES,
        runs=runs,
        over=trends[0].over,
        charts=[chart(trend) for trend in trends],
        gaps=list(dict.fromkeys(gap for trend in trends for gap in trend.gaps)),
    )


def chart(trend: Trend) -> Chart:
    """Small multiples, a panel a backend; the first run or release is hollow."""
    sheet, (low, most) = Sheet(), trend.ends
    for at, line in enumerate(trend.lines):
        _draw_panel(sheet, WIDTH / ACROSS * (at % ACROSS), 6 + at // ACROSS * TALL, line, low, most)
    sheet.text(
        0,
        sheet.height + 6,
        f"upper line: {words.format_number(most)}; lower line: {words.format_number(low)}",
        colour=SOFT,
    )
    rows = ((show(line.backend), point.run, point.shown) for line in trend.lines for point in line.points)
    unit, label = DEFINITIONS[trend.measure].unit, words.label(trend.measure)
    heads = ("backend", trend.over, f"{label}, {unit}" if unit else label)
    return finish(
        sheet, f"trend-{trend.measure.replace('_', '-')}", "trend", label, _describe_trend(trend), heads, rows
    )


def _describe_trend(trend: Trend) -> str:
    ends = [
        f"{show(line.backend)} {line.measured[0].shown}, then {line.measured[-1].shown}{_judge(line)}"
        for line in trend.lines[:NAMED]
    ]  # fmt: skip
    others = len(trend.lines) - len(ends)
    more = f"; and {words.format_count(others, 'more backend')}" if others > 0 else ""
    return f"In the first and in the last {trend.over}: {'; '.join(ends)}{more}."


def _judge(line: TrendLine) -> str:
    return f" ({line.verdict})" if line.verdict else ""


def _draw_panel(sheet: Sheet, left: float, top: float, line: TrendLine, low: float, most: float) -> None:
    right = left + WIDTH / ACROSS - 18
    sheet.text(left, top + 4, shorten_name(line.backend, 16), bold=True)
    # one point alone needs a scale with two ends as well
    across = Scale(0, max(len(line.points) - 1, 1), left + 8, right - 8)
    up = Scale(low, most, top + 80, top + 22)
    for value in (low, most):
        sheet.line((left, up(value)), (right, up(value)), colour=PALE)
    places = [
        (across(at), up(point.value)) if point.value is not None else None for at, point in enumerate(line.points)
    ]
    for at, point in enumerate(line.points):
        here, before = places[at], places[at - 1] if at else None
        if here and before and point.joined:
            sheet.line(before, here, colour=WARM)
        if here:
            sheet.mark(*here, "circle", WARM, hollow=at == 0, size=6)
    first, last = line.measured[0], line.measured[-1]
    sheet.text(left, top + 96, first.shown, colour=SOFT)
    if last is not first:
        sheet.text(right, top + 96, f"{last.shown}{_judge(line)}", "right", colour=SOFT, bold=bool(line.verdict))
