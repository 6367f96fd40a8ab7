"""The few statistics that a run needs, with fixed seeds. SciPy, which is slow to import, is asked for one test only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, log2
from typing import Any

SEED = 20_250_101
RESAMPLES = 20_000
TAUS = 5_000
"""Resamples of an order of rows, of which each costs a look at all pairs."""


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of the mean paired difference under random signs: exact while 2^n <= RESAMPLES, else drawn.

    Pairs that do not differ have no sign to flip, so n counts the others.
    """
    moved = [each for each in differences if each]
    if len(moved) < 2:
        return 1.0
    import numpy as np

    values = np.asarray(moved, float)
    means = np.where(_flips(len(moved)), -values[:, None], values[:, None]).mean(axis=0)
    seen = values.mean()
    slack = abs(100 * np.finfo(float).eps * seen)  # means that differ by rounding alone are equal
    itself = 0 if 2 ** len(moved) <= RESAMPLES else 1  # among drawn assignments what was seen need not be
    tail = min(np.count_nonzero(means <= seen + slack), np.count_nonzero(means >= seen - slack))
    return float(min(1.0, 2 * (int(tail) + itself) / (len(means) + itself)))


@cache
def _flips(pairs: int) -> Any:
    """Whether each pair changes its sign, one row a pair: in all assignments, or in as many as are drawn."""
    import numpy as np

    if 2**pairs <= RESAMPLES:
        return (np.arange(2**pairs) >> np.arange(pairs)[:, None] & 1).astype(bool)
    both = np.tile(np.arange(2), (RESAMPLES, pairs, 1))
    return np.random.default_rng(SEED).permuted(both, axis=-1)[:, :, 0].T.astype(bool)


def smallest_p(pairs: int) -> float:
    """The smallest two-sided p that this many pairs can give: all differences in one direction."""
    return 2.0 ** (1 - pairs) if pairs else 1.0


def sweep(family: int, alpha: float) -> int:
    """How many pairs must move, all in one direction, for p to be shown among `family` comparisons."""
    return ceil(1 + log2(family / alpha))


@cache
def fisher(hits: int, of: int, other_hits: int, other_of: int) -> float:
    """Fisher's exact test, two-sided: p of two proportions this unlike or more so, given all hits together."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[hits, of - hits], [other_hits, other_of - other_hits]]).pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """Holm (1979): step-down adjusted p values, in the order given."""
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        highest = max(highest, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = highest
    return adjusted


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Percentile 95 % interval of the mean over resampled scenarios."""
    return _bootstrap(tuple(values))


@cache  # two in five measures of a run have the values of another
def _bootstrap(values: tuple[float, ...]) -> tuple[float, float]:
    import numpy as np

    means = np.asarray(values, float)[_draws(len(values))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def bootstrap_ratio(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """Percentile 95 % interval of the ratio of two sums over resampled scenarios; `below` is never 0."""
    import numpy as np

    drawn = _draws(len(above))
    ratios = np.asarray(above, float)[drawn].sum(axis=1) / np.asarray(below, float)[drawn].sum(axis=1)
    low, high = np.percentile(ratios, (2.5, 97.5))
    return float(low), float(high)


@cache
def _draws(size: int) -> Any:
    """The same resamples of `size` scenarios for every measure: a table of indexes, one row a resample."""
    import numpy as np

    return np.random.default_rng(SEED).integers(0, size, (RESAMPLES, size))


def kendall(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> float | None:
    """Kendall's tau-b of two orders of the same rows, by the means of their values; None where one order is all ties.

    Args:
        left, right: A row a condition, in it a value a scenario.
    """
    import numpy as np

    (tau,) = _taus(np.asarray(left, float).mean(axis=1)[None], np.asarray(right, float).mean(axis=1)[None])
    return None if np.isnan(tau) else float(tau)


def bootstrap_kendall(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Percentile 95 % interval of tau-b over resampled scenarios, the same for both orders; None if it is not defined
    in more than one of twenty resamples."""
    import numpy as np

    drawn = _draws(len(left[0]))[:TAUS]
    taus = _taus(*(np.asarray(own, float)[:, drawn].mean(axis=2).T for own in (left, right)))
    defined = taus[~np.isnan(taus)]
    if len(defined) < 0.95 * len(taus):
        return None
    low, high = np.percentile(defined, (2.5, 97.5))
    return float(low), float(high)


def _taus(left: Any, right: Any) -> Any:
    """Tau-b of each line of two tables; not a number where a line is all ties."""
    import numpy as np

    first, second = np.triu_indices(left.shape[1], 1)
    signs = [np.sign(np.round(own[:, first] - own[:, second], 12)) for own in (left, right)]
    moved = np.sqrt((signs[0] ** 2).sum(axis=1) * (signs[1] ** 2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(moved > 0, (signs[0] * signs[1]).sum(axis=1) / moved, np.nan)
