"""Which look at the bytes shows what is left, and where it can no longer be looked."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adapter import Item, Scope
from harness.log.transcript import Called, Looked
from harness.metrics.trust.deletion import METRICS
from harness.model.drill import Piece, Plan
from harness.model.trial import Measured, NotMeasured
from tests.support.deletion_drill import BYSTANDERS, EVERYTHING, SHOWN, Play, ready, reason
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript


def test_a_layer_that_is_not_declared_any_more_is_shown_by_the_look_before(tmp_path: Path) -> None:
    play = Play().stored().looked("before", "pin").looked("before", "key", layer="log")
    before = play.line
    found = play.deleted().looked("closed").measures(tmp_path)["text_gone_after_closing"]
    assert counts(found) == (1, 2) and found.receipts == (before,)


def test_a_question_that_was_kept_is_shown_by_the_look_at_the_place_that_keeps_it(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS).looked("closed", "pin").looked("closed", "who", layer="log")
    line = play.line
    found = play.measures(tmp_path)["queries_kept_on_disk"]
    assert counts(found) == (1, 1) and found.receipts == (line,)


@pytest.mark.parametrize(("kind", "form", "grown"), [("text", "utf-8", 100), ("vector", "float32", 384)])
def test_a_layer_is_opaque_from_as_many_bytes_on_as_would_do_for_what_was_written(
    tmp_path: Path, kind: str, form: str, grown: int
) -> None:
    """A text of 400 characters, compressed to a quarter; a vector of 384 numbers in a byte each."""
    item = Item("Pin cwpin ".ljust(400, "x"), Scope("shop"), "2026-02-02T09:00:00Z", "project")
    plan = Plan(pieces=(Piece(name="pin", role="forget", item=item, canary="cwpin"),))
    for size in (grown - 1, grown):
        play = Play().call("before", "remember", ["pin"], [{"ids": ["id-pin"]}]).looked("opened", layer="index", size=9)
        play.looked("before", "pin", form=form).looked("before", layer="index", size=9 + size)
        play.call("deleted", "forget", ["pin"], [True], memory_ids=["id-pin"])
        play.events.append(Called(step="after", op="recall", request={"query": "pin"}, answer=[]))
        play.looked("closed").looked("closed", layer="index")
        told = transcript(tmp_path / str(size), plan, play.events, drill="deletion")
        found = measured(METRICS, told)[f"{kind}_gone_after_closing"]
        if size < grown:
            assert counts(found) == (1, 1)
        else:
            assert f"index: it took in {grown} bytes" in reason(found, "not-applicable")


def test_of_an_old_transcript_nobody_knows_how_much_a_layer_grew(tmp_path: Path) -> None:
    """It has no look at the empty store, so that its size says nothing."""
    play = Play().stored().sought("before", *EVERYTHING).looked("before", *SHOWN)
    play.looked("before", layer="index", size=1_000_000).deleted().sought("after", *BYSTANDERS)
    found = play.looked("closed").looked("closed", layer="index", size=1_000_000).measures(tmp_path)
    assert isinstance(found["text_gone_after_closing"], Measured) and counts(found["text_gone_after_closing"]) == (3, 3)


def test_a_route_that_never_brought_a_target_has_a_row_that_says_so(tmp_path: Path) -> None:
    rows = Play().stored().sought("before", "search:pin").deleted().sought("after").rows(tmp_path)
    told = {
        route: [(look.stage, look.verdict) for look in rows[route, "", "route"].looks] for route in ("get", "search")
    }
    assert told == {
        "get": [("before", "not-seen-before"), ("after", "not-seen-before")],
        "search": [("before", "present"), ("after", "gone")],
    }
    assert rows["get", "", "route"].targets == 3


def test_a_place_that_shows_only_what_nobody_deleted_has_no_row(tmp_path: Path) -> None:
    play = ready().looked("closed", "pin", place="free page").looked("closed", "who", place="log of questions")
    assert [place for layer, place, kind in play.rows(tmp_path) if (layer, kind) == ("db", "text")] == ["", "free page"]


@pytest.mark.parametrize(("kind", "dark"), [("text", "dark"), ("vector", "vectorless")])
def test_what_took_in_bytes_that_nobody_recognises_leaves_it_open(tmp_path: Path, kind: str, dark: str) -> None:
    """A journal in cipher that grows or fills, or vectors of another text, beside a database that was cleaned."""
    form = {"text": "utf-8", "vector": "float32"}[kind]
    item = Item("x" * 400, Scope(repo="shop"), "2026-01-01", "project")
    plan = Plan(pieces=(Piece(name="pin", role="forget", item=item, canary="cwpin"),))
    for took in (99 if kind == "text" else 383, 384):
        play = Play().call("before", "remember", ["pin"], [{"ids": ["id-pin"]}]).looked("opened")
        play.looked("before", "pin", form=form)
        play.call("deleted", "forget", ["pin"], [True], memory_ids=["id-pin"])
        play.events.append(Called(step="after", op="recall", request={"query": "pin"}, answer=[]))
        play.looked("closed")
        events = [
            each.model_copy(update={"dark": 0, "vectorless": 0, dark: took if each.step == "before" else 0})
            if isinstance(each, Looked)
            else each
            for each in play.events
        ]
        found = measured(METRICS, transcript(tmp_path / f"{took}", plan, events, drill="deletion"))
        measure = found[f"{kind}_gone_after_closing"]
        assert isinstance(measure, NotMeasured) == (took == 384)
        assert isinstance(measure, Measured) or (measure.untold and "384 bytes" in measure.reason)
