"""A second of readings as a blob.

Layout: a head of 18 bytes (format, how values are kept, first time in ns, step of a value), then zlib of: the
differences of the differences of the times, the values, and a bit for each reading that failed, if any did. Numbers are
64 bits wide and stored plane by plane (all lowest bytes first, then the next ...), which zlib packs far better.

Values are whole numbers of steps, differenced, where the channel has a resolution: of the resolution itself when that
gives back every bit, else of a sixteenth of it, which adds less than half a percent to the resolution's share of the
uncertainty. Without a resolution they are kept as they are: IEEE 754 bits, each XORed with the one before.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import StoreError

_FORMAT = 1
_BITS, _STEPS = 0, 1
_HEAD = struct.Struct("<BBqd")
_STEP_OF_RESOLUTION = 16
_INTEGERS_BYTES_MAX = 1 << 28
_STEPS_MAX = 2**52  # whole numbers that a float holds exactly

_Times = NDArray[np.int64]
_Values = NDArray[np.float64]


def pack(t_ns: _Times, value: _Values, resolution: float) -> tuple[bytes, _Values]:
    """The readings as a blob, and their values as the blob has them. value: NaN where a reading failed. resolution: of
    the channel, 0 without one.
    """
    failed = np.isnan(value)
    filled = np.where(failed, 0.0, value)
    step = _step(filled, resolution)
    back = value
    if step:
        steps = np.rint(filled / step).astype(np.int64)
        kept = _differences(steps, 0)
        back = np.where(failed, np.nan, steps * step)
    else:
        bits = filled.astype("<f8").view("<i8")
        kept = bits ^ np.concatenate([np.zeros(1, "<i8"), bits[:-1]])
    times = _differences(_differences(t_ns, int(t_ns[0])), 0)
    body = _planes(times) + _planes(kept) + (np.packbits(failed).tobytes() if failed.any() else b"")
    return _HEAD.pack(_FORMAT, _STEPS if step else _BITS, int(t_ns[0]), step) + zlib.compress(body), back


def unpack(blob: bytes, samples: int) -> tuple[_Times, _Values]:
    """The inverse of pack. Raises StoreError on a blob that does not hold that many readings."""
    try:
        form, kind, first_ns, step = _HEAD.unpack_from(blob)
        body = _unzipped(blob[_HEAD.size :], 17 * samples + 8)  # no more than these can take
    except (struct.error, zlib.error) as error:
        raise StoreError(f"a trace blob of {len(blob)} bytes is damaged: {error}") from error
    width = 8 * samples
    if form != _FORMAT or kind not in (_BITS, _STEPS) or len(body) not in (2 * width, 2 * width + (samples + 7) // 8):
        raise StoreError(f"a trace blob (format {form}) of {len(body)} bytes does not hold {samples} samples")
    t_ns = first_ns + np.cumsum(np.cumsum(_from_planes(body[:width], samples)))
    kept = _from_planes(body[width : 2 * width], samples)
    value: _Values = np.cumsum(kept) * step if kind == _STEPS else np.bitwise_xor.accumulate(kept).view(np.float64)
    if len(body) > 2 * width:
        value[np.unpackbits(np.frombuffer(body, np.uint8, offset=2 * width), count=samples).astype(bool)] = np.nan
    return t_ns, value


def pack_integers(numbers: NDArray[np.int64]) -> bytes:
    """Rows of slowly growing integers, (n, k), as a blob."""
    return zlib.compress(_planes(np.diff(numbers, axis=0, prepend=0).ravel()))


def unpack_integers(blob: bytes, columns: int) -> NDArray[np.int64]:
    """The inverse of pack_integers. Raises StoreError on a damaged blob."""
    try:
        body = _unzipped(blob, _INTEGERS_BYTES_MAX)
    except zlib.error as error:
        raise StoreError(f"a blob of {len(blob)} bytes is damaged: {error}") from error
    if len(body) % (8 * columns):
        raise StoreError(f"a blob of {len(blob)} bytes does not hold rows of {columns} numbers")
    return np.cumsum(_from_planes(body, len(body) // 8).reshape(-1, columns), axis=0)


def _unzipped(blob: bytes, bytes_max: int) -> bytes:
    """The unpacked bytes. Raises zlib.error when they are more, or the blob ends early."""
    unpacker = zlib.decompressobj()
    body = unpacker.decompress(blob, bytes_max)
    if not unpacker.eof:
        raise zlib.error("it is cut off, or unpacks to too much")
    return body


def _step(value: _Values, resolution: float) -> float:
    """The step to keep values in whole numbers of; 0: keep their bits."""
    if resolution <= 0 or np.abs(value).max(initial=0) / resolution * _STEP_OF_RESOLUTION > _STEPS_MAX:
        return 0.0
    whole = bool(np.all(np.rint(value / resolution) * resolution == value))
    return resolution if whole else resolution / _STEP_OF_RESOLUTION


def _differences(numbers: _Times, before: int) -> _Times:
    differences: _Times = numbers - np.concatenate([np.array([before], np.int64), numbers[:-1]])
    return differences


def _planes(numbers: NDArray[np.int64]) -> bytes:
    return numbers.astype("<i8").view(np.uint8).reshape(-1, 8).T.tobytes()


def _from_planes(body: bytes, count: int) -> NDArray[np.int64]:
    planes = np.frombuffer(body, np.uint8).reshape(8, count)
    return np.ascontiguousarray(planes.T).view("<i8").ravel().astype(np.int64)
