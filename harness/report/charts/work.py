"""Cold against warm: decisions right without memory and with it, and which of them memory mended or broke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.compare.rows import COLD
from harness.metrics.acting import HARM, HELP
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Pooled, Results
from harness.report import words
from harness.report.charts.chart import (
    NARROW,
    SHARES,
    WARM,
    WARM_SHAPE,
    Chart,
    apart,
    cold_line,
    count,
    dot,
    find_measured,
    finish,
    grid,
    place,
    show,
    tell,
    within,
)
from harness.report.charts.drawing import PALE, ROW, SOFT, VERMILLION, Scale, Sheet
from harness.report.model import table

NAME, TITLE = "decisions", "Decisions right, cold and warm"
HEADS = ("backend", "stories", "right", "interval", "helped", "harmed", "against cold")
NOT_COMPARED = "not compared"
_SAID: Mapping[str, str] = {
    "more right": "more, by more than chance",
    "fewer right": "fewer, by more than chance",
    "could be chance": "what differs from that could be chance",
}


@dataclass(frozen=True)
class WorkRow:
    """The decisions of one backend beside those of the cold arm.

    Attributes:
        helped: Of the decisions that were wrong cold, those right warm.
        harmed: The other way round.
    """

    name: str
    right: Pooled
    helped: Pooled | None
    harmed: Pooled | None
    verdict: str


def chart(results: Results) -> Chart | None:
    cold = find_measured(results, COLD, DECISIONS_RIGHT)
    rows = [
        WorkRow(
            name, right, find_measured(results, name, HELP), find_measured(results, name, HARM), _verdict(results, name)
        )
        for name in table.list_rows(results)
        if name != COLD and (right := find_measured(results, name, DECISIONS_RIGHT)) is not None
    ]  # fmt: skip
    if not rows or cold is None or cold.value is None:
        return None
    body = [(COLD, str(cold.scenarios), tell(cold), within(cold), "", "", "")]
    body += [
        (
            show(row.name), str(row.right.scenarios), tell(row.right), within(row.right), tell(row.helped),
            tell(row.harmed), row.verdict,
        )
        for row in rows
    ]  # fmt: skip
    return finish(_sheet(results, rows, cold), NAME, "work", TITLE, says(body), HEADS, body)


def says(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table: the first one is cold."""
    parts = [f"Without memory {body[0][2]} decisions were right."]
    for verdict, said in _SAID.items():
        held = [f"{row[0]} {row[2]}" for row in body[1:] if row[6] == verdict]
        if held:
            parts.append(f"{said[0].upper()}{said[1:]}: {words.join_words(held)}.")
    return " ".join(parts)


def _verdict(results: Results, name: str) -> str:
    """What the paired comparison with the cold arm showed."""
    for each in results.list_comparisons():
        if each.measure == DECISIONS_RIGHT and {each.left, each.right} == {COLD, name}:
            if each.verdict == "no-difference-shown":
                return "could be chance" if each.able else NOT_COMPARED
            better = each.left if each.verdict == "left-better" else each.right
            return "more right" if better == name else "fewer right"
    return NOT_COMPARED


def _sheet(results: Results, rows: Sequence[WorkRow], cold: Pooled) -> Sheet:
    sheet, scale = Sheet(), Scale(0, 1, NARROW + 8, 276)
    for x, head in ((342, "right"), (391, "helped"), (440, "harmed")):
        sheet.text(x, 8, head, "right", colour=SOFT)
    sheet.text(0, 8, "backend (stories)", colour=SOFT)
    sheet.mark(scale.start + 4, 8, "circle", VERMILLION, hollow=True)
    sheet.text(scale.start + 12, 8, "cold")
    sheet.mark(scale.start + 56, 8, WARM_SHAPE, WARM)
    sheet.text(scale.start + 64, 8, "warm")
    sheet.text(0, 32, count(COLD, cold.scenarios))
    sheet.text(342, 32, tell(cold), "right")
    at = list(place(results, [row.name for row in rows], 32 + ROW))
    bottom = at[-1][1] + 14
    grid(sheet, scale, 20, bottom, SHARES)
    base = scale(cold.value or 0)
    cold_line(sheet, base, 32, bottom)
    dot(sheet, cold, scale, 32, "circle", VERMILLION, hollow=True)
    apart(sheet, results, at)
    for row, (_, y) in zip(rows, at, strict=True):
        sheet.text(0, y, count(row.name, row.right.scenarios))
        if row.right.value is not None:
            sheet.line((base, y), (scale(row.right.value), y), colour=PALE, width=5)
        dot(sheet, row.right, scale, y, WARM_SHAPE, WARM)
        for x, pooled in ((342, row.right), (391, row.helped), (440, row.harmed)):
            known = pooled is not None and pooled.value is not None
            sheet.text(x, y, tell(pooled), "right", italic=not known, colour=WARM if known else SOFT)
    return sheet
