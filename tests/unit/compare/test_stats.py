"""The statistics against what can be worked out by hand, against scipy, and against published worked examples."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy
from statsmodels.stats.multitest import multipletests

from harness.compare.stats import (
    RESAMPLES,
    SEED,
    bootstrap_bounds,
    bound_mean,
    bound_ratio,
    find_majority,
    find_smallest_p,
    fisher,
    holm,
    holm_levels,
    sign_flip,
    sign_flips,
    sweep,
)
from harness.metrics.metric import wilson

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
    assert sign_flip([1.0] * pairs) == pytest.approx(find_smallest_p(pairs))


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


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(P, min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(values: list[float]) -> None:
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1])


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 0.5, 1.0, 0.75, 0.25, 1.0, 0.5, 0.0, 1.0, 0.5]
    found = bound_mean(values)
    assert found is not None and found == bound_mean(values)
    low, high = found
    assert 0 <= low < sum(values) / len(values) < high <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=6, max_size=9), st.integers(-9, 9), st.sampled_from([0.05, 0.1, 0.03125]))
def test_an_interval_holds_what_the_test_does_not_reject(values: list[int], centre: int, level: float) -> None:
    """Moved by any centre, the values are tested against it."""
    p = by_hand([3 * each - centre for each in values])
    found = bound_mean([3.0 * each for each in values], level)
    assert (found is None) == (2.0 ** (1 - len(values)) > level)
    if found:
        assert (found[0] <= centre <= found[1]) == (p > level)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-0.5, -0.2, 0.0, 0.0, 0.1, 1 / 3, 0.4]), min_size=16, max_size=40), st.integers(1, 50))
def test_of_many_values_the_interval_agrees_with_the_test_although_both_are_drawn(
    values: list[float], family: int
) -> None:
    p, level = sign_flip(values), 0.05 / family
    found = bound_mean(values, level, shown=p <= level)
    if found and any(values):
        assert (found[0] > 0 or found[1] < 0) == (p <= level)


def test_too_few_values_have_no_end() -> None:
    assert bound_mean([]) is None and bound_mean([1.0] * 5) is None and bound_mean([1.0] * 6) == (1.0, 1.0)
    assert bound_mean([1.0, 2.0] * 6, level=1e-4) is None


def test_a_ratio_is_turned_upside_down_alike() -> None:
    above, below = [float(at) for at in range(10, 22)], [1.0 + at % 3 for at in range(12)]
    found, turned = bound_ratio(above, below), bound_ratio(below, above)
    assert found and turned and found == pytest.approx((1 / turned[1], 1 / turned[0]))
    assert found[0] < sum(above) / sum(below) < found[1]
    assert bound_ratio(above, [1.0] + [0.0] * 11) is None, "its upper end is open"


@pytest.mark.parametrize("hits", range(13))
def test_the_majority_is_the_sign_test(hits: int) -> None:
    p = float(scipy.binomtest(hits, 12).pvalue)
    needed = find_majority(12, 1, 0.05)
    assert needed is not None and (max(hits, 12 - hits) >= needed) == (p <= 0.05)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8))
def test_a_p_reaches_its_level_where_its_adjusted_p_reaches_that_of_the_family(values: list[float]) -> None:
    for p, adjusted, level in zip(values, holm(values), holm_levels(values), strict=True):
        assert level <= 0.05 * (1 + 1e-9) and (p <= level * (1 + 1e-9)) == (adjusted <= 0.05 * (1 + 1e-9))


# --- published and by scipy -------------------------------------------------------------------------------------------


def test_darwins_maize() -> None:
    """Fisher, The Design of Experiments (1935), 21: of 32,768 signs of Darwin's 15 pairs, 1,726 sum to 314 or more."""
    pairs = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert sum(pairs) == 314 and by_hand(pairs) == 1726 / 32768
    assert sign_flip(pairs) == pytest.approx(1726 / 32768, abs=0.004)  # so many signs are drawn, not counted


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-2.0, -1.0, -0.3, -0.1, 0.1, 0.2, 0.3, 1 / 3, 1.0, 2 / 3]), min_size=2, max_size=17))
def test_the_sign_flip_test_is_scipys_to_the_last_bit(differences: list[float]) -> None:
    mean = abs(np.mean(differences))
    assume(not 0 < mean < 1e-9)  # a mean that rounding alone tells from 0: which assignments tie with it is luck
    known = scipy.permutation_test(
        (np.asarray(differences),),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    assert sign_flip(differences) == known.pvalue


@pytest.mark.slow
def test_comparing_rows_imports_neither_scipy_nor_statsmodels() -> None:
    """They take seconds of each report."""
    code = (
        "import sys; from harness.compare.comparisons import compare_pairs; "
        "stories = {str(at): at / 20 for at in range(20)}; values = {'a': stories, 'b': dict.fromkeys(stories, 1.0)}; "
        "assert compare_pairs('pairs', 'recall', [('a', 'b')], values)[0].interval; "
        "sys.exit(bool({'scipy', 'statsmodels', 'pandas'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_students_sleep() -> None:
    """Student (1908): ten sleepers, nine of whom slept longer with the second drug, and one as long."""
    longer = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    assert sign_flip(longer) == pytest.approx(2 / 2**9)


@given(better=st.integers(0, 7), worse=st.integers(0, 6), same=st.integers(0, 20))
def test_yes_and_no_pairs_are_the_exact_test_of_mcnemar(better: int, worse: int, same: int) -> None:
    """The sign test on the discordant pairs; pairs that agree say nothing, however many there are."""
    exact = scipy.binomtest(better, better + worse).pvalue if better + worse > 1 else 1.0
    assert sign_flip([1] * better + [-1] * worse + [0] * same) == pytest.approx(exact)


def test_the_lady_tasting_tea() -> None:
    """Fisher (1935), 5 to 8: eight cups, three of each four named rightly; both ends of 1, 16, 36, 16, 1 of 70."""
    assert fisher(3, 4, 1, 4) == pytest.approx((1 + 16 + 16 + 1) / 70)
    assert fisher(4, 4, 0, 4) == pytest.approx(2 / 70)


def test_the_twins_of_convicts() -> None:
    """Fisher (1962): 10 of 13 identical and 2 of 17 other twins were convicted too; one-sided 619 of 1,330,665."""
    below = sum(comb(17, hits) * comb(13, 12 - hits) for hits in range(3)) / comb(30, 12)
    assert below == pytest.approx(619 / 1_330_665)
    assert fisher(10, 13, 2, 17) == pytest.approx(0.0005367, abs=5e-8)


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_fisher_is_the_same_seen_from_either_side(of: int, other_of: int, data: st.DataObject) -> None:
    hits, other = data.draw(st.integers(0, of)), data.draw(st.integers(0, other_of))
    p = fisher(hits, of, other, other_of)
    assert p == pytest.approx(fisher(other, other_of, hits, of))
    assert p == pytest.approx(fisher(of - hits, of, other_of - other, other_of))


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_in_newcombes_table(hits: int, of: int, low: float, high: float) -> None:
    """Newcombe (1998), Statistics in Medicine 17, 857, table I, method 3."""
    found = wilson(hits, of)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 300), st.data())
def test_wilsons_interval_is_the_one_of_scipy(of: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, of))
    found, known = wilson(hits, of), scipy.binomtest(hits, of).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-6)


@given(st.lists(P, min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(values: list[float]) -> None:
    """Holm (1979) proves it so: a hypothesis falls if every set that holds it falls by Bonferroni."""
    places = range(len(values))
    sets = [each for size in places for each in itertools.combinations(places, size + 1)]
    by_sets = [max(min(1.0, len(s) * min(values[i] for i in s)) for s in sets if place in s) for place in places]
    assert holm(values) == pytest.approx(by_sets)


@pytest.mark.parametrize("family", [1, 2, 5, 9])
def test_a_sweep_of_so_many_pairs_is_shown_and_one_fewer_is_not(family: int) -> None:
    needed = sweep(family, 0.05)
    shown = [holm([sign_flip([1.0] * pairs), *[1.0] * (family - 1)])[0] <= 0.05 for pairs in (needed - 1, needed)]
    assert shown == [False, True]


def test_many_at_once_are_as_each_alone() -> None:
    """To the last bit, also where lengths differ and what is equal is computed once."""
    rng = random.Random(11)
    many = [tuple(rng.randrange(-4, 5) / 7 for _ in range(size)) for size in (1, 5, 12, 12, 20, 31, 31, 40)]
    many += [many[2], tuple(-each for each in many[5])]
    assert sign_flips(many) == [sign_flip(each) for each in many]
    asked = [(each, 0.05 / (1 + at % 3), at % 2 == 0) for at, each in enumerate(many)]
    assert bootstrap_bounds(asked) == [bound_mean(*each) for each in asked]
