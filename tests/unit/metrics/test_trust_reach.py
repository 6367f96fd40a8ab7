"""By which calls a deletion is judged: of several the worst, and none that a failed deletion leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.transcript import Ended
from harness.model.backend import Fault
from harness.model.trial import NotMeasured
from harness.play.drills.deletion import own_words
from tests.support.deletion_drill import BYSTANDERS, EVERYTHING, FAULT, PLAN, Play, ready, reason
from tests.support.measures import counts, unanswered


def asked_by_id(play: Play, *answers: bool | None) -> Play:
    """Each id of the pin; None: the call fails."""
    hit = {"memory_id": "id-pin", "text": PLAN.by_name["pin"].item.text}
    for there in answers:
        play.call("after", "get", ["pin"], hit if there else None, fault=FAULT if there is None else None)
    return play


@pytest.mark.parametrize(
    ("answers", "shown", "told"),
    [
        ((True, False), 0, (1, 2, None)),
        ((False, True, None), 1, (1, 2, None)),
        ((True, True), 1, (1, 2, None)),
        ((None, False), 0, (1, 2, 1)),
        ((None, None, False), 1, (1, 2, 1)),
    ],
)
def test_of_several_ids_one_that_brings_it_counts_before_one_that_failed_and_the_last_is_shown(
    tmp_path: Path, answers: tuple[bool | None, ...], shown: int, told: tuple[int, int, int | None]
) -> None:
    play = ready().sought("after", *BYSTANDERS, skip=["get:pin"])
    first = len(play.events) + 2
    found = asked_by_id(play, *answers).measures(tmp_path)["forgotten_from_get"]
    assert unanswered(found) == told
    assert found.receipts == (f"L{first + shown} pin stored at L2",)


def test_of_two_ids_both_are_to_be_called_deleted(tmp_path: Path) -> None:
    play = Play().call("before", "remember", ["pin", "key"], [{"ids": ["id-pin", "more"]}, {"ids": ["id-key"]}])
    play.sought("before", *EVERYTHING)
    play.call("deleted", "forget", ["pin", "key"], [True, False, True], memory_ids=["id-pin", "more", "id-key"])
    found = play.sought("after", *BYSTANDERS).measures(tmp_path)
    assert counts(found["forgetting_said_and_done"]) == (1, 1)
    assert counts(found["forgotten_from_search"]) == (2, 2)


def test_a_deletion_that_failed_harms_no_bystander(tmp_path: Path) -> None:
    """Its words are cut to one line."""
    crash = Fault(kind="crashed", op="forget", message="the disk\nis full " + "x" * 400)
    play = Play().stored().sought("before", *EVERYTHING)
    play.call("deleted", "forget", ["pin", "key"], fault=crash, memory_ids=["id-pin", "id-key"])
    line = play.line
    all_found = play.sought("after").measures(tmp_path)
    found = all_found["same_scope_over_deletion"]
    assert reason(found, "failed").startswith("forget: the disk is full x") and len(reason(found, "failed")) == 300
    assert found.receipts == (line,)
    assert reason(all_found["forgetting_said_and_done"], "not-applicable") == "the backend called no deletion done"


def test_an_expired_memory_that_comes_back_marked_as_superseded_came_back(tmp_path: Path) -> None:
    play = Play().stored().expiring("law")
    ban = PLAN.by_name["ban"]
    hit = {"memory_id": "id-ban", "text": ban.item.text, "superseded": True}
    play.call("before", "recall", ["ban"], [hit], query=own_words(ban))
    assert counts(play.measures(tmp_path)["expired_not_recalled"]) == (0, 1)


def test_a_drill_that_ended_at_once_says_so_of_its_first_step(tmp_path: Path) -> None:
    found = Play().measures(tmp_path, ended=Ended(status="failed", fault=FAULT))
    for name in ("expired_not_recalled", "seen_in_undeclared_places", "large_scope_listed"):
        measure = found[name]
        assert isinstance(measure, NotMeasured)
        assert (measure.status, measure.reason) == ("failed", "the drill did not get past 'before': recall: no more")
