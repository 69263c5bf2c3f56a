"""Finds frames in a stream of bytes, and says when there was something else.

Whole runs of frames are checked at once as an array. At the first that does not hold, the search goes on one byte after
its start: a false start in the data costs frames, but never a wrong value where the frame has a checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgejoule.meters.serial.profile import CHECKSUM_BYTES, Frame

_Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Found:
    """frames: (n, length). rest: the beginning of a frame that is not complete yet. skipped: bytes that were none."""

    frames: _Bytes
    rest: bytes
    skipped: int


def find_frames(data: bytes, frame: Frame) -> Found:
    """The frames in data, in order."""
    found: list[_Bytes] = []
    position = taken = 0
    while (at := data.find(frame.start, position)) >= 0 and len(data) - at >= frame.length:
        count = (len(data) - at) // frame.length
        block = np.frombuffer(data, np.uint8, count * frame.length, at).reshape(count, frame.length)
        good = _holds(block, frame)
        run = count if good.all() else int(np.argmin(good))
        found.append(block[:run])
        taken += run * frame.length
        position = at + (run * frame.length or 1)
    rest = _rest(data, frame, position)
    frames = np.concatenate(found) if found else np.empty((0, frame.length), np.uint8)
    return Found(frames, rest, len(data) - len(rest) - taken)


def _rest(data: bytes, frame: Frame, position: int) -> bytes:
    at = data.find(frame.start, position)
    if at >= 0:
        return data[at:]
    kept = len(frame.start) - 1  # the start itself may have been cut
    return data[max(position, len(data) - kept) :] if kept > 0 else b""


def _holds(block: _Bytes, frame: Frame) -> NDArray[np.bool_]:
    good = np.ones(len(block), bool)
    if frame.start:
        good &= (block[:, : len(frame.start)] == list(frame.start)).all(axis=1)
    end = frame.length - len(frame.terminator)
    if frame.terminator:
        good &= (block[:, end:] == list(frame.terminator)).all(axis=1)
    size = CHECKSUM_BYTES[frame.checksum]
    if size:
        told = block[:, end - size : end].astype(np.uint16)
        weights = [1, 256] if frame.checksum_order == "little" else [256, 1]
        value = told[:, 0] if size == 1 else told @ np.array(weights, np.uint16)
        good &= checksum(block[:, : end - size], frame.checksum) == value
    return good


def checksum(block: _Bytes, kind: str) -> NDArray[np.uint16]:
    """(n,) checksums of the rows of block. crc16-modbus: Modbus over serial line V1.02, section 6.2.2; crc16-ccitt:
    polynomial 0x1021, start 0xFFFF.
    """
    if kind == "sum8":
        return np.asarray(block.sum(axis=1) & 0xFF, np.uint16)
    if kind == "xor8":
        return np.asarray(np.bitwise_xor.reduce(block, axis=1), np.uint16)
    table, shift = (_MODBUS, 0) if kind == "crc16-modbus" else (_CCITT, 8)
    value = np.full(len(block), 0xFFFF, np.uint16)
    for column in block.T:
        index = ((value >> shift) ^ column) & 0xFF
        value = table[index] ^ ((value >> 8) if shift == 0 else (value << 8))
    return value


def _table(step: Sequence[int]) -> NDArray[np.uint16]:
    return np.array(step, np.uint16)


def _modbus_entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0xA001 if value & 1 else 0)
    return value


def _ccitt_entry(value: int) -> int:
    value <<= 8
    for _ in range(8):
        value = ((value << 1) ^ (0x1021 if value & 0x8000 else 0)) & 0xFFFF
    return value


_MODBUS = _table([_modbus_entry(x) for x in range(256)])
_CCITT = _table([_ccitt_entry(x) for x in range(256)])
