"""Multiple comparisons with the best: Hsu's constrained intervals of each group minus the best of the others.

An interval that ends at 0 on the worse side shows that the group is the best; one that ends at 0 on the better side
shows that it is not. The intervals are simultaneous at 1 - alpha and narrower than those of all pairs, because they
claim less.

Sources: J. C. Hsu, Annals of Statistics 12 (1984), and Multiple Comparisons: Theory and Methods (1996), ch. 4.2;
C. W. Dunnett, Journal of the American Statistical Association 50 (1955), for the one-sided critical value. Where the
correlations of the differences do not factor (means adjusted for blocks), the smallest correlation replaces all, which
is conservative by D. Slepian's inequality (1962). Where the groups' errors differ (Games-Howell, split plots), the
intervals follow from those of all pairs, which is also conservative (Hsu 1996, ch. 4.2.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from edgejoule.stats.estimates import Estimates
from edgejoule.stats.scale import FloatArray
from edgejoule.stats.studentized_range import chi_rule, gauss_legendre
from edgejoule.stats.tukey import PairTest


@dataclass(frozen=True)
class ToBest:
    """Group `index` minus the best of the others, on the scale of analysis: estimate and constrained interval.

    can_be_best: the interval reaches beyond 0 on the better side. is_best: it ends at 0 on the worse side.
    """

    index: int
    difference: float
    low: float
    high: float
    can_be_best: bool
    is_best: bool


def to_best(
    estimates: Estimates, pairs: Sequence[PairTest], *, alpha: float, higher_is_better: bool
) -> tuple[ToBest, ...]:
    """Returns one entry per group, in the groups' order. pairs: all pairs with intervals, used if errors differ."""
    sign = 1.0 if higher_is_better else -1.0
    mean = sign * estimates.mean
    low, high = (
        _limits_from_pairs(pairs, len(mean), sign)
        if estimates.common_df is None
        else _limits_from_dunnett(estimates, mean, alpha)
    )
    others = ~np.eye(len(mean), dtype=bool)
    upper = np.maximum(np.where(others, high, np.inf).min(axis=1), 0.0)
    lower = np.array([_lower(i, upper, low) for i in range(len(mean))])
    nearest = np.where(others, mean[:, None] - mean, np.inf).min(axis=1)
    entries = []
    for i in range(len(mean)):
        limits = sorted((float(sign * lower[i]), float(sign * upper[i])))
        entries.append(
            ToBest(
                i, float(sign * nearest[i]), limits[0] + 0.0, limits[1] + 0.0, bool(upper[i] > 0), bool(lower[i] == 0)
            )
        )
    return tuple(entries)


def _lower(i: int, upper: FloatArray, low: FloatArray) -> float:
    """Returns the lower limit (Hsu 1996, eq. 4.7). Only groups that can be the best reduce it."""
    rivals = [j for j in range(len(upper)) if j != i and upper[j] > 0]
    return min(0.0, min(low[i, j] for j in rivals)) if rivals else 0.0


def _limits_from_pairs(pairs: Sequence[PairTest], count: int, sign: float) -> tuple[FloatArray, FloatArray]:
    low, high = np.zeros((count, count)), np.zeros((count, count))
    for pair in pairs:
        assert pair.low is not None
        assert pair.high is not None
        a, b = sorted((sign * pair.low, sign * pair.high))
        low[pair.first, pair.second], high[pair.first, pair.second] = a, b
        low[pair.second, pair.first], high[pair.second, pair.first] = -b, -a
    return low, high


def _limits_from_dunnett(estimates: Estimates, mean: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Returns low and high, k x k. Group i is the control of high[i, j], group j that of low[i, j].

    With unequal sizes each control has a different critical value.
    """
    error = np.sqrt(estimates.pair_variance)
    critical = np.array([_critical(estimates, i, alpha) for i in range(len(mean))])
    difference = mean[:, None] - mean
    return difference - critical[None, :] * error, difference + critical[:, None] * error


def _critical(estimates: Estimates, control: int, alpha: float) -> float:
    assert estimates.common_df is not None
    return one_sided_dunnett(_loadings(estimates.covariance, control), estimates.common_df, alpha)


def _loadings(covariance: FloatArray, control: int) -> FloatArray:
    """Returns loadings l; l_i l_j is at most the correlation of the differences i and j from the control."""
    others = [i for i in range(len(covariance)) if i != control]
    if len(others) == 1:
        return np.zeros(1)
    variance = np.diagonal(covariance)
    if np.allclose(covariance, np.diag(variance), rtol=0, atol=1e-12 * variance.max()):
        return np.asarray(np.sqrt(variance[control] / (variance[control] + variance[others])), dtype=np.float64)
    contrast = np.eye(len(covariance))[others]
    contrast[:, control] = -1
    spread = contrast @ covariance @ contrast.T
    root = np.sqrt(np.diagonal(spread))
    correlation = (spread / root[:, None] / root)[~np.eye(len(others), dtype=bool)]
    return np.full(len(others), np.sqrt(max(0.0, float(correlation.min()) - 1e-12)))


def one_sided_dunnett(loadings: FloatArray, df: int, alpha: float) -> float:
    """Returns d with P(all T_i <= d) = 1 - alpha, T multivariate t with df and correlations loadings[i] x loadings[j].

    Dunnett (1955), eq. 8-10, by Gauss-Legendre quadrature over the common normal and the estimate of the sd. Error
    below 1e-9.
    """
    unique, counts = np.unique(np.round(loadings, 14), return_counts=True)
    return _one_sided_dunnett(tuple(map(float, unique)), tuple(map(int, counts)), df, alpha)


@lru_cache(maxsize=256)
def _one_sided_dunnett(loadings: tuple[float, ...], counts: tuple[int, ...], df: int, alpha: float) -> float:
    sd, sd_weight = chi_rule(df)
    nodes, weights = gauss_legendre(128)
    z = 9.0 * nodes
    weight = 9.0 * weights * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    def excess(d: float) -> float:
        """Returns the difference of log upper tails; logarithms are precise for any alpha."""
        inside = np.zeros((sd.size, z.size))
        for loading, count in zip(loadings, counts, strict=True):
            inside += count * special.log_ndtr((d * sd[:, None] + loading * z) / np.sqrt(1 - loading**2))
        return math.log(alpha) - math.log(float(sd_weight @ -np.expm1(inside) @ weight))

    # The value for one comparison is a lower bound, Bonferroni's an upper bound; 1e-4 exceeds the quadrature's error.
    low, high = (-float(special.stdtrit(df, tail)) for tail in (alpha, alpha / sum(counts)))
    from scipy import optimize  # imported here: it takes a third of a second

    return float(optimize.brentq(excess, low - 1e-4 * abs(low), high + 1e-4 * abs(high), xtol=1e-12))
