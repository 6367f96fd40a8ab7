"""The table on the terminal: one screen, 80 columns, readable without colour."""

from __future__ import annotations

import re
import textwrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.compare import ENOUGH
from harness.report import tables, trust, words
from harness.report.tables import COLUMNS, Figure, Line
from harness.results import Results

NAME = 16
REASON = 150
SHORT = {"unsupported": "unsupp."}
"""So that seven questions fit in 80 columns; the word stands in full below the table."""
INTERVALS = "Below a figure: scenarios that are not in it. The intervals (95 %, over scenarios) stand in the report."
REASONS = 8
"""Reasons shown on the terminal; the page has all of them."""


def show(results: Results, out: Console) -> None:
    """Prints what a run says. Everything is `Text`, so no backend's words are taken for markup."""
    if results.stories:
        out.print(_table(results), soft_wrap=False)
    if results.trust:
        out.print("\n" if results.stories else "", _trust(results), sep="", soft_wrap=False)
    for line in _below(results):
        for part in textwrap.wrap(line, out.width, subsequent_indent="  " if line else "") or [""]:
            out.print(Text(part), soft_wrap=True)


def _table(results: Results) -> Table:
    stories = " of ".join(filter(None, [words.plural(len(results.stories), "scenario"), tables.suite(results)]))
    table = Table(
        title=Text(f"coldwarm {results.run.version}: {stories}, hits of cases", style="bold"),
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column(Text("backend"), min_width=12, max_width=NAME, overflow="fold")
    cold = tables.cold_right(results)
    for column in COLUMNS:
        first, second = column.short
        beneath = f"\n(cold {cold})" if column.measure == "decisions_right" and not column.write and cold else ""
        table.add_column(Text(f"{first}\n{second}{beneath}".rstrip()), justify="right", overflow="fold")
    before = "ranked"
    for line in tables.lines(results):
        if line.group == "control" and before == "ranked":
            table.add_row(Text("controls,\nnever ranked", style="dim"))
        before = line.group
        table.add_row(Text(line.name, style="bold" if line.group == "ranked" else "dim"), *_cells(line))
    return table


def _trust(results: Results) -> Table:
    """What the drills showed; a mark stands before what is not as good as it can be."""
    table = Table(
        title=Text("Trust, tested by drills (\u25b2: not as good as it can be)", style="bold"),
        title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    table.add_column(Text("backend"), min_width=12, max_width=NAME, overflow="fold")
    heads, rows = trust.headline(results)
    for head in heads:
        table.add_column(Text("\n".join(head)), justify="right", overflow="fold")
    for name, figures in rows:
        table.add_row(Text(name, style="bold"), *map(_trusted, figures))
    return table


def _trusted(figure: trust.Figure) -> Text:
    shown = SHORT.get(figure.text, figure.text)
    return Text(f"\u25b2 {shown}" if figure.fault else shown, style="" if figure.measured else "italic dim")


def _cells(line: Line) -> list[Text]:
    return [_cell(each, "" if line.group == "ranked" else "dim") for each in line.figures]


def _cell(figure: Figure, style: str) -> Text:
    shown = SHORT.get(figure.text, figure.text if figure.measured else figure.text.partition(" + ")[0])
    text = Text(shown, style=style if figure.measured else "italic dim")
    if figure.measured and figure.short:
        text.append("\n" + re.sub(r" cells?", "", figure.short).replace(", ", "\n"), style="dim")
    return text


def _below(results: Results) -> list[str]:
    missing = tables.missing(results, tuple(dict.fromkeys(column.measure for column in COLUMNS)))
    heads = {column.measure: column.head.lower() for column in COLUMNS if not column.write}
    told = [
        f"- {each.word}: {', '.join(heads.get(name, name) for name in each.measures)} of {', '.join(each.backends)}: "
        f"{words.visible(each.reason, REASON)}"
        for each in missing
    ]
    more = (
        [f"- and {words.plural(len(told) - REASONS, 'more reason')}, all in the report"] if len(told) > REASONS else []
    )
    return [
        "",
        *words.findings(results),
        "",
        *([*["Not measured"], *told[:REASONS], *more, ""] if told else []),
        *filter(None, [tables.chance(results)]),
        *([INTERVALS] if len(results.stories) >= ENOUGH else []),
        words.conditions(results),
        "",
        "This run cannot say",
        *(f"- {line}" for line in tables.cannot_say(results)),
    ]
