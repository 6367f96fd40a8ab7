"""The switched embedder, from transcripts made by hand: which line shows why a memory was not found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Handled
from harness.metrics.trust.embedder import METRICS
from harness.model.backend import Fault
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import unanswered
from tests.support.transcripts import HOME, plan, text, transcript

ROLES = {"old": "kept", "other": "kept", "fresh": "new"}
REFUSED = Fault(kind="raised", op="open", message="vectors of another length")
PLAN = plan(ROLES)


def wrote(step: str, *names: str, fault: Fault | None = None) -> Called:
    answer: Any = None if fault else [{"ids": [f"id-{name}"]} for name in names]
    return Called(step=step, op="remember", about=names, answer=answer, fault=fault)


def asked(step: str, name: str, *shown: str) -> Called:
    hits: Any = [to_wire(Hit(f"id-{each}", text(each))) for each in shown]
    return Called(step=step, op="recall", about=(name,), request={"scope": to_wire(HOME)}, answer=hits)


def opened(step: str, fault: Fault | None = None) -> Handled:
    return Handled(step=step, what="opened", fault=fault)


def before(which: str) -> list[Event]:
    """Five events, lines 2 to 6 if they come first: two memories that their own texts bring, then the switch."""
    step = f"{which} written"
    looks = [asked(step, name, name) for name in ("old", "other")]
    return [opened(step), wrote(step, "old", "other"), *looks, Handled(step=which, what="switched")]


def judge(folder: Path, after: Sequence[Event]) -> dict[str, Measure]:
    """What the measures say of the first switch, and of all that comes after it."""
    return measured(METRICS, transcript(folder, PLAN, [*before("another"), *after], drill="embedder"))


def test_where_nothing_was_asked_the_opening_that_failed_after_the_switch_is_shown(tmp_path: Path) -> None:
    found = judge(tmp_path, [opened("shorter", REFUSED), opened("another", REFUSED)])
    kept, new = found["found_with_another_embedder"], found["new_found_with_another_embedder"]
    assert kept.receipts == ("L8 old stored at L3", "L8 other stored at L3") and new.receipts == ("L8",)
    assert kept.status == new.status == "failed"


@pytest.mark.parametrize("silent", ["found_with_another_embedder", "silently_unfound_with_another_embedder"])
def test_a_question_that_did_not_bring_its_memory_is_shown(tmp_path: Path, silent: str) -> None:
    after = [opened("another"), asked("another", "old", "old"), asked("another", "other", "old")]
    assert judge(tmp_path, after)[silent].receipts == ("L9 other stored at L3",)


def test_of_a_new_memory_the_write_that_was_refused_is_shown_and_of_an_old_one_its_own(tmp_path: Path) -> None:
    """It was written after the first switch, too, on a store of its own."""
    after = [opened("another"), wrote("another", "fresh"), asked("another", "fresh", "fresh"), *before("shorter")]
    after += [opened("shorter"), asked("shorter", "old", "old"), wrote("shorter", "fresh", fault=REFUSED)]
    found = judge(tmp_path, after)
    assert found["new_found_with_shorter_vectors"].receipts == ("L17 fresh stored at L8",)
    kept = found["found_with_shorter_vectors"]
    assert unanswered(kept) == (1, 2, 1) and kept.receipts == ("L3 other stored at L3",)
    assert unanswered(found["new_found_with_another_embedder"]) == (1, 1, None)
