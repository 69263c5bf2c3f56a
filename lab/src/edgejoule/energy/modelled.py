"""The differences that modelled joules can resolve."""

from __future__ import annotations

import math

from edgejoule.errors import DataError


def comparison_min_ratio(prediction_interval_rel: float) -> float:
    """The smallest ratio of two runs' modelled energies that exceeds the model's prediction interval.

    prediction_interval_rel: half width at k=2, relative; 0.5 means a true value between 1/1.5 and 1.5 of the modelled.
    Each run's error is taken as independent with half width ln(1 + U) on the log scale, so the ratio's is sqrt(2)
    times as wide: exp(sqrt(2) ln(1 + U)). Part of the error is common to both runs and cancels, which makes this
    conservative. 50 % gives 1.77.
    """
    if not prediction_interval_rel >= 0:
        raise DataError(f"a prediction interval is a relative half width of at least 0, not {prediction_interval_rel}")
    return math.exp(math.sqrt(2) * math.log1p(prediction_interval_rel))
