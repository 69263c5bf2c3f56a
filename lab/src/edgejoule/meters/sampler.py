"""Polls a meter from a separate thread and holds its readings in memory.

Deadlines are absolute, so a slow poll does not shift the later ones. A deadline that has passed is skipped, not made
up for: the missing time shows in the trace as a longer step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from edgejoule.errors import MeterError
from edgejoule.meters.base import Block, Meter, Sample
from edgejoule.meters.collector import Collector
from edgejoule.meters.trace import Trace

LISTENER_INTERVAL_S = 0.1
SHORT_SLEEP_S = 0.01  # up to here a plain sleep, a third of the cost of a wait that stop() can cut short


@dataclass(frozen=True)
class LivePower:
    """The newest power of the meter's primary domain, for display only. power_w None: unknown at the moment."""

    t_ns: int
    power_w: float | None


@dataclass(frozen=True)
class SamplerCost:
    """What sampling took: polls made, deadlines missed, CPU time over elapsed time. Where a program gathers the
    readings, its readings and its deadlines count.

    CPU time: of the thread that polls, and of a program that samples for the meter (its `helper_cpu_s()`).
    """

    polls: int
    polls_late: int
    cpu_s: float
    elapsed_s: float

    @property
    def core_share(self) -> float:
        """CPU time as a share of one core."""
        return self.cpu_s / self.elapsed_s if self.elapsed_s > 0 else 0.0


class Sampler:
    """Samples an opened meter between start() and stop(); usable as a context manager.

    interval_s: time between readings, by default what the meter asks for. A poll is a reading, unless a program gathers
    the meter's readings (its gather_s). listener: called from the sampling thread at most every 0.1 s with the newest
    power; it must be quick. The meter's poll() is called from that thread alone.
    """

    def __init__(
        self, meter: Meter, interval_s: float | None = None, listener: Callable[[LivePower], None] | None = None
    ) -> None:
        self.interval_s = meter.poll_interval_s if interval_s is None else interval_s
        if not self.interval_s > 0:
            raise MeterError(f"{meter.name}: the time between polls must be above 0 s, not {self.interval_s}")
        self._gather_s: float | None = getattr(meter, "gather_s", None) if interval_s is None else None
        self._meter = meter
        self._listener = listener
        self._collector = Collector((), self.interval_s)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self._polls = self._polls_late = 0
        self._cpu_s = self._elapsed_s = 0.0

    def start(self) -> None:
        """Begin to sample. The first sample is taken before this returns."""
        assert self._thread is None, "a sampler is started once"
        self._collector = Collector(self._meter.channels(), self.interval_s)
        self._poll_once()
        if self._gather_s is not None:
            self._collector.keep_newest()  # the others are older than this stretch
            self._polls, self._polls_late = 1, 0
        self._thread = threading.Thread(target=self._run, name=f"sampler-{self._meter.name}", daemon=True)
        self._thread.start()

    def stop(self) -> list[Trace]:
        """End sampling with one last sample and return the traces; may be called twice.

        Raises MeterError when the meter broke its contract and raised while it was polled; traces() then still has
        what was read before.
        """
        if self._thread is not None and self._thread.is_alive():
            self._stopping.set()
            self._thread.join()
        if self._failure is not None:
            cause = f"{type(self._failure).__name__}: {self._failure}"
            raise MeterError(f"{self._meter.name}: stopped sampling, {cause}") from self._failure
        return self.traces()

    def traces(self) -> list[Trace]:
        """A copy of what has been sampled so far, one trace per channel, those of the primary domain first."""
        with self._lock:
            return self._collector.traces()

    def take(self) -> list[Trace]:
        """What has been sampled since the last call, to be kept elsewhere; traces() no longer has it."""
        with self._lock:
            return self._collector.take()

    def cost(self) -> SamplerCost:
        """What sampling has cost; complete after stop()."""
        return SamplerCost(self._polls, self._polls_late, self._cpu_s, self._elapsed_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        started_ns, cpu_started_s, helper_started_s = time.monotonic_ns(), time.thread_time(), self._helper_cpu_s()
        try:
            self._sample_until_stopped(started_ns)
            self._poll_once()
        except Exception as error:  # noqa: BLE001 - stop() reports a plug-in's fault, which must not end unseen here
            self._failure = error
        self._cpu_s = time.thread_time() - cpu_started_s + self._helper_cpu_s() - helper_started_s
        self._elapsed_s = (time.monotonic_ns() - started_ns) / 1e9

    def _helper_cpu_s(self) -> float:
        """CPU time of a program that samples for the meter: what `helper_cpu_s()` says, where it has one."""
        helper_cpu_s = getattr(self._meter, "helper_cpu_s", None)
        return float(helper_cpu_s()) if helper_cpu_s is not None else 0.0

    def _sample_until_stopped(self, started_ns: int) -> None:
        interval_ns = max(1, round((self._gather_s or self.interval_s) * 1e9))
        tick, reported_ns = 1, started_ns
        while self._sleep_until(started_ns + tick * interval_ns):
            self._poll_once()
            now_ns = time.monotonic_ns()
            due = (now_ns - started_ns) // interval_ns + 1
            self._polls_late += due - tick - 1 if self._gather_s is None else 0
            tick = due
            if self._listener is not None and now_ns - reported_ns >= LISTENER_INTERVAL_S * 1e9:
                self._listener(self._live_power(reported_ns))
                reported_ns = now_ns

    def _sleep_until(self, deadline_ns: int) -> bool:
        """Whether it is time to poll; False when sampling is to stop."""
        left_s = (deadline_ns - time.monotonic_ns()) / 1e9
        if left_s > SHORT_SLEEP_S:
            return not self._stopping.wait(left_s)
        if left_s > 0:
            time.sleep(left_s)
        return not self._stopping.is_set()

    def _poll_once(self) -> None:
        samples = self._meter.poll()
        with self._lock:
            self._collector.add(samples)
        if self._gather_s is None:
            self._polls += 1
        else:
            self._count_gathered(samples)

    def _count_gathered(self, samples: Sequence[Sample | Block]) -> None:
        """The readings of a poll and the deadlines that passed unused between them, by the longest channel."""
        longest = max((each.t_ns for each in samples if isinstance(each, Block)), key=len, default=None)
        if longest is None:
            self._polls += 1  # a failed one
            return
        steps = np.rint(np.diff(longest) / (self.interval_s * 1e9)).astype(int)
        self._polls += len(longest)
        self._polls_late += int(np.maximum(steps - 1, 0).sum())

    def _live_power(self, since_ns: int) -> LivePower:
        with self._lock:  # take() may be under way
            powers = [
                self._collector.latest_power_w(channel, since_ns)
                for channel in self._collector.channels
                if channel.domain is self._meter.domain
            ]
        known = [power for power in powers if power is not None]
        return LivePower(time.monotonic_ns(), sum(known) if known and len(known) == len(powers) else None)
