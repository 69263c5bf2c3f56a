"""Two one-sided tests: whether two groups are the same within a margin that was declared before the data.

Not significant does not mean the same; this test does. Source: D. J. Schuirmann, Journal of Pharmacokinetics and
Biopharmaceutics 15 (1987). The p values of all pairs are adjusted by Holm (1979), for several samenesses are claimed.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from edgejoule.stats.estimates import Estimates
from edgejoule.stats.ranks import holm
from edgejoule.stats.scale import FloatArray


def equivalence(estimates: Estimates, first: list[int], second: list[int], margin: float) -> FloatArray:
    """Holm-adjusted p, for each pair, that the means differ by margin or more; margin > 0 on the scale of analysis."""
    difference = estimates.mean[first] - estimates.mean[second]
    error = np.sqrt(estimates.pair_variance[first, second])
    df = estimates.pair_df[first, second]
    return holm(np.asarray(special.stdtr(df, (np.abs(difference) - margin) / error), dtype=np.float64))
