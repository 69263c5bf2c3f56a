"""Means to be compared with their errors: the input of every parametric comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from edgejoule.errors import require
from edgejoule.stats.cells import CellMeans
from edgejoule.stats.scale import FloatArray


@dataclass(frozen=True)
class Estimates:
    """k means on the scale of analysis and their errors, in squared units of that scale.

    covariance: k x k, of the means. df: k, of each mean's variance. pair_df: k x k, of the variance of each difference.
    common_df: the df if all are equal, else None.
    """

    mean: FloatArray
    covariance: FloatArray
    df: FloatArray
    pair_df: FloatArray
    common_df: int | None = None

    def __post_init__(self) -> None:
        count = self.mean.size
        require(self.mean.shape == (count,) and self.df.shape == (count,), "one df per mean")
        for name, of_pairs in (("covariance", self.covariance), ("pair_df", self.pair_df)):
            require(of_pairs.shape == (count, count), f"{name} of {count} means: {of_pairs.shape}")

    @property
    def variance(self) -> FloatArray:
        """Variance of each mean."""
        return np.diagonal(self.covariance)

    @property
    def pair_variance(self) -> FloatArray:
        """k x k: variance of mean[i] - mean[j]; 0 on the diagonal."""
        variance = self.variance
        return np.asarray(variance[:, None] + variance[None, :] - 2 * self.covariance, dtype=np.float64)

    def intervals(self, level: float = 0.95) -> list[tuple[float, float]]:
        """Returns Student's interval of each mean. Source: Montgomery, 8th ed., eq. 2.40 and 3.12."""
        reach = special.stdtrit(self.df, (1 + level) / 2) * np.sqrt(self.variance)
        return [(float(m - r), float(m + r)) for m, r in zip(self.mean, reach, strict=True)]


def from_model(means: CellMeans, error_ms: float, error_df: int) -> Estimates:
    """Returns means whose errors all come from one model's error mean square."""
    count = len(means.mean)
    return Estimates(
        mean=means.mean,
        covariance=means.covariance * error_ms,
        df=np.full(count, float(error_df)),
        pair_df=np.full((count, count), float(error_df)),
        common_df=error_df,
    )
