"""Times of calls: half of them, nearly all of them, and the first answer after an opening."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.log.events import Event
from harness.log.transcript import Called, Handled, Op
from harness.metrics.trust import speed
from harness.model.backend import Fault
from harness.model.trial import Measure, Measured
from tests.support.drill_player import measured
from tests.support.measures import value
from tests.support.transcripts import plan, transcript

PLAN = plan({"one": "plain", "two": "plain"})
FAULT = Fault(kind="raised", op="recall", message="no more")


def called(op: Op, took: float | None, about: Sequence[str] = ("one",), *, k: int = 5, **more: Any) -> Called:
    return Called(step="asked", op=op, about=tuple(about), request={"k": k}, took=took, answer=[], **more)


def opened(took: float | None, **more: Any) -> Handled:
    return Handled(step="opened", what="opened", took=took, **more)


def span(before: float | None, after: float | None, *between: Event) -> list[Event]:
    """An opening, what is called, and the closing, with the processor seconds up to then."""
    return [
        Handled(step="on", what="opened", worked=before), *between, Handled(step="off", what="closed", worked=after),
    ]  # fmt: skip


def times(folder: Path, *events: Event, **more: Any) -> dict[str, Measure]:
    made = [event for event in events if not (isinstance(event, Called) and event.op == "remember")]
    wrote = [each.model_copy(update={"answer": [{"ids": []}] * len(each.about)}) for each in events
             if isinstance(each, Called) and each.op == "remember"]  # fmt: skip
    return dict(measured(speed.METRICS, transcript(folder, PLAN, [*made, *wrote], drill="keeping", **more)))


@pytest.mark.parametrize(("many", "p95", "p99"), [(19, None, None), (20, 19, None), (99, 95, None), (100, 95, 99)])
def test_a_percentile_needs_a_call_beyond_it(tmp_path: Path, many: int, p95: float | None, p99: float | None) -> None:
    found = times(tmp_path, *(called("recall", float(at)) for at in range(many, 0, -1)))
    assert value(found["recall_seconds"]) == (many + 1) / 2
    for name, wanted in (("recall_seconds_p95", p95), ("recall_seconds_p99", p99)):
        assert (value(found[name]) if wanted else found[name].status) == (wanted or "not-applicable")


def test_only_what_was_answered_and_asked_with_the_k_of_the_trial_counts(tmp_path: Path) -> None:
    found = times(
        tmp_path, called("recall", 1.0), called("recall", 9.0, k=20), called("recall", 9.0, fault=FAULT),
        called("recall", None),
    )  # fmt: skip
    assert value(found["recall_seconds"]) == 1.0


def test_an_order_of_several_is_divided_by_them(tmp_path: Path) -> None:
    found = times(tmp_path, called("remember", 3.0, ("one", "two")), called("forget", 5.0, ("one", "two")))
    assert (value(found["write_seconds"]), value(found["delete_seconds"])) == (1.5, 2.5)


def test_an_update_and_a_listing_have_times_of_their_own(tmp_path: Path) -> None:
    """A listing is not divided by what it is asked for."""
    found = times(tmp_path, called("update", 2.0), called("entries", 3.0, ("one", "two")))
    assert (value(found["update_seconds"]), value(found["list_seconds"])) == (2.0, 3.0)
    lacking = times(tmp_path / "lacking", lacks={"update": "no", "entries": "no"})
    assert {lacking[name].status for name in ("update_seconds", "list_seconds")} == {"unsupported"}


def test_the_first_answer_is_an_opening_with_the_recall_behind_it(tmp_path: Path) -> None:
    found = times(
        tmp_path, opened(9.0), called("recall", 9.0),
        opened(1.0), called("entries", 9.0), called("recall", 0.5), called("recall", 9.0),
        opened(2.0), opened(3.0), called("recall", 0.5),
        opened(9.0), called("recall", 9.0, fault=FAULT), called("recall", 9.0),
        opened(9.0, fault=FAULT), called("recall", 9.0),
    )  # fmt: skip
    assert value(found["first_answer_seconds"]) == 2.5  # of 1.5 and 3.5


def test_the_processor_is_counted_between_openings_and_closings(tmp_path: Path) -> None:
    found = times(
        tmp_path, *span(1.0, 1.25, called("forget", 1.0, ("one", "two")), called("recall", 1.0)),
        *span(2.0, 2.5, called("entries", 1.0, ("one", "two"))), *span(None, 9.0, called("recall", 1.0)),
        Handled(step="on", what="opened", worked=1.0), called("recall", 1.0), Handled(step="off", what="killed"),
    )["processor_seconds"]  # fmt: skip
    assert isinstance(found, Measured) and (found.value, found.of) == (750 / 4, 4)


def test_a_processor_of_which_nothing_is_told_has_no_number(tmp_path: Path) -> None:
    untold = times(tmp_path / "untold", *span(None, None, called("recall", 1.0)))["processor_seconds"]
    served = times(tmp_path / "served", *span(1.0, 2.0, called("recall", 1.0)), served=True)["processor_seconds"]
    assert {untold.status, served.status} == {"not-applicable"}


def test_what_was_not_opened_again_or_is_lacking_has_no_time(tmp_path: Path) -> None:
    assert times(tmp_path, opened(1.0), called("recall", 1.0))["first_answer_seconds"].status == "not-applicable"
    found = times(tmp_path / "lacking", lacks={"persistent": "kept in memory", "forget": "none"})
    assert {found[name].status for name in ("first_answer_seconds", "delete_seconds")} == {"unsupported"}
