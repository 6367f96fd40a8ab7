"""The statistics against what can be worked out by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats import bootstrap, holm, sign_flip, smallest_p

P = st.floats(0, 1)


def by_hand(differences: list[int]) -> float:
    """Every assignment of signs, counted."""
    seen = abs(sum(differences))
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    means = [abs(sum(sign * value for sign, value in zip(each, differences, strict=True))) for each in signs]
    return sum(mean >= seen for mean in means) / len(signs)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_the_sign_flip_test_counts_every_assignment(differences: list[int]) -> None:
    assert sign_flip(differences) == pytest.approx(by_hand(differences))


@pytest.mark.parametrize("differences", [[], [0.0], [0.25], [0, 0, 0], [1, -1]])
def test_too_little_to_tell_is_no_difference(differences: list[float]) -> None:
    assert sign_flip(differences) == 1.0


@pytest.mark.parametrize("pairs", range(1, 9))
def test_the_smallest_p_is_the_one_of_a_clean_sweep(pairs: int) -> None:
    assert sign_flip([1.0] * pairs) == pytest.approx(smallest_p(pairs))


def test_many_pairs_are_drawn_with_a_fixed_seed() -> None:
    differences = [1.0, -0.5, 0.25, 2.0] * 6
    assert sign_flip(differences) == sign_flip(differences) < 0.05


def test_holm_is_the_textbook_procedure() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(P, min_size=1, max_size=8))
def test_holm_never_lowers_a_p_and_keeps_the_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(before <= after <= 1 for before, after in zip(values, adjusted, strict=True))
    ranked = [after for _, after in sorted(zip(values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 0.5, 1.0, 0.75, 0.25, 1.0, 0.5, 0.0, 1.0, 0.5]
    low, high = bootstrap(values)
    assert 0 <= low < sum(values) / len(values) < high <= 1
    assert (low, high) == bootstrap(values)
    assert bootstrap([0.5, 0.5]) == (0.5, 0.5)
