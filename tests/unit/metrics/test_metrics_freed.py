"""What a deletion gave back: where nothing is recognised, its bytes say whether it can be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adapter import Item, Scope
from harness.log.parts import Sighting, Weight
from harness.log.transcript import Called, Looked
from harness.metrics.freed import MOST, Size, Spot, list_read, not_given_back, of_texts, of_vectors, taken_in
from harness.metrics.trust.deletion import METRICS
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from tests.support.deletion_drill import Play, reason
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

FILE, COLUMN = Spot("old.bin", ""), Spot("db", "rows audit.said")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (Size(25, 25), True),  # a quarter, compressed or in cipher
        (Size(24, 24), False),
        (Size(100, 0), True),  # numbers of tokens, in digits
        (Size(99, 0), False),
        (Size(MOST + 1, 25), False),  # something else was written there, too
    ],
)
def test_a_place_that_takes_in_what_would_do_for_the_deleted_is_named(more: Size, told: bool) -> None:
    due = of_texts(["x" * 100])
    assert bool([*taken_in({FILE: Size(7, 7)}, {FILE: Size(7 + more.bytes, 7 + more.dark)}, (), due, 1, {})]) is told
    assert bool([*taken_in({}, {FILE: more}, (), due, 1, {})]) is told
    assert not [*taken_in({}, {FILE: more}, {FILE}, due, 1, {})], "something was recognised in it"
    assert not [*taken_in({}, {FILE: more}, (), due, 1, {FILE: more})], "what was written since added as much"


def test_of_vectors_only_bytes_that_are_no_text_tell() -> None:
    due = of_vectors(1)
    assert [bool([*taken_in({}, {FILE: each}, (), due, 1, {})]) for each in (Size(384, 384), Size(384, 383))] == [1, 0]


@pytest.mark.parametrize(("left", "told"), [(100, True), (76, True), (75, False), (50, False)])
def test_a_column_that_keeps_more_than_half_of_what_was_to_go_is_named(left: int, told: bool) -> None:
    """Of four texts two were deleted."""
    opened, then, now = {COLUMN: Size(0, 0)}, {COLUMN: Size(100, 100)}, {COLUMN: Size(left, left)}
    assert bool([*not_given_back(opened, then, now, (), Size(100, 25), 0.5)]) is told
    assert not [*not_given_back(opened, {FILE: Size(100, 100)}, {}, (), Size(100, 25), 0.5)], "a file may be a journal"
    assert not [*not_given_back(then, then, now, (), Size(100, 25), 0.5)], "it took in nothing with the writes"


def test_what_was_recognised_is_known_by_its_column_or_its_file() -> None:
    rows = Sighting(fact="a", path="db", form="utf-8", count=1, offset=0, place="rows memories.text")
    log = Sighting(fact="a", path="db-wal", form="utf-8", count=1, offset=0, place="write-ahead log")
    assert list_read([rows, log]) == {Spot("db", "rows memories.text"), Spot("db-wal", "")}


@pytest.mark.parametrize("held", [99, 100])
def test_a_deletion_that_leaves_as_many_bytes_elsewhere_cannot_be_told(tmp_path: Path, held: int) -> None:
    found = play(tmp_path, held)
    if held < 100:
        assert counts(found) == (1, 1)
    else:
        assert "took in 100 bytes when 1 were deleted" in reason(found, "not-applicable")


def test_an_old_transcript_has_no_weights(tmp_path: Path) -> None:
    assert counts(play(tmp_path, None)) == (1, 1)


def play(folder: Path, held: int | None) -> Measure:
    """A text of 400 characters that is gone from where it was, and a file that has so many bytes more."""
    item = Item("x" * 400, Scope(repo="shop"), "2026-01-01", "project")
    plan = Plan(pieces=(Piece(name="pin", role="forget", item=item, canary="cwpin"),))
    told = Play().call("before", "remember", ["pin"], [{"ids": ["id-pin"]}]).looked("opened").looked("before", "pin")
    told.call("deleted", "forget", ["pin"], [True], memory_ids=["id-pin"])
    told.events.append(Called(step="after", op="recall", request={"query": "pin"}, answer=[]))
    told.looked("closed")
    for at, event in enumerate(told.events):
        if isinstance(event, Looked) and held is not None:
            size = held if event.step == "closed" else 0
            weights = (Weight(path="old.bin", bytes=size, dark=size),)
            told.events[at] = event.model_copy(update={"weights": weights, "dark": 0, "vectorless": 0})
    return measured(METRICS, transcript(folder, plan, told.events, drill="deletion"))["text_gone_after_closing"]
