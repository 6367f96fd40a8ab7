"""Bursts, from transcripts made by hand: what a fresh process lists afterwards, how often, and what nobody listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Source, to_wire
from harness.log.events import Event
from harness.log.transcript import Called
from harness.metrics.trust.burst import METRICS
from harness.model.drill import Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import HOME, plan, text, transcript

ROLES = {"calm": "calm", "one": "small", "two": "small"}
PLAN = plan(ROLES)


def call(step: str, op: Any, about: Sequence[str], *shown: str) -> Called:
    hits: Any = [to_wire(Hit(f"{at}-{name}", text(name))) for at, name in enumerate(shown)]
    return Called(step=step, op=op, about=tuple(about), request={"scope": to_wire(HOME)}, answer=hits)


def written(step: str, name: str) -> Called:
    return Called(step=step, op="remember", about=(name,), answer=[{"ids": [f"id-{name}"]}])


def judge(folder: Path, *listings: Sequence[str]) -> dict[str, Measure]:
    """A burst of two memories to one process, which their own texts bring afterwards, and these listings behind it."""
    events: list[Event] = [written("small calm", "calm"), call("small calm", "recall", ["calm"], "calm")]
    events += [written("small", "one"), written("small", "two")]
    events += [call("small after", "entries", [*ROLES], *names) for names in listings]
    events += [call("small after", "recall", [name], name) for name in ("one", "two")]
    return measured(METRICS, transcript(folder, PLAN, events, drill="burst"))


def test_what_a_burst_left_without_a_listing_is_neither_there_twice_nor_unfindable(tmp_path: Path) -> None:
    found = judge(tmp_path)
    assert counts(found["lost_in_burst"]) == (0, 2), "its own text brings it"
    assert found["doubled_in_burst"].status == found["unfindable_after_burst"].status == "not-applicable"


@pytest.mark.parametrize(
    ("listings", "doubled"),
    [
        ([["one", "two"]], 0),
        ([["one", "two", "one"]], 1),
        ([["one", "two", "one"], ["one", "two"]], 1),
        ([["one", "two"], ["two", "one"]], 0),
    ],
)
def test_a_memory_of_a_burst_is_doubled_if_one_listing_shows_it_twice(
    tmp_path: Path, listings: list[list[str]], doubled: int
) -> None:
    assert counts(judge(tmp_path, *listings)["doubled_in_burst"]) == (doubled, 2)


def test_what_one_of_two_listings_leaves_out_was_listed(tmp_path: Path) -> None:
    assert counts(judge(tmp_path, ["one"], ["two"])["unfindable_after_burst"]) == (0, 2)


def cited(step: str, name: str, path: str) -> Called:
    hit = to_wire(Hit(f"id-{name}", text(name), source=Source(path=path)))
    return Called(step=step, op="recall", about=(name,), request={"scope": to_wire(HOME)}, answer=[hit])


@pytest.mark.parametrize(("cites", "kept", "reached"), [(True, True, (1, 2)), (True, False, None), (False, True, None)])
def test_a_source_is_mixed_up_if_one_that_was_written_alone_was_kept(
    tmp_path: Path, cites: bool, kept: bool, reached: tuple[int, int] | None
) -> None:
    """Where nothing of a burst cites anything, no source was kept in it."""
    pieces = [
        replace(piece, item=replace(piece.item, source=Source(path=f"{piece.name}.md") if cites else None))
        for piece in PLAN.pieces
    ]
    events: list[Event] = [
        written("small calm", "calm"),
        cited("small calm", "calm", "calm.md" if kept else "other.md"),
        written("small", "one"),
        written("small", "two"),
        cited("small after", "one", "one.md"),
        cited("small after", "two", "one.md"),
    ]
    told = transcript(tmp_path, Plan(pieces=tuple(pieces)), events, drill="burst")
    found = measured(METRICS, told)["sources_mixed_in_burst"]
    assert (counts(found) if reached else found.status) == (reached or "not-applicable")
