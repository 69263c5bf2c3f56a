"""The smallest ratio of two groups' means that a design shows with a given probability.

The difference of two means over its standard error has a noncentral t distribution. A pair is called different beyond
the studentized range's quantile over sqrt(2), which holds the level for all pairs of the family.

Sources: N. L. Johnson and B. L. Welch, Biometrika 31 (1940), for the noncentral t; D. C. Montgomery, Design and
Analysis of Experiments, 8th ed., ch. 2.4.2 and eq. 3.35. A coefficient of variation CV becomes a standard deviation of
logarithms by sqrt(ln(1 + CV^2)), as in the lognormal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special

from edgejoule.errors import DataError
from edgejoule.stats.studentized_range import critical_value

POWER = 0.8


def smallest_ratio(
    spread: float, replications: int, groups: int, *, alpha: float = 0.05, power: float = POWER, blocks: bool = True
) -> float:
    """Returns the smallest ratio of two means that is called different with probability `power`.

    spread: standard deviation of the logarithms within a group. replications: of each group, at least 2. groups: levels
    that are compared in pairs, at least 2. blocks: each replication is a block, which costs degrees of freedom.
    """
    if replications < 2 or groups < 2 or not spread >= 0:
        raise DataError(f"a difference needs 2 replications of 2 groups and a spread, got {replications} of {groups}")
    df = (groups - 1) * (replications - 1) if blocks else groups * (replications - 1)
    critical = critical_value(alpha, groups, df) / math.sqrt(2)

    def shortfall(noncentrality: float) -> float:
        return 1 - float(special.nctdtr(df, noncentrality, critical)) - power

    high = critical + 1
    while shortfall(high) < 0:
        high *= 2
    noncentrality = float(optimize.brentq(shortfall, 0, high))
    return math.exp(noncentrality * spread * math.sqrt(2 / replications))


def spread_of(coefficient_of_variation: float) -> float:
    """Returns the standard deviation of the logarithms."""
    return math.sqrt(math.log1p(coefficient_of_variation**2))


def pooled_spread(groups: Sequence[Sequence[float]]) -> float | None:
    """Returns the standard deviation of the logarithms within groups; None without two positive values in one."""
    logs = [np.log(np.asarray(values, dtype=np.float64)) for values in groups if len(values) > 1 and min(values) > 0]
    df = sum(values.size - 1 for values in logs)
    if df == 0:
        return None
    return math.sqrt(sum(float(values.var(ddof=1)) * (values.size - 1) for values in logs) / df)
