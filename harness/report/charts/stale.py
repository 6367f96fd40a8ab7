"""Where memory misled: decisions acted on a rule that no longer held, by kind of story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from harness.compare.rows import pool_cells
from harness.metrics.acting import STALE_USE
from harness.model.results import Pooled, Results
from harness.model.scenario import Kind
from harness.report import words
from harness.report.charts.chart import WARM, WARM_SHAPE, Chart, finish, format_interval, parse_counts, rank, show, tell
from harness.report.charts.sheet import PALE, SOFT, WIDTH, Scale, Sheet
from harness.report.model import ways

NAME, TITLE = "stale-by-kind", "Acted on a rule that no longer held, by kind of story"
ALL = "all kinds"
ACROSS = 6
"""Backends side by side; more of them stand in a further block below."""
_LEFT, _TALL, _LETTER = 140, 30, 6.4
StaleTable = Mapping[tuple[str, str], Pooled]


def chart(results: Results) -> Chart | None:
    names, stories = rank(results), dict.fromkeys(get_args(Kind), 0)
    for story in results.stories:
        stories[story.kind] += 1
    stories = {kind: n for kind, n in stories.items() if n}
    table = _pool_kinds(results, names, list(stories))
    if not any(pooled.value is not None for pooled in table.values()):
        return None
    told_stories = {**stories, ALL: len(results.stories)}
    heads = ("kind of story", "stories", *(show(name) for name in names), "interval over all kinds")
    body = [
        (
            kind,
            str(n),
            *(tell(table[kind, name]) for name in names),
            _describe_intervals(table, names) if kind == ALL else "",
        )
        for kind, n in told_stories.items()
    ]
    sheet = _draw_sheet(names, told_stories, table)
    caption = f"{describe(body)} {ways.tell_best(results)}"
    return finish(sheet, NAME, "stale", TITLE, caption, heads, body)


def _pool_kinds(results: Results, names: Sequence[str], kinds: Sequence[str]) -> StaleTable:
    """Kind and backend -> the measure in the write policy that suits the backend best, read as the headline is."""
    read, found = results.run.conditions.headline_read, dict[tuple[str, str], Pooled]()
    for name in names:
        own = ways.list_cells(results, name, ways.best_write(results, name))
        cells = [cell for cell in own if cell.read_policy == read]
        for kind in (*kinds, ALL):
            found[kind, name] = pool_cells(STALE_USE, [cell for cell in cells if kind in (cell.kind, ALL)])
    return found


def _describe_intervals(table: StaleTable, names: Sequence[str]) -> str:
    told_ = [f"{show(name)} {format_interval(table[ALL, name])}" for name in names if format_interval(table[ALL, name])]
    return "; ".join(told_)


def describe(body: Sequence[Sequence[str]]) -> str:
    """From the rows of the table, the last one over all kinds: counts over all backends, and where none was misled."""
    shares = {row[0]: _sum(row[2:-1]) for row in body[:-1]}
    known = {kind: (hits, of) for kind, (hits, of) in shares.items() if of}
    rates = {kind: hits / of for kind, (hits, of) in known.items()}
    if not rates or not max(rates.values()):
        return "No backend acted on a rule that no longer held, in any kind of story in which this could be told."

    def of(wanted: float) -> str:
        return words.join_words([f"{k} ({words.count(*known[k])})" for k, rate in rates.items() if rate == wanted])

    few, many = min(rates.values()), max(rates.values())
    if few == many:
        return f"Over all backends rules that no longer held were acted on alike in every kind of story: {of(many)}."
    return (
        f"Over all backends together, old rules were acted on most in stories of {of(many)}, least in {of(few)}. "
        "A kind has few stories: this tells where to look, not which kind is harder."
    )


def _sum(texts: Sequence[str]) -> tuple[float, int]:
    """Hits and cases of the counts among them."""
    found = [count for text in texts if (count := parse_counts(text))]
    return sum(hits for hits, _ in found), sum(of for _, of in found)


def _draw_sheet(names: Sequence[str], stories: Mapping[str, int], table: StaleTable) -> Sheet:
    sheet, top = Sheet(), 0.0
    blocks = -(-len(names) // ACROSS)
    across = -(-len(names) // blocks)
    for start in range(0, len(names), across):
        _block(sheet, top, names[start : start + across], across, stories, table)
        top = sheet.height + 10
    return sheet


def _block(
    sheet: Sheet, top: float, names: Sequence[str], across: int, stories: Mapping[str, int], table: StaleTable
) -> None:
    step = (WIDTH - _LEFT) / max(across, 3)
    heads = [break_name(name, int(step / _LETTER)) for name in names]
    deep = max(len(head) for head in heads)
    sheet.text(0, top + 8 + (deep - 1) * 14, "kind (stories)", colour=SOFT)
    for column, head in enumerate(heads):
        for line, part in enumerate(head):
            x, y = _LEFT + step * (column + 0.5), top + 8 + (deep - len(head) + line) * 14
            sheet.text(x, y, part, "center", bold=True)
    y = top + 8 + deep * 14
    for kind, n in stories.items():
        if kind == ALL:
            sheet.line((0, y - 5), (WIDTH, y - 5), colour=SOFT, width=0.8)
            y += 4
        sheet.text(0, y + 8, f"{kind} ({n})", bold=kind == ALL)
        for column, name in enumerate(names):
            _draw_cell(sheet, table[kind, name], _LEFT + step * column, step, y)
        y += _TALL


def _draw_cell(sheet: Sheet, pooled: Pooled, left: float, step: float, y: float) -> None:
    """The count, and below it a dot on a track from none to all."""
    scale = Scale(0, 1, left + 6, left + step - 6)
    if pooled.value is None:
        sheet.text(left + step / 2, y + 8, tell(pooled), "center", italic=True, colour=SOFT)
        return
    sheet.text(left + step / 2, y + 4, tell(pooled), "center", colour=WARM if pooled.hits else SOFT)
    sheet.line((scale.start, y + 16), (scale.end, y + 16), colour=PALE, width=2)
    sheet.interval(pooled.interval, scale, y + 16, WARM)
    sheet.mark(scale(pooled.value), y + 16, WARM_SHAPE, WARM, hollow=not pooled.hits, size=6)


def break_name(name: str, wide: int) -> list[str]:
    """A name over up to three lines of a column: broken where its parts meet, cut where it must be."""
    safe, found, rest = words.make_visible(name), [], ""
    for char in safe:
        rest += char
        if len(rest) >= wide or (char in "_-+=. " and len(rest) > 2):
            found.append(rest)
            rest = ""
    found += [rest] if rest else []
    joined: list[str] = []
    for part in found:
        if joined and len(joined[-1]) + len(part) <= wide:
            joined[-1] += part
        else:
            joined.append(part)
    return joined if len(joined) <= 3 else [*joined[:2], f"\u2026{safe[len(safe) - wide + 1 :]}"]
