"""Right decisions of each backend by ways of writing and of reading, where more than the usual ways were played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.metrics.acting import STALE_USE
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.dropped import DROPPED
from harness.metrics.recall import PAST
from harness.metrics.tokens import TOKENS_TOTAL
from harness.model.results import Results
from harness.model.trial import SCRIPTED_READS, ReadPolicy, WritePolicy
from harness.report.charts.chart import Chart, finish, rank, shorten_name, show
from harness.report.charts.policies import LOOK
from harness.report.charts.sheet import INK, PALE, SOFT, WIDTH, Scale, Sheet
from harness.report.model import ways

NAME, TITLE = "ways", "Ways to write, down, and ways to read, across"
HEADS = (
    "backend", "write", *(f"right: {read}" for read in SCRIPTED_READS), "acted on stale", "true memories dropped",
    "past rules recalled", "tokens a story",
)  # fmt: skip
_LEFT, _RIGHT, _ROW = 130.0, 330.0, 20.0


def chart(results: Results) -> Chart | None:
    if ways.are_usual(results):  # the chart of slopes has them
        return None
    names = [name for name in rank(results) if ways.spreads(results, name, DECISIONS_RIGHT)]
    if not names:
        return None
    body = [row for name in names for row in _list_rows(results, name)]
    return finish(_draw_sheet(results, names), NAME, "policies", TITLE, describe(results, names), HEADS, body)


def _list_rows(results: Results, name: str) -> Iterator[tuple[str, ...]]:
    """One line a way of writing; a range is over the ways of reading."""
    for spread in ways.spreads(results, name, DECISIONS_RIGHT):
        assert spread.write is not None, "rows with a memory have a way of writing"
        reads = (_tell(results, name, DECISIONS_RIGHT, spread.write, read) for read in SCRIPTED_READS)
        others = (_tell(results, name, measure, spread.write) for measure in (STALE_USE, DROPPED, PAST, TOKENS_TOTAL))
        yield show(name), ways.WRITES[spread.write], *reads, *others


def _tell(results: Results, name: str, measure: str, write: WritePolicy, read: ReadPolicy | None = None) -> str:
    found = ways.spread(results, name, measure, write)
    if found is None:
        return ""
    if read is not None:
        pooled = found.by_read.get(read)
        if pooled is None:
            return "unsupported" if read in ways.list_reads(results) else ""
        return f"{ways.count(pooled):g}/{pooled.of:,}"
    return f"{found.text}/{found.of:,}" if found.first.hits is not None and found.of else found.text


def describe(results: Results, names: Sequence[str]) -> str:
    """Of each backend the way of writing that is right most often, whatever the agent takes."""
    sentences = []
    for name in names:
        write = ways.best_write(results, name)
        if found := ways.spread(results, name, DECISIONS_RIGHT, write):
            sentences.append(f"{show(name)} {ways.WRITES[write]} {found.text}/{found.of:,}")
    return (
        f"Right decisions under the way of writing that suits each backend best: {'; '.join(sentences)}."
        if sentences
        else ""
    )


def _draw_sheet(results: Results, names: Sequence[str]) -> Sheet:
    """A line for each way of writing, a mark on it for each way of reading."""
    sheet, along = Sheet(), Scale(0, 1, _LEFT, _RIGHT)
    for at, (read, (shape, colour, _)) in enumerate(LOOK.items()):
        sheet.mark(6 + 110 * at, 8, shape, colour)
        sheet.text(18 + 110 * at, 8, read, colour=SOFT)
    y = 34.0
    for name in names:
        sheet.text(0, y, shorten_name(name, 40), bold=True)
        for spread in ways.spreads(results, name, DECISIONS_RIGHT):
            y += _ROW
            sheet.text(8, y, ways.WRITES[spread.write] if spread.write else "", colour=INK)
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
