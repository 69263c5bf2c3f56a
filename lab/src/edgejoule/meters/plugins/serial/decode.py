"""From bytes to values: the frames or lines of a profile as arrays, one per role."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgejoule.meters.plugins.serial.framing import find_frames
from edgejoule.meters.plugins.serial.profile import TYPES, SerialProfile
from edgejoule.meters.quantities import Role

_LINE_BYTES_MAX = 4096


@dataclass(frozen=True, eq=False)
class Decoded:
    """values: role -> (n,). skipped: bytes that were no frame."""

    values: dict[Role, NDArray[np.float64]]
    skipped: int

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


class Decoder:
    """Keeps the beginning of a frame until the rest has come."""

    def __init__(self, profile: SerialProfile) -> None:
        self._profile = profile
        self._rest = b""
        self._pattern = re.compile(profile.text.pattern) if profile.text else None

    def forget(self) -> None:
        """Drop a frame's beginning: the rest will not come."""
        self._rest = b""

    def add(self, data: bytes) -> Decoded:
        """Returns the frames that data completes."""
        return self._lines(data) if self._pattern else self._frames(data)

    def _frames(self, data: bytes) -> Decoded:
        assert self._profile.frame is not None
        result = find_frames(self._rest + data, self._profile.frame)
        self._rest = result.rest
        return Decoded({field.role: self._field(result.frames, field.type, field.offset, field.scale)
                        for field in self._profile.fields}, result.skipped)  # fmt: skip

    @staticmethod
    def _field(frames: NDArray[np.uint8], kind: str | None, offset: int | None, scale: float) -> NDArray[np.float64]:
        assert kind is not None
        assert offset is not None, "checked with the profile"
        dtype = TYPES[kind]
        part = np.ascontiguousarray(frames[:, offset : offset + dtype.itemsize])
        return np.asarray(part.view(dtype)[:, 0].astype(np.float64) * scale)

    def _lines(self, data: bytes) -> Decoded:
        assert self._profile.text is not None
        assert self._pattern is not None
        parts = (self._rest + data).split(self._profile.text.terminator.encode())
        self._rest = parts.pop()[-_LINE_BYTES_MAX:]
        matches = [(self._pattern.search(line.decode("ascii", "replace")), len(line)) for line in parts]
        values = {
            field.role: np.array([_number(m.group(field.role.value)) * field.scale for m, _ in matches if m])
            for field in self._profile.fields
        }
        return Decoded(values, sum(size for match, size in matches if not match))


def _number(text: str) -> float:
    """Returns NaN for text that is no number: a failed reading."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
