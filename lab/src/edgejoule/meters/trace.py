"""A trace: the samples of one channel in time order, as arrays. A failed reading is NaN and has a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import require
from edgejoule.meters.base import Channel, Clock, Sample
from edgejoule.meters.clocks import Arrivals, ClockRelation, clock_relation


@dataclass(frozen=True)
class Trace:
    """One channel's samples.

    t_ns: strictly increasing, on the channel's clock. value: W or J, NaN where the reading failed.
    interval_s: the intended time between samples; three times as long without one is a gap.
    reasons: index of a missing sample -> why. arrivals: of a channel on the device's clock, what ties it to the host's.
    relation: what ties it better than arrivals do, or states how well the times of a channel on the host's clock are
    known.
    """

    channel: Channel
    t_ns: NDArray[np.int64]
    value: NDArray[np.float64]
    interval_s: float
    reasons: Mapping[int, str] = field(default_factory=dict)
    arrivals: Arrivals | None = None
    relation: ClockRelation | None = None

    def __post_init__(self) -> None:
        require(self.t_ns.ndim == 1 and self.t_ns.shape == self.value.shape, "one value per time")
        require(self.interval_s > 0, "an interval has a length")

    def __len__(self) -> int:
        return len(self.t_ns)

    def on_host_clock(self) -> tuple[Trace, ClockRelation | None]:
        """The trace with times of the host's CLOCK_MONOTONIC, and how they came about (None: they were that already).

        Raises DataError when the device's clock cannot be tied to the host's.
        """
        relation = self.relation
        if relation is None:
            if self.channel.clock is Clock.HOST_MONOTONIC:
                return self, None
            assert self.arrivals is not None, "a channel on the device's clock has arrivals"
            relation = clock_relation(self.arrivals, self.channel.delay_s_max)
        channel = replace(self.channel, clock=Clock.HOST_MONOTONIC)
        t_ns = relation.to_host_ns(self.t_ns)
        return replace(self, channel=channel, t_ns=t_ns, arrivals=None, relation=None), relation

    def between(self, t0_ns: int, t1_ns: int) -> Trace:
        """The readings from t0_ns to t1_ns, both included; without arrivals."""
        first, last = np.searchsorted(self.t_ns, t0_ns, "left"), np.searchsorted(self.t_ns, t1_ns, "right")
        reasons = {i - int(first): why for i, why in self.reasons.items() if first <= i < last}
        part = slice(int(first), int(last))
        return replace(self, t_ns=self.t_ns[part], value=self.value[part], reasons=reasons, arrivals=None)

    def pieces(self, t0_ns: int, t1_ns: int) -> tuple[Trace, ...]:
        """What covers the interval: all of it, where there is a reading at all."""
        return (self,) if len(self) else ()

    def excerpt(self, readings_max: int) -> Trace:
        """The first readings."""
        reasons = {index: reason for index, reason in self.reasons.items() if index < readings_max}
        return replace(self, t_ns=self.t_ns[:readings_max], value=self.value[:readings_max], reasons=reasons)

    def counts(self, t0_ns: int, t1_ns: int) -> tuple[int, int]:
        """Readings in the interval, both ends included: how many, and how many of them failed."""
        first, last = np.searchsorted(self.t_ns, t0_ns, "left"), np.searchsorted(self.t_ns, t1_ns, "right")
        return int(last - first), int(np.count_nonzero(np.isnan(self.value[first:last])))

    def samples(self) -> Iterator[Sample]:
        """The samples as the meter gave them."""
        for index, (t_ns, value) in enumerate(zip(self.t_ns.tolist(), self.value.tolist(), strict=True)):
            missing = bool(np.isnan(value))
            reason = self.reasons.get(index, "the reading failed") if missing else None
            yield Sample(self.channel.name, t_ns, None if missing else value, reason)
