"""The profile of a Modbus meter: which registers hold what. README.md explains each key."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from edgejoule.meters.base import Domain
from edgejoule.meters.quantities import Role, check_roles, reading
from edgejoule.meters.toml_profile import Accuracy, NotNegative, Positive, Strict, Text
from edgejoule.meters.transport.serialport import PortSettings

PROFILES = Path(__file__).parent / "profiles"
REGISTERS_MAX = 125  # of one request: Modbus application protocol V1.1b3, section 6.4
_CODES = {"u16": ">H", "i16": ">h", "u32": ">I", "i32": ">i", "f32": ">f", "u64": ">Q"}


class Register(Strict):
    """A value in one or several registers. value = raw x scale in V, A, W or J."""

    role: Role
    address: Annotated[int, Field(ge=0, le=0xFFFF)]
    type: Literal["u16", "i16", "u32", "i32", "f32", "u64"]
    scale: float = 1.0

    @property
    def size(self) -> int:
        """Registers of 16 bits."""
        return struct.calcsize(_CODES[self.type]) // 2


class ModbusChannel(Strict):
    """The quantity behind one name."""

    name: Text
    domain: Domain
    registers: Annotated[tuple[Register, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_roles(register.role for register in self.registers)
        return self

    @property
    def is_energy(self) -> bool:
        """A running total."""
        return any(register.role is Role.ENERGY for register in self.registers)


class ModbusProfile(Strict):
    """One instrument. lag_s: how old a value is on average when it is read."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    instrument: Text
    source: Text
    device: Annotated[int, Field(ge=0, le=255)] = 1
    function: Literal["input", "holding"] = "input"
    word_order: Literal["big", "little"] = "big"
    baud: Annotated[int, Field(ge=300, le=4_000_000)] = 9600
    parity: Literal["none", "even", "odd"] = "none"
    stop_bits: Literal[1, 2] = 1
    interval_s: Positive
    lag_s: NotNegative = 0.0
    resolution: NotNegative
    accuracy: Accuracy
    channels: Annotated[tuple[ModbusChannel, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [channel.name for channel in self.channels]
        if len(set(names)) < len(names):
            raise ValueError(f"channels: each needs its own name, got {', '.join(names)}")
        if len({(channel.domain, channel.is_energy) for channel in self.channels}) > len(
            {channel.domain for channel in self.channels}
        ):
            raise ValueError("channels: power and energy of one domain would be summed; name one of them")
        if self.span[1] > REGISTERS_MAX:
            raise ValueError(f"channels: the registers span {self.span[1]}, at most {REGISTERS_MAX} are read at once")
        return self

    @property
    def span(self) -> tuple[int, int]:
        """First register, and how many to read."""
        registers = [register for channel in self.channels for register in channel.registers]
        first = min(register.address for register in registers)
        return first, max(register.address + register.size for register in registers) - first

    @property
    def port(self) -> PortSettings:
        """How a serial port is set."""
        return PortSettings(self.baud, 8, self.parity, self.stop_bits)

    def value(self, channel: ModbusChannel, registers: list[int]) -> float:
        """W or J of a channel, from the registers of `span`; NaN where the instrument says so."""
        first = self.span[0]
        values: dict[Role, NDArray[np.float64]] = {}
        for register in channel.registers:
            part = registers[register.address - first : register.address - first + register.size]
            values[register.role] = np.array([self._number(part, register)])
        return float(reading(values)[0])

    def _number(self, words: list[int], register: Register) -> float:
        ordered = words if self.word_order == "big" else words[::-1]
        (raw,) = struct.unpack(_CODES[register.type], struct.pack(f">{len(ordered)}H", *ordered))
        return float(raw) * register.scale
