"""Right decisions over tokens per completed job: which memory gives more for less, and what no other one beats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.tokens import TOKENS_PER_JOB
from harness.model.results import Pooled, Results
from harness.model.trial import ReadPolicy
from harness.report import words
from harness.report.charts.chart import STAR, Chart, explain_star, finish, mark_oracle, rank, shorten_name, show
from harness.report.charts.cost_chart import compact
from harness.report.charts.policies import spread
from harness.report.charts.sheet import BLUE, PALE, SOFT, VERMILLION, Scale, Sheet
from harness.report.model import ways
from harness.report.model.ways import Spread

NAME, TITLE = "frontier", "Right decisions over tokens per completed job"
HEADS = ("backend", "write", "right decisions", "tokens per completed job", "beaten, however the agent reads, by")
NO_MEMORY = "no memory"
_LEFT, _RIGHT, _TOP, _HEIGHT, _APART = 42, 300, 16, 250, 14
"""The edges of the plot, the least height of its bottom, and what lies between two names."""


class Point(NamedTuple):
    """One row in the write policy that suits it best: shares of right decisions, and tokens, over the read policies."""

    name: str
    write: str
    right: Spread
    paid: Spread


def chart(results: Results) -> Chart | None:
    points = [each for name in (COLD, *rank(results)) if (each := _find_point(results, name)) is not None]
    if len(points) < 2:
        return None
    marked = {each.name: f"{show(each.name)}{mark_oracle(results, each.name)}" for each in points} | {COLD: NO_MEMORY}
    body = [
        (
            marked[each.name], each.write,
            f"{each.right.text}/{each.right.of}" if each.right.of else each.right.text, each.paid.text,
            ", ".join(marked[other] for other in list_better(each, points)),
        )
        for each in points
    ]  # fmt: skip
    starred = explain_star(results, [each.name for each in points])
    caption = " ".join(filter(None, [describe(body), starred]))
    return finish(_draw_sheet(results, points, starred), NAME, "needs", TITLE, caption, HEADS, body)


def _find_point(results: Results, name: str) -> Point | None:
    write = ways.best_write(results, name)
    right, paid = (ways.spread(results, name, each, write) for each in (DECISIONS_RIGHT, TOKENS_PER_JOB))
    return Point(name, "" if name == COLD else ways.WRITES[write], right, paid) if right and paid else None


def list_better(point: Point, points: Sequence[Point]) -> list[str]:
    """The rows that decide at least as much right for at most as many tokens, and one of both strictly, under every
    read policy that both were played with: not every backend has a filter to ask with."""
    return [each.name for each in points if each.name != point.name and _dominates(each, point)]


def _dominates(one: Point, other: Point) -> bool:
    played = {*one.right.by_read, *other.right.by_read} - {None} or {None}
    reads = [read for read in played if _has(one.right, read) and _has(other.right, read)]
    leads = [
        (ways.count(_select_reading(one.right, read)) - ways.count(_select_reading(other.right, read)),
         ways.count(_select_reading(other.paid, read)) - ways.count(_select_reading(one.paid, read)))
        if _has(one.paid, read) and _has(other.paid, read) else (-1.0, -1.0)
        for read in reads
    ]  # fmt: skip
    return all(min(each) >= 0 for each in leads) and any(max(each) > 0 for each in leads)


def _has(found: Spread, read: ReadPolicy | None) -> bool:
    return read in found.by_read or None in found.by_read


def _select_reading(found: Spread, read: ReadPolicy | None) -> Pooled:
    """Without a memory there is one number, whatever the read policy."""
    return found.by_read[read] if read in found.by_read else found.by_read[None]


def describe(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table."""
    best = [row for row in body if not row[4] and row[0] != NO_MEMORY]
    if not best:
        return "No memory is beaten by none of these: none decides as much right for as few tokens."
    named = words.join_words([f"{row[0]} ({row[2]} right, {row[3]} tokens)" for row in best])
    return f"However the agent reads, no other row beats {named}: more right decisions, or fewer tokens for as many."


def _draw_sheet(results: Results, points: Sequence[Point], starred: str) -> Sheet:
    """Names stand at the right edge, in the order of their points, as these lie close together."""
    sheet, bottom = Sheet(), max(_HEIGHT, _TOP + _APART * len(points))
    shares = [share for each in points for share in each.right.shares]
    across = Scale(*_span([value for each in points for value in each.paid.numbers]), _LEFT, _RIGHT, log=True)
    up = Scale(math.floor(min(shares) * 10) / 10, math.ceil(max(shares) * 10) / 10, bottom, _TOP)
    _draw_grid(sheet, across, up)
    drawn = sorted(points, key=lambda each: -sum(each.right.shares))
    heights = spread([up(sum(each.right.shares) / 2) for each in drawn], _APART)
    above = max(0.0, heights[-1] - bottom) - max(0.0, _TOP - heights[0])
    for each, height in zip(drawn, heights, strict=True):
        name = NO_MEMORY if each.name == COLD else f"{shorten_name(each.name, 14)}{mark_oracle(results, each.name)}"
        _draw(sheet, each, name, across, up, height - above, beaten=bool(list_better(each, points)))
    if starred:
        sheet.text(0, sheet.height + 12, STAR, colour=SOFT)
    return sheet


def _span(values: Sequence[float]) -> tuple[float, float]:
    """From one to another of 1, 2, 5, 10, 20, 50 ..., around all values."""
    known = [value for value in values if value > 0] or [1.0]
    low = max(step for step in _list_steps(min(known)) if step <= min(known))
    high = min(step for step in _list_steps(max(known)) if step >= max(known))
    return (low, high) if low < high else (low, low * 10)


def _list_steps(value: float) -> list[float]:
    power = 10.0 ** math.floor(math.log10(value))
    return [power * each for each in (1, 2, 5, 10)]


def _draw_grid(sheet: Sheet, across: Scale, up: Scale) -> None:
    """Tenths of the decisions; tokens by 1, 2, 5, or by tens where that is too many."""
    for tick in (nth / 10 for nth in range(round(up.low * 10), round(up.high * 10) + 1)):
        sheet.line((_LEFT, up(tick)), (_RIGHT, up(tick)), colour=PALE)
        sheet.text(_LEFT - 6, up(tick), f"{tick:.0%}", "right", colour=SOFT)
    tens = across.powers()
    steps = {step for value in tens for step in _list_steps(value) if across.low <= step <= across.high}
    for step in sorted(steps if len(steps) <= 6 else steps & set(tens)):
        sheet.line((across(step), up.start), (across(step), up.end), colour=PALE)
        sheet.text(across(step), up.start + 12, compact(step), "center", colour=SOFT)
    sheet.text((_LEFT + _RIGHT) / 2, up.start + 28, "tokens per completed job (log scale)", "center", colour=SOFT)


def _draw(
    sheet: Sheet, each: Point, name: str, across: Scale, up: Scale, height: float, *, beaten: bool
) -> None:  # fmt: skip
    """A cross over the read policies, and its name. Full: no row is better in both."""
    (low, high), cold = each.right.shares, each.name == COLD
    x, y = across(sum(each.paid.numbers) / 2), up((low + high) / 2)
    colour = SOFT if cold else VERMILLION if beaten else BLUE
    sheet.line((x, up(low)), (x, up(high)), colour=colour, width=2)
    sheet.line((across(each.paid.numbers[0]), y), (across(each.paid.numbers[1]), y), colour=colour, width=2)
    sheet.mark(x, y, "square" if cold else "circle", colour, hollow=beaten)
    sheet.line((x, y), (_RIGHT + 2, height), (_RIGHT + 8, height), colour=PALE)
    sheet.text(_RIGHT + 12, height, name, bold=not (cold or beaten))
