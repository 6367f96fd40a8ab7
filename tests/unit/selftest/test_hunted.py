"""Random sequences alone against planted faults: what they find, after how many operations, and what none can show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.selftest.faults import list_planted
from harness.selftest.hunted import seek_here
from harness.selftest.unreached import OUT_OF_REACH

FOUND: dict[str, int] = json.loads((Path(__file__).parents[2] / "golden" / "planted_promises.json").read_text())
"""Fault -> operations up to its first wrong answer with seed 1."""
ADAPTERS = {each.name: each.adapter for each in list_planted()}
IN_A_PROCESS = ("Hangs", "Crashes", "ReturnsEverything", "AnswersInAnotherForm")
"""They end or block the process, or need the embedder or the wire."""
SAMPLE = [name for name, calls in FOUND.items() if calls <= 400 and name not in IN_A_PROCESS][::9]


def test_every_planted_fault_is_found_or_said_to_be_out_of_reach() -> None:
    """A new fault has a figure (`python -m benchmarks.hunts NAME`) or a reason."""
    assert sorted([*FOUND, *OUT_OF_REACH]) == sorted(ADAPTERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_sequences_find_the_fault_after_the_same_operations(name: str) -> None:
    found = seek_here(ADAPTERS[name], FOUND[name])
    assert (found.verdict, found.calls) == ("broken", FOUND[name])


@pytest.mark.slow
def test_the_reference_holds() -> None:
    found = seek_here("adapters.reference:Reference", 1000)
    assert found.verdict == "held", found.shortest
    assert found.calls >= 1000
