"""What policies change: from append to curated writing, or over all ways to write and to read that were played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.metrics.acting import STALE_USE
from harness.metrics.calls import MEMORY_CALLS
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.dropped import DROPPED
from harness.metrics.missed import MISSED_KNOWN
from harness.metrics.recall import PAST
from harness.metrics.tokens import TOKENS_TOTAL
from harness.model.results import Pooled, Results
from harness.model.trial import SCRIPTED_READS, USUAL_WRITES, ReadPolicy, WritePolicy
from harness.report.charts.chart import (
    BLUE,
    GREEN,
    INK,
    PALE,
    SOFT,
    VERMILLION,
    WIDTH,
    Chart,
    Dash,
    Scale,
    Shape,
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
from harness.report.model import ways

# --- the usual ways of writing, as slopes: one line a read policy -----------------------------------------------------

POLICIES_NAME, POLICIES_TITLE = "policies", "What it changes how memory is written and read"
POLICIES_HEADS = (
    "backend", "stories", "write", "read", "acted on stale", "interval", "decided right", "interval",
)  # fmt: skip
BEST = " (best)"
"""Stands behind the write policy under which a row decides best."""
# Two of them, as a slope has two ends: the places below are written for two.
WRITES = USUAL_WRITES
MEASURES = {STALE_USE: "acted on stale", DECISIONS_RIGHT: "decided right"}
LOOK: Mapping[ReadPolicy, tuple[Shape, str, Dash]] = {
    "trusting": ("circle", INK, ()),
    "newest": ("triangle", VERMILLION, (5.0, 3.0)),
    "verifying": ("square", BLUE, (1.5, 2.0)),
    "careful": ("diamond", GREEN, (6.0, 2.0, 1.5, 2.0)),
    "filtered": ("cross", VERMILLION, (3.0, 3.0)),
}
_TALL, _APART = 112, 13
PolicyTable = Mapping[tuple[str, WritePolicy, ReadPolicy], Mapping[str, Pooled]]


def chart_policies(results: Results) -> Chart | None:
    noise = results.run.conditions.headline_noise
    table = {
        (each.backend, each.write_policy, each.read_policy): each.measures
        for each in results.contrasts
        if each.noise == noise and each.read_policy in LOOK
    }
    names = [name for name in rank(results) if any(key[0] == name for key in table)]
    if not names or not ways.are_usual(results):  # the chart of all ways has them
        return None
    best = {name: ways.best_write(results, name) for name in names}
    body = [
        (
            show(name), str(measures[DECISIONS_RIGHT].scenarios),
            f"{ways.WRITE_LABELS[write]}{BEST if write == best[name] else ''}", read, tell(measures[STALE_USE]),
            format_interval(measures[STALE_USE]), tell(measures[DECISIONS_RIGHT]),
            format_interval(measures[DECISIONS_RIGHT]),
        )
        for name in names
        for write in sorted(WRITES, key=lambda write: write != best[name])
        for read in LOOK
        if (measures := table.get((name, write, read))) is not None
    ]  # fmt: skip
    return finish(
        _draw_policies(names, table, best),
        POLICIES_NAME,
        "policies",
        POLICIES_TITLE,
        describe_policies(body),
        POLICIES_HEADS,
        body,
    )


def describe_policies(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: decisions acted on stale rules in the write policy that suits a row best, beside the
    other one, and how much of them is up to the reader."""
    names = list(dict.fromkeys(row[0] for row in body))
    best, other = ({name: _reach(body, name, best=best) for name in names} for best in (True, False))
    sentences = [
        f"{name} {best[name]}" + (f" instead of {other[name]}" if other[name] else "") for name in names if best[name]
    ]  # fmt: skip
    if not sentences:
        return "Decisions acted on stale rules were not measured."
    return (
        "Decisions acted on stale rules, over the ways to read, written as suits each backend best"
        f"{' instead of the other way' if any(other.values()) else ''}: {'; '.join(sentences)}."
    )


def _reach(body: Sequence[Sequence[str]], name: str, *, best: bool) -> str:
    """`look up 4\u20139/60`; empty if it has no number."""
    rows = [row for row in body if row[0] == name and row[2].endswith(BEST) == best]
    found = [known for row in rows if (known := parse_counts(row[4]))]
    # Over unequal numbers of cases a range would have no denominator.
    if not found or len({of for _, of in found}) > 1:
        return ""
    hits = [known[0] for known in found]
    return f"{rows[0][2].removesuffix(BEST)} {ways.show_range(min(hits), max(hits))}/{found[0][1]:,}"


def _draw_policies(names: Sequence[str], table: PolicyTable, best: Mapping[str, WritePolicy]) -> Sheet:
    sheet, half = Sheet(), WIDTH / 2
    for at, head in enumerate(MEASURES.values()):
        sheet.text(half * at, 8, head, bold=True)
        for x, write in zip((50, 104), WRITES, strict=True):
            if any(key[1] == write for key in table):
                sheet.text(half * at + x, 24, ways.WRITE_LABELS[write], "center", colour=SOFT)
    for row, name in enumerate(names):
        top = 40 + row * _TALL
        n = max(pooled.scenarios for key, measures in table.items() if key[0] == name for pooled in measures.values())
        sheet.text(0, top + 6, count(name, n), bold=True)
        sheet.text(WIDTH / 2, top + 6, f"decides best by: {ways.WRITE_LABELS[best[name]]}", colour=SOFT)
        for at, measure in enumerate(MEASURES):
            _draw_panel(sheet, half * at, top + 16, {key[1:]: m[measure] for key, m in table.items() if key[0] == name})
    sheet.text(0, sheet.height + 10, "upper line: all decisions; lower line: none", colour=SOFT)
    return sheet


def _shift(nth: int) -> float:
    """How far the mark of a way of reading stands from the middle of all, so that none hides another."""
    return (nth - (len(LOOK) - 1) / 2) * 4


def _draw_panel(
    sheet: Sheet, left: float, top: float, told_of: Mapping[tuple[WritePolicy, ReadPolicy], Pooled]
) -> None:
    """From none at the bottom to all at the top; words on the right keep their distance."""
    up, ends = Scale(0, 1, top + 80, top + 4), (left + 57, left + 95)
    for share in (0, 1):
        sheet.line((left + 48, up(share)), (left + 104, up(share)), colour=PALE)
    last = max(at for at, write in enumerate(WRITES) if any(key[0] == write for key in told_of))
    for at, write in enumerate(WRITES):
        labels = []
        for nth, read in enumerate(LOOK):
            pooled = told_of.get((write, read))
            if pooled is not None:
                shape, colour, _ = LOOK[read]
                x = ends[at] + _shift(nth)
                if pooled.value is not None:
                    sheet.interval(pooled.interval, up, x, colour, upright=True)
                    sheet.mark(x, up(pooled.value), shape, colour, size=6)
                labels.append((pooled.value, read, tell(pooled)))
        _draw_labels(sheet, labels, up, ends[at] + 13 if at == last else left + 44, on_right=at == last)
    for nth, read in enumerate(LOOK):
        first, then = (told_of.get((write, read)) for write in WRITES)
        if first and then and first.value is not None and then.value is not None:
            shift = _shift(nth)
            _, colour, dash = LOOK[read]
            sheet.line(
                (ends[0] + shift, up(first.value)),
                (ends[1] + shift, up(then.value)),
                colour=colour,
                dash=dash,
                width=1.5,
            )


def _draw_labels(
    sheet: Sheet, labels: Sequence[tuple[float | None, str, str]], up: Scale, x: float, *, on_right: bool
) -> None:
    """Values beside their marks, one for all if all are the same, moved apart where they would touch."""
    if len({(value, text) for value, _, text in labels}) == 1 < len(labels):
        labels = [(labels[0][0], "all" if on_right else "", labels[0][2])]
    # Below every share, so that what has no number stands last.
    rows = sorted(labels, key=lambda row: -1.0 if row[0] is None else row[0], reverse=True)
    heights = spread([up(0.5 if value is None else value) for value, _, _ in rows], _APART)
    for y, (value, read, text) in zip(heights, rows, strict=True):
        who = f"{read} " if on_right else ""
        known = value is not None
        sheet.text(
            x, y, f"{who}{text}", "left" if on_right else "right", italic=not known, colour=INK if known else SOFT
        )


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Heights from top to bottom, moved as little as it takes to keep their distance."""
    placed: list[list[float]] = []  # clusters of neighbours that would touch
    for height in wanted:
        placed.append([height])
        while len(placed) > 1 and _start(placed[-1], apart) < _start(placed[-2], apart) + apart * len(placed[-2]):
            last = placed.pop()
            placed[-1] += last
    return [_start(each, apart) + apart * nth for each in placed for nth in range(len(each))]


def _start(cluster: Sequence[float], apart: float) -> float:
    return sum(cluster) / len(cluster) - apart * (len(cluster) - 1) / 2


# --- more than the usual ways: right decisions of each backend by both ------------------------------------------------

WAYS_NAME, WAYS_TITLE = "ways", "Ways to write, down, and ways to read, across"
WAYS_HEADS = (
    "backend", "write", *(f"right: {read}" for read in SCRIPTED_READS), "acted on stale", "missed though known",
    "true memories dropped", "past rules recalled", "tokens a story", "calls a story",
)  # fmt: skip
BESIDE_RIGHT = (STALE_USE, MISSED_KNOWN, DROPPED, PAST, TOKENS_TOTAL, MEMORY_CALLS)
_LEFT, _RIGHT, _ROW = 130.0, 330.0, 20.0


def chart_ways(results: Results) -> Chart | None:
    if ways.are_usual(results):  # the chart of slopes has them
        return None
    names = [name for name in rank(results) if ways.spreads(results, name, DECISIONS_RIGHT)]
    if not names:
        return None
    body = [row for name in names for row in _list_ways(results, name)]
    return finish(
        _draw_ways(results, names), WAYS_NAME, "policies", WAYS_TITLE, describe_ways(results, names), WAYS_HEADS, body
    )


def _list_ways(results: Results, name: str) -> Iterator[tuple[str, ...]]:
    """One line a way of writing; a range is over the ways of reading."""
    for spread in ways.spreads(results, name, DECISIONS_RIGHT):
        assert spread.write is not None, "rows with a memory have a way of writing"
        reads = (_tell_way(results, name, DECISIONS_RIGHT, spread.write, read) for read in SCRIPTED_READS)
        others = (_tell_way(results, name, measure, spread.write) for measure in BESIDE_RIGHT)
        yield show(name), ways.WRITE_LABELS[spread.write], *reads, *others


def _tell_way(results: Results, name: str, measure: str, write: WritePolicy, read: ReadPolicy | None = None) -> str:
    spread = ways.spread(results, name, measure, write)
    if spread is None:
        return ""
    if read is not None:
        pooled = spread.by_read.get(read)
        if pooled is None:
            return "unsupported" if read in ways.list_reads(results) else ""
        return f"{ways.count(pooled):g}/{pooled.of:,}"
    return f"{spread.text}/{spread.of:,}" if spread.first.hits is not None and spread.of else spread.text


def describe_ways(results: Results, names: Sequence[str]) -> str:
    """Of each backend the way of writing that is right most often, whatever the agent takes."""
    sentences = []
    for name in names:
        write = ways.best_write(results, name)
        if spread := ways.spread(results, name, DECISIONS_RIGHT, write):
            of = f"/{spread.of:,}" if spread.of else ""
            sentences.append(f"{show(name)} {ways.WRITE_LABELS[write]} {spread.text}{of}")
    return (
        f"Right decisions under the way of writing that suits each backend best: {'; '.join(sentences)}."
        if sentences
        else ""
    )


def _draw_ways(results: Results, names: Sequence[str]) -> Sheet:
    """A line for each way of writing, a mark on it for each way of reading."""
    sheet, along = Sheet(), Scale(0, 1, _LEFT, _RIGHT)
    step = WIDTH / len(LOOK)
    for at, (read, (shape, colour, _)) in enumerate(LOOK.items()):
        sheet.mark(6 + step * at, 8, shape, colour)
        sheet.text(18 + step * at, 8, read, colour=SOFT)
    y = 34.0
    for name in names:
        sheet.text(0, y, shorten_name(name, 40), bold=True)
        for spread in ways.spreads(results, name, DECISIONS_RIGHT):
            y += _ROW
            sheet.text(8, y, ways.WRITE_LABELS[spread.write] if spread.write else "", colour=INK)
            sheet.line((_LEFT, y), (_RIGHT, y), colour=PALE)
            for policy, pooled in spread.by_read.items():
                if policy is not None and policy in LOOK:
                    shape, colour, _ = LOOK[policy]
                    sheet.mark(along(ways.share(pooled)), y, shape, colour, size=6)
            sheet.text(WIDTH, y, f"{spread.text} of {spread.of:,}" if spread.of else spread.text, "right")
        y += 1.5 * _ROW
    sheet.text(_LEFT, y - 8, "no decision right", colour=SOFT)
    sheet.text(_RIGHT, y - 8, "all", "right", colour=SOFT)
    return sheet
