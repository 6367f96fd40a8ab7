"""Dev and held stories: each row's counts and gains in both, and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.compare.rows import Way
from harness.compare.splits import compare_splits
from harness.compare.stats import label_swap
from harness.model.results import Results, Suite
from harness.report.model import contrasts
from tests.support.made_results import Said, play

WAYS = (Way("append", "trusting"), Way("append", "newest"))


def part(cold: Sequence[Said], *rows: Sequence[Said], held: int) -> Results:
    """Rows a, b, ... under two ways of reading; the last `held` stories are kept back."""
    named = {name: {way: {"decisions_right": own} for way in WAYS} for name, own in zip("abc", rows, strict=False)}
    made = play(named, {"decisions_right": cold})
    suite = Suite(version="1", digest="d", split="all", held=tuple(each.id for each in made.stories[-held:]))
    return made.model_copy(update={"run": made.run.model_copy(update={"suite": suite})})


def test_counts_and_gains_are_those_of_the_stories_of_each_part() -> None:
    made = part([(1, 4)] * 9, [(2, 4)] * 6 + [(4, 4)] * 3, held=3)
    (row,) = compare_splits(made, {"a": "append"})
    assert (row.dev.stories, row.dev.right, row.dev.of, row.dev.gain) == (6, (12, 12), 24, 0.25)
    assert (row.held.stories, row.held.right, row.held.of, row.held.gain) == (3, (12, 12), 12, 0.75)
    assert row.adjusted_p == pytest.approx(2 / 84)
    found = contrasts.collect_splits(made)
    assert found and found.says == "The gain differs between both parts with a."
    assert found.rows == [("a", "12 of 24, +.25", "12 of 12, +.75", "0.024")]


def test_what_gains_alike_in_both_is_not_said_to_differ() -> None:
    found = contrasts.collect_splits(part([(1, 4)] * 12, [(2, 4), (3, 4)] * 6, [(0, 4), (1, 4)] * 6, held=4))
    assert found and found.says == "No row was shown to gain more in one part than in the other."
    assert [row[0] for row in found.rows] == ["a", "b"] and found.heads == ("Dev: 8 stories", "Held: 4 stories")


@pytest.mark.parametrize(("stories", "held"), [(6, 3), (9, 1), (4, 4)])
def test_too_few_stories_to_tell_are_not_compared(stories: int, held: int) -> None:
    made = part([(1, 4)] * stories, [(4, 4)] * stories, held=held)
    assert contrasts.collect_splits(made) is None


FEW = st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.2, 1 / 3, 1.0]), min_size=2, max_size=5)


@pytest.mark.slow
@given(FEW, FEW)
def test_p_of_swapped_labels_is_that_of_scipy(first: list[float], second: list[float]) -> None:
    """SciPy's counts ways on which rounding decides; both ends are those of a slack around what was seen."""
    stats = pytest.importorskip("scipy.stats")

    def difference(one: Sequence[float], other: Sequence[float]) -> float:
        return round(sum(one) / len(one) - sum(other) / len(other), 9)

    if len({*chain(first, second)}) > 1:
        known = stats.permutation_test((first, second), difference, vectorized=False, n_resamples=10_000)
        assert label_swap(first, second) == pytest.approx(known.pvalue)


def test_many_labels_are_drawn_and_the_same_each_time() -> None:
    first, second = [0.1 * at for at in range(12)], [0.1 * at for at in range(3, 15)]
    assert 0 < label_swap(first, second) < 1 and label_swap(first, second) == label_swap(first, second)
    assert label_swap([0.0] * 12, [1.0] * 12) < 0.001
