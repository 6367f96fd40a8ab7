"""The few statistics that a run needs, with fixed seeds. SciPy, which is slow to import, is asked for one test only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from math import ceil, comb, isfinite, log2
from typing import Any, TypeAlias

SEED = 20_250_101
ALPHA = 0.05
RESAMPLES = 2**15
PIECE, TOGETHER = 2**13, 32
"""Numbers of a table that are multiplied at a time, so few that no product is worth a second thread; and with how many
lists of values, so that the table is read from memory once for all of them."""
TAUS = 5_000
"""Resamples of an order of rows, of which each costs a look at all pairs."""
Values: TypeAlias = tuple[float, ...]
Ends: TypeAlias = tuple[float, float]


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of the mean paired difference under random signs: exact while 2^n <= RESAMPLES, else drawn.

    Pairs that do not differ have no sign to flip, so n counts the others.
    """
    return sign_flips([differences])[0]


def sign_flips(many: Iterable[Sequence[float]]) -> list[float]:
    """Sign-flip tests of many sets of differences, much faster than one by one."""
    moved = [tuple(each for each in own if each) for own in many]
    testable = [each for each in moved if len(each) > 1]
    known = {values: _count_tail(values, sums) for values, sums in _multiply(_draw_flips, testable)}
    return [known.get(each, 1.0) for each in moved]


def _count_tail(moved: Values, sums: Any) -> float:
    import numpy as np

    values = np.asarray(moved, float)
    seen = values.mean()
    means = seen - 2 * sums / len(moved)
    slack = 100 * np.finfo(float).eps * np.abs(values).mean()  # means that differ by rounding alone are equal
    itself = 0 if 2 ** len(moved) <= RESAMPLES else 1  # among drawn assignments what was seen need not be
    tail = min(np.count_nonzero(means <= seen + slack), np.count_nonzero(means >= seen - slack))
    return float(min(1.0, 2 * (int(tail) + itself) / (len(means) + itself)))


@cache
def _draw_flips(pairs: int) -> Any:
    """Whether each pair changes its sign, one row an assignment: all of them, or as many as are drawn."""
    import numpy as np

    if 2**pairs <= RESAMPLES:
        return (np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1).astype(float)
    # pairs are permuted and one of each is taken: these are the draws of SciPy's test, to the last bit
    both = np.tile(np.arange(2), (RESAMPLES, pairs, 1))
    return np.random.default_rng(SEED).permuted(both, axis=-1)[:, :, 0].astype(float)


def _multiply(table: Callable[[int], Any], many: Iterable[Values]) -> Iterator[tuple[Values, Any]]:
    """Each different one of `many` with its sums over what each row of the table of its length picks of it."""
    import numpy as np

    lengths = defaultdict[int, list[Values]](list)
    for each in dict.fromkeys(many):
        lengths[len(each)].append(each)
    for length, own in lengths.items():
        whole = table(length)
        rows = 2 ** int(log2(PIECE / length))
        # a small table, or one of subsets that lacks the empty one, has no even pieces and is multiplied whole
        pieces = whole.reshape(-1, 1, rows if len(whole) % rows == 0 else len(whole), length)
        for at in range(0, len(own), TOGETHER):
            part = own[at : at + TOGETHER]
            products = np.matmul(pieces, np.asarray(part, float)[:, :, None])
            yield from zip(part, products[..., 0].swapaxes(0, 1).reshape(len(part), -1), strict=True)


def label_swap(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of the difference of two means if labels are drawn: exact while there are at most RESAMPLES ways to
    draw them, else by as many draws."""
    import numpy as np

    values, size = np.asarray([*first, *second], float), len(first)
    if comb(len(values), size) <= RESAMPLES:
        sums, itself = np.asarray([values[list(own)].sum() for own in combinations(range(len(values)), size)]), 0
    else:
        drawn = np.random.default_rng(SEED).permuted(np.tile(values, (RESAMPLES, 1)), axis=1)
        sums, itself = drawn[:, :size].sum(axis=1), 1
    # sums that differ by rounding alone are equal
    seen, slack = values[:size].sum(), 1e-9 * (1 + np.abs(values).sum())
    tail = min(np.count_nonzero(sums <= seen + slack), np.count_nonzero(sums >= seen - slack))
    return float(min(1.0, 2 * (int(tail) + itself) / (len(sums) + itself)))


def find_smallest_p(pairs: int) -> float:
    """The smallest two-sided p that this many pairs can give: all differences in one direction."""
    exact = 2.0 ** (1 - pairs) if pairs else 1.0
    return exact if 2**pairs <= RESAMPLES else 2 / (RESAMPLES + 1)


def sweep(family: int, alpha: float) -> int:
    """How many pairs must move, all in one direction, for p to be shown among `family` comparisons."""
    # solves family * 2**(1 - n) = alpha for n
    return ceil(1 + log2(family / alpha))


def find_majority(pairs: int, family: int, alpha: float) -> int | None:
    """How many of `pairs` that all move equally far must move in one direction for p to be shown among `family`
    comparisons: the sign test. None: not even all of them."""
    tail, fewest = 0, None
    for against in range(pairs // 2 + 1):
        tail += comb(pairs, against)
        if family * min(1.0, 2 * tail / 2**pairs) > alpha:
            break
        fewest = pairs - against
    return fewest


@cache
def fisher(hits: int, of: int, other_hits: int, other_of: int) -> float:
    """Fisher's exact test, two-sided: p of two proportions this unlike or more so, given all hits together."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[hits, of - hits], [other_hits, other_of - other_hits]]).pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """Holm (1979): step-down adjusted p values, in the order given.

    statsmodels has it, too, and takes two seconds and 230 MB with what it imports; the tests compare with it.
    """
    return [min(1.0, each) for each in _step_down(values)]


def holm_levels(values: Sequence[float]) -> list[float]:
    """For each p the level that it had to reach for its adjusted p to reach ALPHA: that of an interval beside it."""
    # no p is 0, as what was seen is one of its own sign changes
    return [ALPHA * p / each for p, each in zip(values, _step_down(values), strict=True)]


def _step_down(values: Sequence[float]) -> list[float]:
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        highest = max(highest, (len(values) - rank) * values[i])
        adjusted[i] = highest
    return adjusted


def bound_mean(values: Sequence[float], level: float = ALPHA, shown: bool | None = None) -> Ends | None:
    """The interval of the mean that the sign-flip test does not reject at `level`; None where it has no end.

    Hartigan (1969), typical values: for values that are symmetric about a centre, this centre is equally likely to lie
    between any two neighbours of the sorted means of all subsets. So the ends are order statistics of these means.

    Args:
        shown: What the test says of 0, whose p is exact where few values move. The interval, drawn of many values,
            agrees with it.
    """
    return _bound_mean(tuple(values), None, level, shown) if values else None


def bootstrap_bounds(many: Sequence[tuple[Values, float, bool]]) -> list[Ends | None]:
    """Bootstrap bounds of many sets of differences, much faster than one by one."""
    places = defaultdict[Values, list[int]](list)
    for at, (values, _, _) in enumerate(many):
        places[values].append(at)
    bounds: list[Ends | None] = [None] * len(many)
    for values, sums in _multiply(_draw_subsets, places):
        means = _sort_means(values, sums, _count_sizes(len(values)))
        for at in places[values]:
            _, level, shown = many[at]
            bounds[at] = _find_ends(values, means, level, shown)
    return bounds


def bound_ratio(above: Sequence[float], below: Sequence[float]) -> Ends | None:
    """Bootstrap bounds of the ratio of two sums; None also where its upper end is open, as `below` is often 0."""
    return _bound_mean(tuple(above), tuple(below), ALPHA, None) if above else None


@cache  # two in five measures of a run have the values of another
def _bound_mean(values: Values, weights: Values | None, level: float, shown: bool | None) -> Ends | None:
    ((_, sums),) = _multiply(_draw_subsets, [values])
    sizes = _count_sizes(len(values)) if weights is None else next(_multiply(_draw_subsets, [weights]))[1]
    return _find_ends(values, _sort_means(values, sums, sizes), level, shown)


def _find_ends(values: Values, means: Any, level: float, shown: bool | None) -> Ends | None:
    rank = int(level / 2 * (len(means) + 1))
    if not rank:
        return None
    low, high = float(means[rank - 1]), float(means[-rank])
    if not isfinite(high):
        return None
    if shown is None:
        return low, high
    if not shown:
        return min(low, 0.0), max(high, 0.0)
    # 0 is outside for the test: the nearest mean beside it is the last that the interval may hold
    if sum(values) > 0:
        return max(low, float(means[means > 0][0])), high
    return low, min(high, float(means[means < 0][-1]))


def _sort_means(values: Values, sums: Any, sizes: Any) -> Any:
    """The means of the subsets; with weights as sizes the ratios of the sums, infinite where nothing is below."""
    import numpy as np

    slack = 100 * np.finfo(float).eps * np.abs(np.asarray(values, float)).sum()
    sums[np.abs(sums) < slack] = 0.0  # what is off by rounding alone is 0
    # `where` divides everywhere before it chooses
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sort(np.where(sizes > 0, sums / sizes, np.inf))


@cache
def _draw_subsets(size: int) -> Any:
    """Which values belong to each subset but the empty one: all of them, or as many as are drawn; a row a subset."""
    import numpy as np

    if 2**size <= RESAMPLES:
        return (np.arange(1, 2**size)[:, None] >> np.arange(size) & 1).astype(float)
    drawn = np.random.default_rng(SEED).integers(0, 2, (RESAMPLES, size)).astype(float)
    return drawn[drawn.any(axis=1)]


@cache
def _count_sizes(size: int) -> Any:
    return _draw_subsets(size).sum(axis=1)


@cache
def _draw_resamples(size: int) -> Any:
    """Resamples of `size` scenarios: a table of indexes, one row a resample."""
    import numpy as np

    return np.random.default_rng(SEED).integers(0, size, (TAUS, size))


def kendall(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> float | None:
    """Kendall's tau-b of two orders of the same rows, by the means of their values; None where one order is all ties.

    Args:
        left, right: A row a condition, in it a value a scenario.
    """
    import numpy as np

    (tau,) = _compute_taus(np.asarray(left, float).mean(axis=1)[None], np.asarray(right, float).mean(axis=1)[None])
    return None if np.isnan(tau) else float(tau)


def bootstrap_kendall(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """The middle 95 % of tau-b over resampled scenarios, the same for both orders; None if it is not defined in more
    than one of twenty resamples.

    Its side of 0 can be trusted, its ends cannot: with few scenarios it lies too near to 0 where the orders are alike.
    """
    import numpy as np

    drawn = _draw_resamples(len(left[0]))
    taus = _compute_taus(*(np.asarray(own, float)[:, drawn].mean(axis=2).T for own in (left, right)))
    defined = taus[~np.isnan(taus)]
    if len(defined) < 0.95 * len(taus):
        return None
    low, high = np.percentile(defined, (2.5, 97.5))
    return float(low), float(high)


def _compute_taus(left: Any, right: Any) -> Any:
    """Tau-b of each line of two tables; not a number where a line is all ties."""
    import numpy as np

    first, second = np.triu_indices(left.shape[1], 1)
    # means that differ by rounding alone are tied
    signs = [np.sign(np.round(own[:, first] - own[:, second], 12)) for own in (left, right)]
    moved = np.sqrt((signs[0] ** 2).sum(axis=1) * (signs[1] ** 2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(moved > 0, (signs[0] * signs[1]).sum(axis=1) / moved, np.nan)
