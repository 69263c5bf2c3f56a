"""An emulated device behind a TCP connection: bytes of questions in, bytes of answers out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from edgejoule.errors import MeterError
from edgejoule.meters.transport.lines import Stream
from edgejoule.testing.device import Device


class TcpDevice(Device, ABC):
    """connect() is the transport of the meter's driver."""

    def greeting(self) -> bytes:
        """Returns the greeting of a new connection."""
        return b""

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """Returns the answers to the messages that data completes."""

    def connect(self, host: str, port: int, _timeout_s: float) -> Stream:
        """A connection. Raises MeterError while the device is gone."""
        if self.gone:
            raise MeterError(f"{host}:{port} cannot be reached: Connection refused")
        return _Wire(self)


class _Wire:
    def __init__(self, device: TcpDevice) -> None:
        self._device = device
        self._come = device.greeting()

    def write(self, data: bytes, /) -> None:
        if self._device.gone:
            raise ConnectionResetError(104, "Connection reset by peer")
        self._come += self._device.feed(data)

    def read(self, _timeout_s: float, /) -> bytes:
        data, self._come = self._come, b""
        return data

    def close(self) -> None: ...
