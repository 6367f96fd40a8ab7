"""The matrix on the terminal: one row a fault in 100 columns, then the measures that none of them put to the proof."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.report.words import make_plain
from harness.selftest.faults import FLAGS, FaultRow, Matrix, list_proven


def show(matrix: Matrix, out: Console) -> None:
    """Prints what every fault moved. Everything is `Text`, so no text of a fault is taken for markup."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for head in ("fault", "flagged by, and how many more measures it moved"):
        table.add_column(head)
    for row in matrix.rows:
        table.add_row(*_make_cells(row))
    out.print(table, soft_wrap=False)
    caught = sum(set(row.fault.must) <= set(row.caught) for row in matrix.rows)
    seen = list_proven(matrix.rows)
    others = ", ".join(name for name in matrix.reference if name not in seen) or "none"
    summary = f"{len(seen)} of {len(matrix.reference)} measures are changed by a fault; not put to the proof: {others}"
    for line in (
        "",
        f"{caught} of {len(matrix.rows)} faults are flagged by every measure that must flag them",
        summary,
    ):
        # `wrap` makes nothing of an empty line
        for part in textwrap.wrap(line, max(out.width, 80), subsequent_indent="  ") or [""]:
            # already wrapped: Rich would break the line again at a narrower width
            out.print(Text(part), soft_wrap=True)


def _make_cells(row: FaultRow) -> Iterator[Text]:
    """What must flag it stands by itself; of the rest, what may move is counted, and what must not is named."""
    yield Text(make_plain(row.fault.name), style="" if not row.breaches else "bold red")
    words = [(name, "" if row.moves.get(name) in FLAGS else "bold red") for name in row.fault.must]
    wrong = {breach.key for breach in row.breaches} - set(row.fault.must)
    others = [name for name in row.moves if name not in row.fault.must]
    words += [(f"+{sum(name not in wrong for name in others)}", "dim")] * bool(set(others) - wrong)
    words += [(name, "bold red") for name in others if name in wrong]
    yield Text(", ").join(Text(make_plain(word), style=style) for word, style in words)
