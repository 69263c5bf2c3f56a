"""The meter over the kernel's power events.

Values are J since open(). The kernel adds the register's steps up in 64 bits and reads often enough for no wrap to be
missed, so the counter has none. A failed read is a missing sample with its reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from edgejoule.errors import MeterError
from edgejoule.machine.files import ReadText, read_text
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.plugins.perf.events import Events, KernelEvents, PerfEvent, find_events

GAIN_REL = 0.05  # the same counters as RAPL's: no vendor states an accuracy
STEP_J = 2**-14  # of the register on most processors; the kernel's finer scale is a unit, not a step
POWER_W_MAX = 1000.0
_FIX = "run as root, or: sudo sysctl kernel.perf_event_paranoid=0 (edgejoule meters --setup perf-energy)"


class PerfEnergy:
    """Power events below `root`. read, events and clock_ns are the transport; packages: the CPUs' folder in sysfs."""

    name = "perf-energy"
    method = Method.COUNTED
    domain = Domain.PACKAGE
    poll_interval_s = 0.05

    def __init__(
        self,
        root: Path | str = Path("/sys/bus/event_source/devices/power"),
        packages: Path | str = Path("/sys/devices/system/cpu"),
        read: ReadText = read_text,
        events: Events | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._root, self._packages = Path(root), Path(packages)
        self._read = read
        self._events = events or KernelEvents()
        self._clock_ns = clock_ns
        self._open: list[tuple[PerfEvent, int]] = []

    def probe(self) -> Availability:
        """Available when a package's counter can be opened."""
        if not self._root.exists():
            return Availability(False, f"{self._root} does not exist: the kernel has no power events here", None)
        try:
            result = self._find()
            for event in result:
                self._events.close(self._events.open(event))
        except PermissionError:
            return Availability(False, "no permission to open power events", _FIX)
        except (OSError, ValueError) as error:
            return Availability(False, f"the power events in {self._root} cannot be used: {error}")
        if not any(event.domain is self.domain for event in result):
            return Availability(False, f"no event energy-pkg in {self._root}")
        return Availability(True, f"events {', '.join(event.name for event in result)}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        accuracy = f"±{2 * GAIN_REL:.0%} assumed"
        return f"the processor packages' own energy counters by perf events ({accuracy}; not the whole board)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which events are counted."""
        return {"events": [f"{x.name}: type {x.type_number}, event {x.config:#x}, CPU {x.cpu}" for x, _ in self._open]}

    def channels(self) -> Sequence[Channel]:
        """One accumulator per event and package, packages first."""
        return [self._channel(event) for event, _ in self._open]

    def open(self) -> None:
        """Open the events; they count from now on. Raises MeterError with the fix."""
        self.probe().demand(self.name)
        try:
            for event in self._find():
                self._open.append((event, self._events.open(event)))
        except (OSError, ValueError) as error:
            self.close()
            raise MeterError(f"{self.name}: {error}") from error

    def poll(self) -> Sequence[Sample]:
        """The counters now, each with its own time."""
        return [self._sample(event, descriptor) for event, descriptor in self._open]

    def close(self) -> None:
        """Close the events."""
        while self._open:
            self._events.close(self._open.pop()[1])

    def _find(self) -> list[PerfEvent]:
        return find_events(self._root, self._read, self._packages)

    def _sample(self, event: PerfEvent, descriptor: int) -> Sample:
        before_ns = self._clock_ns()
        try:
            count = self._events.count(descriptor)
        except OSError as error:
            return Sample(event.name, self._clock_ns(), None, f"{event.name}: {error}")
        return Sample(event.name, (before_ns + self._clock_ns()) // 2, count * event.scale_j)

    def _channel(self, event: PerfEvent) -> Channel:
        return Channel(
            meter=self.name,
            name=event.name,
            domain=event.domain,
            kind=ValueKind.ACCUMULATOR,
            method=self.method,
            gain_rel=GAIN_REL,
            offset_w=0.0,
            resolution=max(STEP_J, event.scale_j),
            power_w_max=POWER_W_MAX,
        )
