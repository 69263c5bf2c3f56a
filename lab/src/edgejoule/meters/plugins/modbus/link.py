"""Reading registers through pymodbus, which frames and checks; its errors become OSError with a message."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any, Protocol

from edgejoule.errors import MeterError
from edgejoule.extras import install_command
from edgejoule.meters.plugins.modbus.profile import ModbusProfile
from edgejoule.meters.transport.serialport import has_pyserial

TIMEOUT_S = 0.3


class ModbusClient(Protocol):
    """The part of pymodbus's synchronous clients that is used."""

    def connect(self) -> bool:
        """Whether it is connected now."""
        ...

    def close(self) -> None:
        """Release the transport."""
        ...

    def read_input_registers(self, address: int, *, count: int, device_id: int) -> Any:
        """Function 4."""
        ...

    def read_holding_registers(self, address: int, *, count: int, device_id: int) -> Any:
        """Function 3."""
        ...


MakeClient = Callable[[ModbusProfile, str | None, int, str | None], ModbusClient]


def make_client(profile: ModbusProfile, host: str | None, tcp_port: int, port: str | None) -> ModbusClient:
    """A client, not connected. Raises MeterError without pymodbus or pyserial."""
    modbus = pymodbus_clients()
    if modbus is None:
        raise MeterError(f"pymodbus is missing: {install_command('modbus')}")
    if host is not None:
        client: ModbusClient = modbus.ModbusTcpClient(host, port=tcp_port, timeout=TIMEOUT_S, retries=0)
        return client
    if not has_pyserial():
        raise MeterError(f"pyserial is missing: {install_command('modbus')}")
    settings = profile.port
    serial: ModbusClient = modbus.ModbusSerialClient(
        port,
        baudrate=settings.baud,
        parity=settings.parity[0].upper(),
        stopbits=settings.stop_bits,
        timeout=TIMEOUT_S,
        retries=0,
    )
    return serial


def pymodbus_clients() -> Any:
    """pymodbus.client, or None where it is not installed."""
    try:
        module = importlib.import_module("pymodbus.client")
    except ImportError:
        return None
    # every failed reading is reported as a missing sample; pymodbus would write each to standard error as well
    logging.getLogger("pymodbus.logging").setLevel(logging.CRITICAL)
    return module


def read_registers(client: ModbusClient, profile: ModbusProfile, device: int) -> list[int]:
    """The registers of the profile's span. Raises OSError for anything but a whole valid answer."""
    first, count = profile.span
    read = client.read_input_registers if profile.function == "input" else client.read_holding_registers
    try:
        if not client.connect():
            raise OSError("no connection")
        answer = read(first, count=count, device_id=device)
    except OSError:
        raise
    except Exception as error:
        client.close()
        raise OSError(_message(error)) from error
    if answer.isError():
        raise OSError(f"the instrument refused: exception {getattr(answer, 'exception_code', '?')}")
    if len(answer.registers) != count:
        raise OSError(f"{len(answer.registers)} registers, expected {count}")
    return list(answer.registers)


def _message(error: Exception) -> str:
    text = str(error)
    return "no valid answer" if "No response received" in text else f"{type(error).__name__}: {text}"
