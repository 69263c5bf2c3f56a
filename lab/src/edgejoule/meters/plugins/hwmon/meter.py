"""The meter over power monitor chips in hwmon.

A value is power in W: the chip's own power register, or bus voltage times current where its driver has none. The chip
converts on its own, without a break, and averages over its update interval; a reading gives the last result. So values
are instantaneous samples, late by up to two update intervals. The native sampler reads the files where it is built
(edgejoule.meters.transport.filestream), and a poll gives blocks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from edgejoule.errors import MeterError
from edgejoule.machine.files import ReadText, read_text
from edgejoule.meters.base import Availability, Block, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.options import checked_number, comma_separated
from edgejoule.meters.plugins.hwmon.chips import CHIPS, ChipAccuracy
from edgejoule.meters.plugins.hwmon.rails import Rail, chip_names, fed_by_none, find_rails
from edgejoule.meters.transport.filemeter import FileMeter
from edgejoule.meters.transport.filestream import FileReadings, pace, reads_files

POLL_INTERVAL_S = 0.05
_SHARE_MIN = 1e-6
SHUNT_TOLERANCE_REL = 0.01  # the default of such boards
_DRIVER_FIX = (
    "wire an INA219, INA226 or INA3221 into the supply line and load its driver: edgejoule meters --setup hwmon"
)


class Hwmon(FileMeter[Rail]):
    """Rails below `root`. `read` and `clock_ns` are the transport.

    chip: read the chips of this name instead of those whose data sheet is known. rails: labels to read and sum, with
    commas between them; by default all, or a module's input rail alone where there is one. accuracy_rel: limit of the
    error relative to the reading, for a chip that is not known, or a better one from a calibration.
    shunt_tolerance_rel: of the shunt. interval_s: between readings, 0.05 s by default; below 0.01 s only the native
    sampler is fast enough.
    """

    name = "hwmon"
    method = Method.MEASURED
    domain = Domain.RAIL

    def __init__(
        self,
        root: Path | str = Path("/sys/class/hwmon"),
        chip: str | None = None,
        rails: str | Sequence[str] | None = None,
        accuracy_rel: float | None = None,
        shunt_tolerance_rel: float = SHUNT_TOLERANCE_REL,
        read: ReadText = read_text,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        interval_s: float | None = None,
    ) -> None:
        for key, value in (("accuracy_rel", accuracy_rel), ("shunt_tolerance_rel", shunt_tolerance_rel)):
            if value is not None:
                checked_number(self.name, key, value, _SHARE_MIN, 1)
        self._root = Path(root)
        self._chip = chip
        self._wanted = comma_separated(rails) if isinstance(rails, str) else None if rails is None else tuple(rails)
        self._accuracy_rel = accuracy_rel
        self._shunt_tolerance_rel = shunt_tolerance_rel
        self._read = read
        super().__init__(pace(self.name, interval_s, POLL_INTERVAL_S, native=reads_files(read, clock_ns)), clock_ns)
        self._left_out: list[Rail] = []
        self._channels: list[Channel] = []

    def probe(self) -> Availability:
        """Available when every rail that is to be read gives a number."""
        if not self._root.exists():
            return Availability(False, f"{self._root} does not exist: no chip has a driver loaded", _DRIVER_FIX)
        try:
            rails, _ = self._find()
            if not rails:
                return Availability(False, self._none_text(), self._none_fix())
            for rail in rails:
                self._accuracy(rail)
                _power_w(rail, self._read)
        except (OSError, ValueError, MeterError) as error:
            return Availability(False, f"the rails in {self._root} cannot be read: {error}", self._none_fix())
        return Availability(True, f"{', '.join(f'{rail.label} ({rail.chip})' for rail in rails)} in {self._root}")

    def describe(self) -> str:
        """Returns the description of the measured quantity."""
        return "power of supply rails by a monitor chip (INA219, INA226, INA3221 and others in hwmon)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which rails, with which shunt, and which were left out."""
        facts = {
            "rails": [
                f"{rail.label}: {rail.chip}, shunt "
                + (f"{rail.shunt_ohm:g} Ω as the kernel believes" if rail.shunt_ohm else "not reported by the kernel")
                for rail in self._sources
            ],
            "sampling": [self._pace.sentence],
        }
        if self._left_out:
            facts["rails left out"] = [rail.label for rail in self._left_out]
        return facts

    def channels(self) -> Sequence[Channel]:
        """One per rail."""
        return self._channels

    def open(self) -> None:
        """Find the rails. Raises MeterError with the fix when no rail can be read."""
        self.probe().demand(self.name)
        self._sources, self._left_out = self._find()
        self._keep_to_the_chips_pace()
        self._channels = [self._channel(rail) for rail in self._sources]
        self.begin()

    def _find(self) -> tuple[list[Rail], list[Rail]]:
        """The rails to read and those left out. Raises UsageError for a label that is not there."""
        chips = tuple(CHIPS) if self._chip is None else (self._chip,)
        result = find_rails(self._root, self._read, chips)
        if self._wanted is None:
            taken = fed_by_none(result)
        else:
            labels = [rail.label for rail in result]
            if unknown := [label for label in self._wanted if label not in labels]:
                raise MeterError(f"no rail is called {', '.join(unknown)}; there are: {', '.join(labels) or 'none'}")
            taken = [rail for rail in result if rail.label in self._wanted]
        return taken, [rail for rail in result if rail not in taken]

    def _keep_to_the_chips_pace(self) -> None:
        """Values read twice seem steadier than the power. Raises MeterError where a fast interval is set."""
        update_s = max(rail.update_s for rail in self._sources)
        if not self._pace.is_stream:
            self.poll_interval_s = max(self._pace.poll_interval_s, update_s)
        elif self._pace.interval_s < update_s:
            raise MeterError(
                f"{self.name}: the chip renews its values every {update_s * 1e3:g} ms, interval_s is "
                f"{self._pace.interval_s * 1e3:g} ms: write a smaller number to its update_interval"
            )

    def _none_text(self) -> str:
        known = chip_names(self._root, self._read)
        others = f" (there are: {', '.join(known)})" if known else ""
        return f"no {self._chip or 'known power monitor'} in {self._root}{others}"

    def _none_fix(self) -> str:
        return f"{_DRIVER_FIX}; for another chip with power*_input: options chip and accuracy_rel"

    def _accuracy(self, rail: Rail) -> ChipAccuracy:
        known = CHIPS.get(rail.chip)
        if known is None or (rail.shunt_ohm is None and self._accuracy_rel is not None):
            if self._accuracy_rel is None:
                raise MeterError(f"the accuracy of {rail.chip} is not known: give the option accuracy_rel")
            return ChipAccuracy(self._accuracy_rel / math.sqrt(3), 0.0, 1e-6)
        if not rail.shunt_ohm:
            raise MeterError(f"{rail.folder} does not report its shunt: give the option accuracy_rel")
        voltage_v = int(self._read(rail.voltage)) / 1e3
        if voltage_v <= 0:
            raise MeterError(f"{rail.label} has {voltage_v:g} V: is the rail connected?")
        result = known.accuracy(voltage_v, rail.shunt_ohm, self._shunt_tolerance_rel)
        if self._accuracy_rel is None:
            return result
        return ChipAccuracy(self._accuracy_rel / math.sqrt(3), result.offset_w, result.resolution_w)

    def _channel(self, rail: Rail) -> Channel:
        accuracy = self._accuracy(rail)
        return Channel(
            meter=self.name,
            name=rail.label,
            domain=self.domain,
            kind=ValueKind.INSTANT,
            method=self.method,
            gain_rel=accuracy.gain_rel,
            offset_w=accuracy.offset_w,
            resolution=accuracy.resolution_w,
            interval_s=self.interval_s,
        )

    def sample(self, source: Rail) -> Sample:
        """The rail now."""
        before_ns = self._clock_ns()
        try:
            power_w = _power_w(source, self._read)
        except (OSError, ValueError) as error:
            return Sample(source.channel, self._clock_ns(), None, f"{source.label}: {error}")
        return Sample(source.channel, (before_ns + self._clock_ns()) // 2, power_w)

    def block(self, source: Rail, readings: FileReadings, place: int) -> Block:
        """A rail's readings; one of which a file could not be read is missing."""
        columns = range(place, place + len(source.files))
        first_ns, last_ns = readings.t_ns[:, columns[0]], readings.t_ns[:, columns[-1]]
        power_w = readings.value[:, columns].prod(axis=1) / 1e6  # µW, or mV times mA
        reasons = {row: f"{source.label}: {why}" for file in columns for row, why in readings.reasons(file).items()}
        return Block(source.channel, first_ns + (last_ns - first_ns) // 2, power_w, readings.arrived_ns, reasons)


def _power_w(rail: Rail, read: ReadText) -> float:
    values = [_number(read(file)) for file in rail.files]
    return values[0] / 1e6 if rail.power is not None else values[0] / 1e3 * values[1] / 1e3


def _number(text: str) -> int:
    digits = text.strip()
    if not digits.removeprefix("-").isdecimal():
        raise ValueError(f"expected a whole number, got {text[:40]!r}")
    return int(digits)
