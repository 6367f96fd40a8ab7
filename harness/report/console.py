"""The table on the terminal: one screen, 80 columns, readable without colour."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report import tables, trust, words
from harness.report.tables import COLUMNS, Figure
from harness.results import Results

NAME = 16
REASON = 150
SHORT = {"unsupported": "unsupp."}
"""So that seven questions fit in 80 columns; the word stands in full below the table."""
MARKS = "\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
REASONS = 6
"""Reasons that a screen has room for; the page has all of them."""


def show(results: Results, out: Console) -> None:
    """Prints what a run says, on one screen. A backend's words are `Text` and `plain`: no markup, no command."""
    if results.stories:
        notes: dict[str, str] = {}
        out.print(_table(results, notes), soft_wrap=False)
        _print(out, filter(None, ["   ".join(f"{mark.strip()} {note}" for note, mark in notes.items())]))
    if results.trust:
        _print(out, [""] if results.stories else [])
        out.print(_trust(results), soft_wrap=False)
    _print(out, _below(results))


def ending(results: Results) -> str:
    """What stands last, and alone if all else is silenced: what came to its end, and how many gates held."""
    trials = {cell.trial: cell.status for cell in results.cells}
    drills = {cell.id: cell.status for cell in results.trust}
    told = [_ends(trials, "trial"), _ends(drills, "drill"), _changed(results), _held(results)]
    return "; ".join(filter(None, told)) or "nothing was played"


def _ends(statuses: Mapping[str, str], noun: str) -> str:
    """How many came to their end, and what became of the others."""
    told = Counter(statuses.values())
    done = told.pop("complete", 0)
    others = "".join(f", {n} {word.replace('-', ' ')}" for word, n in sorted(told.items()))
    return f"{done:,} of {words.plural(len(statuses), noun)} complete{others}" if statuses else ""


def _changed(results: Results) -> str:
    told = Counter(change.verdict for change in results.changes)
    listed = ", ".join(f"{n:,} {word.replace('-', ' ')}" for word, n in sorted(told.items()))
    return f"against the baseline {listed}" if told else ""


def _held(results: Results) -> str:
    held = sum(gate.verdict == "held" for gate in results.gates)
    return f"{held:,} of {words.plural(len(results.gates), 'gate')} held" if results.gates else ""


def _print(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        for part in textwrap.wrap(words.plain(line), out.width, subsequent_indent="  ") or [""]:
            out.print(Text(part), soft_wrap=True)


def _table(results: Results, notes: dict[str, str]) -> Table:
    """The five questions. notes: what stands beside a figure -> its mark; filled here."""
    stories = " of ".join(filter(None, [words.plural(len(results.stories), "scenario"), tables.suite(results)]))
    table = Table(
        title=Text(words.plain(f"coldwarm {results.run.version}: {stories}, hits of cases"), style="bold"),
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
        style = "" if line.group == "ranked" else "dim"
        name = Text(words.plain(line.name), style=style or "bold")
        table.add_row(name, *(_cell(each, style, notes) for each in line.figures))
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
        table.add_row(Text(words.plain(name), style="bold"), *map(_trusted, figures))
    return table


def _trusted(figure: trust.Figure) -> Text:
    shown = SHORT.get(figure.text, figure.text)
    return Text(f"\u25b2 {shown}" if figure.fault else shown, style="" if figure.measured else "italic dim")


def _cell(figure: Figure, style: str, notes: dict[str, str]) -> Text:
    """A number with the mark of its note, or the word for there being none."""
    if not figure.measured:
        word = figure.text.partition(" + ")[0]
        return Text(SHORT.get(word, word), style="italic dim")
    parts = [words.NO_MERIT] if figure.note.startswith(words.NO_MERIT) else []
    note = ", ".join([*parts, *([f"without {figure.short}"] if figure.short else [])])
    if note and note not in notes:
        notes[note] = MARKS[len(notes)] if len(notes) < len(MARKS) else f" ({len(notes) + 1})"
    return Text(figure.text + notes.get(note, ""), style=style)


def _below(results: Results) -> Iterator[str]:
    """What belongs to the figures: differences, reasons for there being none, conditions, limits."""
    yield ""
    yield from _differences(results)
    yield ""
    yield from _reasons(results)
    yield from filter(None, [tables.chance(results), words.conditions(results)])
    power = words.power(results)
    limits = tables.cannot_say(results)
    yield from ("", "This run cannot say", *(f"- {line}" for line in limits[: len(limits) - len(power)]))
    if power:
        yield "- What it could have shown at all: see the report."
    yield ""


def _reasons(results: Results) -> Iterator[str]:
    """Why there is no number, of what is under test; the reasons of controls are counted."""
    missing = tables.missing(results, tuple(dict.fromkeys(column.measure for column in COLUMNS)))
    tested = {line.name for line in tables.lines(results) if line.group == "ranked"}
    heads = {column.measure: column.head.lower() for column in COLUMNS if not column.write}
    told = [
        f"- {each.word}: {words.listed([heads.get(name, name) for name in each.measures])} of "
        f"{words.listed([name for name in each.backends if name in tested])}: {words.visible(each.reason, REASON)}"
        for each in missing
        if tested.intersection(each.backends)
    ]
    if missing:
        more = len(missing) - min(len(told), REASONS)
        yield from ("Not measured", *told[:REASONS])
        yield from [f"- and for {words.plural(more, 'more reason')}: see the report"] if more else []
        yield ""


def _differences(results: Results) -> Iterator[str]:
    """In which measures the table's differences are more than chance; who against whom is told in the report."""
    pairs = Counter(each.measure for each in results.compared())
    shown = Counter(each.measure for each in results.compared() if each.verdict != "no-difference-shown")
    told = [f"{words.measure_name(name)} ({n} of {words.plural(pairs[name], 'pair')})" for name, n in shown.items()]
    none = [words.measure_name(name) for name in pairs if not shown[name]]
    if told:
        yield f"A difference was shown in {words.listed(told)}."
    if none:
        yield f"No difference was shown in {words.listed(none)}."
