"""The table on the terminal: one screen, 80 columns, readable without colour."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.model.results import Results
from harness.report import demanded, faulted, headline, tables, words
from harness.report.tables import COLUMNS, Figure
from harness.report.worst import LEGEND, MARK

NAME = 16
REASON = 150
SHORT = {"unsupported": "unsupp."}
"""So that seven questions fit in 80 columns; the word stands in full below the table."""
PROMISED_NOTHING = (words.NOT_MEASURED["unsupported"], words.NOT_MEASURED["not-applicable"])
MARKS = "\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
REASONS = 6
"""Reasons that a screen has room for; the page has all of them."""


def show(results: Results, out: Console) -> None:
    """Prints what a run says, on one screen. A backend's words are `Text` and `plain`: no markup, no command."""
    if results.stories:
        notes: dict[str, str] = {}
        out.print(_table(results, notes), soft_wrap=False)
        _print(out, _describe_marks(notes))
    if results.trust:
        named: dict[str, str] = {}
        _print(out, [""] if results.stories else [])
        for table in _trust(results, out.width, named):
            out.print(table, soft_wrap=False)
        _print(out, [*_describe_marks(named), f"{LEGEND[0].upper()}{LEGEND[1:]}."])
    _print(out, _faults(results))
    _print(out, _below(results))


def _describe_marks(notes: Mapping[str, str]) -> list[str]:
    """What the marks of a table stand for, in one line."""
    return ["   ".join(f"{mark.strip()} {note}" for note, mark in notes.items())] if notes else []


def _faults(results: Results) -> Iterator[str]:
    """Calls that failed: what stands above is of the others."""
    for each in faulted.statements(results):
        yield ""
        yield f"{MARK} {each.head}" if each.bad else each.head
        yield from (f"- {failing.says}" for failing in each.failing)


def describe_end(results: Results) -> str:
    """What stands last, and alone if all else is silenced: what came to its end, which calls failed, how many gates
    held."""
    trials = {cell.trial: cell.status for cell in results.cells}
    drills = {cell.id: cell.status for cell in results.trust}
    failed = sum(each.count for own in results.group_faults().values() for each in own)
    faults = f"{words.plural(failed, 'call')} failed" if failed else ""
    told = [
        _ends(trials, "trial"),
        _ends(drills, "drill"),
        faults,
        _describe_changes(results),
        _describe_gates(results),
    ]
    return "; ".join(filter(None, told)) or "nothing was played"


def _ends(statuses: Mapping[str, str], noun: str) -> str:
    """How many came to their end, and what became of the others."""
    told = Counter(statuses.values())
    done = told.pop("complete", 0)
    others = "".join(f", {n} {word.replace('-', ' ')}" for word, n in sorted(told.items()))
    return f"{done:,} of {words.plural(len(statuses), noun)} complete{others}" if statuses else ""


def _describe_changes(results: Results) -> str:
    """What became of the baseline. What is not shown to be more than chance, or varies by run, has moved."""
    told = Counter(
        ("moved" if change.difference else "unchanged")
        if change.verdict == "no-difference-shown"
        else change.verdict.replace("-", " ")
        for change in results.changes
    )
    listed = ", ".join(f"{n:,} {word}" for word, n in sorted(told.items()))
    return f"against the baseline {listed}" if told else ""


def _describe_gates(results: Results) -> str:
    """How many gates held, and what none of them asks."""
    if not results.gates:
        return ""
    held, left = sum(gate.verdict == "held" for gate in results.gates), demanded.collect(results)
    controls = f" ({left.controls} judge controls)" if left.controls else ""
    bad = f"; {MARK} {words.plural(len(left.bad), 'headline')} bad that no gate demands" if left.bad else ""
    return f"{held:,} of {words.plural(len(results.gates), 'gate')} held{controls}{bad}"


def _print(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        for part in textwrap.wrap(words.plain(line), out.width, subsequent_indent="  ") or [""]:
            out.print(Text(part), soft_wrap=True)


def _table(results: Results, notes: dict[str, str]) -> Table:
    """The five questions.

    Args:
        notes: What stands beside a figure -> its mark; filled here.
    """
    stories = " of ".join(filter(None, [words.plural(len(results.stories), "scenario"), tables.suite(results)]))
    table = Table(
        title=Text(words.plain(f"coldwarm {results.run.version}: {stories}, hits of cases"), style="bold"),
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column(Text("backend"), min_width=12, max_width=NAME, overflow="fold")
    for column in COLUMNS:
        first, second = column.asks.short
        cold = tables.cold(results, column.measure) if column.asks.cold else ""
        beneath = f"\n(cold {cold})" if cold else ""
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


def _trust(results: Results, width: int, notes: dict[str, str]) -> Iterator[Table]:
    """What the drills showed, of each question the worst, in as many tables as the width asks for."""
    columns, rows = headline.table(results)
    texts = [[_show_trust(figure, notes) for figure in figures] for _, figures in rows]
    names = [Text(words.plain(name), style="bold") for name, _ in rows]
    wide = [
        max(map(len, (*column.head.split(), *(row[at].plain for row in texts)))) + 1
        for at, column in enumerate(columns)
    ]
    first = max(12, min(NAME, max((len(name.plain) for name in names), default=0))) + 1
    for part in _fit(wide, width - first):
        table = Table(
            title=Text(f"Trust, tested by drills ({MARK}: below a perfect score)", style="bold")
            if part[0] == 0
            else None,
            title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False,
        )  # fmt: skip
        table.add_column(Text("backend"), min_width=12, max_width=NAME, overflow="fold")
        for at in part:
            table.add_column(Text("\n".join(columns[at].head.split())), justify="right", overflow="fold")
        for name, row in zip(names, texts, strict=True):
            table.add_row(name, *(row[at] for at in part))
        yield table


def _fit(wide: Sequence[int], room: int) -> Iterator[list[int]]:
    """The places of columns that stand side by side, one at least."""
    part: list[int] = []
    for at, width in enumerate(wide):
        if part and sum(wide[each] for each in part) + width > room:
            yield part
            part = []
        part.append(at)
    if part:
        yield part


def _show_trust(figure: headline.HeadlineFigure, notes: dict[str, str]) -> Text:
    """The name of what is shown stands below, behind its mark."""
    shown = SHORT.get(figure.text, figure.text)
    note = ", ".join(filter(None, [figure.name, *figure.lacking]))
    text = f"{MARK} {shown}" if figure.fault else shown
    style = "" if figure.measured else "italic dim" if figure.text in PROMISED_NOTHING else "italic"
    return Text(text + _mark(note, notes), style=style)


def _mark(note: str, notes: dict[str, str]) -> str:
    """The mark of a note, a new one if it has none yet."""
    if note and note not in notes:
        notes[note] = MARKS[len(notes)] if len(notes) < len(MARKS) else f" ({len(notes) + 1})"
    return notes.get(note, "")


def _cell(figure: Figure, style: str, notes: dict[str, str]) -> Text:
    """A number with the mark of its note, or the word for there being none."""
    if not figure.measured:
        word = figure.text.partition(" + ")[0]
        return Text(SHORT.get(word, word), style="italic dim")
    parts = [words.NO_MERIT] if words.NO_MERIT in figure.note else []
    named = [figure.name] if figure.name else []
    note = ", ".join([*named, *parts, *([f"without {figure.short}"] if figure.short else [])])
    return Text(figure.text + _mark(note, notes), style=style)


def _below(results: Results) -> Iterator[str]:
    """What belongs to the figures: differences, reasons for there being none, conditions, limits."""
    yield ""
    yield from _differences(results)
    yield ""
    yield from _reasons(results)
    yield from filter(None, [tables.chance(results), words.conditions(results)])
    if results.gates and (lines := demanded.collect(results).lines):
        yield from ("", f"Demanded by no gate ({MARK}: bad now)", *(f"- {line}" for line in lines))
    power = words.power(results)
    limits = tables.cannot_say(results)
    yield from ("", "This run cannot say", *(f"- {line}" for line in limits[: len(limits) - len(power)]))
    if power:
        yield "- What it could have shown at all: see the report."
    yield ""


def _reasons(results: Results) -> Iterator[str]:
    """Why there is no number, of what is under test; the reasons of controls are counted."""
    missing = tables.list_unanswered(results)
    tested = {line.name for line in tables.lines(results) if line.group == "ranked"}
    heads = {column.measure: column.head.lower() for column in COLUMNS if not column.write}
    told = [
        f"- {each.word}: {words.join_words([heads.get(name, name) for name in each.measures])} of "
        f"{words.join_words([name for name in each.backends if name in tested])}: {words.visible(each.reason, REASON)}"
        for each in missing
        if tested.intersection(each.backends)
    ]
    if missing:
        more = len(missing) - min(len(told), REASONS)
        yield from ("Not measured", *told[:REASONS])
        yield from [f"- and for {words.plural(more, 'more reason')}: see the report"] if more else []
        yield ""


def _differences(results: Results) -> Iterator[str]:
    """In which measures the table's differences are more than chance; who against whom is told in the report. What too
    few scenarios cannot tell is in no sentence."""
    compared = [each for each in results.list_comparisons() if each.able]
    pairs = Counter(each.measure for each in compared)
    shown = Counter(each.measure for each in compared if each.verdict != "no-difference-shown")
    told = [f"{words.measure_name(name)} ({n} of {words.plural(pairs[name], 'pair')})" for name, n in shown.items()]
    none = [words.measure_name(name) for name in pairs if not shown[name]]
    if told:
        yield f"More than chance are differences in {words.join_words(told)}."
    if none:
        yield f"What differs in {words.join_words(none)} could be chance."
