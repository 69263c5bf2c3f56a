"""The protocol of a Power Profiler Kit II, and the conversion of its words to amperes.

Commands are single bytes with arguments. GET_METADATA makes it print its calibration as lines "NAME: number" up to END.
AVERAGE_START makes it send 100,000 words of 32 bits a second, little endian: bits 0-13 the ADC's value over 4, 14-16
the measuring range, 18-23 a counter, 24-31 the logic inputs. Source: Nordic Semiconductor, pc-nrfconnect-ppk,
src/constants.ts and src/device/serialDevice.ts (the vendor's application, read as documentation).

With x = (adc - O) 1.8 V / 163840 / R of the range, the current is UG (x (GS x + GI) + S V + I), V the supply in V. The
first samples after a change of range are no measurement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import DataError

VENDOR, PRODUCT = 0x1915, 0xC00A
RATE_HZ = 100_000
COUNTER_MODULUS = 64
RANGES = 5
ADC_VOLTS = 1.8 / 163840
SPIKE_SAMPLES = 3
VOLTS_MIN, VOLTS_MAX = 0.8, 5.0
R_NOMINAL = (1031.64, 101.65, 10.15, 0.94, 0.043)
_SYNC_WORDS = 8
_R_FACTOR_MAX = 3.0

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class Opcode(IntEnum):
    """First byte of each command."""

    AVERAGE_START = 0x06
    AVERAGE_STOP = 0x07
    DEVICE_RUNNING_SET = 0x0C
    REGULATOR_SET = 0x0D
    SET_POWER_MODE = 0x11
    GET_METADATA = 0x19


AMPERE, SOURCE = 1, 2  # power modes


def regulator(volts: float) -> bytes:
    """The command that sets the source's voltage."""
    return bytes([Opcode.REGULATOR_SET]) + round(volts * 1000).to_bytes(2, "big")


@dataclass(frozen=True, eq=False)
class Modifiers:
    """The calibration: name -> one number per range. vdd_v: the supply that was set last."""

    by_name: Mapping[str, _Floats]
    vdd_v: float

    def amperes(self, adc: _Floats, range_: _Ints, volts: float) -> _Floats:
        """(n,) currents."""
        r, o, gs, gi, s, i, ug = (self.by_name[name][range_] for name in ("R", "O", "GS", "GI", "S", "I", "UG"))
        x = (adc - o) * (ADC_VOLTS / r)
        return np.asarray(ug * (x * (gs * x + gi) + (s * volts + i)))


_DEFAULTS = {"R": R_NOMINAL, "GS": 1.0, "GI": 1.0, "O": 0.0, "S": 0.0, "I": 0.0, "UG": 1.0}


def parse_metadata(text: str) -> Modifiers:
    """The calibration. A number that is 0, missing or none counts as not stored, as in the vendor's application.

    Raises DataError for an impossible calibration: some devices have a damaged one, and every current would be wrong.
    """
    result = {name.upper(): _number(value) for name, value in re.findall(r"([A-Za-z]+\d?):\s*(\S+)", text)}
    by_name = {}
    for name, default in _DEFAULTS.items():
        nominal = np.full(RANGES, default, dtype=np.float64)
        reported = np.array([result.get(f"{name}{k}", 0.0) for k in range(RANGES)])
        by_name[name] = np.where(reported == 0, nominal, reported)
    ratio = by_name["R"] / np.array(R_NOMINAL)
    if not np.all((ratio > 1 / _R_FACTOR_MAX) & (ratio < _R_FACTOR_MAX)):
        stored = ", ".join(f"{x:.4g}" for x in by_name["R"])
        raise DataError(f"its stored calibration is damaged: shunts of {stored} ohm, expected about {R_NOMINAL}")
    return Modifiers(by_name, (result.get("VDD") or 0.0) / 1000)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if np.isfinite(value) else 0.0


@dataclass(frozen=True, eq=False)
class Words:
    """adc, range_, counter: (n,) each."""

    adc: _Floats
    range_: _Ints
    counter: _Ints


class WordStream:
    """Words from bytes. They have no frame: it is the counter that shows where one begins. At the begin and after a
    break of it words count when eight in a row count on; a break between two words that do so on both sides is a loss.
    """

    def __init__(self) -> None:
        self._data = b""  # not used yet; while in step it begins with the last word that was
        self._in_step = False

    def add(self, data: bytes) -> Words:
        """Returns the words that are certain now."""
        self._data += data
        parts = []
        while self._in_step or self._find():
            words = np.frombuffer(self._data, "<u4", len(self._data) // 4).astype(np.int64)
            good, self._in_step = _sound(words)
            parts.append(words[1:good])
            self._data = self._data[4 * (good - 1 if self._in_step else good) :]
            if self._in_step:
                break
        kept = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return Words((kept & 0x3FFF).astype(np.float64) * 4, kept >> 14 & 7, kept >> 18 & 63)

    def _find(self) -> bool:
        """Go to where eight words in a row count on; the first of them is given up as the one before."""
        end = len(self._data) - 4 * _SYNC_WORDS
        for at in range(end + 1):
            counter = np.frombuffer(self._data, "<u4", _SYNC_WORDS, at).astype(np.int64) >> 18 & 63
            if np.all(np.diff(counter) % COUNTER_MODULUS == 1):
                self._data, self._in_step = self._data[at:], True
                return True
        self._data = self._data[max(0, end + 1) :]
        return False


def _sound(words: _Ints) -> tuple[int, bool]:
    """How many words can be taken, and whether what follows is in step."""
    counts = (np.diff(words >> 18 & 63) % COUNTER_MODULUS) == 1
    for jump in np.flatnonzero(~counts).tolist():
        after = counts[jump + 1 : jump + _SYNC_WORDS]
        if len(after) < _SYNC_WORDS - 1 or not after.all():
            return jump + 1, False
    return len(words), True
