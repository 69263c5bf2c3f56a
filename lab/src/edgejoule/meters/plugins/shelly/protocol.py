"""The places of power and energy in the answers of Shelly's devices.

First generation: Shelly API documentation, "Gen1 Devices", /meter/{index} (power in W, total in watt-minutes, is_valid)
and /emeter/{index} (total in Wh). Later ones: "Gen2+ Device API", components Switch (apower, aenergy.total in Wh), PM1
(the same), EM with EMData (total_act_power; total_act in Wh), EM1 with EM1Data (act_power; total_act_energy in Wh).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_J_PER_WH = 3600.0
_J_PER_WATT_MINUTE = 60.0


@dataclass(frozen=True)
class ValuePlace:
    """Where a value is: path of the URL with {id}, keys of the JSON object, and what to multiply by for W or J."""

    path: str
    keys: tuple[str, ...]
    scale: float


_RPC = "/rpc/{}.GetStatus?id={{id}}"
PLACES: dict[str, dict[str, ValuePlace]] = {
    "meter": {
        "power": ValuePlace("/meter/{id}", ("power",), 1.0),
        "total": ValuePlace("/meter/{id}", ("total",), _J_PER_WATT_MINUTE),
    },
    "emeter": {
        "power": ValuePlace("/emeter/{id}", ("power",), 1.0),
        "total": ValuePlace("/emeter/{id}", ("total",), _J_PER_WH),
    },
    "switch": {
        "power": ValuePlace(_RPC.format("Switch"), ("apower",), 1.0),
        "total": ValuePlace(_RPC.format("Switch"), ("aenergy", "total"), _J_PER_WH),
    },
    "pm1": {
        "power": ValuePlace(_RPC.format("PM1"), ("apower",), 1.0),
        "total": ValuePlace(_RPC.format("PM1"), ("aenergy", "total"), _J_PER_WH),
    },
    "em": {
        "power": ValuePlace(_RPC.format("EM"), ("total_act_power",), 1.0),
        "total": ValuePlace(_RPC.format("EMData"), ("total_act",), _J_PER_WH),
    },
    "em1": {
        "power": ValuePlace(_RPC.format("EM1"), ("act_power",), 1.0),
        "total": ValuePlace(_RPC.format("EM1Data"), ("total_act_energy",), _J_PER_WH),
    },
}
FIRST_GENERATION = ("meter", "emeter")
LATER_GENERATIONS = ("switch", "pm1", "em", "em1")


def components(device: dict[str, Any]) -> tuple[str, ...]:
    """The kinds of component that the device with this /shelly answer can have. ValueError when it is no Shelly."""
    if "gen" in device:
        return LATER_GENERATIONS
    if "type" in device and "mac" in device:
        return FIRST_GENERATION
    raise ValueError("it does not answer /shelly as a Shelly does")
