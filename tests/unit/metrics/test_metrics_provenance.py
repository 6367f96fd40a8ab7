"""Sources that come back: there, as written, and true in git."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Source
from harness.log.blobs import Ref
from harness.log.events import Wrote
from tests.support.logs import NEW, NOISE, OLD, PORT, Tape, hit
from tests.support.measures import counts, measures

PLACE: dict[str, Any] = {"commit": "c1", "path": "ship.toml", "line": 3}
WRITTEN = Source(**PLACE, session="first")
AT = "2025-01-10T09:00:00+00:00"


def learnt(folder: Path, **more: object) -> Tape:
    return Tape(folder, **more).learn("first", "old", "port").learn("second", "new")  # type: ignore[arg-type]  # as Tape


def test_coverage_counts_each_memory_once(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-before", hit(PORT, source=WRITTEN), OLD, NOISE)
    bare = tape.line
    found = measures(tape.probe("tool-and-port", hit(PORT, source=WRITTEN), hit(NEW, source=Source())))
    assert counts(found["source_coverage"]) == (1, 3)  # noise is not asked for a source
    assert found["source_coverage"].receipts == (f"L{bare}:e1", f"L{bare + 1}:e1")


def test_fidelity_counts_fields(tmp_path: Path) -> None:
    wrong = Source(commit="c1", path="other.toml", line=3)  # path wrong, session lost
    found = measures(learnt(tmp_path).probe("tool-before", hit(PORT, source=wrong), hit(NOISE, source=wrong)))
    assert counts(found["source_fidelity"]) == (2, 4)
    found = measures(learnt(tmp_path).probe("tool-before", hit(PORT, source=WRITTEN), OLD))
    assert counts(found["source_fidelity"]) == (4, 5)  # told without a place: its session is all there is to keep


def test_of_equal_texts_the_one_of_which_least_was_lost_is_compared(tmp_path: Path) -> None:
    """However many fields another one had."""
    tape = learnt(tmp_path).learn("second", "port")
    event = tape.events.pop()
    assert isinstance(event, Wrote) and not isinstance(event.items, Ref)
    bare = Source(session="second")
    items = tuple(replace(each, item=replace(each.item, source=bare)) for each in event.items)
    tape.add(event.model_copy(update={"items": items})).probe("tool-before", hit(PORT, source=bare))
    assert counts(measures(tape)["source_fidelity"]) == (1, 1)


def test_dates_are_compared_as_moments(tmp_path: Path) -> None:
    hits = [hit(PORT, created="2025-01-10T10:00:00+01:00"), hit(OLD, created="2026-11-01T00:00:00+00:00"), hit(NOISE)]
    assert counts(measures(learnt(tmp_path).probe("tool-before", *hits))["dates_kept"]) == (1, 2)
    for odd in (None, "yesterday", "2025-01-10T09:00:00"):
        found = measures(learnt(tmp_path).probe("tool-before", hit(PORT, created=odd)))
        assert counts(found["dates_kept"]) == (0, 1)


@pytest.mark.parametrize(
    ("says", "state", "verified"),
    [
        ("port = 8123", "same", True),
        ("port = 81230", "same", False),
        ("port = 9000", "same", False),
        (None, "dangling", False),
    ],
)
def test_a_source_is_verified_by_its_line(tmp_path: Path, says: str | None, state: str, verified: bool) -> None:
    tape = learnt(tmp_path).probe("tool-and-port", hit(PORT, source=WRITTEN), hit(NOISE, source=WRITTEN))
    asked = tape.line
    found = measures(tape.resolved(says, state, **PLACE, session="first"))
    assert counts(found["source_verified"]) == (int(verified), 1)
    assert found["source_verified"].receipts == (() if verified else (f"L{asked}:e0",))
    assert counts(found["dangling_sources"]) == (int(says is None), 1)
    if verified:
        assert counts(found["source_at_head_same"]) == (1, 1)
        assert counts(found["source_at_head_gone"]) == (0, 1)
    else:
        assert found["source_at_head_same"].status == "not-applicable"


def test_a_memory_of_several_facts_is_verified_by_the_line_of_one(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-and-port", hit(f"{NEW}. {PORT}", source=WRITTEN))
    assert counts(measures(tape.resolved("port = 8123", "same", **PLACE, session="first"))["source_verified"]) == (1, 1)


def test_a_line_that_is_true_of_another_fact_verifies_nothing(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-and-port", hit(NEW, source=WRITTEN))
    assert counts(measures(tape.resolved("port = 8123", "same", **PLACE, session="first"))["source_verified"]) == (0, 1)


def test_where_verified_sources_stand_at_each_checkout(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-before", hit(PORT, source=WRITTEN))
    tape.resolved("port = 8123", "same", head="c1", **PLACE, session="first")
    tape.probe("tool-and-port", hit(PORT, source=WRITTEN))
    found = measures(tape.resolved("port = 8123", "gone", head="c2", **PLACE, session="first"))
    assert counts(found["source_verified"]) == (1, 1)
    states = {state: counts(found[f"source_at_head_{state}"]) for state in ("same", "moved", "renamed", "gone")}
    assert states == {"same": (1, 2), "moved": (0, 2), "renamed": (0, 2), "gone": (1, 2)}
    assert found["source_at_head_gone"].receipts == (f"L{tape.line}",)


def test_what_became_of_a_line_of_another_repository_is_not_counted(tmp_path: Path) -> None:
    tape = learnt(tmp_path).probe("tool-before", hit(PORT, source=WRITTEN))
    tape.resolved("port = 8123", "elsewhere", head="c1", **PLACE, session="first")
    elsewhere = measures(tape)
    assert counts(elsewhere["source_verified"]) == (1, 1) and counts(elsewhere["dangling_sources"]) == (0, 1)
    assert elsewhere["source_at_head_same"].status == "not-applicable"
    tape.probe("tool-and-port", hit(PORT, source=WRITTEN))
    found = measures(tape.resolved("port = 8123", "moved", head="c2", **PLACE, session="first"))
    assert counts(found["source_at_head_moved"]) == (1, 1)


def test_a_source_that_was_never_resolved_is_not_verified(tmp_path: Path) -> None:
    source = Source(commit="c1", path="ship.toml")
    found = measures(learnt(tmp_path).probe("tool-and-port", hit(PORT, source=source)))
    assert counts(found["source_verified"]) == (0, 1)
    told = measures(learnt(tmp_path).probe("tool-before", hit(OLD, source=Source(session="first"))))
    assert told["source_verified"].status == "not-applicable"
    assert told["dangling_sources"].status == "not-applicable"


def test_what_is_declared_unsupported_is_not_measured(tmp_path: Path) -> None:
    found = measures(learnt(tmp_path, unsupported=["source", "created"]).probe("tool-before", PORT))
    names = [name for name in found if ("source" in name and name != "capture_sourced") or name == "dates_kept"]
    assert len(names) == 9
    assert {found[name].status for name in names} == {"unsupported"}


def test_nothing_returned_is_not_applicable(tmp_path: Path) -> None:
    found = measures(learnt(tmp_path).probe("tool-before"))
    for name in ("source_coverage", "source_fidelity", "source_verified", "dates_kept", "dangling_sources"):
        assert found[name].status == "not-applicable", name
