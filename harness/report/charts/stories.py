"""Stories by backends: how many decisions of each story are right, in the write policy that suits a row best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Results
from harness.model.trial import Measured
from harness.report import words
from harness.report.charts.chart import Chart, finish, rank, short, show
from harness.report.charts.drawing import BLUE, INK, SOFT, VERMILLION, Sheet
from harness.report.model import ways

NAME, TITLE = "stories", "Right decisions, story by story"
MOST = 7
"""Rows that are drawn side by side; the table has all."""
Counts = Mapping[str, Mapping[str, tuple[int, int]]]
"""Row -> story -> right decisions of how many, over seeds and read policies."""


def chart(results: Results) -> Chart | None:
    counts = {name: found for name in (COLD, *rank(results)) if (found := _count(results, name))}
    if len(counts) < 2 or not results.stories:
        return None
    stories = sorted(story.id for story in results.stories)
    heads = ("story", *("no memory" if name == COLD else show(name) for name in counts))
    body = [(story, *(_tell(own.get(story)) for own in counts.values())) for story in stories]
    return finish(_sheet(stories, counts), NAME, "work", TITLE, says(counts), heads, body)


def _count(results: Results, name: str) -> dict[str, tuple[int, int]]:
    held, write = results.run.conditions, ways.best_write(results, name)
    found: dict[str, tuple[int, int]] = {}
    for cell in results.cells:
        mine = cell.arm == "cold" if name == COLD else (
            (cell.backend, cell.write_policy, cell.noise) == (name, write, held.headline_noise)
        )  # fmt: skip
        right = cell.measures.get(DECISIONS_RIGHT)
        if mine and isinstance(right, Measured) and right.of:
            hits, of = found.get(cell.scenario, (0, 0))
            found[cell.scenario] = hits + round(right.hits or 0), of + right.of
    return found


def _tell(counted: tuple[int, int] | None) -> str:
    return words.count(*counted) if counted else ""


def says(counts: Counts) -> str:
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


def _sheet(stories: Sequence[str], counts: Counts) -> Sheet:
    sheet, names = Sheet(), list(counts)[:MOST]
    left, wide = 150.0, (440 - 150) / len(names)
    for at, name in enumerate(names):
        label = "none" if name == COLD else short(name, max(5, int(wide / 7)))
        sheet.text(left + wide * (at + 0.5), 8, label, "center", bold=True)
    cold = counts.get(COLD, {})
    for nth, story in enumerate(stories):
        y = 30 + 18 * nth
        sheet.text(0, y, short(story.rpartition("/")[2], 22))
        for at, name in enumerate(names):
            counted = counts[name].get(story)
            if counted is None:
                continue
            share = counted[0] / counted[1]
            base = cold[story][0] / cold[story][1] if story in cold else share
            colour = BLUE if share > base and name != COLD else VERMILLION if share < base else SOFT
            sign = "+" if share > base and name != COLD else "\u2212" if share < base else " "
            sheet.text(
                left + wide * (at + 0.5), y, f"{share:.0%} {sign}".rstrip(), "center",
                colour=INK if name == COLD else colour, bold=colour == BLUE,
            )  # fmt: skip
    return sheet
