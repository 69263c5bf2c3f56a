"""Meters without an instrument behind them: what every meter of a test has in common, and one of a steady power."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgejoule.meters.base import Availability, Block, Channel, Clock, Domain, Method, Sample, ValueKind


class EmulatedMeter:
    """Always there. name, domain and method are its first channel's; a test says what poll() gives."""

    poll_interval_s = 0.01

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = channels
        self.name, self.domain, self.method = channels[0].meter, channels[0].domain, channels[0].method

    def probe(self) -> Availability:
        return Availability(True, "emulated")

    def describe(self) -> str:
        return "emulated"

    def facts(self) -> Mapping[str, Sequence[str]]:
        return {}

    def channels(self) -> Sequence[Channel]:
        return self._channels

    def open(self) -> None: ...

    def poll(self) -> Sequence[Sample | Block]:
        raise NotImplementedError

    def close(self) -> None: ...


class SteadyMeter(EmulatedMeter):
    """Reads one power every 10 ms and keeps the readings until it is polled: a machine too busy to poll loses none.

    theirs_ns: the clock that its times are on, derived from this host's; None: this host's. interval_s: what it reports
    of itself. breaks: poll() raises.
    """

    def __init__(
        self,
        name: str,
        domain: Domain,
        power_w: float,
        theirs_ns: Callable[[np.ndarray], np.ndarray] | None = None,
        interval_s: float | None = None,
    ) -> None:
        clock = Clock.HOST_MONOTONIC if theirs_ns is None else Clock.DEVICE
        channel = Channel(
            name, "p", domain, ValueKind.INSTANT, Method.MEASURED, 0.01, 0.0, 0.001, clock=clock, interval_s=interval_s
        )
        super().__init__([channel if theirs_ns is None else replace(channel, delay_s_max=0.5)])
        self.power_w, self.breaks, self.readings = power_w, False, 0
        self._theirs_ns = theirs_ns
        self._last_ns: int | None = None

    def poll(self) -> Sequence[Block]:
        if self.breaks:
            raise RuntimeError("cable gone")
        now_ns, step_ns = time.monotonic_ns(), round(self.poll_interval_s * 1e9)
        due_ns = [] if self._last_ns is None else range(self._last_ns + step_ns, now_ns, step_ns)
        t_ns = np.array([*due_ns, now_ns], np.int64)
        self._last_ns = now_ns
        self.readings += len(t_ns)
        reported_ns = t_ns if self._theirs_ns is None else self._theirs_ns(t_ns)
        return [Block("p", reported_ns, np.full(len(t_ns), self.power_w), now_ns)]
