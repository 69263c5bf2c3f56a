"""An emulated Shelly of the first or a later generation: its JSON with known joules.

Answers follow the Shelly API documentation: /shelly and /meter/0 of "Gen1 Devices, Shelly Plug/PlugS", Switch.GetStatus
of "Gen2+ Device API, Switch, Status".
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable

from edgejoule.conformance.instrument import Circuit, Evidence, Fault, Rig
from edgejoule.meters.shelly.meter import Shelly


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


class ShellyInstrument:
    """A board's power supply on a Shelly Plus Plug S."""

    name = "shelly"
    faults = frozenset({Fault.DROPOUT, Fault.JITTER, Fault.GARBAGE, Fault.DISCONNECT})
    duration_s = 600.0
    idle_w, busy_w = 4.0, 14.0
    change_s = 20.0
    evidence = Evidence(
        (
            "Shelly API documentation: Gen1 Devices, /meter; Gen2+ Device API, Switch, Status",
            "ShellyPy 0.3.0 has read both generations of the emulator (by hand)",
        )
    )

    def connect(self, circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
        """The plug answers requests from the circuit."""
        plug = _Plug(circuit)
        meter = Shelly("plug.local", fetch=plug.fetch, clock_ns=clock_ns)
        meter.open()  # the declared accuracy depends on the digits that the plug shows
        plug.errors = circuit.gain_z * meter.channels()[0].gain_rel, circuit.offset_z * meter.channels()[0].offset_w
        return Rig(meter, plug.advance)


class _Plug:
    """Tells the power at the begin of every second. errors: gain, relative, and offset in W."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._now_s = 0.0
        self.errors = 0.0, 0.0
        begin_s = circuit.duration_s * circuit.rng.uniform(0.2, 0.6)
        self._gone_s = begin_s, begin_s + circuit.duration_s * circuit.rng.uniform(0.02, 0.3)

    def advance(self, to_ns: int) -> None:
        self._now_s = to_ns / 1e9

    def fetch(self, url: str) -> str:
        parts = urllib.parse.urlsplit(url)
        assert parts.netloc == "plug.local", url
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        load = self._circuit.load
        gain_rel, offset_w = self.errors
        shown_w = float(load.power_w(float(int(self._now_s)))) * (1 + gain_rel) + offset_w
        text = later_generation(path, shown_w, 1e6 + float(load.energy_j(self._now_s)))
        return text if self._now_s == 0 else self._spoilt(text)

    def _spoilt(self, text: str) -> str:
        faults, rng = self._circuit.faults, self._circuit.rng
        begin_s, end_s = self._gone_s
        if Fault.DISCONNECT in faults and begin_s <= self._now_s < end_s:
            raise OSError("No route to host")
        if Fault.DROPOUT in faults and rng.random() < 0.02:
            raise OSError("timed out")
        if Fault.GARBAGE in faults and rng.random() < 0.02:
            wrong = [
                text[:-9],
                "",
                '{"code":-105,"message":"not found"}',
                text.replace('"apower":', '"apower":null,"x":'),
            ]
            return wrong[int(rng.integers(4))]
        return text
