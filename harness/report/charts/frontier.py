"""Right decisions over tokens per completed job: which memory gives more for less, and what no other one beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.tokens import TOKENS_PER_JOB
from harness.model.results import Results
from harness.report import words
from harness.report.charts.chart import Chart, finish, rank, short, show
from harness.report.charts.drawing import BLUE, INK, PALE, SOFT, VERMILLION, Scale, Sheet
from harness.report.charts.policies import spread
from harness.report.model import ways
from harness.report.model.ways import Spread

NAME, TITLE = "frontier", "Right decisions over tokens per completed job"
HEADS = ("backend", "write", "right decisions", "tokens per completed job", "beaten by")
NO_MEMORY = "no memory"
_HEIGHT = 230


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
    body = [
        (
            NO_MEMORY if each.name == COLD else show(each.name), each.write,
            f"{each.right.text}/{each.right.of}" if each.right.of else each.right.text, each.paid.text,
            ", ".join(NO_MEMORY if other == COLD else show(other) for other in list_better(each, points)),
        )
        for each in points
    ]  # fmt: skip
    return finish(_sheet(points), NAME, "needs", TITLE, says(body), HEADS, body)


def _find_point(results: Results, name: str) -> Point | None:
    write = ways.best_write(results, name)
    right, paid = (ways.spread(results, name, each, write) for each in (DECISIONS_RIGHT, TOKENS_PER_JOB))
    return Point(name, "" if name == COLD else write, right, paid) if right and paid else None


def list_better(point: Point, points: Sequence[Point]) -> list[str]:
    """The rows that decide at least as much right for at most as many tokens, and one of both strictly, by the lowest
    count and the highest price of their read policies."""

    def rate(each: Point) -> tuple[float, float]:
        return each.right.numbers[0], -each.paid.numbers[1]

    own = rate(point)
    return [
        each.name for each in points if rate(each) != own and all(a >= b for a, b in zip(rate(each), own, strict=True))
    ]


def says(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table."""
    best = [row for row in body if not row[4] and row[0] != NO_MEMORY]
    if not best:
        return "No memory is beaten by none of these: none decides as much right for as few tokens."
    named = words.join_words([f"{row[0]} ({row[2]} right, {row[3]} tokens)" for row in best])
    return f"No other row decides more right for fewer tokens than {named}."


def _sheet(points: Sequence[Point]) -> Sheet:
    """Names stand at the right edge, in the order of their points, as these lie close together."""
    sheet = Sheet()
    shares = [share for each in points for share in each.right.shares]
    across = Scale.decades([value for each in points for value in each.paid.numbers], 44, 300)
    up = Scale(max(0.0, min(shares) - 0.05), min(1.0, max(shares) + 0.05), _HEIGHT, 16)
    for tick in (up.low, up.high):
        sheet.line((44, up(tick)), (300, up(tick)), colour=PALE)
        sheet.text(0, up(tick), f"{tick:.0%}", colour=SOFT)
    for value in across.powers():
        sheet.line((across(value), 14), (across(value), _HEIGHT), colour=PALE)
        sheet.text(across(value), _HEIGHT + 12, f"{value:,.0f}", "center", colour=SOFT)
    sheet.text(172, _HEIGHT + 28, "tokens per completed job", "center", colour=SOFT)
    drawn = sorted(points, key=lambda each: -sum(each.right.shares))
    heights = spread([up(sum(each.right.shares) / 2) for each in drawn], 14)
    for each, height in zip(drawn, heights, strict=True):
        (low, high), cold = each.right.shares, each.name == COLD
        x, y = across(sum(each.paid.numbers) / 2), up((low + high) / 2)
        colour = SOFT if cold else VERMILLION if list_better(each, points) else BLUE
        sheet.line((x, up(low)), (x, up(high)), colour=colour, width=2)
        sheet.line((across(each.paid.numbers[0]), y), (across(each.paid.numbers[1]), y), colour=colour, width=2)
        sheet.mark(x, y, "square" if cold else "circle", colour, hollow=colour == VERMILLION)
        sheet.line((x, y), (306, height), colour=PALE)
        sheet.text(310, height, NO_MEMORY if cold else short(each.name, 18), colour=INK)
    return sheet
