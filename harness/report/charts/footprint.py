"""Time and storage against size: what the logs hold of the machine that played. It ranks nobody."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.metrics.footprint import Sample, What
from harness.model.backend import SOUND
from harness.model.results import Results
from harness.report import words
from harness.report.charts.chart import WARM, Chart, finish, rank, shorten_name, show
from harness.report.charts.cost_chart import compact
from harness.report.charts.sheet import INK, PALE, SOFT, WIDTH, Scale, Sheet

NAME, TITLE = "time-and-storage", "Time and storage by number of memories, on the machine of this run"
HEADS = ("backend", "what", "memories", "samples", "median", "middle half")
WHATS: Mapping[What, str] = {"recall": "one recall, ms", "write": "one write, ms", "storage": "stored, kB"}
UNIT: Mapping[What, float] = {"recall": 1e-3, "write": 1e-3, "storage": 1e3}
NOUNS: Mapping[What, str] = {"recall": "recall", "write": "write", "storage": "look"}
NO_SAMPLE = "no sample"
_LEFT, _TALL = 104, 82


@dataclass(frozen=True)
class SizePoint:
    """The samples of one range of sizes; value, low and high in the unit of the panel: median and middle half."""

    least: int
    most: int
    at: float
    n: int
    value: float
    low: float
    high: float

    @property
    def sizes(self) -> str:
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


def chart(results: Results, samples: Iterable[Sample]) -> Chart | None:
    """Of backends, and of the sound reference of the drills; controls store nothing that anyone would buy."""
    names = rank(results)
    grouped: dict[tuple[str, What], list[Sample]] = {}
    for sample in samples:
        grouped.setdefault((sample.backend, sample.what), []).append(sample)
    drilled = sorted({name for name, _ in grouped} - set(results.backends))
    names += [name for name in drilled if name != SOUND] + [name for name in drilled if name == SOUND]
    table = {(name, what): list_points(grouped.get((name, what), ())) for name in names for what in WHATS}
    if not any(table.values()):
        return None
    body = [
        (
            show(name), said, each.sizes, str(each.n), words.format_number(each.value),
            f"{words.format_number(each.low)} to {words.format_number(each.high)}" if each.n > 1 else "",
        )
        for name in names
        for what, said in WHATS.items()
        for each in table[name, what]
    ]  # fmt: skip
    body += [(show(name), WHATS[what], "", "0", NO_SAMPLE, "") for (name, what), found in table.items() if not found]
    body.sort(key=lambda row: [show(name) for name in names].index(row[0]))
    return finish(_draw_sheet(names, table), NAME, "cost", TITLE, describe(body), HEADS, body)


def list_points(samples: Iterable[Sample]) -> list[SizePoint]:
    """Of one kind of samples: half a power of ten of memories is one point; an empty store is none."""
    grouped: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.memories:
            grouped.setdefault(math.floor(2 * math.log10(sample.memories) + 1e-9), []).append(sample)
    found = []
    for _, group in sorted(grouped.items()):
        values = sorted(sample.value / UNIT[sample.what] for sample in group)
        sizes = [sample.memories for sample in group]
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        found.append(SizePoint(min(sizes), max(sizes), statistics.median(sizes), len(values), middle, low, high))
    return found


def describe(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: of each backend the recall among the most memories."""
    last = {row[0]: row for row in body if row[1] == WHATS["recall"] and row[4] != NO_SAMPLE}
    among: dict[str, list[str]] = {}
    for row in last.values():
        among.setdefault(row[2], []).append(f"{row[0]} {row[4]} ms")
    parts = [f"among {sizes} memories {words.join_words(each)}" for sizes, each in among.items()]
    sentence = f"Median time of a recall, {'; '.join(parts)}. " if parts else ""
    return f"{sentence}Times and bytes are those of the machine that played: no ranking."


def _draw_sheet(names: Sequence[str], table: Mapping[tuple[str, What], list[SizePoint]]) -> Sheet:
    sheet = Sheet()
    step = (WIDTH - _LEFT) / len(WHATS)
    across = Scale.decades([point.at for found in table.values() for point in found], 4, step - 30)
    bottom = 28 + len(names) * _TALL
    for column, (what, head) in enumerate(WHATS.items()):
        left = _LEFT + step * column
        found = [point for name in names for point in table[name, what]]
        up = Scale.decades([value for point in found for value in (point.low, point.high)], 68, 26)
        sheet.text(left, 8, head, bold=True)
        for row, name in enumerate(names):
            _draw_panel(sheet, table[name, what], (left, 22 + row * _TALL), across, up)
        for power in across.powers():
            sheet.text(left + across(power), bottom, compact(power), "center", colour=SOFT)
    for row, name in enumerate(names):
        top = 22 + row * _TALL
        sheet.text(0, top + 12, shorten_name(name, 10), bold=True)
        for nth, (what, noun) in enumerate(NOUNS.items()):
            n = sum(point.n for point in table[name, what])
            sheet.text(0, top + 27 + nth * 14, words.format_count(n, noun), colour=SOFT)
    sheet.text(0, bottom, "memories:", colour=SOFT)
    sheet.text(0, bottom + 20, "Each pale line is ten times the one below. Bars: the middle half.", colour=SOFT)
    sheet.text(0, bottom + 35, "A write: the time of a call by the number of memories in it.", colour=SOFT)
    return sheet


def _draw_panel(sheet: Sheet, found: Sequence[SizePoint], at: tuple[float, float], across: Scale, up: Scale) -> None:
    """The medians as a line over sizes; above it the first and the last of them."""
    left, top = at
    if not found:
        sheet.text(left, top + 12, NO_SAMPLE, italic=True, colour=SOFT)
        return
    for power in up.powers():
        sheet.line((left, top + up(power)), (left + across.end, top + up(power)), colour=PALE, width=0.8)
    ends = dict.fromkeys((found[0], found[-1]))
    sheet.text(left, top + 12, " \u2192 ".join(words.format_number(point.value) for point in ends))
    places = [(left + across(point.at), top + up(point.value)) for point in found]
    if len(places) > 1:
        sheet.line(*places, colour=WARM)
    for point, (x, y) in zip(found, places, strict=True):
        if point.n > 1:
            sheet.line((x, top + up(point.low)), (x, top + up(point.high)), colour=INK, width=2.5)
        sheet.mark(x, y, "circle", WARM, size=5)
