"""Numbers in what a model inside has written anew, on transcripts made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Scope, to_wire
from harness.log.transcript import Called
from harness.metrics.trust.fields import METRICS
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

SCOPE, OTHER = Scope("tidewater"), Scope("breakwater")
TEXTS = {
    "pin": ("Pin Python 3.10, mode 0644.", SCOPE),
    "cap": ("Stop at 4,096 B or -40 ms.", SCOPE),
    "far": ("3.1", OTHER),
}
PLAN = Plan(
    pieces=tuple(
        Piece(name, "note", Item(text, scope, "2026-02-02T09:00:00+00:00", "project"))
        for name, (text, scope) in TEXTS.items()
    )
)


def judge(folder: Path, shown: Sequence[tuple[str, str]], *, extracts: bool = True) -> Measure:
    """Args: shown: (memory, text) of each hit of a listing."""
    hits = [to_wire(Hit(f"id-{name}", text)) for name, text in shown]
    events = [
        Called(step="written", op="remember", about=tuple(TEXTS), answer=[{"ids": [f"id-{name}"]} for name in TEXTS]),
        Called(step="written", op="entries", about=("pin", "cap"), request={"scope": to_wire(SCOPE)}, answer=hits),
    ]
    found = transcript(folder, PLAN, events, drill="keeping", extracts=extracts)
    return measured(METRICS, found)["numbers_as_told"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Python is pinned (3.10)", 1), ("The mode is 0644; Python: 3.10.", 1), ("At most 4096 B", 1), ("-40 ms", 1),
        ("Python 3.1", 0), ("mode 644", 0), ("4097 B", 0), ("40 ms", 0),
    ],
)  # fmt: skip
def test_a_rewritten_text_has_numbers_that_were_told(tmp_path: Path, text: str, told: int) -> None:
    """In its own scope, for this memory or another."""
    assert counts(judge(tmp_path, [("pin", text)])) == (told, 1)


def test_only_memories_with_numbers_that_were_acknowledged_count(tmp_path: Path) -> None:
    found = judge(tmp_path, [("pin", "Pin Python"), ("cap", "-40"), ("nobody", "3.1"), ("cap", "-4")])
    assert counts(found) == (0, 1) and found.receipts == ("L3",)


def test_who_stores_what_he_is_told_is_compared_text_by_text(tmp_path: Path) -> None:
    assert judge(tmp_path, [("pin", "Python 3.1")], extracts=False).status == "not-applicable"
