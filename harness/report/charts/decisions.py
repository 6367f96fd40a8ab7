"""Right decisions of each row: over the tokens of a completed job, against no memory, and where they are lost."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.losses import (
    ELSEWHERE,
    LOST,
    REPLACED,
    STAGES,
    UNCAPTURED,
    UNCLEAR,
    UNDATED,
    UNRETRIEVED,
    UNSCOPED,
    UNTOLD,
    UNUSED,
    Stage,
)
from harness.metrics.tokens import TOKENS_PER_JOB
from harness.model.results import Comparison, Pooled, Results, Row
from harness.model.trial import ReadPolicy
from harness.report import words
from harness.report.charts.chart import (
    BLUE,
    GREEN,
    INK,
    NARROW,
    PALE,
    SOFT,
    STAR,
    VERMILLION,
    WIDTH,
    Chart,
    Dash,
    Scale,
    Shape,
    Sheet,
    explain_star,
    finish,
    mark_oracle,
    rank,
    shorten_name,
    show,
)
from harness.report.charts.cost import compact
from harness.report.charts.policies import spread
from harness.report.model import ways
from harness.report.model.ways import Spread

# --- over tokens: which memory gives more for less, and what no other one beats ---------------------------------------

FRONTIER_NAME, FRONTIER_TITLE = "frontier", "Right decisions over tokens per completed job"
FRONTIER_HEADS = (
    "backend",
    "write",
    "right decisions",
    "tokens per completed job",
    "beaten, however the agent reads, by",
)
NO_MEMORY = "no memory"
_LEFT, _RIGHT, _TOP, _HEIGHT, _NAMES_APART = 42, 300, 16, 250, 14
"""The edges of the plot, the least height of its bottom, and what lies between two names."""


class Point(NamedTuple):
    """One row in the write policy that suits it best: shares of right decisions, and tokens, over the read policies."""

    name: str
    write: str
    right: Spread
    paid: Spread


def chart_frontier(results: Results) -> Chart | None:
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
    caption = " ".join(filter(None, [describe_frontier(body), starred]))
    return finish(
        _draw_frontier(results, points, starred), FRONTIER_NAME, "needs", FRONTIER_TITLE, caption, FRONTIER_HEADS, body
    )


def _find_point(results: Results, name: str) -> Point | None:
    write = ways.best_write(results, name)
    right, paid = (ways.spread(results, name, each, write) for each in (DECISIONS_RIGHT, TOKENS_PER_JOB))
    return Point(name, "" if name == COLD else ways.WRITE_LABELS[write], right, paid) if right and paid else None


def list_better(point: Point, points: Sequence[Point]) -> list[str]:
    """The rows that decide at least as much right for at most as many tokens, and one of both strictly, under every
    read policy that both were played with: not every backend has a filter to ask with."""
    return [each.name for each in points if each.name != point.name and _dominates(each, point)]


def _dominates(one: Point, other: Point) -> bool:
    # None is no memory, which is the same under every policy, and counts only where no policy is known.
    played = {*one.right.by_read, *other.right.by_read} - {None} or {None}
    reads = [read for read in played if _has(one.right, read) and _has(other.right, read)]
    # Without a price of both there is no lead, so under this policy the one does not beat the other.
    leads = [
        (ways.count(_select_reading(one.right, read)) - ways.count(_select_reading(other.right, read)),
         ways.count(_select_reading(other.paid, read)) - ways.count(_select_reading(one.paid, read)))
        if _has(one.paid, read) and _has(other.paid, read) else (-1.0, -1.0)
        for read in reads
    ]  # fmt: skip
    return all(min(each) >= 0 for each in leads) and any(max(each) > 0 for each in leads)


def _has(row_spread: Spread, read: ReadPolicy | None) -> bool:
    return read in row_spread.by_read or None in row_spread.by_read


def _select_reading(row_spread: Spread, read: ReadPolicy | None) -> Pooled:
    """Without a memory there is one number, whatever the read policy."""
    return row_spread.by_read[read] if read in row_spread.by_read else row_spread.by_read[None]


def describe_frontier(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table."""
    best = [row for row in body if not row[4] and row[0] != NO_MEMORY]
    if not best:
        return "No memory is beaten by none of these: none decides as much right for as few tokens."
    best_rows = words.join_words([f"{row[0]} ({row[2]} right, {row[3]} tokens)" for row in best])
    return (
        f"However the agent reads, no other row beats {best_rows}: more right decisions, or fewer tokens for as many."
    )


def _draw_frontier(results: Results, points: Sequence[Point], starred: str) -> Sheet:
    """Names stand at the right edge, in the order of their points, as these lie close together."""
    sheet, bottom = Sheet(), max(_HEIGHT, _TOP + _NAMES_APART * len(points))
    shares = [share for each in points for share in each.right.shares]
    across = Scale(*_span([value for each in points for value in each.paid.numbers]), _LEFT, _RIGHT, log=True)
    up = Scale(math.floor(min(shares) * 10) / 10, math.ceil(max(shares) * 10) / 10, bottom, _TOP)
    _draw_grid(sheet, across, up)
    # From the top down, as `spread` takes heights in that order.
    drawn = sorted(points, key=lambda each: -sum(each.right.shares))
    heights = spread([up(sum(each.right.shares) / 2) for each in drawn], _NAMES_APART)
    # Names are spread without regard to the edges, so all move by what hangs out below, or stands out above.
    above = max(0.0, heights[-1] - bottom) - max(0.0, _TOP - heights[0])
    for each, height in zip(drawn, heights, strict=True):
        name = NO_MEMORY if each.name == COLD else f"{shorten_name(each.name, 14)}{mark_oracle(results, each.name)}"
        _draw(sheet, each, name, across, up, height - above, beaten=bool(list_better(each, points)))
    if starred:
        sheet.text(0, sheet.height + 12, STAR, colour=SOFT)
    return sheet


def _span(values: Sequence[float]) -> tuple[float, float]:
    """From one to another of 1, 2, 5, 10, 20, 50 ..., around all values."""
    # A logarithmic scale has no place for 0.
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


# --- against no memory: the difference with its interval, in its best write policy ------------------------------------

WORK_NAME, WORK_TITLE = "against-no-memory", "Right decisions against no memory"
WORK_HEADS = ("backend", "write", "read", "stories", "difference", "interval", "adjusted p", "shown")
READ_LOOKS: dict[ReadPolicy, tuple[Shape, str]] = {
    "trusting": ("circle", INK), "newest": ("triangle", VERMILLION), "verifying": ("square", BLUE),
    "careful": ("diamond", GREEN), "filtered": ("cross", VERMILLION), "model": ("diamond", GREEN),
}  # fmt: skip
SAYS = {"right-better": "better", "left-better": "worse", "no-difference-shown": "could be chance"}
_READS_APART = 14


def chart_work(results: Results) -> Chart | None:
    rows = [each for name in rank(results) for each in _list_rows(results, name)]
    if not rows:
        return None
    body = [(f"{show(name)}{mark_oracle(results, name)}", *_tell(each)) for name, each in rows]
    starred = explain_star(results, dict.fromkeys(name for name, _ in rows))
    caption = " ".join(filter(None, [describe_work(body), starred]))
    return finish(_draw_work(results, rows, starred), WORK_NAME, "sure", WORK_TITLE, caption, WORK_HEADS, body)


def _list_rows(results: Results, name: str) -> Iterator[tuple[str, Comparison]]:
    """The comparisons of a row under its own best write policy, in the order of the read policies."""
    comparisons, write = results.against_cold(name, DECISIONS_RIGHT), ways.best_write(results, name)
    for read in ways.list_reads(results):
        if (write, read) in comparisons:
            yield name, comparisons[write, read]


def _tell(each: Comparison) -> tuple[str, ...]:
    ends = (
        f"{words.show_signed(each.interval.low, words.share)} to {words.show_signed(each.interval.high, words.share)}"
        if each.interval
        else ""
    )
    difference = words.show_signed(each.right_value - each.left_value, words.share)
    shown = SAYS[each.verdict] if each.able else "too few stories"
    p = f"{each.adjusted_p:.2g}" if each.able else ""
    return ways.WRITE_LABELS[each.write_policy], each.read_policy, str(each.scenarios), difference, ends, p, shown


def describe_work(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table."""
    parts = []
    for word in ("better", "worse"):
        held = [row for row in body if row[7] == word]
        everywhere = [
            name for name in dict.fromkeys(row[0] for row in body)
            if all(row[7] == word for row in body if row[0] == name)
        ]  # fmt: skip
        some = [name for name in dict.fromkeys(row[0] for row in held) if name not in everywhere]
        if everywhere:
            parts.append(
                f"{word.capitalize()} than no memory whatever the agent takes: {words.join_words(everywhere)}."
            )
        if some:
            parts.append(f"{word.capitalize()} under some ways of reading: {words.join_words(some)}.")
    return " ".join(parts) or "No difference to no memory was shown."


def _draw_work(results: Results, rows: Sequence[tuple[str, Comparison]], starred: str) -> Sheet:
    ends = [abs(end) for _, each in rows if each.interval for end in (each.interval.low, each.interval.high)]
    ends += [abs(each.right_value - each.left_value) for _, each in rows]
    widest = next((step for step in (0.25, 0.5, 0.75) if step >= max(ends)), 1.0)
    sheet, scale, y, last = Sheet(), Scale(-widest, widest, NARROW + 12, 416), 8.0, ""
    for at, read in enumerate(dict.fromkeys(each.read_policy for _, each in rows)):
        shape, colour = READ_LOOKS[read]
        y = 8.0 + 16 * at
        sheet.mark(4, y, shape, colour)
        sheet.text(12, y, ways.READS[read])
    y += 24
    top = y
    for name, each in rows:
        if name != last:
            y += 8 if last else 0
            sheet.text(0, y, f"{shorten_name(name)}{mark_oracle(results, name)}")
            last = name
        shape, colour = READ_LOOKS[each.read_policy]
        sheet.interval(each.interval, scale, y, colour)
        sheet.mark(scale(each.right_value - each.left_value), y, shape, colour)
        y += _READS_APART
    for value in (-widest, 0.0, widest):
        sheet.line((scale(value), top - 10), (scale(value), y), colour=PALE if value else SOFT)
        sheet.text(scale(value), y + 10, words.show_signed(value, words.share), "center", colour=SOFT)
    sheet.text(scale(0) - 10, y + 26, "fewer right decisions", "right", colour=SOFT)
    sheet.text(scale(0) + 10, y + 26, "more than no memory", colour=SOFT)
    if starred:
        sheet.text(0, y + 44, STAR, colour=SOFT)
    return sheet


# --- where they are lost: one bar of all decisions, cut by the stage --------------------------------------------------

LOSSES_NAME, LOSSES_TITLE = "losses", "Where the right decision is lost"
RIGHT = "right"
STAGE_LOOKS: Mapping[Stage, tuple[str, Dash]] = {
    UNTOLD: (PALE, ()),
    UNCAPTURED: (VERMILLION, ()),
    UNCLEAR: (VERMILLION, (0.6, 0.1)),
    UNSCOPED: (VERMILLION, (0.3, 0.1)),
    UNDATED: (VERMILLION, (0.1, 0.1)),
    REPLACED: (INK, ()),
    UNRETRIEVED: (BLUE, ()),
    UNUSED: (BLUE, (0.3, 0.1)),
    ELSEWHERE: (SOFT, (0.1, 0.1)),
}
"""One colour for each part of the way: told, captured, kept, found and used. Dashes are in widths of the bar."""
_THICK, _TALL, _LETTER = 12, 36, 9
StageCounts = Mapping[str, int]
"""Right, then the stages -> decisions."""


def chart_losses(results: Results) -> Chart | None:
    rows = {name: counts for name in rank(results) if (counts := _count_stages(results.backends[name]))}
    if not rows:
        return None
    heads = ("backend", "decisions", RIGHT, *(stage.called for stage in STAGES))
    body = [(show(name), str(sum(own.values())), *map(str, own.values())) for name, own in rows.items()]
    return finish(_draw_losses(rows), LOSSES_NAME, LOST.id, LOSSES_TITLE, describe_losses(body), heads, body)


def _count_stages(row: Row) -> StageCounts:
    """Empty where it is not known of every story; under the primary conditions."""
    names = {RIGHT: DECISIONS_RIGHT} | {stage.called: f"lost_{stage.name}" for stage in STAGES}
    measures = {called: row.measures.get(name) for called, name in names.items()}
    counts = {called: round(each.hits) for called, each in measures.items() if each and each.hits is not None}
    # Of unequal decisions the parts would not add up to one bar.
    of = {each.of for each in measures.values() if each}
    return counts if len(counts) == len(names) and len(of) == 1 else {}


def describe_losses(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: where each loses most."""
    parts = []
    for name, of, _, *lost in body:
        counts = dict(zip((stage.called for stage in STAGES), map(int, lost), strict=True))
        if most := max(counts.values()):
            where = words.join_words([called for called, n in counts.items() if n == most])
            parts.append(f"{name}: {words.count(most, int(of))} {where}")
    return f"Most decisions are lost here: {'; '.join(parts)}." if parts else "No row lost a decision."


def _draw_losses(rows: Mapping[str, StageCounts]) -> Sheet:
    sheet, y = Sheet(), 12.0
    keys: list[tuple[str, str, Dash]] = [
        (RIGHT, GREEN, ()),
        *((stage.called, *look) for stage, look in STAGE_LOOKS.items()),
    ]
    for name, counts in rows.items():
        scale, done = Scale(0, sum(counts.values()), NARROW, WIDTH - 4), 0
        sheet.text(0, y, shorten_name(name))
        # There are more letters than stages.
        for letter, (called, colour, dash) in zip(string.ascii_lowercase, keys, strict=False):
            begin, end = scale(done), scale(done := done + counts[called])
            if counts[called]:
                sheet.line((begin, y), (end, y), colour=colour, width=_THICK, dash=dash)
            if end - begin > _LETTER:
                label = f"{letter} {counts[called]}" if end - begin > 4 * _LETTER else letter
                sheet.text((begin + end) / 2, y + 15, label, "center", colour=SOFT)
        y += _TALL
    for letter, (called, colour, dash) in zip(string.ascii_lowercase, keys, strict=False):
        sheet.line((4, y), (24, y), colour=colour, width=_THICK, dash=dash)
        sheet.text(32, y, f"{letter}: {called}")
        y += 16
    return sheet
