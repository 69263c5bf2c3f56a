"""A load with known joules: power over time as the circuit draws it, with its exact integral."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """Power that is linear between corners: times in s (increasing; two equal ones are a step), power in W."""

    corner_s: _Floats
    corner_w: _Floats

    def power_w(self, time_s: _Floats | float) -> _Floats:
        """Power at these times, constant beyond the ends."""
        return np.asarray(np.interp(time_s, self.corner_s, self.corner_w), dtype=np.float64)

    def energy_j(self, time_s: _Floats | float) -> _Floats:
        """Energy from time 0 to these times; exact. Power is constant beyond the ends."""
        return np.asarray(self._integral_j(np.asarray(time_s, np.float64)) - self._at_zero_j)

    @cached_property
    def _at_zero_j(self) -> np.float64:
        return np.float64(self._integral_j(np.zeros(())))

    @cached_property
    def _before_j(self) -> _Floats:
        """From the first corner to each."""
        parts_j = np.diff(self.corner_s) * (self.corner_w[1:] + self.corner_w[:-1]) / 2
        return np.concatenate([[0.0], np.cumsum(parts_j)])

    @cached_property
    def _slope(self) -> _Floats:
        length_s = np.diff(self.corner_s)
        return np.divide(np.diff(self.corner_w), length_s, out=np.zeros_like(length_s), where=length_s > 0)

    def _integral_j(self, time_s: _Floats) -> _Floats:
        """From the first corner on; negative before it."""
        first_s, last_s = self.corner_s[0], self.corner_s[-1]  # np.clip takes several times as long for one time
        at = np.minimum(np.maximum(self.corner_s.searchsorted(time_s, side="right") - 1, 0), len(self._slope) - 1)
        inside_s = np.minimum(np.maximum(time_s, first_s), last_s) - self.corner_s[at]
        inside_j = inside_s * (self.corner_w[at] + self._slope[at] * inside_s / 2)
        before_j = np.minimum(time_s - first_s, 0.0) * self.corner_w[0]
        after_j = np.maximum(time_s - last_s, 0.0) * self.corner_w[-1]
        return np.asarray(before_j + self._before_j[at] + inside_j + after_j, dtype=np.float64)


def random_load(
    rng: np.random.Generator, duration_s: float, idle_w: float, busy_w: float, change_s: float
) -> KnownLoad:
    """A workload between two quiet windows, as a board draws it: bursts of different power, some with slopes.

    The quiet windows take a tenth of the duration each. change_s: mean time between two changes of power.
    """
    begin_s, end_s = duration_s * 0.1, duration_s * 0.9
    count = max(1, round((end_s - begin_s) / change_s))
    inner = np.sort(rng.uniform(begin_s, end_s, count - 1))
    edge_s = np.concatenate([[begin_s], inner, [end_s]])
    level_w = rng.uniform(idle_w, busy_w, count)
    drop_w = np.where(rng.random(count) < 0.3, rng.uniform(0, 0.3, count), 0.0) * level_w  # some slope down
    corner_s = [0.0, *np.repeat(edge_s, 2).tolist(), duration_s]
    corner_w = [idle_w, idle_w, *np.column_stack([level_w, level_w - drop_w]).ravel().tolist(), idle_w, idle_w]
    return KnownLoad(np.array(corner_s), np.array(corner_w))
