"""Deletion, from transcripts made by hand: what is said where the requests, or the looks before them, failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from harness.log.transcript import Op
from harness.model.backend import Fault
from harness.model.trial import Measure, Measured
from tests.support.deletion_drill import BYSTANDERS, EVERYTHING, FAULT, KEY, SOUGHT, Play, ready, reason
from tests.support.measures import counts

HISTORY = "history_tells_earlier_text"


def test_where_every_look_before_the_deletion_failed_nothing_is_known_to_be_gone(tmp_path: Path) -> None:
    play = Play().stored().sought("before", faults=SOUGHT).deleted().sought("after")
    found = play.measures(tmp_path)
    asked: Mapping[str, Op] = {"search": "recall", "get": "get", "history": "history"}
    for route, op in asked.items():
        told = f"{play.line_of('before', op, 'pin')}: the looks before the deletion failed"
        assert reason(found[f"forgotten_from_{route}"], "failed") == told
    assert reason(found["forgotten_from_listing"], "not-applicable"), "the listing answered, and showed nothing"


def test_what_was_said_to_be_deleted_and_is_listed_as_superseded_is_not_gone(tmp_path: Path) -> None:
    play = ready().sought("after").listed("after", "listing:pin", superseded=["pin"])
    measure = play.measures(tmp_path)["forgetting_said_and_done"]
    assert counts(measure) == (1, 2)


def test_a_request_that_failed_leaves_open_whom_it_harmed(tmp_path: Path) -> None:
    play = Play().stored().sought("before", *EVERYTHING)
    play.call("deleted", "forget", ["pin"], fault=FAULT, memory_ids=["id-pin"])
    line = play.line
    measure = play.sought("after", *BYSTANDERS).measures(tmp_path)["same_scope_over_deletion"]
    assert reason(measure, "failed") == "forget: no more" and measure.receipts == (line,)


def test_one_request_that_failed_does_not_hide_whom_the_others_harmed(tmp_path: Path) -> None:
    play = Play().stored().sought("before", *EVERYTHING)
    play.call("deleted", "forget", ["pin"], fault=FAULT, memory_ids=["id-pin"])
    play.call("deleted", "forget", ["key"], [True], memory_ids=["id-key"])
    found = play.sought("after", *BYSTANDERS[1:]).measures(tmp_path)
    measures = [each for name, each in found.items() if name.endswith("over_deletion") and isinstance(each, Measured)]
    assert sum(each.hits or 0 for each in measures) == 1


def test_a_store_that_cannot_list_says_nothing_of_a_large_scope(tmp_path: Path) -> None:
    found = ready().sought("after").measures(tmp_path, lacks=["entries"])
    assert reason(found["large_scope_listed"], "unsupported") == "entries: why"


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        pytest.param(["key", "new-key"], FAULT, id="it failed"),
        pytest.param(["key"], None, id="the new text is not told"),
    ],
)
def test_an_update_that_cannot_be_told_to_have_changed_a_text_asks_no_history(
    tmp_path: Path, about: Sequence[str], fault: Fault | None
) -> None:
    answer: Any = None if fault else {"ids": ["id-key"]}
    play = Play().stored().call("before", "update", about, answer, fault=fault)
    play.call("before", "history", ["key"], [KEY])
    assert reason(play.measures(tmp_path)[HISTORY], "not-applicable") == "no memory has had two texts"


@pytest.mark.parametrize(("told", "receipts"), [([KEY], 0), ([f"{KEY}, again"], 1), ([], 1)])
def test_the_history_that_does_not_tell_the_earlier_text_is_shown(
    tmp_path: Path, told: list[str], receipts: int
) -> None:
    play = Play().stored().call("before", "update", ["key", "new-key"], {"ids": ["id-key"]})
    play.call("before", "history", ["key"], told)
    assert play.measures(tmp_path)[HISTORY].receipts == (play.line,) * receipts


@pytest.mark.parametrize("ids", list(permutations([[KEY], [f"{KEY}, again"], None])))
def test_of_several_ids_one_whose_history_tells_it_is_enough(tmp_path: Path, ids: Sequence[list[str] | None]) -> None:
    def judge(name: str, answers: Sequence[list[str] | None]) -> Measure:
        play = Play().stored().call("before", "update", ["key", "new-key"], {"ids": ["id-key", "id-rest"]})
        for told in answers:
            play.call("before", "history", ["key"], told, fault=FAULT if told is None else None)
        return play.measures(tmp_path / name)[HISTORY]

    found = judge("one tells it", ids)
    assert (counts(found), found.receipts) == ((1, 1), ())
    unknown = judge("one failed", [each for each in ids if each != [KEY]])
    assert (unknown.status, len(unknown.receipts)) == ("failed", 2)
