"""What is left of what was told, by classification: kept, merged, made up, or stale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Hit, Item
from harness.log.events import Wrote
from harness.log.parts import Written
from harness.log.transcript import Called
from harness.metrics import score, trust
from harness.metrics.extraction import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, Measured
from tests.support.logs import BOTH, HOME, KEY, LURE, NEW, NOISE, OLD, PEACE, PIN, PORT, Tape, hit
from tests.support.measures import counts
from tests.support.transcripts import transcript

TOGETHER = f"{NEW}. {PORT}"
NAMES = [each.definition.name for each in METRICS]


def told(folder: Path, *, unsupported: Sequence[str] = (), extracts: bool = True) -> Tape:
    """Both tools, the port and two secrets; the port's write was not acknowledged, the secrets were to be deleted."""
    tape = Tape(folder, extracts=extracts, unsupported=unsupported)
    tape.learn("first", "old", "port", "pin", "key", ids=[("a", "b"), (), ("c",), ("d",)])
    return tape.learn("second", "new").forget("pin", "key")


def measures(tape: Tape) -> dict[str, Measure]:
    found = score([tape.log()])[0].measures
    return {name: found[name] for name in NAMES}


def test_facts_that_still_hold_survive_in_any_words_and_under_any_id(tmp_path: Path) -> None:
    found = measures(told(tmp_path).listed("end", hit(f"Note: {NEW}", "x"), NOISE))
    assert counts(found["facts_survived"]) == (1, 2)
    assert found["facts_survived"].receipts == ("L2",)
    assert counts(measures(told(tmp_path).listed("end", NEW, PORT))["facts_survived"]) == (2, 2)
    assert counts(measures(told(tmp_path).listed("end"))["facts_survived"]) == (0, 2)


def test_what_is_only_mentioned_or_unclear_did_not_survive(tmp_path: Path) -> None:
    for listed in (hit(NEW, superseded=True), BOTH, f"Do not {NEW.lower()}"):
        assert counts(measures(told(tmp_path).listed("end", listed, PORT))["facts_survived"]) == (1, 2)


def test_only_the_listing_at_the_end_counts(tmp_path: Path) -> None:
    tape = told(tmp_path).listed("before", NEW, PORT).listed("end", PORT).listed("reopened", NEW)
    assert counts(measures(tape)["facts_survived"]) == (1, 2)


def test_a_fact_is_merged_if_only_a_memory_of_several_holds_it(tmp_path: Path) -> None:
    assert counts(measures(told(tmp_path).listed("end", TOGETHER))["facts_merged"]) == (2, 2)
    assert counts(measures(told(tmp_path).listed("end", TOGETHER, PORT))["facts_merged"]) == (1, 2)
    assert counts(measures(told(tmp_path).listed("end", NEW, PORT))["facts_merged"]) == (0, 2)
    assert measures(told(tmp_path).listed("end", NOISE))["facts_merged"].status == "not-applicable"


def test_what_one_item_told_together_is_not_merged(tmp_path: Path) -> None:
    tape = told(tmp_path)
    written = Written(name="remark:second:0", item=Item(TOGETHER, HOME, "2025-02-10T09:00:00+00:00", "project"))
    tape.add(Wrote(op="remember", purpose="remark", session="second", items=(written,), ids=(("r",),)))
    found = measures(tape.listed("end", TOGETHER))
    assert counts(found["facts_survived"]) == (2, 2) and counts(found["facts_merged"]) == (0, 2)


def test_a_fact_that_nobody_told_is_invented(tmp_path: Path) -> None:
    found = measures(told(tmp_path).listed("end", NEW, LURE, NOISE))
    assert counts(found["facts_invented"]) == (1, 3) and found["facts_invented"].receipts == ("L6",)
    tape = told(tmp_path).learn("second", "lure").listed("end", NEW, LURE)
    assert counts(measures(tape)["facts_invented"]) == (0, 2)
    assert measures(told(tmp_path).listed("end"))["facts_invented"].status == "not-applicable"


def test_replaced_and_deleted_facts_that_are_still_asserted_are_stale(tmp_path: Path) -> None:
    found = measures(told(tmp_path).listed("end", OLD, PIN, NEW))
    assert counts(found["facts_kept_stale"]) == (2, 3) and found["facts_kept_stale"].receipts == ("L6", "L6")
    clean = told(tmp_path).listed("end", NEW, hit(OLD, superseded=True), "Moved from alphadeploy to betadeploy")
    assert counts(measures(clean)["facts_kept_stale"]) == (0, 3)
    assert counts(measures(told(tmp_path).listed("end", OLD, PIN, KEY))["facts_kept_stale"]) == (3, 3)


@pytest.mark.parametrize(
    ("lost", "again", "listed", "stale"),
    [
        (None, False, NEW, (0, 2)),  # not acknowledged, and it may have been there
        (PEACE, False, NEW, (0, 1)),  # the call failed, and nothing shows that it was ever there
        (PEACE, False, OLD, (1, 2)),  # the call failed, and there it is
        (PEACE, True, NEW, (0, 2)),  # told again, and stored
    ],
)
def test_a_fact_whose_write_failed_counts_as_ended_only_if_it_was_there(
    tmp_path: Path, lost: Fault | None, again: bool, listed: str, stale: tuple[int, int]
) -> None:
    tape = Tape(tmp_path, extracts=True).learn("first", "pin").learn("first", "old", ids=[()])
    tape.add(tape.events.pop().model_copy(update={"ids": None, "fault": lost}))
    if again:
        tape.learn("first", "old")
    found = measures(tape.learn("second", "new").forget("pin").listed("end", listed))
    assert counts(found["facts_kept_stale"]) == stale


def test_a_backend_that_stores_what_it_is_told_is_not_asked(tmp_path: Path) -> None:
    found = measures(told(tmp_path, extracts=False))
    assert {(each.status, each.reason) for each in found.values() if not isinstance(each, Measured)} == {
        ("not-applicable", "it stores what it is told, word for word")
    }


@pytest.mark.parametrize(
    ("tape", "status", "words"),
    [
        (lambda folder: told(folder, unsupported=["entries"]), "unsupported", "no entries"),
        (lambda folder: told(folder).listed("end", fault=PEACE), "failed", "signal 9"),
        (told, "failed", "nothing was listed"),
    ],
)
def test_without_a_listing_nothing_is_said(tape: object, status: str, words: str, tmp_path: Path) -> None:
    assert callable(tape)
    for each in measures(tape(tmp_path)).values():
        assert not isinstance(each, Measured) and each.status == status and words in each.reason


def test_a_trial_that_did_not_end_has_failed(tmp_path: Path) -> None:
    log = told(tmp_path).probe("tool-before", OLD).listed("end", NEW).log("failed", PEACE)
    assert {score([log])[0].measures[name].status for name in NAMES} == {"failed"}


@pytest.mark.parametrize("extracts", [True, False])
def test_a_drill_asks_an_extracting_backend_for_no_text_as_it_was(extracts: bool, tmp_path: Path) -> None:
    piece = Piece(name="odd", role="odd", item=Item("two\nlines", HOME, "2025-02-10T09:00:00+00:00", "project"))
    written = Called(step="written", op="remember", about=("odd",), request={}, answer=[{"ids": ["a"]}])
    played = transcript(tmp_path, Plan(pieces=(piece,)), [written], drill="keeping", extracts=extracts)
    (cell,) = trust.score([played])
    statuses = {name: cell.measures[name].status for name in ("writes_kept", "odd_texts_exact")}
    assert set(statuses.values()) == {"not-applicable" if extracts else "measured"}
    assert counts(cell.measures["writes_not_acknowledged"]) == (0, 1)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(live=st.lists(st.sampled_from([OLD, NEW, PORT, LURE, NOISE, PIN, KEY, BOTH, TOGETHER]), max_size=8))
def test_ids_and_order_and_repetition_change_nothing(live: list[str], tmp_path: Path) -> None:
    def seen(hits: Sequence[Hit]) -> dict[str, tuple[object, object]]:
        found = measures(told(tmp_path).listed("end", *hits))
        return {
            name: (each.hits, each.of) if isinstance(each, Measured) else (each.status, each.reason)
            for name, each in found.items()
            if name != "facts_invented"  # its cases are the memories
        }

    once = [hit(text, f"a{at}") for at, text in enumerate(live)]
    twice = [hit(text, f"b{at}") for at, text in enumerate([*live[::-1], *live])]
    assert seen(once) == seen(twice)
