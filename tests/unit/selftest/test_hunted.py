"""Random sequences alone against planted faults: what they find, after how many operations, and what none can show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.selftest.faults import FAULTS, list_planted
from harness.selftest.out_of_reach import OUT_OF_REACH
from tests.support.hunting import seek_here

FOUND: dict[str, int] = json.loads((Path(__file__).parents[2] / "golden" / "planted_promises.json").read_text())
"""Fault -> operations up to its first wrong answer with seed 1."""
ADAPTERS = {each.name: each.adapter for each in list_planted()}
IN_A_PROCESS = ("Hangs", "Crashes", "ReturnsEverything", "AnswersInAnotherForm")
"""They end or block the process, or need the embedder or the wire."""
SAMPLE = [name for name, calls in FOUND.items() if calls <= 400 and name not in IN_A_PROCESS][::9]


def test_every_planted_fault_is_found_or_said_to_be_out_of_reach() -> None:
    """A new fault has a figure (`python -m benchmarks.hunts NAME`) or a reason."""
    assert sorted([*FOUND, *OUT_OF_REACH]) == sorted(ADAPTERS)


def test_the_documents_say_how_many_planted_faults_there_are_and_how_many_promises_find() -> None:
    promises = (ROOT / "docs" / "promises.md").read_text("utf-8")
    assert f"**{len(FOUND)} are found by promises alone**, and {len(OUT_OF_REACH)} are" in promises
    rows = {
        int(most.replace(",", "")): int(found)
        for most, found in re.findall(r"^\| ([\d,]+) \| (\d+) \|", promises, re.MULTILINE)
    }
    assert rows == {most: sum(calls <= most for calls in FOUND.values()) for most in rows} and len(rows) >= 5
    for page in ("CHANGELOG.md", "docs/commands.md", "docs/faq.md", "docs/promises.md"):
        told = re.findall(r"([\d,]+) planted faults", (ROOT / page).read_text("utf-8"))
        assert told == [f"{len(FAULTS):,}"], page


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_sequences_find_the_fault_after_the_same_operations(name: str) -> None:
    found = seek_here(ADAPTERS[name], FOUND[name])
    assert (found.verdict, found.calls) == ("broken", FOUND[name])


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "operations"),
    [("adapters.reference:Reference", 1000), ("harness.selftest.planted.citing:_Citing", 2000)],
    ids=["the reference", "one that keeps and marks what was superseded"],
)
def test_a_sound_store_holds(adapter: str, operations: int) -> None:
    """The second updates a superseded memory that had ended after 1,637 operations."""
    found = seek_here(adapter, operations)
    assert found.verdict == "held", found.shortest
    assert found.calls >= operations
