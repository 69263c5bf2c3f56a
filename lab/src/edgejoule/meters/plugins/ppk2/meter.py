"""The meter over a Power Profiler Kit II: 100,000 currents a second, times the voltage, as means at the rate asked.

The kit measures current only. As a source its own voltage counts; as an ampere meter the supply's, which must be given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from edgejoule.errors import DataError, MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Availability, Block, ValueKind
from edgejoule.meters.means import Means
from edgejoule.meters.plugins.ppk2 import protocol
from edgejoule.meters.plugins.ppk2.protocol import (
    AMPERE,
    COUNTER_MODULUS,
    PRODUCT,
    RANGES,
    RATE_HZ,
    SOURCE,
    SPIKE_SAMPLES,
    VENDOR,
    VOLTS_MAX,
    VOLTS_MIN,
    Modifiers,
    Opcode,
    Words,
    WordStream,
)
from edgejoule.meters.sequence import Sequence as Counter
from edgejoule.meters.transport.serialport import (
    BYTES_MAX,
    OpenPort,
    Port,
    PortSettings,
    has_pyserial,
    open_port,
    usb_ports,
)
from edgejoule.meters.transport.streaming import CHANNEL, StreamingMeter

GAIN_REL = 0.0577
OFFSET_W = 50e-6
_SETTINGS = PortSettings(baud=115200)
_STEP_NS = 1_000_000_000 // RATE_HZ
_METADATA_S = 2.0


class Ppk2(StreamingMeter[Port, bytes]):
    """voltage_v: what the source is set to, or what the supply is where the kit is an ampere meter. rate_hz: of means.

    open_port, find, clock_ns, sleep: the transport.
    """

    name = "ppk2"
    poll_interval_s = 0.01
    kind = ValueKind.INTERVAL_MEAN
    gain_rel, offset_w = GAIN_REL, OFFSET_W
    delay_s_max = 0.02

    def __init__(
        self,
        voltage_v: float | None = None,
        mode: Literal["ampere", "source"] = "ampere",
        port: str | None = None,
        rate_hz: int = 1000,
        open_port: OpenPort = open_port,
        find: Callable[[], Sequence[str]] = lambda: usb_ports(VENDOR, PRODUCT),
        clock_ns: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if mode not in ("ampere", "source"):
            raise UsageError(f"ppk2: mode is ampere or source, not {mode!r}")
        if voltage_v is not None and not VOLTS_MIN <= voltage_v <= VOLTS_MAX:
            raise UsageError(f"ppk2: voltage_v is from {VOLTS_MIN} to {VOLTS_MAX} V, not {voltage_v}")
        if not isinstance(rate_hz, int) or rate_hz < 1 or RATE_HZ % rate_hz:
            raise UsageError(f"ppk2: rate_hz divides {RATE_HZ}, {rate_hz!r} does not")
        super().__init__(clock_ns)
        self._voltage_v, self._mode, self._name = voltage_v, mode, port
        self._length = RATE_HZ // rate_hz
        self.interval_s = self._length / RATE_HZ
        self._open_port, self._find, self._sleep = open_port, find, sleep
        self._modifiers: Modifiers | None = None
        self._restart()

    def probe(self) -> Availability:
        """Available when the kit is plugged in and the voltage known; its port is not opened."""
        if not has_pyserial() and self._open_port is open_port:
            return Availability(False, "pyserial is missing", install_command("ppk2"))
        name = self._place()
        if name is None:
            return Availability(False, "no Power Profiler Kit II is plugged in", "connect its port USB DATA/POWER")
        if self._voltage_v is None:
            fix = "ppk2 = { voltage_v = 5.0 }: the supply's voltage (it measures current only)"
            return Availability(False, f"{name}: the voltage is not known", fix)
        return Availability(True, f"Power Profiler Kit II on {name}, {self._mode} mode at {self._voltage_v:g} V")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"the board's supply by a Power Profiler Kit II (±{2 * GAIN_REL:.0%} assumed, voltage taken as reported)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """What the power rests on."""
        return {"ppk2": [f"current x {self._voltage_v or 0:g} V ({self._mode} mode); the voltage is not measured"]}

    def open(self) -> None:
        """Read the calibration and begin to sample; in source mode switch the output on. Raises MeterError."""
        self.probe().demand(self.name)
        name = self._place()
        if name is None:
            raise MeterError(f"{self.name}: it has just been unplugged")
        self._restart()
        self._heard = None
        self._link = self._open_port(name, _SETTINGS)
        try:
            self._begin(self._link)
        except (OSError, DataError) as error:
            self.close()
            raise MeterError(f"{self.name}: {name}: {error}; unplug it and plug it in again") from error

    def _receive(self, link: Port) -> bytes:
        return link.read(BYTES_MAX)

    def _blocks(self, received: bytes, now_ns: int) -> Sequence[Block]:
        words = self._words.add(received)
        if not len(words.adc):
            return []
        numbers = self._base + self._counter.numbers(words.counter, now_ns)
        windows, value = self._means.add(numbers, self._powers(words))
        if not len(windows):
            return []
        t_ns = (windows + 1) * self._length * _STEP_NS
        reasons = {int(i): "samples were lost" for i in np.flatnonzero(np.isnan(value))}
        self._heard = int(numbers[-1]), now_ns
        return [Block(CHANNEL, t_ns, value, now_ns, reasons)]

    def _end(self, link: Port) -> None:
        """The output stays as it is: a board under test is not switched off."""
        link.write(bytes([Opcode.AVERAGE_STOP]))
        link.close()

    def _place(self) -> str | None:
        return self._name or next(iter(self._find()), None)

    def _restart(self, base: int = 0) -> None:
        self._counter = Counter(COUNTER_MODULUS, 1 / RATE_HZ)
        self._base = base
        self._means = Means(self._length)
        self._words = WordStream()
        self._range: int | None = None
        self._unsettled = 0

    def _begin(self, port: Port) -> None:
        port.write(bytes([Opcode.AVERAGE_STOP]))
        self._sleep(0.05)
        port.read(BYTES_MAX)  # the rest of its stream
        port.write(bytes([Opcode.GET_METADATA]))
        self._modifiers = protocol.parse_metadata(self._metadata(port))
        assert self._voltage_v is not None
        port.write(bytes([Opcode.SET_POWER_MODE, SOURCE if self._mode == "source" else AMPERE]))
        if self._mode == "source":
            port.write(protocol.regulator(self._voltage_v))
        port.write(bytes([Opcode.DEVICE_RUNNING_SET, 1]))
        port.write(bytes([Opcode.AVERAGE_START]))

    def _metadata(self, port: Port) -> str:
        text, begin_ns = b"", self._clock_ns()
        while b"END" not in text:
            if self._clock_ns() - begin_ns > _METADATA_S * 1e9:
                raise OSError("it did not report its calibration: is it a Power Profiler Kit II?")
            text += port.read(BYTES_MAX)
            self._sleep(0.01)
        return text.decode("ascii", "replace")

    def _powers(self, words: Words) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(n,) in W; the samples after a change of range are taken from their neighbours."""
        assert self._modifiers is not None
        assert self._voltage_v is not None
        possible = words.range_ < RANGES
        current = self._modifiers.amperes(words.adc, np.minimum(words.range_, RANGES - 1), self._supply_v)
        settled = possible & self._settled(words)
        power_w = np.where(possible, current * self._voltage_v, np.nan)
        if settled.any() and not settled.all():
            place = np.arange(len(power_w))
            power_w[~settled] = np.interp(place[~settled], place[settled], power_w[settled])
        return power_w

    def _settled(self, words: Words) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        before = int(words.range_[0]) if self._range is None else self._range
        changed = np.flatnonzero(np.diff(np.concatenate([[before], words.range_])))
        settled = np.ones(len(words.range_) + SPIKE_SAMPLES, bool)
        settled[: self._unsettled] = False
        for later in range(SPIKE_SAMPLES):
            settled[changed + later] = False
        self._range = int(words.range_[-1])
        self._unsettled = int(np.count_nonzero(~settled[len(words.range_) :]))
        return settled[: len(words.range_)]

    @property
    def _supply_v(self) -> float:
        """The supply in the calibration's formula: the kit's setting."""
        assert self._modifiers is not None
        return (self._voltage_v or 0.0) if self._mode == "source" else self._modifiers.vdd_v

    def _reconnect(self) -> None:
        if (name := self._place()) is not None:
            self._link = self._open_port(name, _SETTINGS)
            self._begin(self._link)
            self._restart(self._number_after_break(_STEP_NS))
