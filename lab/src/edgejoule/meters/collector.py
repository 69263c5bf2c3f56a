"""Gathers a meter's readings into traces, one per channel. Callers hold a lock; it has none."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edgejoule.meters.base import Block, Channel, Clock, Sample, ValueKind
from edgejoule.meters.clocks import Arrivals
from edgejoule.meters.trace import Trace


@dataclass
class _Series:
    channel: Channel
    t_ns: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    reasons: dict[int, str] = field(default_factory=dict)
    arrivals: array[int] = field(default_factory=lambda: array("q"))  # device, host, device, host, ...

    def append(self, sample: Sample) -> None:
        assert self.channel.clock is Clock.HOST_MONOTONIC, "a channel on the device's clock gives blocks"
        if self.t_ns and sample.t_ns <= self.t_ns[-1]:
            return  # the device repeated a sample it had already given
        if sample.value is None:
            self.reasons[len(self.t_ns)] = sample.missing_reason or "the reading failed"
        self.t_ns.append(sample.t_ns)
        self.value.append(float("nan") if sample.value is None else sample.value)

    def extend(self, block: Block) -> None:
        if not len(block.t_ns):
            return
        assert not self.t_ns or block.t_ns[0] > self.t_ns[-1], "a device's times increase"
        begin = len(self.t_ns)
        self.t_ns.frombytes(block.t_ns.astype(np.int64, copy=False).tobytes())
        self.value.frombytes(block.value.astype(np.float64, copy=False).tobytes())
        for index in np.flatnonzero(np.isnan(block.value)).tolist():
            self.reasons[begin + index] = block.reasons.get(index, "the reading failed")
        if self.channel.clock is Clock.DEVICE:
            self.arrivals.extend((int(block.t_ns[-1]), block.arrived_ns))

    def trace(self, poll_interval_s: float) -> Trace:
        arrivals = np.array(self.arrivals, dtype=np.int64)
        return Trace(
            self.channel,
            np.array(self.t_ns, dtype=np.int64),
            np.array(self.value, dtype=np.float64),
            self.channel.interval_s or poll_interval_s,
            dict(self.reasons),
            Arrivals(arrivals[::2], arrivals[1::2]) if self.channel.clock is Clock.DEVICE else None,
        )

    def forget(self) -> None:
        """All but the last reading, which the next one must follow."""
        missing = self.reasons.get(len(self.t_ns) - 1)
        self.t_ns, self.value = self.t_ns[-1:], self.value[-1:]
        self.reasons = {} if missing is None else {0: missing}
        del self.arrivals[:]


class Collector:
    """What the channels have said so far. poll_interval_s: time between polls, see Trace.interval_s."""

    def __init__(self, channels: Sequence[Channel], poll_interval_s: float) -> None:
        self.channels = tuple(channels)
        self._poll_interval_s = poll_interval_s
        self._series = {channel.name: _Series(channel) for channel in self.channels}
        self._taken = False

    def add(self, readings: Sequence[Sample | Block]) -> None:
        """Keep the outcome of one poll. Raises KeyError for a channel that the meter did not announce."""
        for reading in readings:
            series = self._series[reading.channel]
            if isinstance(reading, Block):
                series.extend(reading)
            else:
                series.append(reading)

    def keep_newest(self) -> None:
        """Forget all but the newest reading of each channel."""
        for series in self._series.values():
            series.forget()

    def traces(self) -> list[Trace]:
        """Returns a copy of the readings, one trace per channel in the meter's order."""
        return [self._series[channel.name].trace(self._poll_interval_s) for channel in self.channels]

    def take(self) -> list[Trace]:
        """What has come since the last call; it is not held any longer, but for one reading of each channel."""
        taken = [_without_first(trace) if self._taken else trace for trace in self.traces()]
        self._taken = True
        self.keep_newest()
        return taken

    def latest_power_w(self, channel: Channel, since_ns: int) -> float | None:
        """The newest power; of an accumulator the mean since about since_ns. None: not known."""
        series = self._series[channel.name]
        if not series.t_ns or np.isnan(series.value[-1]):
            return None
        if channel.kind is not ValueKind.ACCUMULATOR:
            return series.value[-1]
        first = len(series.t_ns) - 1
        while first > 0 and series.t_ns[first] > since_ns:
            first -= 1
        step_s = (series.t_ns[-1] - series.t_ns[first]) / 1e9
        step_j = series.value[-1] - series.value[first]
        if step_s <= 0 or np.isnan(step_j):
            return None
        return (step_j % channel.wrap_j if channel.wrap_j is not None else step_j) / step_s


def _without_first(trace: Trace) -> Trace:
    reasons = {index - 1: reason for index, reason in trace.reasons.items() if index > 0}
    return replace(trace, t_ns=trace.t_ns[1:], value=trace.value[1:], reasons=reasons)
