"""What policies change: from append to curated writing as slopes, one line a read policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from harness.metrics.acting import STALE_USE
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Pooled, Results
from harness.model.trial import READ_POLICIES, ReadPolicy, WritePolicy
from harness.report import words
from harness.report.charts.chart import Chart, count, counts, finish, rank, show, tell, within
from harness.report.charts.drawing import BLUE, INK, PALE, SOFT, VERMILLION, WIDTH, Dash, Scale, Shape, Sheet

NAME, TITLE = "policies", "What it changes how memory is written and read"
HEADS = (
    "backend", "stories", "write", "read", "acted on stale", "interval", "decided right", "interval",
)  # fmt: skip
WRITES: tuple[WritePolicy, ...] = get_args(WritePolicy)
MEASURES = {STALE_USE: "acted on stale", DECISIONS_RIGHT: "decided right"}
LOOK: Mapping[ReadPolicy, tuple[Shape, str, Dash]] = {
    "trusting": ("circle", INK, ()),
    "newest": ("triangle", VERMILLION, (5.0, 3.0)),
    "verifying": ("square", BLUE, (1.5, 2.0)),
}
_TALL, _APART = 112, 13
PolicyTable = Mapping[tuple[str, WritePolicy, ReadPolicy], Mapping[str, Pooled]]


def chart(results: Results) -> Chart | None:
    noise = results.run.conditions.headline_noise
    table = {
        (each.backend, each.write_policy, each.read_policy): each.measures
        for each in results.contrasts
        if each.noise == noise and each.read_policy in READ_POLICIES
    }
    names = [name for name in rank(results) if any(key[0] == name for key in table)]
    if not names:
        return None
    body = [
        (
            show(name), str(measures[DECISIONS_RIGHT].scenarios), write, read, tell(measures[STALE_USE]),
            within(measures[STALE_USE]), tell(measures[DECISIONS_RIGHT]), within(measures[DECISIONS_RIGHT]),
        )
        for name in names
        for write in WRITES
        for read in READ_POLICIES
        if (measures := table.get((name, write, read))) is not None
    ]  # fmt: skip
    return finish(_sheet(names, table), NAME, "policies", TITLE, says(body), HEADS, body)


def says(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: what each change does to decisions acted on stale rules, beside the primary way."""
    changes = (
        ("Curated instead of append writing, read trusting", ("append", "trusting"), ("curated", "trusting")),
        ("Verifying instead of trusting reading, written by append", ("append", "trusting"), ("append", "verifying")),
    )
    parts = []
    for what, before, after in changes:
        first, then = ({row[0]: row[4] for row in body if (row[2], row[3]) == way} for way in (before, after))
        groups: dict[str, list[str]] = {}
        for name in first:
            if (one := counts(first[name])) and (other := counts(then.get(name, ""))):
                change = other[0] / other[1] - one[0] / one[1]
                word = "fewer" if change < 0 else "more" if change > 0 else "as many"
                groups.setdefault(word, []).append(f"{name} ({then[name]} against {first[name]})")
        told_ = [
            f"{word} with {words.join_words(groups[word])}" for word in ("fewer", "more", "as many") if word in groups
        ]
        if told_:
            parts.append(f"{what}: decisions acted on stale rules were {'; '.join(told_)}.")
    return " ".join(parts) or "Only one way to write and read was played."


def _sheet(names: Sequence[str], table: PolicyTable) -> Sheet:
    sheet, half = Sheet(), WIDTH / 2
    for at, head in enumerate(MEASURES.values()):
        sheet.text(half * at, 8, head, bold=True)
        for x, write in zip((50, 104), WRITES, strict=True):
            if any(key[1] == write for key in table):
                sheet.text(half * at + x, 24, write, "center", colour=SOFT)
    for row, name in enumerate(names):
        top = 40 + row * _TALL
        n = max(pooled.scenarios for key, measures in table.items() if key[0] == name for pooled in measures.values())
        sheet.text(0, top + 6, count(name, n), bold=True)
        for at, measure in enumerate(MEASURES):
            _panel(sheet, half * at, top + 16, {key[1:]: m[measure] for key, m in table.items() if key[0] == name})
    sheet.text(0, sheet.height + 10, "upper line: all decisions; lower line: none", colour=SOFT)
    return sheet


def _panel(sheet: Sheet, left: float, top: float, told_of: Mapping[tuple[WritePolicy, ReadPolicy], Pooled]) -> None:
    """From none at the bottom to all at the top; words on the right keep their distance."""
    up, ends = Scale(0, 1, top + 80, top + 4), (left + 57, left + 95)
    for share in (0, 1):
        sheet.line((left + 48, up(share)), (left + 104, up(share)), colour=PALE)
    last = max(at for at, write in enumerate(WRITES) if any(key[0] == write for key in told_of))
    for at, write in enumerate(WRITES):
        labels = []
        for nth, read in enumerate(READ_POLICIES):
            pooled = told_of.get((write, read))
            if pooled is not None:
                shape, colour, _ = LOOK[read]
                x = ends[at] + (nth - 1) * 4
                if pooled.value is not None:
                    sheet.interval(pooled.interval, up, x, colour, upright=True)
                    sheet.mark(x, up(pooled.value), shape, colour, size=6)
                labels.append((pooled.value, read, tell(pooled)))
        _words(sheet, labels, up, ends[at] + 13 if at == last else left + 44, on_right=at == last)
    for nth, read in enumerate(READ_POLICIES):
        first, then = (told_of.get((write, read)) for write in WRITES)
        if first and then and first.value is not None and then.value is not None:
            shift = (nth - 1) * 4
            _, colour, dash = LOOK[read]
            sheet.line(
                (ends[0] + shift, up(first.value)),
                (ends[1] + shift, up(then.value)),
                colour=colour,
                dash=dash,
                width=1.5,
            )


def _words(
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
