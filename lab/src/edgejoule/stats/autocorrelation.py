"""Lag-1 autocorrelation of the residuals in the order of the runs: the carry-over from one run to the next.

Source: P. A. P. Moran, Biometrika 35 (1948), for the statistic. p comes from permutations within blocks, because a
block's residuals sum to nearly zero, which alone makes neighbours differ. The result never chooses the test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgejoule.stats.factor import IntArray
from edgejoule.stats.scale import FloatArray

_PERMUTATIONS = 1999
_SEED = 20_260


@dataclass(frozen=True)
class Serial:
    """lag1: correlation of neighbours. expected: its mean over permutations. p: two-sided."""

    lag1: float
    expected: float
    p: float
    n: int


def lag1(residuals: FloatArray, order: FloatArray, block: IntArray | None = None) -> Serial | None:
    """Tests the residuals in the given order; equal ranks keep their sequence. None below 5 values or if constant."""
    place = np.argsort(order, kind="stable")
    values = residuals[place] - residuals.mean()
    square = float(values @ values)
    if values.size < 5 or square <= np.finfo(float).eps:
        return None
    observed = float(values[:-1] @ values[1:]) / square
    group = np.zeros(values.size, dtype=np.int64) if block is None else block[place]
    shuffled = _shuffled(values, group)
    chance = (shuffled[:, :-1] * shuffled[:, 1:]).sum(axis=1) / square
    expected = float(chance.mean())
    beyond = np.abs(chance - expected) >= abs(observed - expected) - 1e-12
    return Serial(observed, expected, float((beyond.sum() + 1) / (_PERMUTATIONS + 1)), int(values.size))


def _shuffled(values: FloatArray, group: IntArray) -> FloatArray:
    """Returns permutations x values; each value stays within its group."""
    rng = np.random.default_rng(_SEED)
    shuffled = np.empty((_PERMUTATIONS, values.size))
    for one in np.unique(group):
        at = np.flatnonzero(group == one)
        keys = rng.random((_PERMUTATIONS, at.size)).argsort(axis=1)
        shuffled[:, at] = values[at][keys]
    return shuffled
