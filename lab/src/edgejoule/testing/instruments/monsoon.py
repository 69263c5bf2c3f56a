"""An emulated HVPM: the vendor's packets of 64 bytes, at 5 kHz in virtual time, with known joules.

Layout and opcodes as in protocol.py. Stored values are the vendor's defaults (Monsoon package, HVPM,
setDefaultScaleValues); readings have the noise of an ADC.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError
from edgejoule.meters.plugins.monsoon.meter import GAIN_REL, OFFSET_W, Monsoon
from edgejoule.meters.plugins.monsoon.protocol import (
    HVPM,
    OBSERVATION_BYTES,
    PACKET_BYTES,
    RATE_HZ,
    VOLTS_PER_STEP,
    ObservationType,
    Opcode,
)
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import STREAM_FAULTS, Circuit, Evidence, Fault, Instrument, Rig

VOLTS = 5.1
STORED = {
    Opcode.HARDWARE: 2,
    Opcode.FIRMWARE: 32,
    Opcode.SERIAL: 20017,
    Opcode.MAIN_FINE_SCALE: 36500,
    Opcode.MAIN_COARSE_SCALE: 6400,
    Opcode.MAIN_FINE_ZERO: 15,
    Opcode.MAIN_COARSE_ZERO: 15,
}
_ZERO = np.array([2400.0, 2300.0])  # coarse, fine
_REFERENCE = np.array([31_000.0, 30_500.0])
_NOISE_STEPS = 1.5


class Monitor(Device):
    """The monitor in virtual time; it is the link that the driver talks to."""

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit, GAIN_REL, OFFSET_W)
        self._rate_hz = RATE_HZ * self.clock_rate
        self._begin_s, self._sent, self._dropped = 0.0, 0, 0
        self._calibration = 1 << 62

    def open(self, _serial: int | None) -> Monitor:
        """As the bus gives it."""
        if self.gone:
            raise MeterError("no power monitor is plugged in")
        return self

    def value(self, opcode: int) -> bytes:
        """The four bytes stored under an opcode."""
        return STORED.get(Opcode(opcode), 0).to_bytes(4, "little")

    def start(self, calibration_ms: int) -> None:
        """Begin to sample."""
        self._begin_s, self._sent, self._dropped = self.now_s, 0, 0
        self._calibration = round(calibration_ms * RATE_HZ / 1000)

    def stop(self) -> None:
        """End sampling."""

    def close(self) -> None:
        """Nothing is held."""

    def read(self) -> bytes:
        """The packets since, less those that were dropped."""
        if self.gone:
            raise OSError(19, "No such device")
        late_s = float(self._circuit.rng.uniform(0, 0.005))
        end = int(max(0.0, self.now_s - self._begin_s - late_s) * self._rate_hz) // 3 * 3
        number = np.arange(self._sent, max(end, self._sent))
        self._sent += len(number)
        packets = self._packets(number)
        data = packets.tobytes()
        if Fault.GARBAGE in self._circuit.faults and self._circuit.rng.random() < 0.02:
            data += bytes([0, 0, 0, 200]) + self._circuit.rng.bytes(PACKET_BYTES - 4)
        return data

    def _packets(self, number: NDArray[np.int64]) -> NDArray[np.uint8]:
        kind = np.full(len(number), ObservationType.MEASUREMENT, np.uint8)
        kind[number % self._calibration < 2] = ObservationType.ZERO
        kind[(number + self._calibration // 2) % self._calibration < 2] = ObservationType.REFERENCE
        kind[(number >= 2) & (number < 4)] = ObservationType.REFERENCE
        packets = encode(self._words(number, kind), kind)
        kept = np.ones(len(packets), bool)
        if Fault.DROPOUT in self._circuit.faults:
            kept = self._circuit.rng.random(len(packets)) > 0.002
        dropped = (self._dropped + 3 * np.cumsum(~kept)) % (1 << 16)
        packets[:, :2] = dropped.astype("<u2")[:, None].view(np.uint8)
        self._dropped = int(dropped[-1]) if len(dropped) else self._dropped
        return packets[kept]

    def _words(self, number: NDArray[np.int64], kind: NDArray[np.uint8]) -> NDArray[np.float64]:
        time_s = self._begin_s + number / self._rate_hz
        current_ma = self.shown_w(self._circuit.load.power_w(time_s)) / VOLTS * 1000
        words = np.zeros((len(number), 8))
        for column, opcode, unit in ((0, "COARSE", 1.0), (1, "FINE", 1000.0)):
            base = _ZERO[column] + STORED[Opcode[f"MAIN_{opcode}_ZERO"]]
            full_ma = STORED[Opcode[f"MAIN_{opcode}_SCALE"]] / unit
            words[:, column] = current_ma / full_ma * (_REFERENCE[column] - base) + base
            words[kind == ObservationType.ZERO, column] = _ZERO[column]
            words[kind == ObservationType.REFERENCE, column] = _REFERENCE[column]
        noise = self._circuit.rng.normal(0, _NOISE_STEPS, (len(number), 2))
        words[:, :2] += np.where((kind == ObservationType.MEASUREMENT)[:, None], noise, 0)
        words[:, 6] = VOLTS / VOLTS_PER_STEP / HVPM.main_volts_scale
        return words


def encode(words: NDArray[np.float64], kind: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(n, 64) packets of three observations each; len(words) is a multiple of three."""
    rows = np.zeros((len(words), OBSERVATION_BYTES), np.uint8)
    raw = np.clip(np.rint(words), 0, 0xFFFF).astype(">u2")
    rows[:, :16] = np.ascontiguousarray(raw).view(np.uint8).reshape(len(words), 16)
    rows[:, 17] = kind
    packets = np.zeros((len(words) // 3, PACKET_BYTES), np.uint8)
    packets[:, 3] = 3
    packets[:, 4:58] = rows.reshape(-1, 54)
    return packets


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board of 1 to 6 W on the main output."""
    monitor = Monitor(circuit)
    meter = Monsoon(open_link=monitor.open, find=lambda: [20017], clock_ns=clock_ns)
    return Rig(meter, monitor.advance)


INSTRUMENT = Instrument(
    "monsoon", connect, idle_w=1.0, busy_w=6.0, duration_s=8.0, change_s=0.2, faults=STREAM_FAULTS,
    evidence=Evidence((
        "Monsoon, Power Monitor Python API Documentation, Packet Format",
        "Monsoon 0.1.88 (the vendor's package) decodes the same packets to the same currents",
    )),
)  # fmt: skip
