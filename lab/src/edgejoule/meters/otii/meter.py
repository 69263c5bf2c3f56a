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
from edgejoule.meters.base import Availability, Block, Channel, Clock, Domain, Method, Sample, ValueKind
from edgejoule.meters.lines import ConnectTcp, connect_tcp
from edgejoule.meters.otii.client import DEFAULT_HOST, DEFAULT_PORT, Client

CHANNEL = "power"
GAIN_REL = 0.00082
OFFSET_W = 0.0005
_INTERVAL_S = 0.00025
_DELAY_S_MAX = 0.2
_PROBE_S = 0.3
_OPEN_S = 5.0
_ASK_S = 0.1
_COUNT_MAX = 40_000  # of one request, as the vendor's client asks
_REOPEN_S = 2.0
_UNANSWERED_MAX = 5  # polls, then the connection is made anew
_FIX = "start Otii 3 (or otii_server), log in, reserve an Automation licence and switch its TCP server on"

_Floats = NDArray[np.float64]


class Otii:
    """host, port: of the server. device: name or id, by default the first Arc or Ace. connect, clock_ns: transport."""

    name = "otii"
    method = Method.MEASURED
    domain = Domain.BOARD
    poll_interval_s = 0.5

    def __init__(
        self,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        device: str | None = None,
        connect: ConnectTcp = connect_tcp,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._host, self._port_number, self._wanted = host, port, device
        self._connect, self._clock_ns = connect, clock_ns
        self._client: Client | None = None
        self._gone_ns: int | None = None
        self._device: Mapping[str, Any] = {}
        self._project = self._recording = 0
        self._last_ns = -1
        self._offset_ns = self._heard_ns = self._unanswered = 0
        self._new: dict[str, tuple[_Floats, _Floats]] = {}
        self._forget()

    def probe(self) -> Availability:
        """Available when an Otii server greets; nothing is asked of it."""
        try:
            client = Client(self._connect(self._host, self._port_number, _PROBE_S), self._clock_ns)
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
        """What is read and how well."""
        return f"the board's supply by an Otii Arc or Ace (±{2 * GAIN_REL:.2%} ±{2 * OFFSET_W * 1000:g} mW, k=2)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which device."""
        return {"otii": [f"{self._device.get('type', '?')} {self._device.get('name', '?')}"]} if self._device else {}

    def channels(self) -> Sequence[Channel]:
        """One channel."""
        return [
            Channel(
                meter=self.name,
                name=CHANNEL,
                domain=self.domain,
                kind=ValueKind.INSTANT,
                method=self.method,
                gain_rel=GAIN_REL,
                offset_w=OFFSET_W,
                resolution=0.0,
                clock=Clock.DEVICE,
                interval_s=_INTERVAL_S,
                delay_s_max=_DELAY_S_MAX,
            )
        ]

    def open(self) -> None:
        """Begin a recording in the active project. Voltage and main switch are not touched. Raises MeterError."""
        self._last_ns = -1
        try:
            self._begin()
        except OSError as error:
            self.close()
            raise MeterError(f"{self.name}: {error}. {_FIX}") from error

    def poll(self) -> Sequence[Sample | Block]:
        """The samples that have come since."""
        try:
            client = self._reopened()
            if client is None:
                return []
            for channel in self._new:
                self._fetch(client, channel)
        except (TimeoutError, KeyError, TypeError, ValueError):
            self._unanswered += 1  # the recording keeps what was asked for
            if self._unanswered > _UNANSWERED_MAX:
                self._lose()
            return []
        except (OSError, MeterError):
            self._lose()
            return []
        self._unanswered = 0
        now_ns = self._clock_ns()
        return self._block(now_ns)

    def close(self) -> None:
        """End the recording; it stays in the project. The supply stays on."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            client.ask("project_stop_recording", _ASK_S, project_id=self._project)
        except OSError:
            pass  # it is gone already
        finally:
            client.close()

    def _begin(self) -> None:
        self._forget()
        client = self._client = Client(self._connect(self._host, self._port_number, _OPEN_S), self._clock_ns)
        client.greeting(_OPEN_S)
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

    def _fetch(self, client: Client, channel: str) -> None:
        """Append what is new: times in s and values."""
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

    def _block(self, now_ns: int) -> Sequence[Block]:
        (time_s, ampere), (volt_s, volt) = self._new["mc"], self._new["mv"]
        if not len(volt_s) or not len(time_s):
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

    def _lose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
        self._gone_ns = self._clock_ns()

    def _reopened(self) -> Client | None:
        """The client; of a server that has gone one try every other second. A new recording begins at 0: its times go
        on where the host's clock says.
        """
        if self._client is not None or self._gone_ns is None:
            return self._client
        now_ns = self._clock_ns()
        if now_ns - self._gone_ns < _REOPEN_S * 1e9:
            return None
        self._gone_ns = now_ns
        heard_ns = self._heard_ns
        self._begin()
        self._heard_ns = heard_ns
        self._offset_ns = self._last_ns + self._clock_ns() - heard_ns
        return self._client
