"""What docs/scenarios.md tells of the three feeds is what their tables of results hold."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks.feeds import FEEDS
from harness import paths

LABELS = {
    "BM25": ["bm25"],
    "Chroma, LangGraph, Letta, vector file": ["chroma", "langgraph@3.1.2", "letta", "vector_file"],
    "Hindsight": ["hindsight@1.1.0"],
    "Mem0": ["mem0"],
    "memsearch": ["memsearch@0.4.23"],
    "notes file": ["notes"],
}
"""A row of the page -> those of the table that have its numbers."""
CONTROLS = ("none", "cold", "oracle", "stale_oracle")
Rows = dict[tuple[str, ...], dict[str, str]]


@pytest.fixture(scope="module")
def page() -> str:
    """In one line."""
    return " ".join((paths.ROOT / "docs" / "scenarios.md").read_text("utf-8").split())


def read_rows(name: str, keys: int) -> tuple[str, Rows]:
    """The version of the suite, and the rows of a table by their first cells."""
    table = json.loads((paths.ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))
    found = re.search(r"suite (deep-\d+)", table["conditions"])
    assert found
    return found[1], {tuple(row[:keys]): dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def count(cell: str) -> str:
    return cell.partition(" of ")[0]


def test_right_decisions_and_tokens_of_each_feed_are_those_of_the_table(page: str) -> None:
    version, rows = read_rows("deep_feeds", 2)
    cold, of = rows["cold", "facts"]["right"].split(" of ")
    told = f"right decisions of {of}, of which {cold} are right without memory (version {version}, noise 100, append)"
    assert told in page
    shown = [
        f"| {label} | {' | '.join(count(rows[name, feed]['right']) for feed in FEEDS)} |"
        for label, names in LABELS.items()
        for name in names
    ]
    assert all(each in page for each in shown)
    assert {name for name, _ in rows} == {*CONTROLS, *(name for names in LABELS.values() for name in names)}
    facts, sessions = (rows["chroma", feed]["tokens a question"] for feed in ("facts", "sessions"))
    assert f"A question costs Chroma {facts} tokens with facts, {sessions} with transcripts." in page


def test_what_captures_make_of_secrets_is_told_as_in_the_table(page: str) -> None:
    _, rows = read_rows("deep_feeds", 2)
    stores = [row for (name, feed), row in rows.items() if feed == "native" and name not in CONTROLS]
    names = ("secrets captured", "secrets deleted because a session asked for it")
    [(captured, deleted)] = {tuple(row[name] for name in names) for row in stores}
    assert f"With `native`, each of these rows kept the secrets that sessions told ({captured})." in page
    assert f"Later sessions asked to delete what it held: none did ({deleted}). Delete by id." in page


def test_where_chroma_loses_decisions_is_told_as_in_the_table(page: str) -> None:
    _, rows = read_rows("deep_losses", 3)
    lost = [rows["chroma", feed, "trusting"] for feed in ("facts", "sessions")]
    missed, unused = ([count(row[name]) for row in lost] for name in ("not retrieved", "retrieved and not used"))
    of = lost[0]["right"].partition(" of ")[2]
    unclear = sum(int(count(lost[1][f"captured {how}"])) for how in ("unclearly", "without its scope"))
    assert int(of) == int(count(lost[1]["right"])) + int(missed[1]) + int(unused[1]) + unclear, "no other stage"
    assert (
        f"with facts, Chroma did not return {missed[0]} of {of} answers, and the trusting reader took another note for "
        f"{unused[0]}; with `sessions`, {missed[1]} and {unused[1]}, and {unclear} notes were unclear or without their "
        "scope."
    ) in page
