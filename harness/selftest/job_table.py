"""Each way to take each decision of a story, against what the visible and the hidden tests say of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report.words import make_plain
from harness.selftest.control_plays import DecisionEnds
from harness.selftest.proof import Tried

SAYS = {None: "none", True: "pass", False: "fail"}
TELLS = {"repo": "the repository tells it", "run": "a command tells it", "nowhere": "nothing tells it"}


def show_ways(scenario: str, tried: Sequence[Tried], unaided: DecisionEnds, out: Console) -> None:
    """One table a story; the last row of a decision says how it ends without a memory, whatever way is naive."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left", title=f"\n{scenario}: jobs")
    for head in ("decision", "way", "visible tests", "hidden tests see"):
        table.add_column(head, overflow="fold")
    named = ""
    for (job, decision), end in unaided.items():
        ways = [each for each in tried if (each.job, each.decision) == (job, decision)]
        lines = [(each.way, SAYS[each.visible], each.seen or "nothing") for each in ways]
        lines.append(("cold", "", f"{end.value or 'nothing'} ({end.outcome}; {TELLS[end.origin]})"))
        for line in lines:
            name = f"{job}.{decision}"
            table.add_row(*(Text(make_plain(cell)) for cell in ("" if name == named else name, *line)))
            named = name
    out.print(table)
