"""Groups with separate variances: the estimates for Games-Howell, and Welch's analysis of variance.

Sources: B. L. Welch, On the comparison of several mean values: an alternative approach, Biometrika 38 (1951), eq. 28,
as oneway.test in R; F. E. Satterthwaite, Biometrics Bulletin 2 (1946), for the df of a mean over several cells.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from edgejoule.errors import DataError
from edgejoule.stats.cells import CellMeans, Margin
from edgejoule.stats.estimates import Estimates
from edgejoule.stats.omnibus import Omnibus
from edgejoule.stats.scale import FloatArray


def cell_variances(y: FloatArray, full: CellMeans) -> FloatArray:
    """Returns the variance of each cell's values; nan for a single value."""
    mean = np.bincount(full.member, weights=y) / full.n
    square = np.bincount(full.member, weights=(y - mean[full.member]) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(square / (full.n - 1), dtype=np.float64)


def own_variances(y: FloatArray, full: CellMeans, margin: Margin) -> Estimates:
    """Returns the margin's means with the variances of their cells; df by Satterthwaite; nan if unknown."""
    mean = np.bincount(full.member, weights=y) / full.n
    of_cell = np.nan_to_num(cell_variances(y, full), nan=np.inf) / full.n
    part = np.where(margin.weights > 0, margin.weights, np.nan) ** 2 * of_cell
    part[margin.weights == 0] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = part.sum(axis=1)
        df = variance**2 / (part**2 / (full.n - 1)).sum(axis=1)
        pair = (variance[:, None] + variance) ** 2 / (variance[:, None] ** 2 / df[:, None] + variance**2 / df)
    return Estimates(mean=margin.weights @ mean, covariance=np.diag(variance), df=df, pair_df=pair)


def refuse_without_variance(y: FloatArray, full: CellMeans) -> None:
    """Raises DataError for a cell with one value or equal values: it has no weight in Welch's test."""
    thin = [cell for cell, n in zip(full.cells, full.n, strict=True) if n < 2]
    if thin:
        raise DataError(f"{_named(full, thin)}: one value has no variance; each group needs two or more")
    flat = [cell for cell, s in zip(full.cells, cell_variances(y, full), strict=True) if s == 0]
    if flat:
        raise DataError(
            f"{_named(full, flat)}: all values are equal, and a group without variance has no place in Welch's and "
            "Games-Howell's tests; declare kruskal-dunn-holm, which needs none"
        )


def _named(full: CellMeans, cells: list[tuple[str, ...]]) -> str:
    cell_name = ", ".join(f"{name} {level}" for name, level in zip(full.names, cells[0], strict=True))
    return cell_name + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")


def welch(estimates: Estimates, n: int) -> Omnibus:
    """Tests by Welch's F that all means are equal. n: number of observations, for omega squared.

    effect: omega squared estimated from F (W. L. Carroll and R. M. Nordholm, Educational and Psychological Measurement
    35, 1975).
    """
    count = len(estimates.mean)
    weight = 1 / estimates.variance
    total = weight.sum()
    centre = (weight * estimates.mean).sum() / total
    spread = ((1 - weight / total) ** 2 / estimates.df).sum()
    between = (weight * (estimates.mean - centre) ** 2).sum() / (count - 1)
    f = float(between / (1 + 2 * (count - 2) * spread / (count**2 - 1)))
    df2 = float((count**2 - 1) / (3 * spread))
    omega2 = (count - 1) * (f - 1) / ((count - 1) * (f - 1) + n)
    return Omnibus("Welch's F", f, float(count - 1), df2, float(special.fdtrc(count - 1, df2, f)), "omega2", omega2)
