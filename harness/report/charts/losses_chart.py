"""Where each row loses the right decision: one bar of all decisions, cut by the stage at which it was lost."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

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
from harness.model.results import Results, Row
from harness.report import words
from harness.report.charts.chart import NARROW, Chart, finish, rank, shorten_name, show
from harness.report.charts.sheet import BLUE, GREEN, INK, PALE, SOFT, VERMILLION, WIDTH, Dash, Scale, Sheet

NAME, TITLE = "losses", "Where the right decision is lost"
RIGHT = "right"
LOOKS: Mapping[Stage, tuple[str, Dash]] = {
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
Counts = Mapping[str, int]
"""Right, then the stages -> decisions."""


def chart(results: Results) -> Chart | None:
    rows = {name: counts for name in rank(results) if (counts := _count(results.backends[name]))}
    if not rows:
        return None
    heads = ("backend", "decisions", RIGHT, *(stage.called for stage in STAGES))
    body = [(show(name), str(sum(own.values())), *map(str, own.values())) for name, own in rows.items()]
    return finish(_sheet(rows), NAME, LOST.id, TITLE, says(body), heads, body)


def _count(row: Row) -> Counts:
    """Empty where it is not known of every story; under the primary conditions."""
    names = {RIGHT: DECISIONS_RIGHT} | {stage.called: f"lost_{stage.name}" for stage in STAGES}
    found = {called: row.measures.get(name) for called, name in names.items()}
    counts = {called: round(each.hits) for called, each in found.items() if each and each.hits is not None}
    of = {each.of for each in found.values() if each}
    return counts if len(counts) == len(names) and len(of) == 1 else {}


def says(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: where each loses most."""
    parts = []
    for name, of, _, *lost in body:
        counts = dict(zip((stage.called for stage in STAGES), map(int, lost), strict=True))
        if most := max(counts.values()):
            where = words.join_words([called for called, n in counts.items() if n == most])
            parts.append(f"{name}: {words.count(most, int(of))} {where}")
    return f"Most decisions are lost here: {'; '.join(parts)}." if parts else "No row lost a decision."


def _sheet(rows: Mapping[str, Counts]) -> Sheet:
    sheet, y = Sheet(), 12.0
    keys: list[tuple[str, str, Dash]] = [(RIGHT, GREEN, ()), *((stage.called, *look) for stage, look in LOOKS.items())]
    for name, counts in rows.items():
        scale, done = Scale(0, sum(counts.values()), NARROW, WIDTH - 4), 0
        sheet.text(0, y, shorten_name(name))
        for letter, (called, colour, dash) in zip(string.ascii_lowercase, keys, strict=False):
            begin, end = scale(done), scale(done := done + counts[called])
            if counts[called]:
                sheet.line((begin, y), (end, y), colour=colour, width=_THICK, dash=dash)
            if end - begin > _LETTER:
                told = f"{letter} {counts[called]}" if end - begin > 4 * _LETTER else letter
                sheet.text((begin + end) / 2, y + 15, told, "center", colour=SOFT)
        y += _TALL
    for letter, (called, colour, dash) in zip(string.ascii_lowercase, keys, strict=False):
        sheet.line((4, y), (24, y), colour=colour, width=_THICK, dash=dash)
        sheet.text(32, y, f"{letter}: {called}")
        y += 16
    return sheet
