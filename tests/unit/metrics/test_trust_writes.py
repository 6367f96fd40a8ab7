"""When a write is there: under each of its ids, with its text, and by any look that answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Hit, to_wire
from harness.log.transcript import Called
from tests.support.measures import counts, unanswered
from tests.unit.metrics.test_edges import HOME, ask, call, judge, listing, stored


@pytest.mark.parametrize(
    ("shown", "kept"),
    [
        ([("id-a", "Rule"), ("more", "a")], 1),
        ([("id-a", "Rule a")], 0),
        ([("id-a", "Rule"), ("more", "b")], 0),
        ([("more", "Rule a"), ("other", "Rule a")], 0),
    ],
)
def test_a_memory_that_was_split_is_there_if_all_its_parts_are(
    tmp_path: Path, shown: Sequence[tuple[str, str]], kept: int
) -> None:
    hits = [to_wire(Hit(name, text)) for name, text in shown]
    events = [
        call("remember", ["a"], [{"ids": ["id-a", "more"]}], "written"),
        call("entries", ["a"], hits, "written", scope=to_wire(HOME)),
    ]
    found = judge(tmp_path, events, "answer")
    assert counts(found["writes_kept"]) == counts(found["writes_listed"]) == (kept, 1)


def failed_listing(*about: str) -> Called:
    return call("entries", about, None, "written", scope=to_wire(HOME))


def test_a_write_that_one_look_failed_on_and_another_did_not_bring_is_lost_and_not_open(tmp_path: Path) -> None:
    events = [stored("ab", step="written"), failed_listing("a", "b"), ask("a", "b", step="own")]
    found = judge(tmp_path, events, "answer")
    assert unanswered(found["writes_kept"]) == (0, 2, 1), "nobody looked for the other one again"


def test_a_wait_that_was_too_short_takes_nothing_back_of_one_that_was_not(tmp_path: Path) -> None:
    """Each of two batches was waited for."""
    waits = [call("settle", [], said, "written") for said in (True, False)]
    events = [stored("ab", step="written"), *waits, listing("a", "ab", "written"), listing("ab", "ab", "again")]
    found = judge(tmp_path, events, "answer")
    assert counts(found["settled"]) == (1, 2) and counts(found["settled_too_early"]) == (1, 2)
