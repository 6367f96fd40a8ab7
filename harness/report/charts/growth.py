"""What becomes of a backend as its memory grows: recall, stale exposure, time and bytes, over noise and over size."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.metrics.footprint import Sample, What
from harness.metrics.recall import RECALL
from harness.model.backend import SOUND
from harness.model.results import Contrast, Pooled, Results
from harness.report import words
from harness.report.charts.chart import (
    CONTROLS,
    INK,
    PALE,
    SOFT,
    VERMILLION,
    WARM,
    WIDTH,
    Chart,
    Scale,
    Sheet,
    count,
    finish,
    format_interval,
    parse_counts,
    rank,
    shorten_name,
    show,
    tell,
)
from harness.report.charts.cost import compact
from harness.report.model import table, ways
from harness.report.model.contrasts import Level

# --- a row of four curves for each backend ----------------------------------------------------------------------------

GROWTH_NAME, GROWTH_TITLE = "growth", "As the memory grows: recall, stale exposure, time and bytes"
GROWTH_HEADS = ("backend", "noise", "stories", "recalled", "shown stale", "recall, ms", "stored, kB")
NO_SAMPLE = "no sample"
_CURVE_LEFT, _CURVE_TALL, _CURVE_GAP = 78, 84, 22


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


def chart_growth(levels: Sequence[Level]) -> Chart | None:
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
    return finish(
        _draw_growth(levels), GROWTH_NAME, "growth", GROWTH_TITLE, describe_growth(levels), GROWTH_HEADS, body
    )


def describe_growth(levels: Sequence[Level]) -> str:
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


def _draw_growth(levels: Sequence[Level]) -> Sheet:
    sheet, step = Sheet(), (WIDTH - _CURVE_LEFT) / len(COLUMNS)
    names = list(dict.fromkeys(each.backend for each in levels))
    sizes = sorted({each.noise for each in levels})
    # There are several levels or none, so one of them is above 0.
    least = min(size for size in sizes if size)
    # A logarithmic scale has no 0, which is drawn a power of ten below the least.
    across = Scale(least / 10 if 0 in sizes else least, max(*sizes, least * 10), 6, step - _CURVE_GAP, log=True)
    bottom = 28 + len(names) * _CURVE_TALL
    for column, each in enumerate(COLUMNS):
        left = _CURVE_LEFT + step * column
        sheet.text(left, 8, each.head, bold=True)
        known = [value for level in levels if (value := each.value(level)) is not None]
        up = Scale(0, 1, 72, 30) if column < SHARES else Scale.decades(known, 72, 30)
        for row, name in enumerate(names):
            own = [level for level in levels if level.backend == name]
            _draw_curve(sheet, own, each, (left, 22 + row * _CURVE_TALL), across, up)
        for size in dict.fromkeys((sizes[0], sizes[-1])):
            sheet.text(left + across(size), bottom, compact(size), "center", colour=SOFT)
    for row, name in enumerate(names):
        sheet.text(0, 34 + row * _CURVE_TALL, shorten_name(name, 10), bold=True)
    sheet.text(0, bottom, "noise:", colour=SOFT)
    sheet.text(0, bottom + 20, "Pale lines: none and all; of time and bytes ten times the one below.", colour=SOFT)
    return sheet


def _draw_curve(
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
    # One number, if the last equals the first.
    ends = dict.fromkeys((known[0][1], known[-1][1]))
    shown = [f"{value:.0%}" if not up.log else words.format_number(value) for value in ends]
    sheet.text(left, top + 12, "\u2192".join(shown))
    places = [(left + across(each.noise), top + up(value)) for each, value in known]
    if len(places) > 1:
        sheet.line(*places, colour=column.colour)
    for x, y in places:
        sheet.mark(x, y, "circle", column.colour, size=5)


# --- over noise: one small picture a backend, from the fewest unrelated memories to the most --------------------------

NOISE_NAME, NOISE_TITLE = "recall-by-noise", "Answers recalled, by how much noise is in the memory"
NOISE_HEADS = ("backend", "stories", "noise", "recalled", "interval")
ACROSS, _RECALL_TALL = 3, 136


def chart_noise(results: Results) -> Chart | None:
    conditions = results.run.conditions
    chosen: dict[str, list[Contrast]] = {}
    for each in results.contrasts:
        if (each.write_policy, each.read_policy) == (ways.best_write(results, each.backend), conditions.headline_read):
            chosen.setdefault(each.backend, []).append(each)
    rows = {
        name: sorted(chosen[name], key=lambda each: each.noise) for name in table.list_rows(results) if name in chosen
    }
    if not any(len(each) > 1 for each in rows.values()):
        return None
    body = [
        (show(name), str(recall.scenarios), str(each.noise), tell(recall), format_interval(recall))
        for name, levels in rows.items()
        for each in levels
        for recall in [each.measures[RECALL]]
    ]
    real = {show(name) for name in rows if table.group(results, name) == "ranked"}
    sheet = Sheet()
    for aside in (False, True):
        mine = [name for name in rows if (table.group(results, name) == "control") == aside]
        top = sheet.height + 6
        if mine and aside:
            sheet.text(0, top, CONTROLS, colour=SOFT, italic=True)
            top += 18
        for at, name in enumerate(mine):
            points = [(each.noise, each.measures[RECALL]) for each in rows[name]]
            _draw_recall(sheet, WIDTH / ACROSS * (at % ACROSS), top + at // ACROSS * _RECALL_TALL, name, points)
    sheet.text(0, sheet.height + 6, "upper line: all answers; lower line: none", colour=SOFT)
    caption = f"{describe_noise([row for row in body if row[0] in real])} {ways.tell_best(results)}"
    return finish(sheet, NOISE_NAME, "recalled", NOISE_TITLE, caption, NOISE_HEADS, body)


def describe_noise(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: of each backend its counts at the least and the most noise."""
    if not body:
        return "Only controls were played at several levels."
    levels = sorted({int(row[2]) for row in body})
    first, last = (
        {row[0]: row[3] for row in body if row[2] == str(level)} for level in (levels[0], levels[-1])
    )  # fmt: skip
    groups: dict[str, list[str]] = {}
    for name in first:
        if (one := parse_counts(first[name])) and (other := parse_counts(last.get(name, ""))):
            change = other[0] / other[1] - one[0] / one[1]
            word = "fewer" if change < 0 else "more" if change > 0 else "as many"
            groups.setdefault(word, []).append(f"{name} ({last[name]} against {first[name]})")
    parts = [f"{word} with {words.join_words(groups[word])}" for word in ("fewer", "more", "as many") if word in groups]
    if not parts:
        return "What noise does was not measured."
    return f"Among {levels[-1]} unrelated memories, against {levels[0]}, answers recalled were {'; '.join(parts)}."


def _draw_recall(sheet: Sheet, left: float, top: float, name: str, points: Sequence[tuple[int, Pooled]]) -> None:
    """Levels stand side by side, not to scale: their words say what they are."""
    sheet.text(left, top + 4, count(name, max(pooled.scenarios for _, pooled in points)), bold=True)
    across = Scale(0, max(len(points) - 1, 1), left + 26, left + WIDTH / ACROSS - 44)
    up = Scale(0, 1, top + 82, top + 20)
    for share in (0, 1):
        sheet.line((left, up(share)), (left + WIDTH / ACROSS - 18, up(share)), colour=PALE)
    known = [(across(at), up(pooled.value)) for at, (_, pooled) in enumerate(points) if pooled.value is not None]
    if len(known) > 1:
        sheet.line(*known, colour=WARM)
    for at, (noise, pooled) in enumerate(points):
        x = across(at)
        if pooled.value is not None:
            sheet.interval(pooled.interval, up, x, WARM, upright=True)
            sheet.mark(x, up(pooled.value), "circle", WARM, hollow=at == 0)
        if at in (0, len(points) - 1):
            sheet.text(x, top + 96, f"noise {noise}" if at == 0 else f"{noise:,}", "center", colour=SOFT)
            sheet.text(x, top + 110, tell(pooled), "center", italic=pooled.value is None)


# --- over size: time and storage, of the machine that played; they rank nobody ----------------------------------------

SIZE_NAME, SIZE_TITLE = "time-and-storage", "Time and storage by number of memories, on the machine of this run"
SIZE_HEADS = ("backend", "what", "memories", "samples", "median", "middle half")
WHATS: Mapping[What, str] = {"recall": "one recall, ms", "write": "one write, ms", "storage": "stored, kB"}
UNIT: Mapping[What, float] = {"recall": 1e-3, "write": 1e-3, "storage": 1e3}
NOUNS: Mapping[What, str] = {"recall": "recall", "write": "write", "storage": "look"}
_SIZE_LEFT, _SIZE_TALL = 104, 82


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


def chart_footprint(results: Results, samples: Iterable[Sample]) -> Chart | None:
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
            show(name), head, each.sizes, str(each.n), words.format_number(each.value),
            f"{words.format_number(each.low)} to {words.format_number(each.high)}" if each.n > 1 else "",
        )
        for name in names
        for what, head in WHATS.items()
        for each in table[name, what]
    ]  # fmt: skip
    body += [(show(name), WHATS[what], "", "0", NO_SAMPLE, "") for (name, what), found in table.items() if not found]
    # A stable sort: what has no sample joins the other rows of its backend.
    body.sort(key=lambda row: [show(name) for name in names].index(row[0]))
    return finish(
        _draw_footprint(names, table), SIZE_NAME, "cost", SIZE_TITLE, describe_footprint(body), SIZE_HEADS, body
    )


def list_points(samples: Iterable[Sample]) -> list[SizePoint]:
    """Of one kind of samples: half a power of ten of memories is one point; an empty store is none."""
    grouped: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.memories:
            # Against rounding, so that a whole power of ten begins a point of its own.
            grouped.setdefault(math.floor(2 * math.log10(sample.memories) + 1e-9), []).append(sample)
    points = []
    for _, group in sorted(grouped.items()):
        values = sorted(sample.value / UNIT[sample.what] for sample in group)
        sizes = [sample.memories for sample in group]
        # `quantiles` wants two values.
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        points.append(SizePoint(min(sizes), max(sizes), statistics.median(sizes), len(values), middle, low, high))
    return points


def describe_footprint(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: of each backend the recall among the most memories."""
    last = {row[0]: row for row in body if row[1] == WHATS["recall"] and row[4] != NO_SAMPLE}
    among: dict[str, list[str]] = {}
    for row in last.values():
        among.setdefault(row[2], []).append(f"{row[0]} {row[4]} ms")
    parts = [f"among {sizes} memories {words.join_words(each)}" for sizes, each in among.items()]
    sentence = f"Median time of a recall, {'; '.join(parts)}. " if parts else ""
    return f"{sentence}Times and bytes are those of the machine that played: no ranking."


def _draw_footprint(names: Sequence[str], table: Mapping[tuple[str, What], list[SizePoint]]) -> Sheet:
    sheet = Sheet()
    step = (WIDTH - _SIZE_LEFT) / len(WHATS)
    across = Scale.decades([point.at for points in table.values() for point in points], 4, step - 30)
    bottom = 28 + len(names) * _SIZE_TALL
    for column, (what, head) in enumerate(WHATS.items()):
        left = _SIZE_LEFT + step * column
        points = [point for name in names for point in table[name, what]]
        up = Scale.decades([value for point in points for value in (point.low, point.high)], 68, 26)
        sheet.text(left, 8, head, bold=True)
        for row, name in enumerate(names):
            _draw_sizes(sheet, table[name, what], (left, 22 + row * _SIZE_TALL), across, up)
        for power in across.powers():
            sheet.text(left + across(power), bottom, compact(power), "center", colour=SOFT)
    for row, name in enumerate(names):
        top = 22 + row * _SIZE_TALL
        sheet.text(0, top + 12, shorten_name(name, 10), bold=True)
        for nth, (what, noun) in enumerate(NOUNS.items()):
            n = sum(point.n for point in table[name, what])
            sheet.text(0, top + 27 + nth * 14, words.format_count(n, noun), colour=SOFT)
    sheet.text(0, bottom, "memories:", colour=SOFT)
    sheet.text(0, bottom + 20, "Each pale line is ten times the one below. Bars: the middle half.", colour=SOFT)
    sheet.text(0, bottom + 35, "A write: the time of a call by the number of memories in it.", colour=SOFT)
    return sheet


def _draw_sizes(sheet: Sheet, points: Sequence[SizePoint], at: tuple[float, float], across: Scale, up: Scale) -> None:
    """The medians as a line over sizes; above it the first and the last of them."""
    left, top = at
    if not points:
        sheet.text(left, top + 12, NO_SAMPLE, italic=True, colour=SOFT)
        return
    for power in up.powers():
        sheet.line((left, top + up(power)), (left + across.end, top + up(power)), colour=PALE, width=0.8)
    ends = dict.fromkeys((points[0], points[-1]))
    sheet.text(left, top + 12, " \u2192 ".join(words.format_number(point.value) for point in ends))
    places = [(left + across(point.at), top + up(point.value)) for point in points]
    if len(places) > 1:
        sheet.line(*places, colour=WARM)
    for point, (x, y) in zip(points, places, strict=True):
        if point.n > 1:
            sheet.line((x, top + up(point.low)), (x, top + up(point.high)), colour=INK, width=2.5)
        sheet.mark(x, y, "circle", WARM, size=5)
