"""Finds frames in a stream of bytes, and says when there was something else.

Whole runs of frames are checked at once as an array. At the first that does not hold, the search goes on one byte after
its start: a false start in the data costs frames, but never a wrong value where the frame has a checksum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edgejoule.meters.plugins.serial.profile import CHECKSUM_BYTES, Frame

_Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class FoundFrames:
    """frames: (n, length). rest: the beginning of a frame that is not complete yet. skipped: bytes that were none."""

    frames: _Bytes
    rest: bytes
    skipped: int


def find_frames(data: bytes, frame: Frame) -> FoundFrames:
    """The frames in data, in order."""
    result: list[_Bytes] = []
    position = taken = 0
    while (at := data.find(frame.start, position)) >= 0 and len(data) - at >= frame.length:
        count = (len(data) - at) // frame.length
        block = np.frombuffer(data, np.uint8, count * frame.length, at).reshape(count, frame.length)
        good = _holds(block, frame)
        run = count if good.all() else int(np.argmin(good))
        result.append(block[:run])
        taken += run * frame.length
        position = at + (run * frame.length or 1)
    rest = _rest(data, frame, position)
    frames = np.concatenate(result) if result else np.empty((0, frame.length), np.uint8)
    return FoundFrames(frames, rest, len(data) - len(rest) - taken)


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
        stated = block[:, end - size : end].astype(np.uint16)
        weights = [1, 256] if frame.checksum_order == "little" else [256, 1]
        value = stated[:, 0] if size == 1 else stated @ np.array(weights, np.uint16)
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
    of_zeros, by_place = _by_place(kind, block.shape[1])
    return np.asarray(of_zeros ^ np.bitwise_xor.reduce(by_place[np.arange(block.shape[1]), block], axis=1), np.uint16)


@lru_cache
def _by_place(kind: str, length: int) -> tuple[int, NDArray[np.uint16]]:
    """A CRC is linear: the one of a row of zeros, and (length, 256) what each byte at each place changes of it."""
    step = _modbus_step if kind == "crc16-modbus" else _ccitt_step
    shift = 0 if kind == "crc16-modbus" else 8
    changes = np.array([step(byte << shift) for byte in range(256)], np.uint16)
    by_place = [changes]
    for _ in range(length - 1):
        by_place.insert(0, np.array([step(int(x)) for x in by_place[0]], np.uint16))
    of_zeros = 0xFFFF
    for _ in range(length):
        of_zeros = step(of_zeros)
    return of_zeros, np.array(by_place)


def _modbus_step(value: int) -> int:
    """The register after a byte of zeros; a byte that is taken is xored into it before."""
    for _ in range(8):
        value = (value >> 1) ^ (0xA001 if value & 1 else 0)
    return value


def _ccitt_step(value: int) -> int:
    for _ in range(8):
        value = ((value << 1) ^ (0x1021 if value & 0x8000 else 0)) & 0xFFFF
    return value
