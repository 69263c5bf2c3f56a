"""The meter over an Otii Arc or Ace: main current times main voltage of a recording, on the recording's clock.

Current comes at 4 kHz and voltage at 1 kHz or more (Arc); the voltage is interpolated to the current's times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError
from edgejoule.meters.base import Availability, Block
from edgejoule.meters.plugins.otii.client import DEFAULT_HOST, DEFAULT_PORT, OtiiClient
from edgejoule.meters.transport.lines import ConnectTcp, connect_tcp
from edgejoule.meters.transport.streaming import CHANNEL, StreamingMeter

GAIN_REL = 0.00082
OFFSET_W = 0.0005
_PROBE_S = 0.3
_OPEN_S = 5.0
_ASK_S = 0.1
_COUNT_MAX = 40_000  # of one request, as the vendor's client asks
_UNANSWERED_MAX = 5  # polls, then the connection is renewed
_FIX = "start Otii 3 (or otii_server), log in, reserve an Automation licence and switch its TCP server on"

_Floats = NDArray[np.float64]


class Otii(StreamingMeter[OtiiClient, bool]):
    """host, port: of the server. device: name or id, by default the first Arc or Ace. connect, clock_ns: transport."""

    name = "otii"
    poll_interval_s = 0.5
    gain_rel, offset_w = GAIN_REL, OFFSET_W
    interval_s = 0.00025
    delay_s_max = 0.2

    def __init__(
        self,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        device: str | None = None,
        connect: ConnectTcp = connect_tcp,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        super().__init__(clock_ns)
        self._host, self._port_number, self._wanted = host, port, device
        self._connect = connect
        self._device: Mapping[str, Any] = {}
        self._project = self._recording = 0
        self._last_ns = -1
        self._offset_ns = self._heard_ns = self._unanswered = 0
        self._new: dict[str, tuple[_Floats, _Floats]] = {}
        self._forget()

    def probe(self) -> Availability:
        """Available when an Otii server greets; nothing is asked of it."""
        try:
            client = OtiiClient(self._connect(self._host, self._port_number, _PROBE_S), self._clock_ns)
        except MeterError as error:
            return Availability(False, f"no Otii server: {error}", _FIX)
        try:
            said = client.greeting(_PROBE_S)
        except OSError as error:
            return Availability(False, f"{self._host}:{self._port_number}: {error}", _FIX)
        finally:
            client.close()
        version = said.get("otii_version", "of unknown version")
        return Availability(True, f"Otii {version} at {self._host}:{self._port_number}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"the board's supply by an Otii Arc or Ace (±{2 * GAIN_REL:.2%} ±{2 * OFFSET_W * 1000:g} mW, k=2)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which device."""
        return {"otii": [f"{self._device.get('type', '?')} {self._device.get('name', '?')}"]} if self._device else {}

    def open(self) -> None:
        """Begin a recording in the active project. Voltage and main switch are not touched. Raises MeterError."""
        self._last_ns = -1
        try:
            self._begin()
        except OSError as error:
            self.close()
            raise MeterError(f"{self.name}: {error}. {_FIX}") from error

    def _receive(self, link: OtiiClient) -> bool:
        """False: something was not answered this time."""
        try:
            for channel in self._new:
                self._fetch(link, channel)
        except (TimeoutError, KeyError, TypeError, ValueError) as error:
            self._unanswered += 1  # the recording keeps what was asked for
            if self._unanswered > _UNANSWERED_MAX:
                raise ConnectionError("the server does not answer any more") from error
            return False
        self._unanswered = 0
        return True

    def _end(self, link: OtiiClient) -> None:
        """The recording stays in the project. The supply stays on."""
        try:
            link.ask("project_stop_recording", _ASK_S, project_id=self._project)
        finally:
            link.close()

    def _abandon(self, link: OtiiClient) -> None:
        link.close()

    def _begin(self) -> None:
        self._forget()
        client = self._link = OtiiClient(self._connect(self._host, self._port_number, _OPEN_S), self._clock_ns)
        client.greeting(_OPEN_S)
        try:
            self._record(client)
        except (KeyError, TypeError, ValueError) as error:
            raise OSError(f"the server's answer is incomplete: {error!r}") from error

    def _record(self, client: OtiiClient) -> None:
        self._device = self._chosen(client.ask("otii_get_devices", _OPEN_S, timeout=1).get("devices", []))
        device = self._device["device_id"]
        self._project = int(client.ask("otii_get_active_project", _OPEN_S).get("project_id", -1))
        if self._project < 0:
            self._project = int(client.ask("otii_create_project", _OPEN_S)["project_id"])
        client.ask("arc_add_to_project", _OPEN_S, device_id=device)
        for channel in ("mc", "mv"):
            client.ask("arc_enable_channel", _OPEN_S, device_id=device, channel=channel, enable=True)
        client.ask("project_start_recording", _OPEN_S, project_id=self._project)
        last = client.ask("project_get_last_recording", _OPEN_S, project_id=self._project)
        self._recording = int(last["recording_id"])

    def _chosen(self, devices: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        for device in devices:
            named = self._wanted in (device.get("name"), device.get("device_id"))
            if device.get("type") in ("Arc", "Ace", "Simulator") and (self._wanted is None or named):
                return device
        raise OSError(f"no Arc or Ace {f'called {self._wanted!r} ' if self._wanted else ''}is connected")

    def _fetch(self, client: OtiiClient, channel: str) -> None:
        """Appends new samples: times in s and values."""
        where = {"recording_id": self._recording, "device_id": self._device["device_id"], "channel": channel}
        count = int(client.ask("recording_get_channel_data_count", _ASK_S, **where)["count"])
        index = self._taken[channel]
        wanted = min(count - index, _COUNT_MAX)
        if wanted <= 0:
            return
        data = client.ask("recording_get_channel_data", _ASK_S, **where, index=index, count=wanted)
        values = np.array([np.nan if value is None else value for value in data["values"]], dtype=np.float64)
        self._taken[channel] += len(values)
        time_s = float(data["timestamp"]) + np.arange(len(values)) * float(data["interval"])
        before = self._new[channel]
        self._new[channel] = np.concatenate([before[0], time_s]), np.concatenate([before[1], values])

    def _blocks(self, received: bool, now_ns: int) -> Sequence[Block]:
        (time_s, ampere), (volt_s, volt) = self._new["mc"], self._new["mv"]
        if not received or not len(volt_s) or not len(time_s):
            return []
        known = int(np.searchsorted(time_s, volt_s[-1], side="right"))  # beyond it the voltage is to come yet
        power_w = ampere[:known] * np.interp(time_s[:known], volt_s, volt)
        t_ns = np.rint(time_s[:known] * 1e9).astype(np.int64) + self._offset_ns
        still = max(0, int(np.searchsorted(volt_s, time_s[max(0, known - 1)])) - 1)  # the next current lies between
        self._new = {"mc": (time_s[known:], ampere[known:]), "mv": (volt_s[still:], volt[still:])}
        later = t_ns > self._last_ns
        if not later.any():
            return []
        self._last_ns = int(t_ns[-1])
        self._heard_ns = now_ns
        return [Block(CHANNEL, t_ns[later], power_w[later], now_ns)]

    def _forget(self) -> None:
        self._taken = {"mc": 0, "mv": 0}
        self._new = {name: (np.empty(0), np.empty(0)) for name in ("mc", "mv")}
        self._offset_ns = self._heard_ns = self._unanswered = 0

    def _reconnect(self) -> None:
        """A new recording begins at 0: its times go on where the host's clock says."""
        heard_ns = self._heard_ns
        self._begin()
        self._heard_ns = heard_ns
        self._offset_ns = self._last_ns + self._clock_ns() - heard_ns
