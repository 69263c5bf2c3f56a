"""Two one-sided tests: equivalence of two groups within a margin declared before the data.

A difference without significance does not show equivalence; this test does. Source: D. J. Schuirmann, Journal of
Pharmacokinetics and Biopharmaceutics 15 (1987). The p values of all pairs are adjusted by Holm (1979), because the
tests claim several equivalences.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from edgejoule.stats.estimates import Estimates
from edgejoule.stats.ranks import holm
from edgejoule.stats.scale import FloatArray


def equivalence(estimates: Estimates, first: list[int], second: list[int], margin: float) -> FloatArray:
    """Returns each pair's Holm-adjusted p for the hypothesis that the means differ by `margin` or more.

    margin: above 0, on the scale of analysis.
    """
    difference = estimates.mean[first] - estimates.mean[second]
    error = np.sqrt(estimates.pair_variance[first, second])
    df = estimates.pair_df[first, second]
    return holm(np.asarray(special.stdtr(df, (np.abs(difference) - margin) / error), dtype=np.float64))
