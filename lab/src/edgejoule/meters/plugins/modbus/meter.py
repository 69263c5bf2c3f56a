"""The meter over Modbus: one request per poll, stamped halfway between question and answer, less the profile's lag."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Availability, Channel, Method, Sample, ValueKind
from edgejoule.meters.plugins.modbus.link import MakeClient, ModbusClient, make_client, pymodbus_clients, read_registers
from edgejoule.meters.plugins.modbus.profile import PROFILES, ModbusChannel, ModbusProfile
from edgejoule.meters.toml_profile import named_profile


class ModbusMeter:
    """host (and tcp_port) for Modbus TCP, or port for RTU on a serial line; device: address, else the profile's.

    make_client, clock_ns: the transport.
    """

    name = "modbus"
    method = Method.MEASURED

    def __init__(
        self,
        profile: str = "pzem-004t-v3",
        host: str | None = None,
        tcp_port: int = 502,
        port: str | None = None,
        device: int | None = None,
        make_client: MakeClient = make_client,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if host is not None and port is not None:
            raise UsageError("modbus: either host (Modbus TCP) or port (a serial line), not both")
        self.profile: ModbusProfile = named_profile(profile, PROFILES, ModbusProfile)
        if device is not None and not (isinstance(device, int) and 0 <= device <= 255):
            raise UsageError(f"modbus: device is an address from 0 to 255, not {device!r}")
        self._where = (host, tcp_port, port)
        self._device = self.profile.device if device is None else device
        self._make_client, self._clock_ns = make_client, clock_ns
        self._client: ModbusClient | None = None
        self.domain = self.profile.channels[0].domain
        self.poll_interval_s = self.profile.interval_s

    def probe(self) -> Availability:
        """Available when host or port is named: no request is sent for the check."""
        if self._make_client is make_client and pymodbus_clients() is None:
            return Availability(False, "pymodbus is missing", install_command("modbus"))
        if self._place is None:
            fix = 'name one: modbus = { host = "192.0.2.7", profile = "sdm630" } or { port = "/dev/ttyUSB0" }'
            return Availability(False, "no host and no serial port is named", fix)
        return Availability(True, f"{self.profile.instrument} expected at {self._place}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        accuracy = self.profile.accuracy
        how = f"±{2 * accuracy.gain_rel:.1%} ±{2 * accuracy.offset_w:g} W"
        return f"the {self.domain}'s supply by {self.profile.instrument} over Modbus ({how}, k=2)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Where profile and accuracy come from."""
        return {"modbus profile": [self.profile.source, f"accuracy: {self.profile.accuracy.source}"]}

    def channels(self) -> Sequence[Channel]:
        """The profile's, those of the first one's domain first."""
        ordered = sorted(self.profile.channels, key=lambda channel: channel.domain is not self.domain)
        return [self._channel(channel) for channel in ordered]

    def open(self) -> None:
        """Connect and read once. Raises MeterError with the fix."""
        self.probe().demand(self.name)
        self._client = self._make_client(self.profile, *self._where)
        try:
            read_registers(self._client, self.profile, self._device)
        except OSError as error:
            self.close()
            raise MeterError(
                f"{self.name}: {self._place} does not answer as {self.profile.instrument}, address {self._device}: "
                f"{error}; check wiring, address and baud rate ({self.profile.baud})"
            ) from error

    def poll(self) -> Sequence[Sample]:
        """One request for all channels."""
        before_ns = self._clock_ns()
        try:
            if self._client is None:
                raise OSError("not open")
            registers = read_registers(self._client, self.profile, self._device)
        except OSError as error:
            return [Sample(each.name, self._clock_ns(), None, str(error)) for each in self.profile.channels]
        t_ns = (before_ns + self._clock_ns()) // 2 - round(self.profile.lag_s * 1e9)
        return [self._sample(channel, registers, t_ns) for channel in self.profile.channels]

    def close(self) -> None:
        """Disconnect."""
        if self._client is not None:
            self._client.close()
        self._client = None

    @property
    def _place(self) -> str | None:
        host, tcp_port, port = self._where
        return port if host is None else f"{host}:{tcp_port}"

    def _sample(self, channel: ModbusChannel, registers: list[int], t_ns: int) -> Sample:
        value = self.profile.value(channel, registers)
        if not np.isfinite(value):
            return Sample(channel.name, t_ns, None, "the instrument says it is no number")
        return Sample(channel.name, t_ns, value)

    def _channel(self, channel: ModbusChannel) -> Channel:
        return Channel(
            meter=self.name,
            name=channel.name,
            domain=channel.domain,
            kind=ValueKind.ACCUMULATOR if channel.is_energy else ValueKind.INSTANT,
            method=self.method,
            gain_rel=self.profile.accuracy.gain_rel,
            offset_w=self.profile.accuracy.offset_w,
            resolution=self.profile.resolution,
        )
