"""From a counter that runs over to the number of a sample in the stream: what is lost leaves a hole of its size.

A counter with a short period cannot show a loss of its whole length. There the host's clock decides: samples
come at a known rate, and a stream that falls behind by more than SLACK_S has lost whole turns of the counter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SLACK_S = 0.05  # longer than a scheduler and a bus usually keep data back
_LONG_S = 10.0  # a counter that takes longer to run over is not doubted

_Ints = NDArray[np.int64]


class Sequence:
    """Numbers of samples, from 0. modulus: the counter's; period_s: intended time between two samples."""

    def __init__(self, modulus: int, period_s: float) -> None:
        self._modulus, self._period_s = modulus, period_s
        self._last: tuple[int, int] | None = None  # counter and number of the newest sample
        self._anchor: tuple[int, float] | None = None  # host's time and lead of the stream that led most

    def numbers(self, counter: _Ints, arrived_ns: int) -> _Ints:
        """(n,) numbers, increasing, of samples with these counters, the newest of which arrived then."""
        if not len(counter):
            return np.empty(0, np.int64)
        before = (int(counter[0]) - 1, -1) if self._last is None else self._last
        steps = np.diff(np.concatenate([[before[0]], counter])) % self._modulus
        steps[steps == 0] = self._modulus
        numbers = before[1] + np.cumsum(steps)
        if self._modulus * self._period_s < _LONG_S:
            turns = self._lost_turns(int(numbers[-1]), arrived_ns)
            broken = np.flatnonzero(steps != 1)
            numbers[int(broken[0]) if len(broken) else 0 :] += turns * self._modulus
        self._last = int(counter[-1]), int(numbers[-1])
        return np.asarray(numbers, np.int64)

    def _lost_turns(self, number: int, arrived_ns: int) -> int:
        lead_s = number * self._period_s - arrived_ns / 1e9
        if self._anchor is None or lead_s >= self._anchor[1]:
            self._anchor = arrived_ns, lead_s
            return 0
        drifted_s = (arrived_ns - self._anchor[0]) / 1e9 * 100e-6
        behind_s = self._anchor[1] - lead_s - drifted_s
        return round(behind_s / (self._modulus * self._period_s)) if behind_s > SLACK_S else 0
