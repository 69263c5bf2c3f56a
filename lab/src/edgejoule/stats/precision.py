"""The number of runs for a declared precision: an estimate with its range, and Stein's two-stage procedure.

Stopping when the interval is narrow does not give 95 %. Stein's procedure does: the spread of the first
runs alone fixes how many are made and how wide the interval is, and the mean of all runs stands in its middle.

Sources: C. Stein, Annals of Mathematical Statistics 16 (1945); D. C. Montgomery, Design and Analysis of Experiments,
8th ed., ch. 2.4.3, for the estimate. The range of the estimate is that of the spread: its 95 % chi-squared interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from edgejoule.errors import DataError, UsageError
from edgejoule.stats.scale import FloatArray, Scale, from_scale, to_scale

_RUNS_MAX = 1_000_000


@dataclass(frozen=True)
class RunsNeeded:
    """Runs of each group in all for a half width of its mean's interval: an estimate, likely between low and high."""

    estimate: int
    low: int
    high: int

    def more(self, have: int) -> RunsNeeded:
        """Returns the replications still missing beyond `have`."""
        return RunsNeeded(*(max(0, count - have) for count in (self.estimate, self.low, self.high)))


def runs_needed(error_ms: float, error_df: int, half_width: float, *, level: float = 0.95) -> RunsNeeded:
    """Estimates the runs for a mean within +- half_width (on the scale of analysis), from an error mean square."""
    _checked(half_width, level)
    tails = special.chdtri(error_df, [0.025, 0.975])
    low, high = error_df * error_ms / tails
    estimate, least, most = (_runs(float(ms), half_width, level) for ms in (error_ms, low, high))
    return RunsNeeded(estimate, least, most)


def _runs(ms: float, half_width: float, level: float) -> int:
    """Returns the smallest n >= 2 with t(n - 1) sqrt(ms / n) <= half_width, limited by _RUNS_MAX."""

    def enough(n: int) -> bool:
        return float(special.stdtrit(n - 1, (1 + level) / 2)) * math.sqrt(ms / n) <= half_width

    high = 2
    while not enough(high):
        if high > _RUNS_MAX:
            return _RUNS_MAX
        high *= 2
    low = max(2, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


@dataclass(frozen=True)
class Stein:
    """The plan after the first stage: total runs, and the half width of the interval of their mean.

    first: runs of the first stage. half_width: on the scale of analysis, of an interval of `level`; at most the
    declared one.
    """

    first: int
    total: int
    half_width: float
    level: float
    scale: Scale

    @property
    def precision(self) -> float:
        """The half width as declared: a ratio on the log scale, in the response's unit on the raw scale."""
        return from_scale(self.half_width, self.scale)

    def capped(self, total_max: int) -> Stein:
        """Returns the plan with at most `total_max` runs; fewer runs widen the half width in proportion.

        The coverage stays the same if total_max does not depend on the mean of the runs.
        """
        total = max(self.first, min(self.total, total_max))
        return replace(self, total=total, half_width=self.half_width * math.sqrt(self.total / total))

    def interval(self, values: FloatArray) -> tuple[float, float]:
        """Returns the interval of the mean, in the response's unit. Raises DataError unless len(values) is total."""
        if values.size != self.total:
            raise DataError(f"Stein's second stage promised {self.total} runs, got {values.size}")
        mean = float(to_scale(np.asarray(values, dtype=np.float64), self.scale, "response").mean())
        return from_scale(mean - self.half_width, self.scale), from_scale(mean + self.half_width, self.scale)


def stein(first: FloatArray, precision: float, *, scale: Scale = Scale.LOG, level: float = 0.95) -> Stein:
    """Computes the total number of runs from the first stage.

    precision: on the log scale the ratio of an interval's end to its middle (1.05: within 5 %), on the raw scale the
    half width in the response's unit. Raises DataError for fewer than two values and for equal values.
    """
    values = to_scale(np.asarray(first, dtype=np.float64), scale, "response")
    if values.size < 2 or float(np.ptp(values)) == 0:
        raise DataError("Stein's first stage needs at least two runs that differ, to estimate the spread")
    return stein_pooled(float(values.var(ddof=1)), values.size - 1, values.size, precision, scale=scale, level=level)


def stein_pooled(
    error_ms: float, error_df: int, first: int, precision: float, *, scale: Scale = Scale.LOG, level: float = 0.95
) -> Stein:
    """Computes the total runs of each group, for groups of `first` runs with one error mean square."""
    half_width = half_width_of(precision, scale)
    _checked(half_width, level)
    reach = float(special.stdtrit(error_df, (1 + level) / 2)) * math.sqrt(error_ms)
    total = max(first, math.ceil((reach / half_width) ** 2))
    if total > _RUNS_MAX:
        raise DataError(f"a precision of {precision:g} takes {total:,} runs; declare a wider one")
    return Stein(first, total, reach / math.sqrt(total), level, scale)


def blocks_within(seconds: Sequence[float], budget_s: float) -> int:
    """Returns how many blocks fit into a budget at the median duration of the finished blocks.

    The median excludes the first block's extra time for warm-up runs and the search for the number of repetitions.
    """
    assert seconds, "at least one block was made"
    each_s = float(np.median(seconds))
    return _RUNS_MAX if each_s <= 0 else int(min(budget_s / each_s, _RUNS_MAX))


def half_width_of(precision: float, scale: Scale) -> float:
    """Converts to the scale of analysis. Raises UsageError: a ratio must exceed 1, a half width 0."""
    if scale is Scale.LOG:
        if not 1 < precision < math.inf:
            raise UsageError(
                f"precision: on the log scale expected a ratio above 1 (1.05: within 5 %), got {precision}"
            )
        return math.log(precision)
    if not 0 < precision < math.inf:
        raise UsageError(f"precision: expected a half width above 0 in the response's unit, got {precision}")
    return precision


def _checked(half_width: float, level: float) -> None:
    if not (half_width > 0 and 0 < level < 1):
        raise UsageError(f"expected a half width above 0 and a level between 0 and 1, got {half_width} and {level}")
