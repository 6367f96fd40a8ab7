"""Right decisions of each row against no memory: the difference with its interval, in its best write policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Comparison, Results
from harness.model.trial import ReadPolicy
from harness.report import words
from harness.report.charts.chart import NARROW, STAR, Chart, explain_star, finish, mark_oracle, rank, shorten_name, show
from harness.report.charts.sheet import BLUE, GREEN, INK, PALE, SOFT, VERMILLION, Scale, Shape, Sheet
from harness.report.model import ways

NAME, TITLE = "against-no-memory", "Right decisions against no memory"
HEADS = ("backend", "write", "read", "stories", "difference", "interval", "adjusted p", "shown")
LOOKS: dict[ReadPolicy, tuple[Shape, str]] = {
    "trusting": ("circle", INK), "newest": ("triangle", VERMILLION), "verifying": ("square", BLUE),
    "careful": ("diamond", GREEN), "filtered": ("cross", VERMILLION), "model": ("diamond", GREEN),
}  # fmt: skip
SAYS = {"right-better": "better", "left-better": "worse", "no-difference-shown": "could be chance"}
_APART = 14


def chart(results: Results) -> Chart | None:
    rows = [each for name in rank(results) for each in _list_rows(results, name)]
    if not rows:
        return None
    body = [(f"{show(name)}{mark_oracle(results, name)}", *_tell(each)) for name, each in rows]
    starred = explain_star(results, dict.fromkeys(name for name, _ in rows))
    caption = " ".join(filter(None, [describe(body), starred]))
    return finish(_draw_sheet(results, rows, starred), NAME, "sure", TITLE, caption, HEADS, body)


def _list_rows(results: Results, name: str) -> Iterator[tuple[str, Comparison]]:
    """The comparisons of a row under its own best write policy, in the order of the read policies."""
    found, write = results.against_cold(name, DECISIONS_RIGHT), ways.best_write(results, name)
    for read in ways.list_reads(results):
        if (write, read) in found:
            yield name, found[write, read]


def _tell(each: Comparison) -> tuple[str, ...]:
    ends = (
        f"{words.show_signed(each.interval.low, words.share)} to {words.show_signed(each.interval.high, words.share)}"
        if each.interval
        else ""
    )
    difference = words.show_signed(each.right_value - each.left_value, words.share)
    shown = SAYS[each.verdict] if each.able else "too few stories"
    p = f"{each.adjusted_p:.2g}" if each.able else ""
    return ways.WRITES[each.write_policy], each.read_policy, str(each.scenarios), difference, ends, p, shown


def describe(body: Sequence[Sequence[str]]) -> str:
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


def _draw_sheet(results: Results, rows: Sequence[tuple[str, Comparison]], starred: str) -> Sheet:
    ends = [abs(end) for _, each in rows if each.interval for end in (each.interval.low, each.interval.high)]
    ends += [abs(each.right_value - each.left_value) for _, each in rows]
    widest = next((step for step in (0.25, 0.5, 0.75) if step >= max(ends)), 1.0)
    sheet, scale, y, last = Sheet(), Scale(-widest, widest, NARROW + 12, 416), 8.0, ""
    for at, read in enumerate(dict.fromkeys(each.read_policy for _, each in rows)):
        shape, colour = LOOKS[read]
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
        shape, colour = LOOKS[each.read_policy]
        sheet.interval(each.interval, scale, y, colour)
        sheet.mark(scale(each.right_value - each.left_value), y, shape, colour)
        y += _APART
    for value in (-widest, 0.0, widest):
        sheet.line((scale(value), top - 10), (scale(value), y), colour=PALE if value else SOFT)
        sheet.text(scale(value), y + 10, words.show_signed(value, words.share), "center", colour=SOFT)
    sheet.text(scale(0) - 10, y + 26, "fewer right decisions", "right", colour=SOFT)
    sheet.text(scale(0) + 10, y + 26, "more than no memory", colour=SOFT)
    if starred:
        sheet.text(0, y + 44, STAR, colour=SOFT)
    return sheet
