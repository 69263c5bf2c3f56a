"""An emulated Power Profiler Kit II: commands in, metadata and 100,000 words a second out, in virtual time.

Words and commands as in protocol.py, from the vendor's application. The metadata's form and the figures of GS and GI
are a real kit's (Nordic DevZone, "PPK2 reports implausible values & modifiers"), the other figures are made up near the
nominal ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError
from edgejoule.meters.plugins.ppk2.meter import GAIN_REL, OFFSET_W, Ppk2
from edgejoule.meters.plugins.ppk2.protocol import ADC_VOLTS, RATE_HZ, Opcode, parse_metadata
from edgejoule.meters.transport.serialport import Port, PortSettings
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import STREAM_FAULTS, Circuit, Evidence, Fault, Instrument, Rig

METADATA = """Calibrated: 0
R0: 1003.3506
R1: 101.5865
R2: 10.3027
R3: 0.9636
R4: 0.0564
GS0: 0.0000
GS1: 90.4022
GS2: 15.3252
GS3: 2.0925
GS4: 0.0653
GI0: 1.0000
GI1: 0.9752
GI2: 0.9671
GI3: 0.9599
GI4: 0.9632
O0: 112.7890
O1: 75.4605
O2: 64.6343
O3: 50.4983
O4: 85.2812
VDD: 5000
HW: 9173
mode: 1
S0: 0.000000048
S1: 0.000000596
S2: 0.000005281
S3: 0.000062577
S4: 0.002940743
I0: -0.000000104
I1: -0.000001443
I2: 0.000036439
I3: -0.000374119
I4: -0.009388455
UG0: 1.00
UG1: 1.00
UG2: 1.00
UG3: 1.00
UG4: 1.00
IA: 56
END
"""
VOLTS = 5.0
_RANGE_ABOVE_A = np.array([50e-6, 500e-6, 5e-3, 60e-3])
_NOISE_STEPS = 1.0


class Kit(Device):
    """The kit in virtual time, and the port to it."""

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit, GAIN_REL, OFFSET_W)
        self._rate_hz = RATE_HZ * self.clock_rate
        self._modifiers = parse_metadata(METADATA)
        self._reply = b""
        self._begin_s: float | None = None
        self._sent = self._first = 0
        self._range = 4
        self.received: list[bytes] = []

    def open(self, _name: str, _settings: PortSettings) -> Port:
        """As the system gives it."""
        if self.gone:
            raise MeterError("no such port")
        self._begin_s = None
        return self

    def write(self, data: bytes, /) -> int:
        """A command."""
        self.received.append(data)
        if data[0] == Opcode.GET_METADATA:
            self._reply += METADATA.encode()
        elif data[0] == Opcode.AVERAGE_START:
            self._begin_s, self._sent = self.now_s, 0
            self._first = int(self._circuit.rng.integers(0, 64))
        elif data[0] == Opcode.AVERAGE_STOP:
            self._begin_s = None
        return len(data)

    def read(self, _size: int = 1, /) -> bytes:
        """What has been sent since."""
        if self.gone:
            raise OSError(5, "Input/output error")
        reply, self._reply = self._reply, b""
        return reply + (self._stream() if self._begin_s is not None else b"")

    def close(self) -> None:
        """Nothing is held."""

    def _stream(self) -> bytes:
        assert self._begin_s is not None
        faults, rng = self._circuit.faults, self._circuit.rng
        late_s = float(rng.uniform(0.0, 0.004))
        end = max(self._sent, int((self.now_s - self._begin_s - late_s) * self._rate_hz))
        number = np.arange(self._sent, end)
        self._sent = end
        words = self._words(number)
        if Fault.DROPOUT in faults and rng.random() < 0.02 and len(words) > 100:
            at = int(rng.integers(0, len(words)))
            words = np.delete(words, slice(at, at + int(rng.integers(1, 300))))
        data = words.astype("<u4").tobytes()
        if Fault.GARBAGE in faults and rng.random() < 0.02 and data:
            at = int(rng.integers(0, len(data)))
            data = data[:at] + rng.bytes(int(rng.integers(1, 30))) + data[at + int(rng.integers(0, 30)) :]
        return data

    def _words(self, number: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self._begin_s is not None
        time_s = self._begin_s + (number.astype(np.float64) + 0.5) / self._rate_hz
        current = self.shown_w(self._circuit.load.power_w(time_s)) / VOLTS
        range_ = np.searchsorted(_RANGE_ABOVE_A, current)
        adc = self._adc(current, range_) / 4 + self._circuit.rng.normal(0, _NOISE_STEPS, len(number))
        before = np.concatenate([[self._range], range_[:-1]]) if len(range_) else range_
        adc[before != range_] *= 1.5  # the spike of a change of range
        self._range = int(range_[-1]) if len(range_) else self._range
        raw = np.clip(np.rint(adc), 0, 0x3FFF).astype(np.int64)
        return raw | range_ << 14 | (number + self._first) % 64 << 18

    def _adc(self, current: NDArray[np.float64], range_: NDArray[np.int64]) -> NDArray[np.float64]:
        """The inverse of Modifiers.amperes, with UG = 1."""
        r, o, gs, gi, s, i = (self._modifiers.by_name[name][range_] for name in ("R", "O", "GS", "GI", "S", "I"))
        rest = current - (s * VOLTS + i)
        x = (-gi + np.sqrt(gi * gi + 4 * gs * rest)) / (2 * gs)
        return np.asarray(x * r / ADC_VOLTS + o)


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A small board of 0.2 to 2.5 W at 5 V, the kit in ampere mode."""
    kit = Kit(circuit)
    meter = Ppk2(VOLTS, open_port=kit.open, find=lambda: ["emulated"], clock_ns=clock_ns, sleep=lambda _: None)
    return Rig(meter, kit.advance)


INSTRUMENT = Instrument(
    "ppk2", connect, idle_w=0.2, busy_w=2.5, duration_s=4.0, change_s=0.1, faults=STREAM_FAULTS,
    evidence=Evidence(("Nordic Semiconductor, pc-nrfconnect-ppk, src/device/serialDevice.ts and src/constants.ts",)),
)  # fmt: skip
