"""What the data sheets say of the power monitors that the kernel's drivers ina2xx and ina3221 know.

Limits are maxima of the tables of electrical characteristics over the operating temperature: INA219 SBOS448, INA226
SBOS547, INA230 SBOS601, INA3221 SBOS576. The INA219's offset is that of its widest range, which the kernel's driver
sets (PGA /8); the INA220 is taken as an INA219, the INA231 as an INA230.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_RECTANGULAR = 1 / math.sqrt(3)
_CURRENT_FILE_STEP_A = 1e-3
_WARMING_K = 25.0  # a chip on a busy board, above the 25 °C of the data sheet


@dataclass(frozen=True)
class ChipAccuracy:
    """Standard uncertainties (k=1) and the step of a channel's power. gain_rel: relative; the rest in W."""

    gain_rel: float
    offset_w: float
    resolution_w: float


@dataclass(frozen=True)
class Chip:
    """One type. Limits: current_rel and voltage_rel of the reading, shunt_offset_v, bus_offset_v; drift_rel_per_k.

    power_steps_v: one step of the power register is shunt_step_v / shunt x this; None where the chip has no such
    register and power is voltage times current of the host's reading.
    """

    current_rel: float
    voltage_rel: float
    shunt_offset_v: float
    bus_offset_v: float
    drift_rel_per_k: float
    shunt_step_v: float
    bus_step_v: float
    power_steps_v: float | None

    def accuracy(self, voltage_v: float, shunt_ohm: float, shunt_tolerance_rel: float) -> ChipAccuracy:
        """At this bus voltage and with this shunt. Independent limits add in squares."""
        limits = (
            shunt_tolerance_rel,
            self.current_rel + self.drift_rel_per_k * _WARMING_K,
            self.voltage_rel + self.drift_rel_per_k * _WARMING_K,
            (self.bus_offset_v + self.bus_step_v / 2) / voltage_v,
        )
        shunt_step_a = self.shunt_step_v / shunt_ohm
        if self.power_steps_v is None:
            step_w = max(shunt_step_a, _CURRENT_FILE_STEP_A) * voltage_v
        else:
            step_w = shunt_step_a * self.power_steps_v
        offset_w = self.shunt_offset_v / shunt_ohm * voltage_v
        return ChipAccuracy(math.hypot(*limits) * _RECTANGULAR, offset_w * _RECTANGULAR, step_w)


_INA219 = Chip(0.01, 0.01, 200e-6, 0.0, 0.0, 10e-6, 4e-3, 20.0)
_INA230 = Chip(0.005, 0.005, 50e-6, 30e-3, 50e-6, 2.5e-6, 1.25e-3, 25.0)
CHIPS = {
    "ina219": _INA219,
    "ina220": _INA219,
    "ina226": Chip(0.001, 0.001, 10e-6, 7.5e-3, 50e-6, 2.5e-6, 1.25e-3, 25.0),
    "ina230": _INA230,
    "ina231": _INA230,
    "ina3221": Chip(0.0025, 0.0025, 80e-6, 16e-3, 50e-6, 40e-6, 8e-3, None),
}
