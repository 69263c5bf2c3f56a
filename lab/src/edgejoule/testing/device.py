"""An emulated device in virtual time: what every emulator takes from the circuit that it measures."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from edgejoule.testing.instrument import Circuit, Fault

_SKEW = 5.0  # times the drift of a crystal, with the fault

Power = TypeVar("Power", float, NDArray[np.float64])


class Device:
    """gain_rel, offset_w: the errors (k=1) that the meter's channel declares, of which this device has its share.

    now_s: virtual time since the begin of the run. clock_rate: of the device's own clock, seconds in a second. Once in
    a run, at a random time, the device is gone for a while where the circuit has the fault DISCONNECT.
    """

    def __init__(self, circuit: Circuit, gain_rel: float = 0.0, offset_w: float = 0.0) -> None:
        self._circuit = circuit
        self.now_s = 0.0
        skew = _SKEW if Fault.SKEW in circuit.faults else 1.0
        self.clock_rate = 1 + skew * circuit.drift_ppm * 1e-6
        begin_s = circuit.duration_s * circuit.rng.uniform(0.2, 0.6)
        self._gone_s = begin_s, begin_s + circuit.duration_s * circuit.rng.uniform(0.02, 0.3)
        self.declares(gain_rel, offset_w)

    def declares(self, gain_rel: float, offset_w: float) -> None:
        """The errors that the channel declares, where they are known only once the meter is open."""
        self._gain = 1 + self._circuit.gain_z * gain_rel
        self._offset_w = self._circuit.offset_z * offset_w

    def advance(self, to_ns: int) -> None:
        """Live on to that time."""
        self.now_s = to_ns / 1e9

    @property
    def gone(self) -> bool:
        """Unplugged, switched off or out of reach at the moment."""
        begin_s, end_s = self._gone_s
        return Fault.DISCONNECT in self._circuit.faults and begin_s <= self.now_s < end_s

    def shown_w(self, power_w: Power) -> Power:
        """What the device makes of a true power."""
        return power_w * self._gain + self._offset_w

    def renewed_s(self, every_ns: int) -> float:
        """When a register that is renewed every so many ns was so last."""
        return round(self.now_s * 1e9) // every_ns * every_ns / 1e9
