"""Measured figures as data: each table is whole, says how it was measured, and prints as Markdown."""

from __future__ import annotations

import re

import pytest

from benchmarks.results.__main__ import read_tables, write_lines
from harness.report.charts import policies

TABLES = read_tables()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_conditions_and_whole_rows(name: str) -> None:
    table = TABLES[name]
    assert re.search(r"20\d\d-\d\d-\d\d|\d+\.\d+\.\d+", table["conditions"]), "neither a date nor a release"
    assert table["rows"] and {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_a_bar_inside_of_a_cell_does_not_end_it() -> None:
    *_, row = write_lines({"title": "t", "conditions": "c", "columns": ["a", "b"], "rows": [["x|y", "z"]]})
    assert row == "| x\\|y | z |"


def test_the_table_of_ways_has_the_columns_of_its_chart() -> None:
    """But for those that came after it was played."""
    told = TABLES["ways"]["columns"]
    assert told == ["suite", *(head for head in policies.WAYS_HEADS if head in told)]
