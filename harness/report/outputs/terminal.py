"""The scoreboard and the verdict on the terminal: at most 80 columns unless it is wider, readable without colour."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.model.results import Results
from harness.report import words
from harness.report.model import board, table, ways
from harness.report.model.board import Board, BoardRow
from harness.report.model.table import MEANING, SHAPES, Judgement, ScoreboardCell
from harness.report.text import verdict
from harness.report.text.points import Tone

NAME = 26
"""Characters of a name that stand in one line; a longer one is folded."""
REASONS = 6
"""Reasons that a screen has room for; the page has all of them."""
STYLES: Mapping[Judgement, str] = {"good": "green", "middling": "yellow", "bad": "bold red", "open": "dim"}
TONES: Mapping[Tone, str] = {"good": "\u2713", "bad": "\u25b2", "plain": "\u2022"}


def show(results: Results, out: Console) -> None:
    """Prints what a run says, the verdict last. A backend's words are `Text` and `plain`: no markup, no command."""
    scoreboard = board.collect(results)
    if not scoreboard.empty:
        stories = " of ".join(
            filter(None, [words.format_count(len(results.stories), "story", "stories"), table.describe_suite(results)])
        )
        _print(out, [f"coldwarm {results.run.version}: {stories}"], style="bold")
        for part in _draw(scoreboard, out.width):
            out.print(part, soft_wrap=False)
            out.print()
        _print(out, _explain_board(results, scoreboard))
    _print(out, _list_faults(results))
    _print(out, _list_below(results, scoreboard))
    _print(out, ["", "Verdict"], style="bold")
    for line in verdict.judge(results, scoreboard):
        _print(out, [f"{TONES[line.tone]} {line.text}"], style="bold red" if line.tone == "bad" else "")
    out.print()


def _draw(scoreboard: Board, width: int) -> Iterator[Table]:
    """The scoreboard in as many tables as the width asks for; no word is broken."""
    names = [_name(row) for row in scoreboard.rows]
    first = max(len("backend"), *(min(NAME, len(name.plain)) for name in names)) + 2
    columns = [[_format_cell(row.scores[at]) for row in scoreboard.rows] for at in range(len(scoreboard.columns))]
    heads = [Text(column.head, style="bold") for column in scoreboard.columns]
    wide = [max(_measure(each) for each in (head, *own)) + 2 for head, own in zip(heads, columns, strict=True)]
    for part in _fit(wide, width - first):
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        grid.add_column(Text("backend", style="bold"), max_width=NAME, overflow="fold")
        for at in part:
            grid.add_column(heads[at], no_wrap=True)
        for nth, name in enumerate(names):
            grid.add_row(name, *(columns[at][nth] for at in part))
        yield grid


def _measure(text: Text) -> int:
    return max(map(len, text.plain.split("\n")))


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


def _name(row: BoardRow) -> Text:
    return Text(words.make_plain(row.name), style="dim" if row.cold else "bold")


def _format_cell(score: ScoreboardCell) -> Text:
    """The mark and the number, beneath them what it rests on and what the other write policy reaches."""
    # As wide as a mark, so that the numbers of a column stand below each other.
    mark = f"{score.shape} " if score.judgement != "open" else "  "
    cell = Text(mark, style=STYLES[score.judgement])
    cell.append(score.text, style="" if score.measured else "dim italic")
    for beneath in (*filter(None, [score.rests]), *(line.text for line in score.lines[1:])):
        cell.append(f"\n  {beneath}", style="dim")
    return cell


def _explain_board(results: Results, scoreboard: Board) -> Iterator[str]:
    """How to read the table, what holds of whole rows, and why cells have no number."""
    yield "  ".join(f"{SHAPES[judgement]} {word}" for judgement, word in MEANING.items())
    if len(writes := results.list_writes()) > 1:
        legend = (f"{ways.WRITE_LABELS[write]}: the agent {ways.WRITE_DESCRIPTIONS[write]}." for write in writes)
        yield f"A number alone {ways.USUAL}" if ways.are_usual(results) else " ".join(legend)
    yield from filter(None, [ways.explain_range(results)])
    yield scoreboard.counts
    yield from [board.FAILED] if scoreboard.trust else []
    yield from filter(None, [scoreboard.bounds])
    yield from (f"{row.name}: {note}." for row in scoreboard.rows for note in row.notes)
    yield from filter(None, [table.explain_model_inside(results)])
    reasons = board.explain_cells(scoreboard)
    yield from ([""] if reasons else [])
    yield from (f"- {line}" for line in reasons[:REASONS])
    if len(reasons) > REASONS:
        # The last one takes no more room than the line that would count it.
        yield (
            f"- {reasons[REASONS]}"
            if len(reasons) == REASONS + 1
            else f"- and {len(reasons) - REASONS} more in the report"
        )


def _list_faults(results: Results) -> Iterator[str]:
    """Calls that failed: what stands above is of the others."""
    for each in table.state_faults(results):
        yield ""
        yield f"{SHAPES['bad']} {each.head}" if each.bad else each.head
        yield from (f"- {failing.says}" for failing in each.failing)


def _list_below(results: Results, scoreboard: Board) -> Iterator[str]:
    """What belongs to the figures: conditions, and problems that no gate checks."""
    yield ""
    yield from filter(None, [table.explain_chance(results), words.describe_conditions(results)])
    if results.gates and (lines := board.collect_demands(results, scoreboard).lines):
        yield from ("", "Problems that none of your gates checks", *(f"- {line}" for line in lines))


def describe_end(results: Results) -> str:
    """What stands last, and alone if all else is silenced: what came to its end, which calls failed, how many gates
    held."""
    # A trial has a cell for each way of reading, and counts once.
    trials = {cell.trial: cell.status for cell in results.cells}
    drills = {cell.id: cell.status for cell in results.trust}
    failed = sum(each.count for own in results.group_faults().values() for each in own)
    faults = f"{words.format_count(failed, 'call')} failed" if failed else ""
    sentences = [
        _describe_ends(trials, "trial"),
        _describe_ends(drills, "drill"),
        faults,
        _describe_changes(results),
        _describe_gates(results),
    ]
    return "; ".join(filter(None, sentences)) or "nothing was played"


def _describe_ends(statuses: Mapping[str, str], noun: str) -> str:
    """How many came to their end, and what became of the others."""
    counts = Counter(statuses.values())
    done = counts.pop("complete", 0)
    others = "".join(f", {n} {word.replace('-', ' ')}" for word, n in sorted(counts.items()))
    return f"{done:,} of {words.format_count(len(statuses), noun)} complete{others}" if statuses else ""


def _describe_changes(results: Results) -> str:
    """What became of the baseline. What is not shown to be more than chance, or varies by run, has moved."""
    counts = Counter(
        ("moved" if change.difference else "unchanged")
        if change.verdict == "no-difference-shown"
        else change.verdict.replace("-", " ")
        for change in results.changes
    )
    listed = ", ".join(f"{n:,} {word}" for word, n in sorted(counts.items()))
    return f"against the baseline {listed}" if counts else ""


def _describe_gates(results: Results) -> str:
    """How many gates held, and what none of them asks."""
    if not results.gates:
        return ""
    held = sum(gate.verdict == "held" for gate in results.gates)
    demands = board.collect_demands(results, board.collect(results))
    controls = f" ({demands.controls} judge controls)" if demands.controls else ""
    columns = words.format_count(len(demands.bad), "column")
    bad = f"; \u25b2 tests failed in {columns} that no gate covers" if demands.bad else ""
    return f"{held:,} of {words.format_count(len(results.gates), 'gate')} held{controls}{bad}"


def _print(out: Console, lines: Iterable[str], style: str = "") -> None:
    for line in lines:
        # `wrap` makes nothing of an empty line.
        for part in textwrap.wrap(words.make_plain(line), out.width, subsequent_indent="  ") or [""]:
            # It is wrapped already: rich would break it again.
            out.print(Text(part, style=style), soft_wrap=True)
