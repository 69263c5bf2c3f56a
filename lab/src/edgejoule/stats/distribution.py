"""The empirical distribution of a group: steps, quantiles and their confidence band.

Sources: R. J. Hyndman and Y. Fan, The American Statistician 50 (1996), quantiles of type 7; P. Massart, Annals of
Probability 18 (1990), the band of Dvoretzky, Kiefer and Wolfowitz with its exact constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edgejoule.stats.scale import FloatArray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_STEPS_MAX = 1000


@dataclass(frozen=True)
class Distribution:
    """Steps of the empirical distribution: share[i] of the values are <= value[i].

    band: half width of the 95 % band around every share. quantiles: level -> value. Above 1000 distinct values the
    steps are thinned evenly; the first and the last stay.
    """

    value: tuple[float, ...]
    share: tuple[float, ...]
    band: float
    quantiles: dict[float, float]

    def to_json(self) -> dict[str, object]:
        """Returns {"value", "share", "band95", "quantiles": {"0.5": ...}}."""
        return {
            "value": list(self.value),
            "share": list(self.share),
            "band95": self.band,
            "quantiles": {f"{level:g}": value for level, value in self.quantiles.items()},
        }


def distribution(values: FloatArray) -> Distribution:
    """Computes the distribution of one or more values."""
    unique, counts = np.unique(values, return_counts=True)
    share = np.cumsum(counts) / values.size
    if unique.size > _STEPS_MAX:
        kept = np.unique(np.linspace(0, unique.size - 1, _STEPS_MAX).round().astype(int))
        unique, share = unique[kept], share[kept]
    return Distribution(
        value=tuple(map(float, unique)),
        share=tuple(map(float, share)),
        band=math.sqrt(math.log(2 / 0.05) / (2 * values.size)),
        quantiles={level: float(np.quantile(values, level)) for level in QUANTILES},
    )
