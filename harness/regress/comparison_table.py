"""What changed between two runs, on the terminal: 80 columns, regressions first, readable without colour."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.metrics.metric import wilson
from harness.model.regression import Change
from harness.model.results import Against
from harness.regress.gate_verdicts import format_number
from harness.report import words

SHOWN = 12
"""Rows of what moved without being shown; `--json` has all of them."""
NAMED = 3
"""Measures named where there may be many."""


def show(before: Against, now: str, changes: Sequence[Change], out: Console) -> None:
    """Prints the changes by verdict, then what was not compared and what could have been seen."""

    def of(verdict: str) -> list[Change]:
        return [each for each in changes if each.verdict == verdict]

    _say(out, f"coldwarm compare: {before.run} -> {now}", style="bold")
    _say(out, f"Backend versions: {', '.join(_list_versions(before)) or 'the same'}.")
    if before.moved_programs:
        _say(out, f"Agent programs: {' -> '.join(before.moved_programs)}.")
    for line in before.differs:
        _say(out, f"Not comparable: {line}.")
    if before.retold:
        n = words.format_count(len(before.retold), "scenario")
        _say(out, f"Not comparable, as their stories changed: {n} ({_join_few(before.retold)}).")
    _print_table(out, "WORSE", of("worse"))
    for each in of("worse"):
        _say(out, f"- {each.backend}, {each.measure}: {'; '.join(filter(None, [each.reason, _see(each.broken)]))}")
    _print_grouped(out, "VANISHED: had a number and has none", of("vanished"))
    _print_table(out, "BETTER", of("better"))
    _print_grouped(out, "APPEARED: has a number and had none", of("appeared"))
    same = [each for each in of("no-difference-shown") if not each.difference]
    moved = [each for each in of("no-difference-shown") if each.difference]
    _print_moved(out, "MOVED, not shown to be more than chance", [each for each in moved if not each.drill])
    _print_moved(out, "MOVED, and varies by run", [each for each in moved if each.drill])
    _print_grouped(out, "NOT COMPARABLE", of("not-comparable"))
    _print_power(out, changes, same)


def _list_versions(before: Against) -> list[str]:
    """Versions that differ, and those of which nobody can say whether they do."""
    words = {None: "absent", "": "not recorded"}
    return [
        f"{name} {words.get(old, old)} -> {words.get(new, new)}"
        for name, (old, new) in before.versions.items()
        if old != new or not old
    ]


def _print_moved(out: Console, head: str, changes: Sequence[Change]) -> None:
    """Drills say why they vary, each reason once."""
    _print_table(out, head, changes[:SHOWN])
    if len(changes) > SHOWN:
        _say(out, f"and {len(changes) - SHOWN} more: --json has all of them")
    reasons = {each.reason: [one.measure for one in changes if one.reason == each.reason] for each in changes}
    for reason, names in reasons.items():
        # of stories, the head of the table says why
        if reason and changes[0].drill:
            _say(out, f"- {_join_few(list(dict.fromkeys(names)))}: {reason}")


def _print_table(out: Console, head: str, changes: Sequence[Change]) -> None:
    if not changes:
        return
    _print_head(out, head)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(Text("backend"), min_width=8, max_width=14, overflow="fold")
    table.add_column(Text("measure"), max_width=26, overflow="fold")
    for name in ("then", "now", "difference", "adj. p"):
        table.add_column(Text(name), justify="right", overflow="fold")
    for each in changes:
        table.add_row(*map(Text, (words.make_plain(each.backend, 40), _measure(each), *_format_figures(each))))
    out.print(table, soft_wrap=False)


def _measure(change: Change) -> str:
    return f"{change.measure} ({change.drill})" if change.drill else change.measure


def _format_figures(change: Change) -> tuple[str, str, str, str]:
    difference = "" if change.difference is None else format_number(change.difference)
    beside = f"\n({words.format_interval(change.interval)})" if change.interval else ""
    p = "" if change.adjusted_p is None else f"{change.adjusted_p:.2g}"
    old, new = ((change.old, change.old_count), (change.new, change.new_count))
    return _format_side(change, *old), _format_side(change, *new), difference + beside, p


def _format_side(change: Change, value: float | None, count: tuple[float, int] | None) -> str:
    """The count; in a drill with its own interval, as the difference has none."""
    if count is None:
        return "-" if value is None else format_number(value)
    own = f"\n({words.format_interval(wilson(int(count[0]), count[1]))})" if change.drill else ""
    return words.count(*count) + own


def _print_grouped(out: Console, head: str, changes: Sequence[Change]) -> None:
    """One line for all measures of a backend that have the same reason."""
    groups = defaultdict[tuple[str, str], list[Change]](list)
    for each in changes:
        groups[each.backend, each.reason].append(each)
    if groups:
        _print_head(out, head)
    for (backend, reason), own in sorted(groups.items()):
        cells = tuple(dict.fromkeys(cell for each in own for cell in each.vanished))
        names = _join_few([each.measure for each in own])
        _say(out, f"- {backend}, {names}: {'; '.join(filter(None, [reason, _see(cells)]))}")


def _join_few(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _see(cells: Sequence[str]) -> str:
    more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
    return f"see {cells[0]}{more}" if cells else ""


def _print_power(out: Console, changes: Sequence[Change], same: Sequence[Change]) -> None:
    """What did not move, and what could have been seen at all where most scenarios were paired."""
    _say(out, "")
    if same:
        backends = words.join_words(sorted({each.backend for each in same}))
        _say(out, f"{words.format_count(len(same), 'measure')} of {backends} did not change.")
    widest = max(changes, key=lambda each: (each.scenarios, each.detectable), default=None)
    if widest and widest.scenarios:
        over = words.format_count(widest.scenarios, "scenario")
        _say(out, f"Over {over} this comparison could have shown {widest.detectable}.")


def _print_head(out: Console, line: str) -> None:
    _say(out, "")
    _say(out, line, style="bold")


def _say(out: Console, line: str, style: str = "") -> None:
    # wrap() makes no line of an empty text; Text, as brackets in a name would be read as markup
    for part in textwrap.wrap(words.make_plain(line), out.width, subsequent_indent="  ", break_on_hyphens=False) or [
        ""
    ]:
        out.print(Text(part, style=style), soft_wrap=True)
