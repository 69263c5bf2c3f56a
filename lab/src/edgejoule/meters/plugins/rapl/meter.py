"""The meter over RAPL's powercap counters.

Values are the counters' running totals in J, as read; wraps are undone in `edgejoule.energy`, which knows the time
between readings. A failed reading is a missing sample with its reason. The native sampler reads the files where it is
built (edgejoule.meters.transport.filestream), and a poll gives blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from edgejoule.machine.files import ReadText, read_text
from edgejoule.meters.base import Availability, Block, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.plugins.rapl.zones import Zone, find_zones
from edgejoule.meters.transport.filemeter import FileMeter
from edgejoule.meters.transport.filestream import FileReadings, pace, reads_files

GAIN_REL = 0.05  # no vendor states an accuracy: see README.md
POLL_INTERVAL_S = 0.05
POWER_W_MAX = 1000.0  # above what one socket can draw; separates a wrap from a reset

_PERMISSION_FIX = (
    "run as root, or allow reading until the next boot: sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj "
    "/sys/class/powercap/intel-rapl:*:*/energy_uj (lasting: `edgejoule meters --setup rapl`)"
)


class Rapl(FileMeter[Zone]):
    """RAPL counters below `root`. `read` and `clock_ns` are the transport, `cpuinfo` shows a virtual machine.

    interval_s: between readings, 0.05 s by default; below 0.01 s only the native sampler is fast enough.
    """

    name = "rapl"
    method = Method.COUNTED
    domain = Domain.PACKAGE

    def __init__(
        self,
        root: Path = Path("/sys/class/powercap"),
        cpuinfo: Path = Path("/proc/cpuinfo"),
        read: ReadText = read_text,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        interval_s: float | None = None,
    ) -> None:
        self._root = root
        self._cpuinfo = cpuinfo
        self._read = read
        super().__init__(pace(self.name, interval_s, POLL_INTERVAL_S, native=reads_files(read, clock_ns)), clock_ns)

    def probe(self) -> Availability:
        """Available when at least one package counter can be read."""
        try:
            zones = find_zones(self._root, self._read)
        except (OSError, ValueError) as error:
            return self._declined(error)
        if not any(zone.domain is self.domain for zone in zones):
            return Availability(False, f"no RAPL package counter in {self._root}{self._why_hidden()}", self._tree_fix())
        try:
            for zone in zones:
                _read_uj(zone, self._read)
        except PermissionError:
            return Availability(False, f"no permission to read {zone.energy_path}", _PERMISSION_FIX)
        except (OSError, ValueError) as error:
            return Availability(False, f"{zone.energy_path} cannot be read: {error}")
        return Availability(True, f"counters {', '.join(zone.name for zone in zones)} in {self._root}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"the processor packages' own energy counters (RAPL, ±{2 * GAIN_REL:.0%} assumed; not the whole board)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which counters are read, and how often."""
        return {
            "counters": [f"{zone.name}: {zone.path}" for zone in self._sources],
            "sampling": [self._pace.sentence],
        }

    def channels(self) -> Sequence[Channel]:
        """One accumulator per zone, packages first."""
        return [self._channel(zone) for zone in self._sources]

    def open(self) -> None:
        """Find the zones. Raises MeterError with the fix when no zone can be read."""
        self.probe().demand(self.name)
        self._sources = find_zones(self._root, self._read)
        self.begin()

    def sample(self, source: Zone) -> Sample:
        """Returns the counter and the time of its reading."""
        try:
            before_ns = self._clock_ns()
            energy_j = _read_uj(source, self._read) / 1e6
            return Sample(source.channel, (before_ns + self._clock_ns()) // 2, energy_j)
        except (OSError, ValueError) as error:
            return Sample(source.channel, self._clock_ns(), None, f"{source.energy_path.name}: {error}")

    def block(self, source: Zone, readings: FileReadings, place: int) -> Block:
        """The counter's readings; one beyond its range is missing."""
        value_uj, reasons = readings.value[:, place], readings.reasons(place)
        wrong = (value_uj < 0) | (value_uj > source.range_uj)
        reason = f"above the counter's range of {source.range_uj} µJ, or below 0"
        reasons.update({int(row): f"{value_uj[row]:.0f} µJ is {reason}" for row in np.flatnonzero(wrong)})
        named = {row: f"{source.energy_path.name}: {reason}" for row, reason in reasons.items()}
        energy_j = np.where(wrong, np.nan, value_uj) / 1e6
        return Block(source.channel, readings.t_ns[:, place], energy_j, readings.arrived_ns, named)

    def _channel(self, zone: Zone) -> Channel:
        return Channel(
            meter=self.name,
            name=zone.name,
            domain=zone.domain,
            kind=ValueKind.ACCUMULATOR,
            method=self.method,
            gain_rel=GAIN_REL,
            offset_w=0.0,
            resolution=zone.unit_j,
            wrap_j=zone.wrap_j,
            power_w_max=POWER_W_MAX,
            interval_s=self.interval_s,
        )

    def _declined(self, error: OSError | ValueError) -> Availability:
        if isinstance(error, FileNotFoundError) and not self._root.exists():
            return Availability(False, f"{self._root} does not exist{self._why_hidden()}", self._tree_fix())
        if isinstance(error, PermissionError):
            return Availability(False, f"no permission to read {error.filename or self._root}", _PERMISSION_FIX)
        return Availability(False, f"the counters in {self._root} cannot be read: {error}")

    def _processor_flags(self) -> list[str] | None:
        """None where the processor states none in this form, as ARM does not, or cannot be asked."""
        try:
            text = self._read(self._cpuinfo)
        except (OSError, ValueError):
            return None
        return next((line.split() for line in text.splitlines() if line.startswith("flags")), None)

    def _why_hidden(self) -> str:
        flags = self._processor_flags()
        if flags is None:
            return " (only Intel and AMD processors have it)"
        return " (a virtual machine hides it)" if "hypervisor" in flags else ""

    def _tree_fix(self) -> str | None:
        flags = self._processor_flags()
        if flags is None:
            return None
        if "hypervisor" in flags:
            return "run on the machine itself instead of in a virtual machine"
        return "load the driver: sudo modprobe intel_rapl_msr"


def _read_uj(zone: Zone, read: ReadText) -> int:
    text = read(zone.energy_path).strip()
    if not text.isdecimal():
        raise ValueError(f"expected a number of µJ, got {text[:40]!r}")
    value_uj = int(text)
    if value_uj > zone.range_uj:
        raise ValueError(f"{value_uj} µJ is above the counter's range of {zone.range_uj} µJ")
    return value_uj
