"""Decisions that are not right although the memory held what is right, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Item, Scope
from harness.log.events import Retired, Retirement, Wrote
from harness.log.parts import Written
from harness.metrics import score
from harness.metrics.missed import MISSED_KNOWN
from harness.model.trial import Measure
from tests.support.logs import HOME, NEW, OLD, Tape
from tests.support.measures import counts, measures


def known(folder: Path, *facts: str) -> Tape:
    """The old tool and the port from the first session on, and what else the second tells."""
    tape = Tape(folder).learn("first", "old", "port")
    return tape.learn("second", *facts) if facts else tape


def find(tape: Tape, tool: str | None = "alphadeploy") -> Measure:
    return measures(tape.jobs(tool))[MISSED_KNOWN]


def retire(tape: Tape, op: Retirement, said: Sequence[bool] = (True,)) -> Tape:
    return tape.add(
        Retired(session="second", rule="replaced", op=op, names=("fact:new",), ids=(NEW,), said=tuple(said))
    )


def test_what_is_known_and_not_decided_right_is_missed(tmp_path: Path) -> None:
    tape = known(tmp_path, "new")
    first = tape.line + 1  # the question for it
    found = find(tape)
    assert counts(found) == (2, 4) and found.receipts[0] == f"L{first}"
    assert counts(find(known(tmp_path, "new"), "betadeploy")) == (0, 4)
    assert counts(find(known(tmp_path, "new"), None)) == (2, 4)


def test_what_nobody_told_is_not_known(tmp_path: Path) -> None:
    assert counts(find(known(tmp_path))) == (0, 2)
    refused = known(tmp_path).learn("second", "new", ids=[()])
    assert counts(find(refused)) == (0, 2)
    assert find(Tape(tmp_path)).status == "not-applicable"


@pytest.mark.parametrize("op", ["forget", "deprecate", "expire"])
def test_what_was_taken_away_is_not_known_any_more(op: Retirement, tmp_path: Path) -> None:
    assert counts(find(retire(known(tmp_path, "new"), op))) == (0, 2)


@pytest.mark.parametrize("op", ["forget", "deprecate", "expire"])
def test_what_the_backend_did_not_take_away_is_still_known(op: Retirement, tmp_path: Path) -> None:
    assert counts(find(retire(known(tmp_path, "new"), op, [False]))) == (2, 4)
    assert counts(find(retire(known(tmp_path / "failed", "new"), op, []))) == (2, 4)


def test_what_holds_elsewhere_is_not_known_here(tmp_path: Path) -> None:
    item = Item(NEW, Scope(repo="sibling", org=HOME.org), "2025-02-10T09:00:00+00:00", "project")
    wrote = Wrote(op="remember", purpose="learn", session="second", items=(Written("fact:new", item),), ids=((NEW,),))
    assert counts(find(known(tmp_path).add(wrote))) == (0, 2)


def test_a_decision_that_was_not_reached_is_missed(tmp_path: Path) -> None:
    found = measures(known(tmp_path, "new"))[MISSED_KNOWN]
    assert counts(found) == (4, 4)


def test_each_way_of_reading_misses_its_own(tmp_path: Path) -> None:
    tape = known(tmp_path, "new").recall("decision", "order/tool", [OLD, NEW], "second")
    tape.work("order", {"tool": "betadeploy", "port": "8123"}, policy="newest")
    missed = {cell.read_policy: counts(cell.measures[MISSED_KNOWN]) for cell in score([tape.log()])}
    assert missed == {"trusting": (4, 4), "newest": (2, 4), "verifying": (4, 4), "careful": (4, 4)}


def test_what_a_model_inside_stored_is_not_known_unless_it_is_listed(tmp_path: Path) -> None:
    assert find(Tape(tmp_path, extracts=True).learn("first", "port")).status == "not-applicable"
