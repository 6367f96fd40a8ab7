"""Controls and light adapters keep the contract, through child processes as in a run; `make conform` asks all adapters.

The controls that must not keep a part of it say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from harness.adapter import Ack, Hit, Item, Scope
from harness.backend import registry
from harness.conformance import CHECKS, open_setting, write_checks
from harness.conformance.bench import Broken
from harness.conformance.testing import AdapterContract
from harness.selftest.planted import capturing
from tests.support.nights import leave_to_night
from tests.unit.adapters.conftest import Words


class Quick(AdapterContract):
    embedder: ClassVar = Words()


class TestNotes(Quick):
    adapter = "notes"


class TestReference(Quick):
    adapter = "reference"


class TestFakeTreeReader(Quick):
    adapter = "tests.support.tree_reading_backend:FakeTreeReader"


class TestFakeThatNeverLooks(Quick):
    adapter = "tests.support.tree_reading_backend:FakeThatNeverLooks"
    exceptions: ClassVar = {"sees_what_became_of_a_line": "the fault that it is made for"}


class TestNone(Quick):
    adapter = "none"


class TestFullContext(Quick):
    adapter = "full_context"


class TestRandom(Quick):
    adapter = "random"
    exceptions: ClassVar = dict.fromkeys(
        ("finds_what_it_was_told", "finds_what_was_said"), "draws at random, which is what this control is for"
    )


class TestRefusal(Quick):
    adapter = "refusal"
    exceptions: ClassVar = {"knows_nothing_when_new": "one constant sentence, which is what this control is for"}


class TestPlacebo(Quick):
    adapter = "placebo"
    exceptions: ClassVar = {"knows_nothing_when_new": "notes that tell nothing, which is what this control is for"}


class TestProtocol(Quick):
    adapter = "protocol"
    exceptions: ClassVar = {"knows_nothing_when_new": "an instruction, which is what this control is for"}


def test_there_are_enough_checks_and_each_has_a_line() -> None:
    assert len(CHECKS) >= 40 and len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.says and "\n" not in check.says for check in CHECKS)


FAULTS = {
    **{f"capturing:{name}": fault.breaks for name, fault in vars(capturing).items() if getattr(fault, "breaks", "")},
    "deletion:SoftDeletes": "forgotten_is_gone",
    "deletion:ForgetsOnePage": "forgets_a_scope",
    "deletion:WipesTheOtherUser": "forgets_a_scope",
    "deletion:ClaimsTheUnknown": "forgets_by_id",
    "deprecating:MarksOnly": "deprecates_from_a_day_on",
    "deprecating:MarksForAllTime": "deprecates_from_a_day_on",
    "verdicts:WarnsOfEverything": "warns_of_the_superseded_alone",
    "verdicts:NeverWarns": "warns_of_the_superseded_alone",
    "verdicts:MarksTheSuccessor": "warns_of_the_superseded_alone",
    "verdicts:NamesNobody": "warns_of_the_superseded_alone",
    "filtering:IgnoresFilters": "keeps_to_kinds",
    "filtering:FiltersAfterCutting": "keeps_to_kinds",
    "filtering:IgnoresAnUnknownField": "keeps_to_kinds",
    "filtering:TakesAPathForAPrefix": "keeps_to_a_path",
    "filtering:DoubtsWhatHasNoConfidence": "keeps_to_a_confidence",
    "filtering:UpdateLosesTheKind": "filters_what_was_updated",
    "isolation:LeaksByPrefix": "keeps_neighbours_apart",
    "isolation:FiltersTooLate": "keeps_neighbours_apart",
    "isolation:TakesItForAPattern": "takes_odd_scope_names",
    "isolation:ReadsAnyId": "ids_do_not_cross_scopes",
    "keeping:AcknowledgesOnly": "lists_what_it_acknowledged",
    "keeping:ForgesSources": "keeps_sources",
    "keeping:ShiftsLines": "keeps_sources",
    "keeping:ResetsDates": "keeps_dates",
    "lasting:SavesOnClosing": "survives_a_kill",
    "lasting:ResurrectsOnRestore": "restores_a_mark",
    "lasting:ServesStaleHits": "serves_two_processes",
    "recall:RanksOldestFirst": "finds_what_it_was_told",
    "recall:ReturnsEverything": "keeps_to_k",
    "recall:BringsBackTheExpired": "lets_memories_expire",
}
"""Planted fault -> a check that it breaks."""


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "name"), leave_to_night(FAULTS.items(), 3))
def test_a_fault_breaks_the_contract(fault: str, name: str) -> None:
    (check,) = (check for check in CHECKS if check.name == name)
    with open_setting(registry.parse(f"harness.selftest.planted.{fault}"), Words()) as place:
        outcome = place.judge(check)
    assert outcome.status == "broken" and outcome.why and "\n" not in outcome.why


@pytest.mark.parametrize(("kept_apart", "holds"), [(True, True), (False, False)])
def test_a_store_that_takes_an_empty_name_for_none_breaks_the_contract(kept_apart: bool, holds: bool) -> None:
    class FakeMemory:
        """Its listings are of exactly one scope."""

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            self.items = [each if kept_apart else replace(each, scope=Scope()) for each in items]
            return [Ack((str(at),)) for at, _ in enumerate(items)]

        def entries(self, scope: Scope) -> list[Hit]:
            return [Hit(str(at), each.text) for at, each in enumerate(self.items) if each.scope == scope]

    class FakeBench:
        @contextmanager
        def open(self) -> Iterator[FakeMemory]:
            yield FakeMemory()

    bench: Any = FakeBench()
    with nullcontext() if holds else pytest.raises(Broken, match="an empty name: "):
        write_checks.keeps_empty_names(bench)


@pytest.mark.slow
def test_an_exception_must_be_needed() -> None:
    class TestKeeps(Quick):
        adapter = "none"
        exceptions: ClassVar = {"settles": "not needed"}

    (check,) = (check for check in CHECKS if check.name == "settles")
    with (
        open_setting(registry.parse("none"), Words()) as place,
        pytest.raises(AssertionError, match="not needed any more"),
    ):
        TestKeeps().test_keeps_the_contract(check, place)
