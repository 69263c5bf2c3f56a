"""What the integral asks of readings, whether they are in memory or in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from edgejoule.energy.segments import SegmentSummary
from edgejoule.meters.base import Channel
from edgejoule.meters.clocks import ClockRelation
from edgejoule.meters.trace import Trace


class Readings(Protocol):
    """One channel's readings in time order."""

    @property
    def channel(self) -> Channel:
        """Whose readings."""
        ...

    def on_host_clock(self) -> tuple[Readings, ClockRelation | None]:
        """The readings with times of the host, and how they came about (None: they were that already).

        Raises DataError when the device's clock cannot be tied to the host's.
        """
        ...

    def between(self, t0_ns: int, t1_ns: int) -> Trace:
        """The readings of this stretch, and maybe some more around it, in memory."""
        ...

    def pieces(self, t0_ns: int, t1_ns: int) -> Sequence[Trace | SegmentSummary]:
        """What covers the interval and the next readings on both sides, in order, without a hole between two pieces:
        each trace begins with the last good reading of the piece before. Summaries lie inside the interval.
        """
        ...

    def excerpt(self, readings_max: int) -> Trace:
        """The first readings, about as many, in memory."""
        ...

    def counts(self, t0_ns: int, t1_ns: int) -> tuple[int, int]:
        """Readings in the interval, both ends included: how many, and how many of them failed."""
        ...
