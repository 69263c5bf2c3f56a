"""A trace: the samples of one channel in time order, as arrays. A failed reading is NaN and has a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edgejoule.meters.base import Channel, Sample


@dataclass(frozen=True)
class Trace:
    """One channel's samples.

    t_ns: strictly increasing, on the channel's clock. value: W or J, NaN where the reading failed.
    interval_s: the intended time between samples; three times as long without one is a gap.
    reasons: index of a missing sample -> why.
    """

    channel: Channel
    t_ns: NDArray[np.int64]
    value: NDArray[np.float64]
    interval_s: float
    reasons: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.t_ns.shape == self.value.shape, "one value per time"
        assert self.interval_s > 0, "an interval has a length"

    def __len__(self) -> int:
        return len(self.t_ns)

    def samples(self) -> Iterator[Sample]:
        """The samples as the meter gave them."""
        for index, (t_ns, value) in enumerate(zip(self.t_ns.tolist(), self.value.tolist(), strict=True)):
            missing = bool(np.isnan(value))
            reason = self.reasons.get(index, "the reading failed") if missing else None
            yield Sample(self.channel.name, t_ns, None if missing else value, reason)
