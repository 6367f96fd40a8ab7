"""Calls to the memory by which an agent writes and asks, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adapter import Filter
from harness.log.events import Opened, Retired, Retirement
from harness.metrics import score
from harness.metrics.calls import MEMORY_CALLS
from harness.model.trial import READ_POLICIES, Measured
from tests.support.logs import NEW, OLD, Tape, cold
from tests.support.measures import measures, value


def retire(tape: Tape, op: Retirement, *ids: str) -> Tape:
    said = (True,) * len(ids)
    return tape.add(Retired(session="second", rule="replaced", op=op, names=(), ids=ids, said=said))


def test_each_call_of_the_agent_counts_and_none_of_the_story(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", "port").learn("first", "pin", purpose="noise").probe("tool-before", OLD)
    tape.recall("lookup", "new", [OLD], "second").listed("lookup", OLD).listed("end", OLD)
    tape.learn("second", "new", op="supersede", replaces=(OLD,)).forget("pin").jobs("betadeploy")
    found = measures(tape)[MEMORY_CALLS]
    assert isinstance(found, Measured) and (found.value, found.of) == (2 + 2 + 4, 2)


@pytest.mark.parametrize(("op", "calls"), [("forget", 1), ("deprecate", 1), ("expire", 2)])
def test_only_an_update_takes_a_call_for_each(op: Retirement, calls: int, tmp_path: Path) -> None:
    assert value(measures(retire(Tape(tmp_path), op, OLD, NEW))[MEMORY_CALLS]) == calls


def test_each_way_of_reading_pays_for_its_own_questions(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").recall("decision", "order/tool", [OLD], "second")
    tape.recall("decision", "order/port", [], "second")
    tape.recall("filtered", "order/tool", [], "second", where=Filter(confidence=0.5))
    opened, *rest = tape.events
    assert isinstance(opened, Opened)
    tape.events = [opened.model_copy(update={"policies": (*READ_POLICIES, "filtered")}), *rest]
    found = {cell.read_policy: value(cell.measures[MEMORY_CALLS]) for cell in score([tape.log()])}
    assert found == {**dict.fromkeys(READ_POLICIES, 3), "filtered": 2}


def test_without_a_memory_nothing_is_called(tmp_path: Path) -> None:
    (cell,) = score([cold(tmp_path, "betadeploy")])
    assert cell.measures[MEMORY_CALLS].status == "not-applicable"
