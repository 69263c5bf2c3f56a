"""Tests on ranks: Kruskal-Wallis, and Dunn's comparison of all pairs with Holm's adjustment.

Sources: W. H. Kruskal and W. A. Wallis, Journal of the American Statistical Association 47 (1952), eq. 1.1 with the
correction for ties, as kruskal.test in R; O. J. Dunn, Technometrics 6 (1964); S. Holm, Scandinavian Journal of
Statistics 6 (1979). Epsilon squared: T. L. Kelley (1935), H / (n - 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from edgejoule.errors import DataError, require
from edgejoule.stats.factor import IntArray
from edgejoule.stats.omnibus import Omnibus
from edgejoule.stats.scale import FloatArray
from edgejoule.stats.tukey import PairTest, ordered_pairs


def midranks(y: FloatArray) -> FloatArray:
    """Returns the rank of every value, from 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse.reshape(-1)], dtype=np.float64)


def mean_ranks(y: FloatArray, member: IntArray) -> FloatArray:
    """Returns the mean rank of each group."""
    require(y.shape == member.shape and bool(np.isfinite(y).all()), "one group and one finite number per observation")
    return np.asarray(np.bincount(member, weights=midranks(y)) / np.bincount(member), dtype=np.float64)


def kruskal_wallis(y: FloatArray, member: IntArray) -> Omnibus:
    """Tests H, corrected for ties, as chi squared. Raises DataError if all values are equal."""
    n = np.bincount(member)
    variance = _rank_variance(y)
    h = float((n * (mean_ranks(y, member) - (y.size + 1) / 2) ** 2).sum() / variance)
    df = n.size - 1
    return Omnibus("Kruskal-Wallis H", h, float(df), None, float(special.chdtrc(df, h)), "epsilon2", h / (y.size - 1))


def dunn_holm(y: FloatArray, member: IntArray, order: Sequence[int], centre: FloatArray) -> tuple[PairTest, ...]:
    """Tests all pairs, `first` after `second` in `order`. difference: of `centre`. statistic: z of the mean ranks."""
    second, first = ordered_pairs(int(member.max()) + 1, order)
    n, rank = np.bincount(member), mean_ranks(y, member)
    z = (rank[first] - rank[second]) / np.sqrt(_rank_variance(y) * (1 / n[first] + 1 / n[second]))
    p_adj = holm(2 * special.ndtr(-np.abs(z)))
    return tuple(
        PairTest(int(i), int(j), float(centre[i] - centre[j]), None, None, float(p), float(s), None)
        for i, j, p, s in zip(first, second, p_adj, z, strict=True)
    )


def holm(p: FloatArray) -> FloatArray:
    """Adjusts the p values of one family by Holm's step-down method."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _rank_variance(y: FloatArray) -> float:
    """Returns the variance of the ranks: n (n + 1) / 12, reduced for ties."""
    _, counts = np.unique(y, return_counts=True)
    ties = float((counts.astype(np.float64) ** 3 - counts).sum())
    variance = y.size * (y.size + 1) / 12 - ties / (12 * (y.size - 1))
    if counts.size < 2:
        raise DataError(f"all {y.size} values are equal: ranks show no difference")
    return variance
