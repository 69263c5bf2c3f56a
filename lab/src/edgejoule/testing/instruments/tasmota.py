"""An emulated plug with Tasmota: the text of `Status 8` with known joules.

Form of the answer: Tasmota documentation, "JSON Status Responses" (StatusSNS); the ENERGY object of a real plug as in
the guide "Accessing power usage from Tasmota smart plugs" (LocalBytes). Power has no decimals (WattRes 0), the total
three (EnergyRes 3).
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Sequence

from edgejoule.meters.plugins.tasmota.meter import Tasmota
from edgejoule.testing.instrument import Circuit, Evidence, Instrument, Rig
from edgejoule.testing.instruments.plug import HOST, EmulatedPlug

COMMAND_PATH = "/cm"


def status_text(power_w: float, total_kwh: float) -> str:
    """The answer to Status 8."""
    energy = {
        "TotalStartTime": "2020-10-21T22:15:00",
        "Total": round(total_kwh, 3),
        "Yesterday": 0.028,
        "Today": 0.026,
        "Power": round(power_w),
        "ApparentPower": round(power_w * 1.6),
        "ReactivePower": round(power_w * 1.2),
        "Factor": 0.62,
        "Voltage": 233,
        "Current": round(power_w * 1.6 / 233, 3),
    }
    return json.dumps({"StatusSNS": {"Time": "2022-01-11T21:57:38", "ENERGY": energy}}, separators=(",", ":"))


class _Plug(EmulatedPlug):
    """Measures the mean power of every second."""

    def answer(self, path: str) -> str:
        parts = urllib.parse.urlsplit(path)
        assert parts.path == COMMAND_PATH, path
        assert urllib.parse.parse_qs(parts.query) == {"cmnd": ["Status 8"]}, path
        load, second = self._circuit.load, int(self.now_s)
        mean_w = float(load.energy_j(float(second)) - load.energy_j(second - 1.0))
        return status_text(self.shown_w(mean_w), 3.705 + float(load.energy_j(self.now_s)) / 3.6e6)

    def broken(self, text: str) -> Sequence[str]:
        return [text[:-9], "", '{"Command":"Unknown"}', text.replace('"Power":', '"Power":"nan')]


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board's power supply on a plug with Tasmota."""
    plug = _Plug(circuit)
    return plug.rig(Tasmota(HOST, fetch=plug.fetch, clock_ns=clock_ns))


INSTRUMENT = Instrument(
    "tasmota", connect, idle_w=4.0, busy_w=14.0, duration_s=600.0, change_s=20.0,
    evidence=Evidence((
        "Tasmota documentation, JSON Status Responses",
        "ENERGY of a real plug, LocalBytes, Accessing power usage",
        "tasmota-http 0.1.0 has read the emulator, with the driver's own request (by hand)",
    )),
)  # fmt: skip
