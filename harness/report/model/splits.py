"""Dev and held stories side by side, and a sentence on whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.compare.rows import list_ranked
from harness.compare.splits import Side, SplitRow, compare_splits
from harness.compare.stats import ALPHA
from harness.model.results import Results
from harness.report import words
from harness.report.model import table, ways


class Parted(NamedTuple):
    """Each ranked row, as it is written best: its name, dev and held stories, and the adjusted p."""

    heads: tuple[str, str]
    rows: Sequence[tuple[str, str, str, str]]
    says: str


def collect(results: Results) -> Parted | None:
    """None: a split was not played, or has too few stories to tell."""
    found = compare_splits(results, {row: ways.best_write(results, row) for row in list_ranked(results.backends)})
    if not found:
        return None
    dev, held = (words.format_count(side.stories, "story", "stories") for side in (found[0].dev, found[0].held))
    rows = [
        (table.show_name(results, each.row), _tell(each.dev), _tell(each.held), f"{each.adjusted_p:.2g}")
        for each in found
    ]
    return Parted((f"Dev: {dev}", f"Held: {held}"), rows, _tell_difference(results, found))


def _tell_difference(results: Results, rows: Sequence[SplitRow]) -> str:
    differ = [row.row for row in rows if row.adjusted_p <= ALPHA]
    if not differ:
        return "No row was shown to gain more in one part than in the other."
    names = words.join_words([table.name_row(results, row) for row in differ])
    return f"The gain differs between both parts with {names}."


def _tell(side: Side) -> str:
    """`28-35 of 40, +21 %`."""
    return f"{ways.show_range(*side.right)} of {side.of:,}, {words.show_signed(side.gain, words.share)}"
