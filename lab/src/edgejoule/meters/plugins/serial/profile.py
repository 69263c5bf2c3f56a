"""The declarative profile of a serial meter: port, framing, fields, and what they make. README.md explains each key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from edgejoule.meters.base import Domain, ValueKind
from edgejoule.meters.quantities import Role, check_roles
from edgejoule.meters.toml_profile import Accuracy, NotNegative, Positive, Strict, Text
from edgejoule.meters.transport.serialport import PortSettings

PROFILES = Path(__file__).parent / "profiles"

Hex = Annotated[bytes, BeforeValidator(lambda text: bytes.fromhex(text) if isinstance(text, str) else text)]
_NUMBERS = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4", "f32": "f4"}
TYPES = {
    f"{name}{order}": np.dtype(f"{mark}{code}")
    for name, code in _NUMBERS.items()
    for order, mark in (("le", "<"), ("be", ">"))
}
CHECKSUM_BYTES = {"none": 0, "sum8": 1, "xor8": 1, "crc16-modbus": 2, "crc16-ccitt": 2}


class Frame(Strict):
    """A frame of bytes: start, fields, checksum over all before it, terminator."""

    start: Hex = b""
    length: Annotated[int, Field(ge=1, le=4096)]
    checksum: Literal["none", "sum8", "xor8", "crc16-modbus", "crc16-ccitt"] = "none"
    checksum_order: Literal["little", "big"] = "little"
    terminator: Hex = b""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.start and not self.terminator and self.checksum == "none":
            raise ValueError("a frame needs start, terminator or checksum: without one a lost byte is never noticed")
        if len(self.start) + CHECKSUM_BYTES[self.checksum] + len(self.terminator) > self.length:
            raise ValueError("start, checksum and terminator are longer than the frame")
        return self


class TextLine(Strict):
    """A line of text. pattern: a regular expression with a named group for each field's role."""

    pattern: Text
    terminator: Text = "\n"

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern is no regular expression: {error}") from error
        return self


class FieldOfFrame(Strict):
    """One field. offset: of its first byte in the frame, not in text. value = raw x scale, in the role's unit."""

    role: Role
    type: str | None = None
    offset: Annotated[int, Field(ge=0)] | None = None
    scale: float = 1.0


class SerialProfile(Strict):
    """One instrument. rate_hz: frames per second of one that streams; poll: what asks for a frame (hex, or text)."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    instrument: Text
    source: Text
    assumption: str = ""
    domain: Domain
    kind: Literal[ValueKind.INSTANT, ValueKind.INTERVAL_MEAN, ValueKind.ACCUMULATOR] = ValueKind.INSTANT
    baud: Annotated[int, Field(ge=300, le=4_000_000)]
    data_bits: Literal[7, 8] = 8
    parity: Literal["none", "even", "odd"] = "none"
    stop_bits: Literal[1, 2] = 1
    frame: Frame | None = None
    text: TextLine | None = None
    fields: Annotated[tuple[FieldOfFrame, ...], Field(min_length=1)]
    rate_hz: Positive | None = None
    poll: Hex | None = None
    poll_text: str | None = None
    interval_s: Positive | None = None
    mean_of: Annotated[int, Field(ge=1)] = 1
    delay_s_max: NotNegative = 0.05
    resolution: NotNegative
    accuracy: Accuracy

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.frame is None) == (self.text is None):
            raise ValueError("expected either [frame] or [text]")
        check_roles(field.role for field in self.fields)
        if self.streams == (self.request is not None):
            raise ValueError("expected either rate_hz (the instrument streams) or poll (it is asked)")
        if not self.streams and self.interval_s is None:
            raise ValueError("interval_s: time between two polls, in s, is needed")
        if self.mean_of > 1 and not (self.streams and Role.COUNTER in self.roles):
            raise ValueError("mean_of: means need a stream with a counter, or a lost frame would not be noticed")
        if self.mean_of > 1 and (self.kind is not ValueKind.INSTANT or Role.ENERGY in self.roles):
            raise ValueError("mean_of: means are made of instantaneous powers only")
        if (Role.ENERGY in self.roles) != (self.kind is ValueKind.ACCUMULATOR):
            raise ValueError('role energy goes with kind = "accumulator"')
        for field in self.fields:
            self._check_field(field)
        return self

    def _check_field(self, field: FieldOfFrame) -> None:
        if self.text is not None:
            if field.role.value not in re.compile(self.text.pattern).groupindex:
                raise ValueError(f"fields: the pattern has no group named {field.role}")
            return
        assert self.frame is not None
        if field.type not in TYPES or field.offset is None:
            raise ValueError(f"fields: {field.role} needs offset and type, one of {', '.join(TYPES)}")
        if field.offset + TYPES[field.type].itemsize > self.frame.length:
            raise ValueError(f"fields: {field.role} ends beyond the frame's {self.frame.length} bytes")

    @property
    def roles(self) -> tuple[Role, ...]:
        """What the frame holds."""
        return tuple(field.role for field in self.fields)

    @property
    def streams(self) -> bool:
        """Sends frames on its own."""
        return self.rate_hz is not None

    @property
    def request(self) -> bytes | None:
        """What asks for a frame."""
        return self.poll_text.encode() if self.poll_text is not None else self.poll

    @property
    def counter_modulus(self) -> int | None:
        """Returns the period of the frame counter; None without one."""
        for field in self.fields:
            if field.role is Role.COUNTER:
                return 1 << (8 * TYPES[field.type].itemsize) if field.type is not None else 1 << 32
        return None

    @property
    def port(self) -> PortSettings:
        """How the port is set."""
        return PortSettings(self.baud, self.data_bits, self.parity, self.stop_bits)
