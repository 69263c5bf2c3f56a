"""An emulated plug with Tasmota: the text of `Status 8` with known joules.

Form of the answer: Tasmota documentation, "JSON Status Responses" (StatusSNS); the ENERGY object of a real plug as in
the guide "Accessing power usage from Tasmota smart plugs" (LocalBytes). Power has no decimals (WattRes 0), the total
three (EnergyRes 3).
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable

from edgejoule.conformance.instrument import Circuit, Evidence, Fault, Rig
from edgejoule.meters.tasmota.meter import Tasmota

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


class TasmotaInstrument:
    """A board's power supply on a plug."""

    name = "tasmota"
    faults = frozenset({Fault.DROPOUT, Fault.JITTER, Fault.GARBAGE, Fault.DISCONNECT})
    duration_s = 600.0
    idle_w, busy_w = 4.0, 14.0
    change_s = 20.0
    evidence = Evidence(
        (
            "Tasmota documentation, JSON Status Responses",
            "ENERGY of a real plug, LocalBytes, Accessing power usage",
            "tasmota-http 0.1.0 has read the emulator, with the driver's own request (by hand)",
        )
    )

    def connect(self, circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
        """The plug answers requests from the circuit."""
        plug = _Plug(circuit)
        meter = Tasmota("plug.local", fetch=plug.fetch, clock_ns=clock_ns)
        meter.open()  # the declared accuracy depends on the digits that the plug shows
        plug.errors = circuit.gain_z * meter.channels()[0].gain_rel, circuit.offset_z * meter.channels()[0].offset_w
        return Rig(meter, plug.advance)


class _Plug:
    """Measures the mean power of every second. errors: gain, relative, and offset in W."""

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
        assert (parts.netloc, parts.path) == ("plug.local", COMMAND_PATH), url
        assert urllib.parse.parse_qs(parts.query) == {"cmnd": ["Status 8"]}, url
        text = self._text()
        faults, rng = self._circuit.faults, self._circuit.rng
        begin_s, end_s = self._gone_s
        if self._now_s == 0:
            return text
        if Fault.DISCONNECT in faults and begin_s <= self._now_s < end_s:
            raise OSError("No route to host")
        if Fault.DROPOUT in faults and rng.random() < 0.02:
            raise OSError("timed out")
        if Fault.GARBAGE in faults and rng.random() < 0.02:
            return str(rng.choice([text[:-9], "", '{"Command":"Unknown"}', text.replace('"Power":', '"Power":"nan')]))
        return text

    def _text(self) -> str:
        load, second = self._circuit.load, int(self._now_s)
        mean_w = float(load.energy_j(float(second)) - load.energy_j(second - 1.0))
        gain_rel, offset_w = self.errors
        return status_text(mean_w * (1 + gain_rel) + offset_w, 3.705 + float(load.energy_j(self._now_s)) / 3.6e6)
