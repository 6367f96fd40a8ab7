"""Generated results cannot make a sentence of the verdict, a mark of the scoreboard or an answer to a need false."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare.rows import Way
from tests.support import mark_checks, sentence_checks
from tests.support.generated_results import NAMES, OF, World, judged, worlds
from tests.support.made_results import Played

CHECKS = (*sentence_checks.CHECKS, *mark_checks.CHECKS)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds(), st.sampled_from(NAMES))
def test_generated_results_make_nothing_false(world: World, gone: str) -> None:
    """All checks of one run, as it takes longer to make one than to check it."""
    more, less = judged(world.build()), judged(world.build(without=gone))
    for row in less.board.rows:
        for head in less.board.columns:
            assert less.board.find(row.key, head.id) == more.board.find(row.key, head.id), "depends on another row"
    for each in CHECKS:
        each(more)


def test_who_gains_and_who_loses_by_a_look_up_stand_in_one_point() -> None:
    """Generated worlds have it seldom."""
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    gains, loses = (
        {Way("append", "trusting"): before, Way("curated", "trusting"): after}
        for before, after in ((few, many), (many, few))
    )
    rows: Mapping[str, Played] = {"chroma": gains, "notes": loses}
    found = judged(World(rows, few, None, {}, frozenset(), frozenset(), ()).build())
    for each in CHECKS:
        each(found)
    assert (
        "gains in some cases and loses in others. If it takes the first note it gets, right decisions then go from 8 "
        "to 24 of 32 with chroma. If it takes the first note it gets, right decisions then go from 24 to 8 of 32 with "
        "notes." in " ".join(line.text for line in found.lines)
    )
