"""What policies change: from append to curated writing as slopes, one line a read policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.metrics.acting import STALE_USE
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Pooled, Results
from harness.model.trial import USUAL_WRITES, ReadPolicy, WritePolicy
from harness.report.charts.chart import Chart, count, finish, format_interval, parse_counts, rank, show, tell
from harness.report.charts.sheet import BLUE, GREEN, INK, PALE, SOFT, VERMILLION, WIDTH, Dash, Scale, Shape, Sheet
from harness.report.model import ways

NAME, TITLE = "policies", "What it changes how memory is written and read"
HEADS = (
    "backend", "stories", "write", "read", "acted on stale", "interval", "decided right", "interval",
)  # fmt: skip
BEST = " (best)"
"""Stands behind the write policy under which a row decides best."""
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


def chart(results: Results) -> Chart | None:
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
            f"{ways.WRITES[write]}{BEST if write == best[name] else ''}", read, tell(measures[STALE_USE]),
            format_interval(measures[STALE_USE]), tell(measures[DECISIONS_RIGHT]),
            format_interval(measures[DECISIONS_RIGHT]),
        )
        for name in names
        for write in sorted(WRITES, key=lambda write: write != best[name])
        for read in LOOK
        if (measures := table.get((name, write, read))) is not None
    ]  # fmt: skip
    return finish(_draw_sheet(names, table, best), NAME, "policies", TITLE, describe(body), HEADS, body)


def describe(body: Sequence[Sequence[str]]) -> str:
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
    if not found or len({of for _, of in found}) > 1:
        return ""
    hits = [known[0] for known in found]
    return f"{rows[0][2].removesuffix(BEST)} {ways.show_range(min(hits), max(hits))}/{found[0][1]:,}"


def _draw_sheet(names: Sequence[str], table: PolicyTable, best: Mapping[str, WritePolicy]) -> Sheet:
    sheet, half = Sheet(), WIDTH / 2
    for at, head in enumerate(MEASURES.values()):
        sheet.text(half * at, 8, head, bold=True)
        for x, write in zip((50, 104), WRITES, strict=True):
            if any(key[1] == write for key in table):
                sheet.text(half * at + x, 24, ways.WRITES[write], "center", colour=SOFT)
    for row, name in enumerate(names):
        top = 40 + row * _TALL
        n = max(pooled.scenarios for key, measures in table.items() if key[0] == name for pooled in measures.values())
        sheet.text(0, top + 6, count(name, n), bold=True)
        sheet.text(WIDTH / 2, top + 6, f"decides best by: {ways.WRITES[best[name]]}", colour=SOFT)
        for at, measure in enumerate(MEASURES):
            _draw_panel(sheet, half * at, top + 16, {key[1:]: m[measure] for key, m in table.items() if key[0] == name})
    sheet.text(0, sheet.height + 10, "upper line: all decisions; lower line: none", colour=SOFT)
    return sheet


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
                x = ends[at] + (nth - (len(LOOK) - 1) / 2) * 4
                if pooled.value is not None:
                    sheet.interval(pooled.interval, up, x, colour, upright=True)
                    sheet.mark(x, up(pooled.value), shape, colour, size=6)
                labels.append((pooled.value, read, tell(pooled)))
        _draw_labels(sheet, labels, up, ends[at] + 13 if at == last else left + 44, on_right=at == last)
    for nth, read in enumerate(LOOK):
        first, then = (told_of.get((write, read)) for write in WRITES)
        if first and then and first.value is not None and then.value is not None:
            shift = (nth - 1.5) * 4
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
