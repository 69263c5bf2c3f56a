"""An emulated Shelly of the first or a later generation: its JSON with known joules.

Answers follow the Shelly API documentation: /shelly and /meter/0 of "Gen1 Devices, Shelly Plug/PlugS", Switch.GetStatus
of "Gen2+ Device API, Switch, Status".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from edgejoule.meters.plugins.shelly.meter import Shelly
from edgejoule.testing.instrument import Circuit, Evidence, Instrument, Rig
from edgejoule.testing.instruments.plug import HOST, EmulatedPlug


def first_generation(path: str, power_w: float, total_j: float) -> str:
    """What a Shelly Plug S answers; OSError for a path it does not have."""
    if path == "/shelly":
        device = {"type": "SHPLG-S", "mac": "B4E62DF6A1C8", "auth": False, "fw": "20230913-113421", "num_meters": 1}
        return json.dumps(device)
    if path == "/meter/0":
        meter = {"power": round(power_w, 2), "overpower": 0.0, "is_valid": True, "timestamp": 1600853087}
        return json.dumps({**meter, "counters": [4.7, 4.1, 4.3], "total": int(total_j / 60)})
    raise OSError("status 404")


def later_generation(path: str, power_w: float, total_j: float) -> str:
    """What a Shelly Plus Plug S answers; OSError for a path it does not have."""
    if path == "/shelly":
        device = {"name": None, "id": "shellyplusplugs-fcb4670cf7c0", "mac": "FCB4670CF7C0", "slot": 0, "gen": 2}
        return json.dumps({**device, "model": "SNPL-00112EU", "app": "PlusPlugS", "auth_en": False})
    if path == "/rpc/Switch.GetStatus?id=0":
        switch = {"id": 0, "source": "init", "output": True, "apower": round(power_w, 1), "voltage": 231.4}
        energy = {"total": round(total_j / 3600, 3), "by_minute": [81.3, 80.9, 81.6], "minute_ts": 1670000000}
        return json.dumps({**switch, "current": 0.041, "aenergy": energy, "temperature": {"tC": 31.2, "tF": 88.2}})
    raise OSError("status 404")


class _Plug(EmulatedPlug):
    """Sends the power at the start of every second."""

    def answer(self, path: str) -> str:
        load = self._circuit.load
        shown_w = self.shown_w(float(load.power_w(float(int(self.now_s)))))
        return later_generation(path, shown_w, 1e6 + float(load.energy_j(self.now_s)))

    def broken(self, text: str) -> Sequence[str]:
        nothing = text.replace('"apower":', '"apower":null,"x":')
        return [text[:-9], "", '{"code":-105,"message":"not found"}', nothing]


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board's power supply on a Shelly Plus Plug S."""
    plug = _Plug(circuit)
    return plug.rig(Shelly(HOST, fetch=plug.fetch, clock_ns=clock_ns))


INSTRUMENT = Instrument(
    "shelly", connect, idle_w=4.0, busy_w=14.0, duration_s=600.0, change_s=20.0,
    evidence=Evidence((
        "Shelly API documentation: Gen1 Devices, /meter; Gen2+ Device API, Switch, Status",
        "ShellyPy 0.3.0 has read both generations of the emulator (by hand)",
    )),
)  # fmt: skip
