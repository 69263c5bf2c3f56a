"""Summary statistics of one group: n, mean with its 95 % interval, spread, median and extremes.

Source of the interval: D. C. Montgomery, Design and Analysis of Experiments, 8th ed., eq. 2.40 (own variance) and
eq. 3.12 (the model's error mean square and degrees of freedom).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from edgejoule.errors import DataError
from edgejoule.stats.scale import FloatArray, Scale, from_scale, to_scale


@dataclass(frozen=True)
class Summary:
    """Figures in the response's unit.

    RAW: arithmetic mean, sd. LOG: geometric mean; sd is the geometric standard deviation, a factor; ci95_ratio is the
    interval divided by the mean. ci95 and sd are None for a single value. None of the figures
    depends on the order of the values.
    """

    n: int
    mean: float
    ci95: tuple[float, float] | None
    ci95_ratio: tuple[float, float] | None
    sd: float | None
    median: float
    min: float
    max: float


def describe(
    values: Sequence[float] | FloatArray,
    *,
    scale: Scale = Scale.RAW,
    error: tuple[float, int] | None = None,
    stage: Sequence[float] | None = None,
    response: str = "response",
) -> Summary:
    """Summarises the values. The interval comes from their spread, unless `error` or `stage` is given.

    error: mean square (on the scale) and df of a model. stage: the values that estimate the spread. Raises DataError
    for no values and for values that are not finite.
    """
    raw = np.asarray(values, dtype=np.float64)
    if raw.size == 0 or not np.isfinite(raw).all():
        raise DataError(
            f"{response}: needs finite values, got {raw.size} with {np.count_nonzero(~np.isfinite(raw))} bad"
        )
    scaled = to_scale(raw, scale, response)
    mean = float(scaled.mean())
    sd = float(scaled.std(ddof=1)) if raw.size > 1 else None
    spread = scaled if stage is None else to_scale(np.asarray(stage, dtype=np.float64), scale, response)
    if error is None and spread.size > 1:
        error = (float(spread.std(ddof=1)) ** 2, spread.size - 1)
    limits = interval(mean, 1 / raw.size, *error) if error else None
    ci95 = (from_scale(limits[0], scale), from_scale(limits[1], scale)) if limits else None
    centre = from_scale(mean, scale)
    return Summary(
        n=int(raw.size),
        mean=centre,
        ci95=ci95,
        ci95_ratio=(ci95[0] / centre, ci95[1] / centre) if ci95 and scale is Scale.LOG else None,
        sd=from_scale(sd, scale) if sd is not None else None,
        median=float(np.median(raw)),
        min=float(raw.min()),
        max=float(raw.max()),
    )


def interval(
    mean: float, variance: float, error_ms: float, error_df: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Returns Student's t interval of a mean whose variance is `variance` x error_ms (1/n for a plain mean)."""
    reach = float(special.stdtrit(error_df, (1 + level) / 2)) * math.sqrt(error_ms * variance)
    return mean - reach, mean + reach
