"""Pairwise comparisons by the studentized range: Tukey-Kramer for a common error, Games-Howell for separate ones.

Sources: D. C. Montgomery, Design and Analysis of Experiments, 8th ed., eq. 3.35-3.36; C. Y. Kramer, Biometrics 12
(1956), for unequal sizes; Hochberg and Tamhane, Multiple Comparison Procedures (1987), ch. 3.3, for means adjusted for
blocks; P. A. Games and J. F. Howell, Journal of Educational Statistics 1 (1976), for unequal variances, with the
degrees of freedom of each pair (B. L. Welch, Biometrika 29, 1938; F. E. Satterthwaite, Biometrics Bulletin 2, 1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgejoule.stats.estimates import Estimates
from edgejoule.stats.factor import IntArray
from edgejoule.stats.studentized_range import critical_values, upper_tails


@dataclass(frozen=True)
class PairTest:
    """The test of mean[first] - mean[second].

    low, high: simultaneous 1 - alpha interval; None if the test has none. p_adj: adjusted for the family of all pairs.
    statistic: Student's t, or z of mean ranks. df: its degrees of freedom, None for z.
    """

    first: int
    second: int
    difference: float
    low: float | None
    high: float | None
    p_adj: float
    statistic: float
    df: float | None


def tukey(estimates: Estimates, *, alpha: float = 0.05, order: Sequence[int] | None = None) -> tuple[PairTest, ...]:
    """Tests all pairs of groups, `first` after `second` in `order` (default: as given). Needs two groups or more."""
    second, first = ordered_pairs(len(estimates.mean), order)
    groups = len(estimates.mean)
    difference = estimates.mean[first] - estimates.mean[second]
    error = np.sqrt(estimates.pair_variance[first, second])
    df = estimates.pair_df[first, second]
    p_adj = upper_tails(np.sqrt(2) * np.abs(difference) / error, groups, df)
    reach = critical_values(alpha, groups, df) / np.sqrt(2) * error
    return tuple(
        PairTest(int(i), int(j), float(d), float(d - r), float(d + r), float(p), float(d / e), float(v))
        for i, j, d, r, p, e, v in zip(first, second, difference, reach, p_adj, error, df, strict=True)
    )


def ordered_pairs(count: int, order: Sequence[int] | None) -> tuple[IntArray, IntArray]:
    """Returns indices (earlier, later) of all pairs in `order`."""
    place = np.arange(count) if order is None else np.asarray(order)
    upper, lower = np.triu_indices(count, k=1)
    return place[upper], place[lower]
