"""An emulated PZEM-004T v3.0 that answers Modbus RTU frames, and the wire to pymodbus's client.

Frames: Modbus over serial line V1.02, section 2.5.1 (RTU) and the meter's User Manual, section 2.3. pymodbus itself
frames the questions and checks the answers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, cast

from edgejoule.errors import MeterError
from edgejoule.extras import install_command
from edgejoule.meters.plugins.modbus.link import TIMEOUT_S, ModbusClient, pymodbus_clients
from edgejoule.meters.plugins.modbus.meter import ModbusMeter
from edgejoule.meters.plugins.modbus.profile import ModbusProfile
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import Circuit, Evidence, Fault, Instrument, Rig

_VOLTS = 230.0


def with_crc(data: bytes) -> bytes:
    """data with Modbus's CRC-16 behind."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xA001 if crc & 1 else 0)
    return data + struct.pack("<H", crc)


class Pzem(Device):
    """The instrument in virtual time: a question's bytes in, an answer's bytes out (empty: silence)."""

    def __init__(self, circuit: Circuit, profile: ModbusProfile) -> None:
        super().__init__(circuit, profile.accuracy.gain_rel, profile.accuracy.offset_w)

    def answer(self, question: bytes) -> bytes:
        """What comes back for a question."""
        faults, rng = self._circuit.faults, self._circuit.rng
        if self.gone:
            return b""
        if len(question) != 8 or with_crc(question[:6]) != question:
            return b""
        address, function, first, count = struct.unpack(">BBHH", question[:6])
        if function != 4 or first + count > 10:
            return with_crc(bytes([address, function | 0x80, 2]))
        registers = self._registers()[first : first + count]
        data = with_crc(bytes([address, function, 2 * count]) + struct.pack(f">{count}H", *registers))
        if Fault.DROPOUT in faults and rng.random() < 0.02:
            return b""
        if Fault.GARBAGE in faults and rng.random() < 0.05:
            at = int(rng.integers(0, len(data)))
            return data[:at] + rng.bytes(int(rng.integers(1, 4))) + data[at + 1 : int(rng.integers(at + 1, 30))]
        return data

    def _registers(self) -> list[int]:
        power_w = self.shown_w(float(self._circuit.load.power_w(self.now_s)))
        raw = round(power_w / 0.1), round(power_w / _VOLTS / 0.001)
        return [round(_VOLTS / 0.1), raw[1] & 0xFFFF, raw[1] >> 16, raw[0] & 0xFFFF, raw[0] >> 16, 0, 0, 500, 100, 0]


def wired_client(pzem: Pzem, profile: ModbusProfile) -> ModbusClient:
    """pymodbus's RTU client with its wire to the emulated instrument. Raises MeterError without pymodbus."""
    modbus: Any = pymodbus_clients()
    if modbus is None:
        raise MeterError(f"pymodbus is missing: {install_command('modbus')}")
    wire: list[bytes] = []

    class Wired(modbus.ModbusSerialClient):  # type: ignore[misc]  # an optional library's class
        socket: Any = None

        def connect(self) -> bool:
            self.socket = self
            return True

        def close(self) -> None:
            self.socket = None

        def send(self, request: bytes, addr: Any = None) -> int:
            wire[:] = [pzem.answer(request)]
            return len(request)

        def recv(self, size: int | None) -> bytes:
            return wire.pop(0) if wire else b""

    return cast(ModbusClient, Wired("emulated", baudrate=profile.baud, timeout=TIMEOUT_S, retries=0))


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A machine of 20 to 180 W behind a PZEM-004T on a serial line."""
    meter = ModbusMeter(
        "pzem-004t-v3", port="emulated", clock_ns=clock_ns, make_client=lambda *_: wired_client(pzem, meter.profile)
    )
    pzem = Pzem(circuit, meter.profile)
    return Rig(meter, pzem.advance)


INSTRUMENT = Instrument(
    "modbus", connect, idle_w=20.0, busy_w=180.0, duration_s=600.0, change_s=20.0,
    evidence=Evidence(("PZEM-004T V3.0 User Manual, section 2.3", "pymodbus's client and server")),
)  # fmt: skip
