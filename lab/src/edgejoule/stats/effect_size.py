"""Standardised effect sizes for pairs of groups.

Sources: L. V. Hedges, Journal of Educational Statistics 6 (1981), eq. 6e for the correction of small samples;
N. Cliff, Psychological Bulletin 114 (1993), for delta.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from edgejoule.stats.scale import FloatArray


def hedges_g(difference: float, sd: float, df: float) -> float | None:
    """Returns the difference in standard deviations, corrected for the bias of an sd with df degrees of freedom.

    None if sd is 0.
    """
    if sd == 0:
        return None
    correction = np.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2)) / np.sqrt(df / 2) if df > 1 else 1.0
    return float(difference / sd * correction)


def cliffs_delta(a: FloatArray, b: FloatArray) -> float:
    """Returns P(a > b) - P(a < b) for random values of both groups: 1 if every a is above every b."""
    return float(np.sign(a[:, None] - b[None, :]).mean())
