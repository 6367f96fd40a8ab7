"""Finding 1 tells what `benchmarks/results/ways.json` holds: each figure of it is computed here anew."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from harness import paths
from harness.model.trial import WritePolicy
from harness.report.model.ways import WRITE_LABELS

STORES = ("bm25", "chroma", "mem0", "vector_file")
USUAL, DEEP = "suite 4", "suite deep-4"
READS = ("right: trusting", "right: newest", "right: verifying", "right: careful", "right: filtered")


class Ways:
    def __init__(self) -> None:
        table = json.loads((paths.ROOT / "benchmarks" / "results" / "ways.json").read_text("utf-8"))
        self.rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]

    def list_cells(self, write: WritePolicy, column: str, suite: str = USUAL) -> Iterator[str]:
        """Of the four stores."""
        for row in self.rows:
            if (row["suite"], row["write"]) == (suite, WRITE_LABELS[write]) and row["backend"] in STORES:
                yield row[column]

    def spread(self, column: str, *writes: WritePolicy, suite: str = USUAL) -> tuple[int, int]:
        """The least and the most hits."""
        found = [int(cell.partition("/")[0]) for each in writes for cell in self.list_cells(each, column, suite)]
        assert len(found) == len(STORES) * len(writes)
        return min(found), max(found)


@pytest.fixture(scope="module")
def ways() -> Ways:
    return Ways()


@pytest.fixture(scope="module")
def finding() -> str:
    """In one line."""
    text = (paths.ROOT / "docs" / "findings.md").read_text("utf-8")
    return " ".join(text[text.index("## 1 ") : text.index("## 2 ")].split())


@pytest.mark.parametrize("write", ["append", "curated", "deprecate", "deprecate-on-commit"])
def test_the_table_has_what_was_played(ways: Ways, finding: str, write: WritePolicy) -> None:
    right, past = ways.spread(READS[0], write), ways.spread("past rules recalled", write)
    taken = " of ".join(next(ways.list_cells(write, "true memories dropped")).split("/"))
    assert len({*ways.list_cells(write, "true memories dropped")}) == 1
    row = f"| `{write}` | {right[0]}-{right[1]} | {past[0]}-{past[1]} | {taken} |".replace("|  |", "| |")
    assert row in finding


def test_the_other_ways_are_told_as_played(ways: Ways, finding: str) -> None:
    low, high = ways.spread(READS[0], "matched", "on-commit")
    assert f"`matched` and `on-commit` get {low} to {high} right;" in finding
    others: tuple[WritePolicy, ...] = ("expire", "reviewed")
    for write in others:
        low, high = ways.spread(READS[0], write)
        (taken,) = {*ways.list_cells(write, "true memories dropped")}
        assert f"`{write}` {low} to {high}, taking away {taken.replace('/', ' of ')}" in finding


def test_the_calls_of_each_way_are_told_as_played(ways: Ways, finding: str) -> None:
    told: tuple[WritePolicy, ...] = ("append", "curated", "deprecate", "deprecate-on-commit")
    calls = [[float(cell) for cell in ways.list_cells(write, "calls a story")] for write in told]
    assert all(max(each) - min(each) < 0.5 for each in calls)
    least, *others, most = [str(int(max(each) + 0.5)) for each in calls]
    assert f"**Calls to the memory** for these, a story: {', '.join([least, *others])} and {most}." in finding


def test_the_other_rows_are_told_as_played(ways: Ways, finding: str) -> None:
    right = {
        (row["backend"].partition("@")[0], row["write"]): row[READS[0]].removesuffix("/60")
        for row in ways.rows
        if row["suite"] == USUAL
    }
    names = {"memsearch": "memsearch", "langgraph": "LangGraph"}
    tool = "claude_memory_tool"
    assert (tool, WRITE_LABELS["deprecate"]) not in right, "it cannot mark"
    looked_up = ", ".join(f"{name} {right[backend, WRITE_LABELS['curated']]}" for backend, name in names.items())
    followed = ", ".join(
        f"{name} {right[backend, WRITE_LABELS['deprecate-on-commit']]}" for backend, name in names.items()
    )
    assert (
        f"with `curated`, Claude's memory tool gets {right[tool, WRITE_LABELS['curated']]} right (`append`: "
        f"{right[tool, WRITE_LABELS['append']]}; it cannot mark), {looked_up}; with `deprecate-on-commit`, {followed}."
    ) in finding


def test_the_best_ways_of_reading_are_told_as_played(ways: Ways, finding: str) -> None:
    told: tuple[tuple[WritePolicy, str, str], ...] = (
        ("append", "right: careful", "*careful* reading is best ({} to {} right)"),
        ("curated", "right: verifying", "after a look-up, *verifying* ({} to {})"),
    )
    for write, read, words in told:
        least, most = ways.spread(read, write)
        assert words.format(least, most) in finding
        assert all(ways.spread(each, write)[0] <= least and ways.spread(each, write)[1] <= most for each in READS)
    gaps = {
        suite: max(
            abs(int(trusting.partition("/")[0]) - int(filtered.partition("/")[0]))
            for write in WRITE_LABELS
            for trusting, filtered in zip(
                ways.list_cells(write, READS[0], suite), ways.list_cells(write, READS[4], suite), strict=True
            )
        )
        for suite in (USUAL, DEEP)
    }
    assert gaps == {USUAL: 2, DEEP: 0}
    assert "*Filtered* reading changes at most 2 of 60 decisions, and none of the suite deep." in finding


def test_the_suite_deep_is_told_as_played(ways: Ways, finding: str) -> None:
    helped = ways.spread(READS[0], "curated", "deprecate", "deprecate-on-commit", suite=DEEP)
    added = ways.spread(READS[0], "append", suite=DEEP)
    marked = ways.spread("past rules recalled", "deprecate", "deprecate-on-commit", suite=DEEP)
    (replaced,) = {*ways.spread("past rules recalled", "curated", suite=DEEP)}
    assert f"{helped[0]} to {helped[1]} right; adding alone, {added[0]} to {added[1]}" in finding
    assert (
        f"still answers {marked[0]} to {marked[1]} of 37 questions about the past; replacing it, {replaced}." in finding
    )
