"""Tukey's honestly significant difference for unequal group sizes (Tukey-Kramer), from a model's own error term.

Source: D. C. Montgomery, Design and Analysis of Experiments, 8th ed., eq. 3.35-3.36; C. Y. Kramer, Biometrics 12
(1956). With a covariance that is not diagonal (means adjusted for blocks) the standard error of each difference is
the model's: Hochberg and Tamhane, Multiple Comparison Procedures (1987), ch. 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgejoule.stats.scale import FloatArray
from edgejoule.stats.studentized_range import critical_value, upper_tail


@dataclass(frozen=True)
class TukeyPair:
    """mean[first] - mean[second] with its simultaneous 1 - alpha interval and family-wise adjusted p."""

    first: int
    second: int
    difference: float
    low: float
    high: float
    p_adj: float


def tukey(
    mean: FloatArray,
    covariance: FloatArray,
    error_ms: float,
    error_df: int,
    *,
    alpha: float = 0.05,
    order: Sequence[int] | None = None,
) -> tuple[TukeyPair, ...]:
    """All pairs of groups, `first` after `second` in `order` (default: as given).

    covariance: of the means, in units of error_ms; diag(1/n) in a model without blocks. error_ms and error_df are
    those of the model in which the means were estimated. Needs two groups or more.
    """
    order = list(range(len(mean))) if order is None else list(order)
    second, first = (np.asarray(order)[index] for index in np.triu_indices(len(order), k=1))
    difference = mean[first] - mean[second]
    variance = np.diagonal(covariance)
    pair_variance = variance[first] + variance[second] - 2 * covariance[first, second]
    scale = np.sqrt(error_ms * pair_variance / 2)
    p_adj = upper_tail(np.abs(difference) / scale, len(order), error_df)
    reach = critical_value(alpha, len(order), error_df) * scale
    return tuple(
        TukeyPair(int(i), int(j), float(d), float(d - r), float(d + r), float(p))
        for i, j, d, r, p in zip(first, second, difference, reach, p_adj, strict=True)
    )
