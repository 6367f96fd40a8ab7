"""`docs/measures.md`: every measure as its definition says it, printed by this module."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape

from harness import metrics
from harness.metrics import trust
from harness.metrics.columns import COLUMNS, Column
from harness.model.trial import Definition

_HEAD = """\
# Measures

This page is made from the definitions in `harness/metrics/`. To change it, change a definition and run `make golden`.
The words are those of [concepts.md](concepts.md).

- **Formula**: `A / B` counts the cases A among the cases B. The report prints both numbers. Where an absence is
  counted, B holds only the cases where another look of the same trial showed that the thing could have come back.
- **Better**: which direction is better. A measure with *neither* explains others and is in no column.
- **Unit**: a *proportion* lies between 0 and 1. Where a formula of another unit ends in `of: X`, the number stands over
  X cases.
- **Version**: is raised when the formula changes. Values of different versions are not compared.
- **Column**: where the measure stands on the scoreboard, and its gravity there. A measure in no column says why.
- **Source**: where the formula comes from; *own* means that no published one was found.

A measure without a number is one of four words, each with a reason: *unsupported*, *not applicable*, *failed*, *not
run*. None of them counts as 0.
"""
_COLUMNS = """\
## Columns

Each column counts in one direction, every measure turned into it. A cell of a column with an order shows the gravest
measure that went wrong, and of equally grave ones the largest share; it never shows the largest share of all, which
may hide a graver one. Where nothing went wrong it shows the first of its leading measures that has a number.
"""
_TABLE = (
    "| measure | what it counts: formula | better | unit | version | column, or why none | source |",
    f"|{' --- |' * 7}",
)


def write_page() -> str:
    """The columns with their order, the measures of stories, then those of each drill, in the order of definition."""
    parts = [
        _HEAD,
        _COLUMNS,
        *map(_write_column, COLUMNS.values()),
        "",
        *_write_section("Stories", metrics.DEFINITIONS.values()),
    ]
    for drill in trust.DRILLS:
        parts += _write_section(f"Drill `{drill}`", (each.definition for each in trust.METRICS if each.drill == drill))
    return "\n".join(parts)


def _write_column(column: Column) -> str:
    leads = ", else ".join(f"`{name}`" for name in column.leads)
    order = [f"  {at}. *{each.name}*: {each.says}" for at, each in enumerate(column.order, 1) if len(column.order) > 1]
    shows = f" A cell shows {column.shows}." if column.shows else ""
    head = f"- **{column.head}**: {column.asks} It counts {column.counts}; {column.better} is better. Led by {leads}."
    return "\n".join([f"{head}{shows}", *order])


def _write_section(title: str, own: Iterable[Definition]) -> list[str]:
    return [f"## {title}", "", *_TABLE, *map(_format_row, own), ""]


def _format_row(each: Definition) -> str:
    varies = f"<br>*May differ between equal runs:* {_escape(each.varies)}" if each.varies else ""
    numbers = f"{each.better} | {each.unit} | {each.version}"
    formula = f"*{_escape(each.label)}*: {_escape(each.formula)}{varies}"
    cells = (f"`{each.name}`", formula, numbers, _place(each), _escape(each.source))
    return f"| {' | '.join(cells)} |"


def _place(each: Definition) -> str:
    if each.column is None or each.gravity is None:
        return _escape(each.aside) or "no direction"
    column = COLUMNS[each.column]
    return f"**{column.head}**" + (f": {column.order[each.gravity].name}" if len(column.order) > 1 else "")


def _escape(text: str) -> str:
    """A sentence that breaks no table and holds no markup of its own, but for names of measures in backquotes."""
    return escape(text, quote=False).replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(write_page())
