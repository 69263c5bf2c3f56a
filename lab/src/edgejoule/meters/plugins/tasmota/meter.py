"""The meter over a plug with Tasmota: `Status 8` by HTTP, JSON.

Power is ENERGY.Power, active power in W; the total is ENERGY.Total in kWh. ENERGY.Voltage times ENERGY.Current would be
apparent power and is never used.
"""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from edgejoule.meters.options import checked_number
from edgejoule.meters.transport.http import FetchText, fetcher, json_object, number_at
from edgejoule.meters.transport.plug import PlugMeter

ACCURACY_REL, OFFSET_LIMIT_W = 0.05, 0.5  # assumed: see README.md
_J_PER_KWH = 3.6e6


class Tasmota(PlugMeter):
    """See PlugMeter. password: of the web console, user admin. channel: of several outlets, from 1."""

    name = "tasmota"

    def __init__(
        self,
        host: str | None = None,
        password: str | None = None,
        quantity: str = "power",
        channel: int = 1,
        accuracy_rel: float = ACCURACY_REL,
        offset_limit_w: float = OFFSET_LIMIT_W,
        update_s: float = 60.0,
        fetch: FetchText | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        checked_number(self.name, "channel", channel, 1, 8)
        super().__init__(host, quantity, accuracy_rel, offset_limit_w, update_s, fetch or fetcher(), clock_ns)
        self._password = password
        self._channel = int(channel)

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"active power at the wall by a plug with Tasmota (±{self.accuracy_k2:.1%} assumed)"

    def identify(self) -> str:
        """Whether the device measures energy."""
        self._energy()
        return "a plug with Tasmota"

    def read(self) -> tuple[float, float]:
        """Power in W or the total in J."""
        energy = self._energy()
        if self.quantity == "total":
            total, step = number_at(energy, "Total")
            return total * _J_PER_KWH, step * _J_PER_KWH
        powers = energy.get("Power")
        if powers is None:
            raise ValueError("it reports no active power; voltage times current would be apparent power")
        several = powers if isinstance(powers, list) else [powers]
        if self._channel > len(several):
            raise ValueError(f"it has {len(several)} channels, not {self._channel}")
        return number_at({"Power": several[self._channel - 1]}, "Power")

    def _energy(self) -> dict[str, Any]:
        query = {"cmnd": "Status 8"}
        if self._password is not None:
            query = {"user": "admin", "password": self._password, **query}
        result = json_object(self._fetch(f"http://{self.host}/cm?{urllib.parse.urlencode(query)}"))
        status = result.get("StatusSNS")
        energy = status.get("ENERGY") if isinstance(status, dict) else None
        if not isinstance(energy, dict):
            message = result.get("WARNING") or result.get("Command") or "no ENERGY in its status"
            raise ValueError(f"it does not measure energy or wants a password: {message}")
        return energy
