"""A stream of bytes to an instrument or a server that answers when asked: TCP, or a serial port."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from typing import Protocol

from edgejoule.errors import MeterError
from edgejoule.meters.transport.serialport import BYTES_MAX, Port


class Stream(Protocol):
    """Raises OSError when the other side is gone."""

    def write(self, data: bytes, /) -> None:
        """Send all of data."""
        ...

    def read(self, timeout_s: float, /) -> bytes:
        """What has arrived; waits for the first of it, at most so long. Empty: nothing has."""
        ...

    def close(self) -> None:
        """Release the transport."""
        ...


ConnectTcp = Callable[[str, int, float], Stream]


def connect_tcp(host: str, port: int, timeout_s: float) -> Stream:
    """A TCP connection. Raises MeterError when it cannot be made in that time."""
    try:
        return TcpStream(socket.create_connection((host, port), timeout_s))
    except (OSError, UnicodeError) as error:  # a name that cannot be a host's is a UnicodeError
        raise MeterError(f"{host}:{port} cannot be reached: {getattr(error, 'strerror', None) or error}") from error


class TcpStream:
    """A connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def write(self, data: bytes, /) -> None:
        """Send all of data."""
        self._socket.sendall(data)

    def read(self, timeout_s: float, /) -> bytes:
        """What has arrived."""
        if not select.select([self._socket], [], [], timeout_s)[0]:
            return b""
        data = self._socket.recv(BYTES_MAX)
        if not data:
            raise ConnectionResetError("the other side closed the connection")
        return data

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class PortStream:
    """A serial port, polled every few ms."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def write(self, data: bytes, /) -> None:
        """Send all of data."""
        self._port.write(data)

    def read(self, timeout_s: float, /) -> bytes:
        """What has arrived."""
        end_s = time.monotonic() + timeout_s
        while not (data := self._port.read(BYTES_MAX)) and time.monotonic() < end_s:
            time.sleep(0.002)
        return data

    def close(self) -> None:
        """Close the port."""
        self._port.close()


def read_line(stream: Stream, rest: bytes, timeout_s: float, clock_ns: Callable[[], int]) -> tuple[bytes, bytes]:
    """A line without its end, and what came behind it. rest: from the call before. Raises OSError on silence."""
    end_ns = clock_ns() + round(timeout_s * 1e9)
    while b"\n" not in rest:
        left_s = (end_ns - clock_ns()) / 1e9
        part = stream.read(max(left_s, 0.0))
        if not part:
            raise TimeoutError("no answer in time")
        rest += part
    line, _, rest = rest.partition(b"\n")
    return line.rstrip(b"\r"), rest
