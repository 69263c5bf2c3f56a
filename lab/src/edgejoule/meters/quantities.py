"""What a field, a register or an answer of an instrument is, and how power follows from several of them.

Instantaneous volts times instantaneous amperes are instantaneous power. RMS volts times RMS amperes are apparent power:
above the active power by what the load's power factor is below 1, which for a switched supply is often a factor of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class Role(StrEnum):
    """What a value is. Powers are in W, voltages in V, currents in A, energies in J after the field's scale."""

    POWER = "power"  # active power, or power of direct current
    VOLTAGE = "voltage"  # instantaneous, or of direct current
    CURRENT = "current"
    VOLTAGE_RMS = "voltage_rms"
    CURRENT_RMS = "current_rms"
    ENERGY = "energy"  # running total
    COUNTER = "counter"  # counts frames or samples
    STATUS = "status"  # read and not used


_RMS = (
    "voltage_rms times current_rms is apparent power, not active power, and is refused; name the instrument's own "
    "active power (role power), or instantaneous voltage and current"
)


def check_roles(roles: Iterable[Role]) -> None:
    """Raises ValueError where these do not make exactly one power or energy."""
    result = list(roles)
    ways = [
        Role.POWER in result,
        Role.ENERGY in result,
        Role.VOLTAGE in result and Role.CURRENT in result and Role.POWER not in result,
    ]
    for role in (Role.POWER, Role.ENERGY, Role.VOLTAGE, Role.CURRENT, Role.COUNTER):
        if result.count(role) > 1:
            raise ValueError(f"role {role} is given {result.count(role)} times, once is expected")
    if sum(ways) == 1:
        return
    if sum(ways) > 1:
        raise ValueError("one channel is either power or energy, not both")
    if {Role.VOLTAGE_RMS, Role.CURRENT_RMS, Role.VOLTAGE, Role.CURRENT} & set(result) and (
        {Role.VOLTAGE_RMS, Role.CURRENT_RMS} & set(result)
    ):
        raise ValueError(_RMS)
    raise ValueError("expected role power, or energy, or voltage and current")


def reading(values: Mapping[Role, NDArray[np.float64]]) -> NDArray[np.float64]:
    """W or J of a checked set of roles."""
    for role in (Role.POWER, Role.ENERGY):
        if role in values:
            return values[role]
    return values[Role.VOLTAGE] * values[Role.CURRENT]
