"""The USB side of a power monitor through pyusb: control transfers at once, packets gathered by a separate thread.

The monitor keeps back only a few packets, so a read must always be under way; a poll takes what has been gathered.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any, Protocol

from edgejoule.errors import MeterError
from edgejoule.extras import install_command
from edgejoule.meters.plugins.monsoon.protocol import PACKET_BYTES, PRODUCT, VENDOR

_GET, _SET = 0xC0, 0x40  # vendor requests to the device
_VALUE, _START, _STOP = 0x01, 0x02, 0x03
_BULK_IN = 0x81
_READ_PACKETS = 8
_TIMEOUT_MS = 200
_FOREVER = 0xFFFFFFFF


class MonsoonLink(Protocol):
    """A monitor that has been opened. Raises OSError when it is gone."""

    def value(self, opcode: int) -> bytes:
        """The four bytes stored under an opcode."""
        ...

    def start(self, calibration_ms: int) -> None:
        """Begin to sample, with a calibration every so often."""
        ...

    def stop(self) -> None:
        """End sampling."""
        ...

    def read(self) -> bytes:
        """Packets that have come since the last call, 64 bytes each; at once."""
        ...

    def close(self) -> None:
        """Release the device."""
        ...


OpenLink = Callable[[int | None], MonsoonLink]


def find_serials() -> list[int]:
    """Serial numbers of the monitors plugged in, without opening one. Raises MeterError with the fix."""
    core = _core()
    try:
        result = list(core.find(find_all=True, idVendor=VENDOR, idProduct=PRODUCT))
    except ValueError as error:  # pyusb's "no backend available"
        raise MeterError("libusb is missing: sudo apt install libusb-1.0-0") from error
    return [_serial(device) for device in result]


def open_usb(serial: int | None) -> MonsoonLink:
    """Open the monitor with this serial number, or the first. Raises MeterError with the fix."""
    core = _core()
    for device in core.find(find_all=True, idVendor=VENDOR, idProduct=PRODUCT):
        if serial is None or _serial(device) == serial:
            try:
                return UsbLink(device)
            except OSError as error:
                fix = (
                    "no permission: the udev rule in the meter's README" if error.errno == 13 else "unplug it and retry"
                )
                raise MeterError(f"the power monitor cannot be opened: {error} ({fix})") from error
    raise MeterError(f"no power monitor {serial if serial is not None else ''} is plugged in")


class UsbLink:
    """A monitor through pyusb."""

    def __init__(self, device: Any) -> None:
        self._device = device
        if device.is_kernel_driver_active(0):
            device.detach_kernel_driver(0)
        device.set_configuration()
        self._lock = threading.Lock()
        self._gathered = bytearray()
        self._failure: OSError | None = None
        self._sampling = threading.Event()
        self._thread: threading.Thread | None = None

    def value(self, opcode: int) -> bytes:
        """A control transfer to the host."""
        return bytes(self._device.ctrl_transfer(_GET, _VALUE, 0, opcode, 4, _TIMEOUT_MS))

    def start(self, calibration_ms: int) -> None:
        """Also starts the thread that gathers."""
        self._device.ctrl_transfer(_SET, _START, calibration_ms, 0, _FOREVER.to_bytes(4, "little"), _TIMEOUT_MS)
        self._sampling.set()
        self._thread = threading.Thread(target=self._gather, name="monsoon", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Also ends the thread."""
        self._sampling.clear()
        if self._thread is not None:
            self._thread.join(2 * _TIMEOUT_MS / 1000)
        self._device.ctrl_transfer(_SET, _STOP, 0, 0, b"", _TIMEOUT_MS)

    def read(self) -> bytes:
        """What the thread has gathered."""
        with self._lock:
            data, self._gathered = bytes(self._gathered), bytearray()
        if not data and self._failure is not None:
            raise self._failure
        return data

    def close(self) -> None:
        """Release the device."""
        importlib.import_module("usb.util").dispose_resources(self._device)

    def _gather(self) -> None:
        timed_out = importlib.import_module("usb.core").USBTimeoutError
        while self._sampling.is_set():
            try:
                part = bytes(self._device.read(_BULK_IN, _READ_PACKETS * PACKET_BYTES, _TIMEOUT_MS))
            except timed_out:
                continue
            except OSError as error:
                self._failure = error
                return
            with self._lock:
                self._gathered += part + bytes(-len(part) % PACKET_BYTES)  # the last of a transfer may be short


def _serial(device: Any) -> int:
    """As the device describes itself; -1 where that may not be read."""
    try:
        return int(device.serial_number)
    except (OSError, ValueError, TypeError):
        return -1


def _core() -> Any:
    try:
        return importlib.import_module("usb.core")
    except ImportError:
        raise MeterError(f"pyusb is missing: {install_command('monsoon')}") from None
