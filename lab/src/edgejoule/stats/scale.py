"""The scale of analysis, and conversion to it and back."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import DataError

FloatArray = NDArray[np.float64]

MAGNITUDE_MAX = 1e150  # squares and their sums stay finite


class Scale(StrEnum):
    """LOG: effects are ratios, means are geometric. RAW: effects are differences, means are arithmetic."""

    LOG = "log"
    RAW = "raw"


def to_scale(values: FloatArray, scale: Scale, response: str) -> FloatArray:
    """Converts values to the scale of analysis. Raises DataError for a value <= 0 on LOG, or too large to square."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > MAGNITUDE_MAX:
        raise DataError(f"{response}: a value of magnitude {largest:g} is too large: its square is no number")
    if scale is Scale.RAW:
        return values
    refused = int(np.count_nonzero(values <= 0))
    if refused:
        raise DataError(
            f"{response}: {refused} of {values.size} values are zero or negative (the least is {values.min():g}) and "
            "have no logarithm; analyse on the raw scale"
        )
    return np.log(values)


def from_scale(value: float, scale: Scale) -> float:
    """Converts a mean or limit to the response's unit, a difference of logarithms to a ratio. inf on overflow."""
    if scale is Scale.RAW:
        return value
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
