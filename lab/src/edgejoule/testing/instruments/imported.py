"""An emulated logging program: a CSV file that grows by a line for every reading, with known joules."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgejoule.meters.plugins.imported.meter import FollowedTrace
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import STREAM_FAULTS, Circuit, Fault, Instrument, Rig

GAIN_REL, OFFSET_W = 0.005, 0.02
_INTERVAL_S = 0.1
_EPOCH_S = 1_700_000_000.0  # the logger's wall clock has nothing to do with the host's CLOCK_MONOTONIC


class Logger(Device):
    """The file in virtual time; lines come in pieces, as a program's buffer is flushed."""

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit, GAIN_REL, OFFSET_W)
        self._file = b"# logger 1.0\ntime_s;voltage_v;current_ma\n"
        self._written = 0

    def advance(self, to_ns: int) -> None:
        """Live on to that time and write what was read."""
        super().advance(to_ns)
        late_s = float(self._circuit.rng.uniform(0.0, 0.3))
        end = int(max(0.0, self.now_s - late_s) * self.clock_rate / _INTERVAL_S)
        for number in range(self._written, end):
            self._file += self._line(number)
        self._written = max(end, self._written)

    def read_from(self, _path: Path, place: int) -> bytes:
        """The file's bytes from there on."""
        if self.gone:
            raise OSError(errno.ESTALE, "Stale file handle")
        return self._file[place:]

    def _line(self, number: int) -> bytes:
        faults, rng = self._circuit.faults, self._circuit.rng
        if Fault.DROPOUT in faults and rng.random() < 0.02:
            return b""
        if Fault.GARBAGE in faults and rng.random() < 0.05:
            return bytes(rng.choice([b"\n", b"NaN;;\n", b"restart\n", b"\xff\xfe;1\n"]))
        reading_s = number * _INTERVAL_S
        shown_w = self.shown_w(float(self._circuit.load.power_w(reading_s / self.clock_rate)))
        volts = 5.0 + 0.05 * np.sin(reading_s)
        text = f"{_EPOCH_S + reading_s:.3f};{volts:.6f};{shown_w / round(volts, 6) * 1000:.6f}\n"
        return text.replace(".", ",").encode()


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board of 1 to 8 W at about 5 V, logged ten times a second."""
    logger = Logger(circuit)
    meter = FollowedTrace(
        "log.csv", GAIN_REL, OFFSET_W, _INTERVAL_S, read_from=logger.read_from, clock_ns=clock_ns, delay_s_max=0.3
    )
    return Rig(meter, logger.advance)


INSTRUMENT = Instrument("trace", connect, idle_w=1.0, busy_w=8.0, duration_s=60.0, change_s=2.0, faults=STREAM_FAULTS)
