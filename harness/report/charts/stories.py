"""What came of single stories: right decisions story by story, and by kind of story where memory misled."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import get_args

from harness.compare.rows import COLD, pool_cells
from harness.metrics.acting import STALE_USE
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Pooled, Results
from harness.model.scenario import Kind
from harness.model.trial import Measured
from harness.report import words
from harness.report.charts.chart import (
    BLUE,
    INK,
    PALE,
    SOFT,
    VERMILLION,
    WARM,
    WARM_SHAPE,
    WIDTH,
    Chart,
    Scale,
    Sheet,
    finish,
    format_interval,
    parse_counts,
    rank,
    shorten_name,
    show,
    tell,
)
from harness.report.model import ways

# --- right decisions of each story, in the write policy that suits a row best -----------------------------------------

STORIES_NAME, STORIES_TITLE = "stories", "Right decisions, story by story"
LETTERS = string.ascii_lowercase + string.ascii_uppercase
MOST = 36
"""Rows that are drawn side by side; the table has all."""
_STORY_LEFT, _STORY_TALL, _STORY_WIDE = 150, 18, 48
"""Where columns begin; the height of a story; the width of a column that has room for a share."""
Count = tuple[int, int]
Counts = Mapping[str, Mapping[str, Count]]
"""Row -> story -> right decisions of how many, over seeds and read policies."""


def chart_stories(results: Results) -> Chart | None:
    counts = {name: found for name in (COLD, *rank(results)) if (found := _count_story(results, name))}
    if len(counts) < 2 or not results.stories:
        return None
    stories = sorted(story.id for story in results.stories)
    heads = ("story", *(show(_name(name)) for name in counts))
    body = [(story, *(_tell_count(own.get(story)) for own in counts.values())) for story in stories]
    return finish(
        _draw_stories(stories, counts), STORIES_NAME, "work", STORIES_TITLE, describe_stories(counts), heads, body
    )


def _count_story(results: Results, name: str) -> dict[str, Count]:
    counts: dict[str, Count] = {}
    for cell in ways.list_cells(results, name, ways.best_write(results, name)):
        right = cell.measures.get(DECISIONS_RIGHT)
        if isinstance(right, Measured) and right.of:
            hits, of = counts.get(cell.scenario, (0, 0))
            counts[cell.scenario] = hits + round(right.hits or 0), of + right.of
    return counts


def _tell_count(counted: Count | None) -> str:
    return words.count(*counted) if counted else ""


def describe_stories(counts: Counts) -> str:
    """In how many stories each row decides more and less right than no memory."""
    cold = counts.get(COLD, {})
    parts = []
    for name, own in counts.items():
        shares = [(own[story], cold[story]) for story in own if story in cold]
        if name != COLD and shares:
            # Multiplied out, as equal shares may differ in the last digit of a float.
            more = sum(hits * other_of > other * of for (hits, of), (other, other_of) in shares)
            fewer = sum(hits * other_of < other * of for (hits, of), (other, other_of) in shares)
            parts.append(f"{show(name)} {more} up, {fewer} down")
    return (
        f"Stories with more right decisions than without memory, and with fewer: {'; '.join(parts)}." if parts else ""
    )


def _draw_stories(stories: Sequence[str], counts: Counts) -> Sheet:
    """Beside few rows the shares, of many the signs alone, under letters that are told below."""
    sheet, names = Sheet(), list(counts)[:MOST]
    # As if there were three, since one or two columns would lie far apart.
    step = (WIDTH - _STORY_LEFT) / max(len(names), 3)
    few = step >= _STORY_WIDE
    # There are more letters than MOST, so that no name goes without one.
    heads = [
        break_name(_name(name), int(step / 7.5)) if few else [letter]
        for name, letter in zip(names, LETTERS, strict=False)
    ]
    deep = max(len(head) for head in heads)
    for at, head in enumerate(heads):
        for line, part in enumerate(head):
            sheet.text(_STORY_LEFT + step * (at + 0.5), 8 + 14 * (deep - len(head) + line), part, "center", bold=True)
    y = 14.0 * deep + 12
    for story in stories:
        sheet.text(0, y, shorten_name(story.rpartition("/")[2], 22))
        for at, name in enumerate(names):
            if counted := counts[name].get(story):
                _draw_story(
                    sheet, _STORY_LEFT + step * (at + 0.5), y, name, counted, counts.get(COLD, {}).get(story), few=few
                )
        y += _STORY_TALL
    if not few:
        _draw_key(sheet, names, y + 8)
    return sheet


def _draw_story(sheet: Sheet, x: float, y: float, name: str, own: Count, cold: Count | None, *, few: bool) -> None:
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


# --- decisions acted on a rule that no longer held, by kind of story --------------------------------------------------

STALE_NAME, STALE_TITLE = "stale-by-kind", "Acted on a rule that no longer held, by kind of story"
ALL_KINDS = "all kinds"
ACROSS = 6
"""Backends side by side; more of them stand in a further block below."""
_KIND_LEFT, _KIND_TALL, _KIND_LETTER = 140, 30, 6.4
StaleTable = Mapping[tuple[str, str], Pooled]


def chart_stale(results: Results) -> Chart | None:
    names, stories = rank(results), dict.fromkeys(get_args(Kind), 0)
    for story in results.stories:
        stories[story.kind] += 1
    stories = {kind: n for kind, n in stories.items() if n}
    table = _pool_kinds(results, names, list(stories))
    if not any(pooled.value is not None for pooled in table.values()):
        return None
    told_stories = {**stories, ALL_KINDS: len(results.stories)}
    heads = ("kind of story", "stories", *(show(name) for name in names), "interval over all kinds")
    body = [
        (
            kind,
            str(n),
            *(tell(table[kind, name]) for name in names),
            _describe_intervals(table, names) if kind == ALL_KINDS else "",
        )
        for kind, n in told_stories.items()
    ]
    sheet = _draw_stale(names, told_stories, table)
    caption = f"{describe_stale(body)} {ways.tell_best(results)}"
    return finish(sheet, STALE_NAME, "stale", STALE_TITLE, caption, heads, body)


def _pool_kinds(results: Results, names: Sequence[str], kinds: Sequence[str]) -> StaleTable:
    """Kind and backend -> the measure in the write policy that suits the backend best, read as the headline is."""
    read, table = results.run.conditions.headline_read, dict[tuple[str, str], Pooled]()
    for name in names:
        own = ways.list_cells(results, name, ways.best_write(results, name))
        cells = [cell for cell in own if cell.read_policy == read]
        for kind in (*kinds, ALL_KINDS):
            table[kind, name] = pool_cells(STALE_USE, [cell for cell in cells if kind in (cell.kind, ALL_KINDS)])
    return table


def _describe_intervals(table: StaleTable, names: Sequence[str]) -> str:
    intervals = [
        f"{show(name)} {format_interval(table[ALL_KINDS, name])}"
        for name in names
        if format_interval(table[ALL_KINDS, name])
    ]
    return "; ".join(intervals)


def describe_stale(body: Sequence[Sequence[str]]) -> str:
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


def _draw_stale(names: Sequence[str], stories: Mapping[str, int], table: StaleTable) -> Sheet:
    sheet, top = Sheet(), 0.0
    blocks = -(-len(names) // ACROSS)
    # Blocks of equal width, in place of full ones and a small rest.
    across = -(-len(names) // blocks)
    for start in range(0, len(names), across):
        _block(sheet, top, names[start : start + across], across, stories, table)
        top = sheet.height + 10
    return sheet


def _block(
    sheet: Sheet, top: float, names: Sequence[str], across: int, stories: Mapping[str, int], table: StaleTable
) -> None:
    # As in the chart of stories: at least three, so that one or two do not lie far apart.
    step = (WIDTH - _KIND_LEFT) / max(across, 3)
    heads = [break_name(name, int(step / _KIND_LETTER)) for name in names]
    deep = max(len(head) for head in heads)
    sheet.text(0, top + 8 + (deep - 1) * 14, "kind (stories)", colour=SOFT)
    for column, head in enumerate(heads):
        for line, part in enumerate(head):
            x, y = _KIND_LEFT + step * (column + 0.5), top + 8 + (deep - len(head) + line) * 14
            sheet.text(x, y, part, "center", bold=True)
    y = top + 8 + deep * 14
    for kind, n in stories.items():
        if kind == ALL_KINDS:
            sheet.line((0, y - 5), (WIDTH, y - 5), colour=SOFT, width=0.8)
            y += 4
        sheet.text(0, y + 8, f"{kind} ({n})", bold=kind == ALL_KINDS)
        for column, name in enumerate(names):
            _draw_cell(sheet, table[kind, name], _KIND_LEFT + step * column, step, y)
        y += _KIND_TALL


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
    safe, parts, rest = words.make_visible(name), [], ""
    for char in safe:
        rest += char
        if len(rest) >= wide or (char in "_-+=. " and len(rest) > 2):
            parts.append(rest)
            rest = ""
    parts += [rest] if rest else []
    joined: list[str] = []
    for part in parts:
        if joined and len(joined[-1]) + len(part) <= wide:
            joined[-1] += part
        else:
            joined.append(part)
    return joined if len(joined) <= 3 else [*joined[:2], f"\u2026{safe[len(safe) - wide + 1 :]}"]
