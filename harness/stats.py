"""The few statistics that a run needs: thin, named wrappers around scipy with fixed seeds, and Holm's adjustment."""

from __future__ import annotations

from collections.abc import Sequence

SEED = 20_250_101
RESAMPLES = 20_000


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of the mean paired difference under random signs: exact while 2^n <= RESAMPLES, else drawn."""
    import numpy as np
    from scipy.stats import permutation_test

    if len(differences) < 2 or not any(differences):
        return 1.0
    done = permutation_test(
        (np.asarray(differences, float),),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(done.pvalue)


def smallest_p(pairs: int) -> float:
    """The smallest two-sided p that this many pairs can give: all differences in one direction."""
    return 2.0 ** (1 - pairs) if pairs else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Holm (1979): step-down adjusted p values, in the order given."""
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        highest = max(highest, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = highest
    return adjusted


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Percentile 95 % interval of the mean over resampled scenarios."""
    import numpy as np
    from scipy.stats import bootstrap as resample

    if len(set(values)) == 1:
        return values[0], values[0]
    rng = np.random.default_rng(SEED)
    done = resample((np.asarray(values, float),), np.mean, n_resamples=RESAMPLES, method="percentile", rng=rng)
    return float(done.confidence_interval.low), float(done.confidence_interval.high)
