"""What the verdict says of ways to write that help under every reading, and of who supports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare.rows import Way
from harness.model.trial import READ_POLICIES, USUAL_WRITES, WritePolicy
from harness.report import words
from harness.report.model.sections import Level
from harness.report.text import verdict
from tests.support import mark_checks, sentence_checks
from tests.support.generated_results import ASKED, LEVEL, NAMES, OF, World, judged
from tests.support.made_results import Played
from tests.support.sentence_checks import (
    a_robust_way_helps_under_every_reading_and_who_supports_it_is_who_declares_that,
)

CHECKS = (*sentence_checks.CHECKS, *mark_checks.CHECKS)
ONE, TWO, SIX = ("mem0",), ("chroma", "mem0"), NAMES


@pytest.mark.parametrize(
    ("names", "levels", "says"),
    [
        (ONE, ("native",), "built into mem0"),
        (ONE, ("emulated",), "built into no backend, added by our code for mem0"),
        (TWO, ("native", "native"), "built into every backend"),
        (TWO, ("native", "unsupported"), "built into chroma, impossible with mem0"),
        (TWO, ("emulated", "unsupported"), "built into no backend, added by our code for chroma, impossible with mem0"),
        (TWO, ("unsupported", "unsupported"), "built into no backend, impossible with every backend"),
        (SIX, ("native",) * 5 + ("emulated",), "built into 5 backends, added by our code for own"),
    ],
)
def test_who_supports_a_robust_way_is_told_of_one_of_many_of_all_and_of_none(
    names: Sequence[str], levels: Sequence[Level], says: str
) -> None:
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    own = {Way(write, read): many if write == "curated" else few for write in USUAL_WRITES for read in READ_POLICIES}
    declared = {name: dict.fromkeys(ASKED, level) for name, level in zip(names, levels, strict=True)}
    world = World(dict.fromkeys(names, own), few, None, {}, frozenset(), frozenset(), (), declared)
    found = judged(world.build())
    for each in CHECKS:
        each(found)
    (line,) = (line.text for line in found.lines if line.text.startswith(verdict.ROBUST))
    whose = words.join_words(names) if len(names) < 5 else f"{len(names)} backends"
    assert line == f"{verdict.ROBUST} looks up the old note before it writes, with {whose} ({verdict.TAKES} {says})."


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.tuples(st.lists(LEVEL, min_size=5, max_size=5), st.booleans()), min_size=1
    )
)
def test_generated_declarations_make_no_sentence_on_support_false(
    known: Mapping[str, tuple[Sequence[Level], bool]],
) -> None:
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    ways_: tuple[WritePolicy, ...] = "append", "curated", "expire", "deprecate-on-commit"
    rows: Mapping[str, Played] = {
        name: {Way(write, read): many if robust and write != "append" else few
               for write in ways_ for read in READ_POLICIES[:2]}
        for name, (_, robust) in known.items()
    }  # fmt: skip
    declared = {name: dict(zip(ASKED, levels, strict=True)) for name, (levels, _) in known.items()}
    found = judged(World(rows, few, None, {}, frozenset(), frozenset(), (), declared).build())
    a_robust_way_helps_under_every_reading_and_who_supports_it_is_who_declares_that(found)
    assert any(robust for _, robust in known.values()) is any(verdict.ROBUST in line.text for line in found.lines)


def test_no_way_is_called_robust_that_was_read_in_one_way_or_helps_in_some_alone() -> None:
    few, many = {"decisions_right": [(1, OF)] * 8}, {"decisions_right": [(3, OF)] * 8}
    once: Played = {Way("curated", "trusting"): many, Way("append", "trusting"): few}
    some: Played = {**once, Way("curated", "newest"): few, Way("append", "newest"): few}
    for own in (once, some):
        found = judged(World({"mem0": own}, few, None, {}, frozenset(), frozenset(), ()).build())
        assert not [line for line in found.lines if line.text.startswith(verdict.ROBUST)]
