"""Checks of the model's assumptions, shown beside the result; they never choose the test.

Sources: S. S. Shapiro, M. B. Wilk, Biometrika 52 (1965), by scipy; M. B. Brown, A. B. Forsythe, Journal of the
American Statistical Association 69 (1974), on the model's residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from edgejoule.stats.factor import IntArray
from edgejoule.stats.scale import FloatArray

_SHAPIRO_MAX = 5000


@dataclass(frozen=True)
class Check:
    """A test's statistic and p. None, with a reason, if the data do not allow the test."""

    statistic: float | None
    p: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Diagnostics:
    """A small p is evidence against normal residuals (shapiro_wilk) or equal variances of cells (brown_forsythe)."""

    shapiro_wilk: Check
    brown_forsythe: Check


def diagnose(residuals: FloatArray, member: IntArray) -> Diagnostics:
    """Runs both checks. member[i]: the cell of residual i."""
    return Diagnostics(shapiro_wilk(residuals), brown_forsythe(residuals, member))


def shapiro_wilk(residuals: FloatArray) -> Check:
    """Tests for normality. None below 3 and above 5000 values, for which p is not validated, and for equal values."""
    if residuals.size < 3:
        return Check(None, None, "fewer than 3 values")
    if residuals.size > _SHAPIRO_MAX:
        return Check(None, None, f"more than {_SHAPIRO_MAX:,} values")
    if float(np.ptp(residuals)) == 0:
        return Check(None, None, "all residuals are equal")
    # Imported here because scipy.stats takes most of a second to import.
    from scipy import stats

    result = stats.shapiro(residuals)
    return Check(float(result.statistic), float(result.pvalue))


def brown_forsythe(residuals: FloatArray, member: IntArray) -> Check:
    """Tests for equal variances: one-way F of the absolute deviations from each cell's median.

    None for a single cell, without variation of the deviations within the cells, and for two cells in complete blocks:
    the residuals of one are those of the other with the opposite sign, so that no difference can show.
    """
    count = int(member.max()) + 1
    if count < 2:
        return Check(None, None, "there is one cell")
    if count == 2 and _mirrored(residuals[member == 0], residuals[member == 1]):
        return Check(None, None, "in blocks, two cells always have the same variance")
    df = residuals.size - count
    medians = np.array([np.median(residuals[member == cell]) for cell in range(count)])
    deviation = np.abs(residuals - medians[member])
    means = np.bincount(member, weights=deviation) / np.bincount(member)
    within = float(((deviation - means[member]) ** 2).sum())
    between = float(((means[member] - deviation.mean()) ** 2).sum())
    if df < 1:
        return Check(None, None, "each cell has one value")
    if within <= np.finfo(float).eps * between:
        few = int(np.bincount(member).max()) <= 2
        return Check(None, None, "it needs three values in a cell" if few else "the deviations in each cell are equal")
    f = (between / (count - 1)) / (within / df)
    return Check(f, float(special.fdtrc(count - 1, df, f)))


def _mirrored(first: FloatArray, second: FloatArray) -> bool:
    if first.size != second.size or first.size < 2:
        return False
    tolerance = 1e-9 * float(np.abs(first).max())
    return bool(np.allclose(np.sort(first), np.sort(-second), rtol=0, atol=tolerance))
