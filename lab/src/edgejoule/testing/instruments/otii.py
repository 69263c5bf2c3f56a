"""An emulated Otii server with one Arc: JSON lines in and out, in virtual time. It also serves a real socket in tests,
where the vendor's own client talks to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgejoule.meters.plugins.otii.meter import GAIN_REL, OFFSET_W, Otii
from edgejoule.testing.instrument import STREAM_FAULTS, Circuit, Evidence, Fault, Instrument, Rig
from edgejoule.testing.tcp_device import TcpDevice

VOLTS = 3.8
RATES_HZ = {"mc": 4000, "mv": 1000}
DEVICE = {"device_id": "20E0E3A9", "name": "Arc", "type": "Arc"}
_STEP_A = 82e-6 / 4  # Elektor, "Qoitech Otii Arc": 82 uA below 2.7 A; an ADC's noise makes means finer
_GREETING = {
    "type": "information",
    "info": "connected",
    "data": {"otii_version": "3.5.5", "protocol_version": "0.1", "server": "otii-server"},
}


class OtiiServer(TcpDevice):
    """The server in virtual time: bytes of requests in, bytes of answers out."""

    def __init__(self, circuit: Circuit) -> None:
        super().__init__(circuit, GAIN_REL, OFFSET_W)
        self._rest = b""
        self._recording = 0
        self._begin_s: float | None = None
        self._late_s = 0.0

    def greeting(self) -> bytes:
        """Returns the greeting of a new connection."""
        self._rest = b""
        return _line(_GREETING)

    def feed(self, data: bytes) -> bytes:
        """Returns the answers to the messages that data completes."""
        *lines, self._rest = (self._rest + data).split(b"\r\n")
        self._late_s = float(self._circuit.rng.uniform(0.0, 0.05))
        return b"".join(self._answered(json.loads(line)) for line in lines)

    def _answered(self, request: dict[str, Any]) -> bytes:
        faults, rng = self._circuit.faults, self._circuit.rng
        if Fault.DROPOUT in faults and rng.random() < 0.01:
            return b""
        head = {"cmd": request["cmd"], "trans_id": request["trans_id"]}
        handler: Callable[..., dict[str, Any]] | None = getattr(self, f"_on_{request['cmd']}", None)
        if handler is None:
            return _line({"type": "error", "errorcode": "Unknown command", "data": {}} | head)
        answer = _line({"type": "response", "data": handler(**request.get("data", {}))} | head)
        if Fault.GARBAGE in faults and rng.random() < 0.01:
            return rng.bytes(int(rng.integers(1, 60))).replace(b"\n", b" ") + b"\r\n" + answer
        return answer

    def _on_otii_get_devices(self, timeout: int = 0) -> dict[str, Any]:
        return {"devices": [{"device_id": "COM3", "name": "UART", "type": "Uart"}, DEVICE]}

    def _on_otii_get_active_project(self) -> dict[str, Any]:
        return {"project_id": 7}

    def _on_otii_is_logged_in(self) -> dict[str, Any]:
        return {"logged_in": True}

    def _on_arc_add_to_project(self, device_id: str) -> dict[str, Any]:
        return {}

    def _on_arc_enable_channel(self, device_id: str, channel: str, enable: bool) -> dict[str, Any]:
        return {}

    def _on_project_start_recording(self, project_id: int) -> dict[str, Any]:
        self._recording += 1
        self._begin_s = self.now_s
        return {}

    def _on_project_stop_recording(self, project_id: int) -> dict[str, Any]:
        return {}

    def _on_project_get_last_recording(self, project_id: int) -> dict[str, Any]:
        return {"recording_id": self._recording or -1, "name": f"Recording {self._recording}"}

    def _on_recording_get_channel_data_count(self, recording_id: int, device_id: str, channel: str) -> dict[str, Any]:
        assert self._begin_s is not None
        return {"count": int(max(0.0, self.now_s - self._begin_s - self._late_s) * self.clock_rate * RATES_HZ[channel])}

    def _on_recording_get_channel_data(
        self, recording_id: int, device_id: str, channel: str, index: int, count: int
    ) -> dict[str, Any]:
        number = np.arange(index, index + count)
        values = self._current(number) if channel == "mc" else np.full(count, VOLTS)
        rate = RATES_HZ[channel]
        return {"data_type": "analog", "timestamp": index / rate, "interval": 1 / rate, "values": values.tolist()}

    def _current(self, number: NDArray[np.int64]) -> NDArray[np.float64]:
        assert self._begin_s is not None
        time_s = self._begin_s + number / RATES_HZ["mc"] / self.clock_rate
        current = self.shown_w(self._circuit.load.power_w(time_s)) / VOLTS
        return np.asarray(np.rint(current / _STEP_A + self._circuit.rng.normal(0, 0.5, len(number))) * _STEP_A)


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\r\n"


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board of 0.5 to 4 W on an Arc."""
    server = OtiiServer(circuit)
    return Rig(Otii(connect=server.connect, clock_ns=clock_ns), server.advance)


INSTRUMENT = Instrument(
    "otii", connect, idle_w=0.5, busy_w=4.0, duration_s=12.0, change_s=0.3, faults=STREAM_FAULTS,
    evidence=Evidence(("Qoitech's otii_tcp_client 1.0.13 has talked to the emulated server",)),
)  # fmt: skip
