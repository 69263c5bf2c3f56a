"""Frames of RDTech's UM24C, UM25C and UM34C: one byte 0xF0 asks, 130 bytes answer, numbers big-endian.

    0    u16  model: 0x0963 UM24C, 0x09C9 UM25C, 0x0D4C UM34C
    2    u16  voltage, 1 mV (UM25C) or 10 mV
    4    u16  current, 0.1 mA (UM25C) or 1 mA
    6    u32  power, mW
    128  u16  0xFFF1 (UM24C, UM25C); UM34C: byte 129 is the exclusive or of some bytes of the frame

sigrok wiki, "RDTech UM series", Protocol; UM34C's check bytes also libsigrok, rdtech-um. The mark at the end is no
check of the bytes before it: that voltage times current is the power is one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import reduce
from operator import xor

REQUEST = b"\xf0"
FRAME_BYTES = 130
_HEAD = struct.Struct(">HHHI")
_END_MARK = b"\xff\xf1"
_CHECKED_BYTES = (
    1, 3, 7, 9, 15, 17, 19, 23, 31, 39, 41, 45, 49, 53, 55, 57,
    59, 63, 67, 69, 73, 79, 83, 89, 97, 99, 109, 111, 113, 119, 121, 127,
)  # fmt: skip
_AGREE_REL, _AGREE_W = 0.05, 0.05  # voltage and current may be of different moments


@dataclass(frozen=True)
class Um25cModel:
    """One type. Steps of the display in V and A; limits of the error relative to the reading and in steps."""

    name: str
    volt_step: float
    ampere_step: float
    volt_rel: float
    volt_steps: int
    ampere_rel: float
    ampere_steps: int


MODELS = {
    0x0963: Um25cModel("UM24C", 1e-2, 1e-3, 5e-3, 2, 8e-3, 3),
    0x09C9: Um25cModel("UM25C", 1e-3, 1e-4, 5e-4, 2, 1e-3, 4),
    0x0D4C: Um25cModel("UM34C", 1e-2, 1e-3, 5e-3, 2, 8e-3, 3),
}


@dataclass(frozen=True)
class Um25cReading:
    """One frame's content."""

    model: Um25cModel
    volt: float
    ampere: float
    power_w: float


def reading_of(frame: bytes) -> Um25cReading:
    """Raises ValueError for bytes that are no frame."""
    assert len(frame) == FRAME_BYTES, "a frame is cut by its length"
    code, volts, amperes, power_mw = _HEAD.unpack_from(frame)
    model = MODELS.get(code)
    if model is None:
        raise ValueError(f"no model has the number {code:#06x}")
    if not _ends_well(model, frame):
        raise ValueError("the frame's end or check byte is wrong")
    result = Um25cReading(model, volts * model.volt_step, amperes * model.ampere_step, power_mw / 1e3)
    if abs(result.volt * result.ampere - result.power_w) > _AGREE_REL * result.power_w + _AGREE_W:
        raise ValueError(f"{result.volt:.3f} V times {result.ampere:.4f} A is not {result.power_w:.3f} W")
    return result


def check_byte(frame: bytes) -> int:
    """UM34C: what the frame's last byte must be."""
    return reduce(xor, (frame[place] for place in _CHECKED_BYTES))


def split(received: bytes) -> tuple[list[Um25cReading], bytes, str | None]:
    """The readings in what has arrived, the rest that may become one, and why bytes were skipped (None: none were)."""
    readings, skipped, at = [], None, 0
    while at + 2 <= len(received):
        if int.from_bytes(received[at : at + 2]) not in MODELS:
            skipped, at = skipped or "bytes that begin no frame", at + 1
            continue
        if at + FRAME_BYTES > len(received):
            break
        try:
            readings.append(reading_of(received[at : at + FRAME_BYTES]))
            at += FRAME_BYTES
        except ValueError as error:
            skipped, at = str(error), at + 1
    return readings, received[at:], skipped


def _ends_well(model: Um25cModel, frame: bytes) -> bool:
    return frame[-1] == check_byte(frame) if model.name == "UM34C" else frame[-2:] == _END_MARK
