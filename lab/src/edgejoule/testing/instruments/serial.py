"""An emulated board that streams frames of instantaneous voltage and current of an alternating supply.

It sends what the profile evm430-f6736 describes. The frame is this project's assumption (see the profile), so there is
no outside evidence for it; the answers of the PZEM-004T are checked in the tests against its manual.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError
from edgejoule.meters.plugins.serial.framing import checksum
from edgejoule.meters.plugins.serial.meter import SerialMeter
from edgejoule.meters.transport.serialport import Port, PortSettings
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import STREAM_FAULTS, Circuit, Fault, Instrument, Rig

PROFILE = "evm430-f6736"
_MAINS_HZ, _MAINS_V = 50.0, 230.0


class Board(Device):
    """The board in virtual time, on a clock that drifts. read() gives the bytes since the last call."""

    def __init__(self, circuit: Circuit, rate_hz: float, gain_rel: float, offset_w: float) -> None:
        self._rate_hz = rate_hz
        self._sent = 0
        self._first = int(circuit.rng.integers(0, 1 << 16))
        super().__init__(circuit, gain_rel, offset_w)

    def read(self) -> bytes:
        """The frames that were complete since."""
        late_s = self._circuit.rng.uniform(0, 0.004)
        end = max(self._sent, int((self.now_s - 0.001 - late_s) * self.clock_rate * self._rate_hz) + 1)
        number = np.arange(self._sent, end)
        self._sent = end
        return self._broken(self._frames(number))

    def _frames(self, number: NDArray[np.int64]) -> NDArray[np.uint8]:
        time_s = number / self._rate_hz / self.clock_rate
        shown_w = self.shown_w(self._circuit.load.power_w(time_s))
        phase = 2 * np.pi * _MAINS_HZ * time_s
        volt = _MAINS_V * np.sqrt(2) * np.sin(phase)
        ampere = shown_w / _MAINS_V * np.sqrt(2) * np.sin(phase)
        frames = np.zeros((len(number), 14), np.uint8)
        frames[:, :2] = 0xA5, 0x5A
        frames[:, 2:4] = ((number + self._first) % (1 << 16)).astype("<u2")[:, None].view(np.uint8)
        frames[:, 4:8] = np.rint(volt * 1e3).astype("<i4")[:, None].view(np.uint8)
        frames[:, 8:12] = np.rint(ampere * 1e6).astype("<i4")[:, None].view(np.uint8)
        frames[:, 12:] = checksum(frames[:, :12], "crc16-modbus").astype("<u2")[:, None].view(np.uint8)
        return frames

    def _broken(self, frames: NDArray[np.uint8]) -> bytes:
        faults, rng = self._circuit.faults, self._circuit.rng
        if Fault.DROPOUT in faults:
            frames = frames[rng.random(len(frames)) > 0.0002]
        data = frames.tobytes()
        if Fault.GARBAGE in faults and rng.random() < 0.02 and data:
            at = int(rng.integers(0, len(data)))
            data = data[:at] + rng.bytes(int(rng.integers(1, 40))) + data[at + int(rng.integers(0, 20)) :]
        return data


class _Cable:
    """The port between: gone for a while with DISCONNECT."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def open(self, _name: str, _settings: PortSettings) -> Port:
        if self._board.gone:
            raise MeterError("no such port")
        self._board.read()
        return self

    def read(self, _size: int = 1, /) -> bytes:
        if self._board.gone:
            raise OSError("device disconnected")
        return self._board.read()

    def write(self, data: bytes, /) -> int:
        return len(data)

    def close(self) -> None: ...


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board of 2 to 12 W from the mains, on a cable."""
    meter = SerialMeter("emulated", PROFILE, clock_ns=clock_ns, open_port=lambda *x: cable.open(*x))
    channel = meter.channels()[0]
    assert meter.profile.rate_hz is not None
    board = Board(circuit, meter.profile.rate_hz, channel.gain_rel, channel.offset_w)
    cable = _Cable(board)
    return Rig(meter, board.advance)


INSTRUMENT = Instrument("serial", connect, idle_w=2.0, busy_w=12.0, duration_s=30.0, change_s=2.0, faults=STREAM_FAULTS)
