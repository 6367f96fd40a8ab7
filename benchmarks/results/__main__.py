"""Prints measured figures as a table: `python -m benchmarks.results NAME`; without a name, what there is."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

FOLDER = Path(__file__).parent


class Table(TypedDict):
    title: str
    conditions: str
    columns: list[str]
    rows: list[list[str]]


def read_tables() -> dict[str, Table]:
    """Name -> table, of the files that hold one: `errors.json` has a form of its own."""
    read = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.json"))}
    return {name: table for name, table in read.items() if "columns" in table}


def write_lines(table: Table) -> Iterator[str]:
    yield f"# {table['title']}\n\n{table['conditions']}\n"
    yield from write_table(table["columns"], table["rows"])


def write_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown, line by line."""
    for row in (columns, ["---"] * len(columns), *rows):
        cells = (cell.replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    tables, names = read_tables(), sys.argv[1:]
    if unknown := [name for name in names if name not in tables]:
        raise SystemExit(f"no such table: {', '.join(unknown)}; there are {', '.join(tables)}")
    for name in names:
        print("\n".join(write_lines(tables[name])) + "\n")
    if not names:
        print("\n".join(f"{name:20} {table['title']}" for name, table in tables.items()))


if __name__ == "__main__":
    main()
