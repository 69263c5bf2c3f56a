"""The transport of meters on a serial port: bytes that have arrived, now, and bytes to send.

pyserial's port without a time-out has this form, and so has an emulated instrument. Nothing is opened unless a name is
given, or a USB vendor and product id say whose port it is: opening a stranger's port may reset what hangs on it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from edgejoule.errors import MeterError
from edgejoule.extras import install_command

BYTES_MAX = 1 << 16  # of one read: what a kernel keeps of a port


class Port(Protocol):
    """Raises OSError when the device is gone."""

    def read(self, size: int = 1, /) -> bytes:
        """What has arrived, at most size bytes; at once, empty where nothing has."""
        ...

    def write(self, data: bytes, /) -> int | None:
        """Send all of data."""
        ...

    def close(self) -> None:
        """Release the port."""
        ...


@dataclass(frozen=True)
class PortSettings:
    """How the port is set."""

    baud: int = 9600
    data_bits: Literal[7, 8] = 8
    parity: Literal["none", "even", "odd"] = "none"
    stop_bits: Literal[1, 2] = 1


OpenPort = Callable[[str, PortSettings], Port]


def open_port(name: str, settings: PortSettings) -> Port:
    """Open a serial port. Raises MeterError with the fix: no pyserial, no such port, no permission, in use."""
    serial = _pyserial()
    if serial is None:
        raise MeterError(f"pyserial is missing: {install_command('serial')}")
    try:
        port = serial.Serial(
            name,
            settings.baud,
            bytesize=settings.data_bits,
            parity=settings.parity[0].upper(),
            stopbits=settings.stop_bits,
            timeout=0,
            write_timeout=1,
            exclusive=True,
        )
    except (OSError, ValueError) as error:
        fix = ""
        if "ermission" in str(error):
            fix = f": sudo usermod -aG dialout $USER, then log in again (ls -l {name} shows the group)"
        raise MeterError(f"{name} cannot be opened: {error}{fix}") from error
    return cast(Port, port)


def has_pyserial() -> bool:
    """Whether ports can be opened at all."""
    return _pyserial() is not None


def usb_ports(vendor: int, product: int) -> Sequence[str]:
    """Names of the serial ports of USB devices with these ids, in order; opens none."""
    if not has_pyserial():
        return []
    tools = importlib.import_module("serial.tools.list_ports")
    return sorted(port.device for port in tools.comports() if (port.vid, port.pid) == (vendor, product))


def _pyserial() -> Any:
    try:
        return importlib.import_module("serial")
    except ImportError:
        return None
