"""Stories by backends: how many decisions of each story are right, in the write policy that suits a row best."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.model.trial import Measured
from harness.report import words
from harness.report.charts.chart import Chart, finish, rank, shorten_name, show
from harness.report.charts.sheet import BLUE, INK, SOFT, VERMILLION, WIDTH, Sheet
from harness.report.charts.stale import break_name
from harness.report.model import ways

NAME, TITLE = "stories", "Right decisions, story by story"
LETTERS = string.ascii_lowercase + string.ascii_uppercase
MOST = 36
"""Rows that are drawn side by side; the table has all."""
_LEFT, _TALL, _WIDE = 150, 18, 48
"""Where columns begin; the height of a story; the width of a column that has room for a share."""
Count = tuple[int, int]
Counts = Mapping[str, Mapping[str, Count]]
"""Row -> story -> right decisions of how many, over seeds and read policies."""


def chart(results: Results) -> Chart | None:
    counts = {name: found for name in (COLD, *rank(results)) if (found := _count(results, name))}
    if len(counts) < 2 or not results.stories:
        return None
    stories = sorted(story.id for story in results.stories)
    heads = ("story", *(show(_name(name)) for name in counts))
    body = [(story, *(_tell(own.get(story)) for own in counts.values())) for story in stories]
    return finish(_draw_sheet(stories, counts), NAME, "work", TITLE, describe(counts), heads, body)


def _count(results: Results, name: str) -> dict[str, Count]:
    found: dict[str, Count] = {}
    for cell in ways.list_cells(results, name, ways.best_write(results, name)):
        right = cell.measures.get(DECISIONS_RIGHT)
        if isinstance(right, Measured) and right.of:
            hits, of = found.get(cell.scenario, (0, 0))
            found[cell.scenario] = hits + round(right.hits or 0), of + right.of
    return found


def _tell(counted: Count | None) -> str:
    return words.count(*counted) if counted else ""


def describe(counts: Counts) -> str:
    """In how many stories each row decides more and less right than no memory."""
    cold = counts.get(COLD, {})
    parts = []
    for name, own in counts.items():
        shares = [(own[story], cold[story]) for story in own if story in cold]
        if name != COLD and shares:
            more = sum(hits * other_of > other * of for (hits, of), (other, other_of) in shares)
            fewer = sum(hits * other_of < other * of for (hits, of), (other, other_of) in shares)
            parts.append(f"{show(name)} {more} up, {fewer} down")
    return (
        f"Stories with more right decisions than without memory, and with fewer: {'; '.join(parts)}." if parts else ""
    )


def _draw_sheet(stories: Sequence[str], counts: Counts) -> Sheet:
    """Beside few rows the shares, of many the signs alone, under letters that are told below."""
    sheet, names = Sheet(), list(counts)[:MOST]
    step = (WIDTH - _LEFT) / max(len(names), 3)
    few = step >= _WIDE
    heads = [
        break_name(_name(name), int(step / 7.5)) if few else [letter]
        for name, letter in zip(names, LETTERS, strict=False)
    ]
    deep = max(len(head) for head in heads)
    for at, head in enumerate(heads):
        for line, part in enumerate(head):
            sheet.text(_LEFT + step * (at + 0.5), 8 + 14 * (deep - len(head) + line), part, "center", bold=True)
    y = 14.0 * deep + 12
    for story in stories:
        sheet.text(0, y, shorten_name(story.rpartition("/")[2], 22))
        for at, name in enumerate(names):
            if counted := counts[name].get(story):
                _draw_cell(sheet, _LEFT + step * (at + 0.5), y, name, counted, counts.get(COLD, {}).get(story), few=few)
        y += _TALL
    if not few:
        _draw_key(sheet, names, y + 8)
    return sheet


def _draw_cell(sheet: Sheet, x: float, y: float, name: str, own: Count, cold: Count | None, *, few: bool) -> None:
    """A share with its sign: more than no memory, or fewer; neither for no memory itself."""
    share = own[0] / own[1]
    base = cold[0] / cold[1] if cold and name != COLD else share
    sign, colour = ("+", BLUE) if share > base else ("\u2212", VERMILLION) if share < base else ("", SOFT)
    text = f"{share:.0%} {sign}".rstrip() if few else sign or "\u00b7"
    sheet.text(x, y, text, "center", colour=INK if name == COLD else colour, bold=sign == "+")


def _draw_key(sheet: Sheet, names: Sequence[str], top: float) -> None:
    """What the letters stand for, and the signs."""
    for at, (name, letter) in enumerate(zip(names, LETTERS, strict=False)):
        x, y = WIDTH / 3 * (at % 3), top + 16 * (at // 3)
        sheet.text(x, y, letter, bold=True)
        sheet.text(x + 14, y, shorten_name(_name(name), 18))
    sheet.text(0, sheet.height + 12, "more right decisions than no memory +, fewer \u2212, as many \u00b7", colour=SOFT)


def _name(name: str) -> str:
    return "no memory" if name == COLD else name
