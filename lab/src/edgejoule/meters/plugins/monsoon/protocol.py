"""The protocol of Monsoon's power monitors.

Control transfers read and write values by opcode; sampling makes the monitor send packets on a bulk endpoint. A packet
has 64 bytes: samples dropped so far (16 bits, little endian), flags, number of observations (1 to 3), and 18 bytes for
each: current of main, USB and auxiliary channel, each coarse and fine, voltage of main and USB (16 bits, the high byte
first), a gain byte, a type byte whose bits 4 and 5 say measurement, zero or reference. Source: Monsoon Solutions,
Power Monitor Python API Documentation, "Packet Format", "swizzlePacket" and "OpCodes", and the vendor's package.

A raw current counts from the zero reading (plus a factory offset) and is scaled by what the reference reading stands
for. The fine range holds below a raw threshold, else the coarse one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

VENDOR, PRODUCT = 0x2AB9, 0x0001
PACKET_BYTES = 64
OBSERVATION_BYTES = 18
OBSERVATIONS_MAX = 3
RATE_HZ = 5000.0
CALIBRATION_MS = 1250
CALIBRATIONS_KEPT = 5
VOLTS_PER_STEP = 62.5e-6


class Opcode(IntEnum):
    """Values by opcode."""

    FIRMWARE = 0xC0
    HARDWARE = 0x45
    SERIAL = 0x42
    MAIN_FINE_RESISTOR = 0x02  # LVPM
    MAIN_COARSE_RESISTOR = 0x11
    USB_FINE_RESISTOR = 0x0D
    USB_COARSE_RESISTOR = 0x12
    MAIN_FINE_SCALE = 0x1A  # HVPM
    MAIN_COARSE_SCALE = 0x1B
    USB_FINE_SCALE = 0x1C
    USB_COARSE_SCALE = 0x1D
    MAIN_FINE_ZERO = 0x25
    MAIN_COARSE_ZERO = 0x26
    USB_FINE_ZERO = 0x27
    USB_COARSE_ZERO = 0x28


class ObservationType(IntEnum):
    """Type of an observation."""

    MEASUREMENT = 0x00
    ZERO = 0x10
    INVALID = 0x20
    REFERENCE = 0x30


Output = Literal["main", "usb"]
_WORD = {"main": (0, 1, 6), "usb": (2, 3, 7)}  # coarse, fine, voltage


@dataclass(frozen=True)
class MonsoonModel:
    """What differs between the monitors. hardware: as it says of itself."""

    name: str
    hardware: int
    signed: bool
    fine_below: int
    main_volts_scale: float
    usb_volts_scale: float = 2.0


HVPM = MonsoonModel("HVPM", 2, signed=False, fine_below=64_000, main_volts_scale=4.0)
LVPM = MonsoonModel("LVPM", 1, signed=True, fine_below=30_000, main_volts_scale=2.0)
MODELS = {model.hardware: model for model in (HVPM, LVPM)}


@dataclass(frozen=True)
class Scales:
    """Of one output: what the reference reading stands for, in mA, and factory offsets of the zero, in steps."""

    coarse_ma: float
    fine_ma: float
    coarse_zero: float = 0.0
    fine_zero: float = 0.0


@dataclass(frozen=True, eq=False)
class Observations:
    """words: (n, 8) raw; kind: (n,); number: (n,) place in the stream, with room for what was dropped."""

    words: NDArray[np.float64]
    kind: NDArray[np.uint8]
    number: NDArray[np.int64]


def lvpm_scales(coarse_resistor: int, fine_resistor: int) -> Scales:
    """From the two stored offsets of the shunt of 0.05 ohm, in steps of 0.1 milliohm, signed bytes."""
    coarse, fine = (0.05 + 0.0001 * (raw - 256 if raw > 127 else raw) for raw in (coarse_resistor, fine_resistor))
    return Scales(3103.4 * 0.05 / coarse, 35946.0 * 0.05 / fine / 1000)


@dataclass
class Unpacker:
    """Packets to observations, numbered. dropped: the monitor's last count; next_number: of the next observation."""

    model: MonsoonModel
    dropped: int | None = None
    next_number: int = 0

    def add(self, data: bytes) -> Observations:
        """Returns whole packets; incomplete and impossible ones are left out."""
        whole = len(data) // PACKET_BYTES * PACKET_BYTES
        packets = np.frombuffer(data, np.uint8, whole).reshape(-1, PACKET_BYTES)
        packets = packets[(packets[:, 3] >= 1) & (packets[:, 3] <= OBSERVATIONS_MAX)]
        count = packets[:, 3].astype(np.int64)
        used = np.arange(OBSERVATIONS_MAX) < count[:, None]
        end = 4 + OBSERVATION_BYTES * OBSERVATIONS_MAX
        rows = packets[:, 4:end].reshape(-1, OBSERVATIONS_MAX, OBSERVATION_BYTES)[used]
        words = np.ascontiguousarray(rows[:, :16]).view(">u2").astype(np.float64)
        if self.model.signed:
            words[:, :6] -= np.where(words[:, :6] >= 1 << 15, 1 << 16, 0)
        lost = np.repeat(self._lost(packets), count)
        number = self.next_number + lost + np.arange(len(rows))
        if len(number):
            self.next_number = int(number[-1]) + 1
        return Observations(words, (rows[:, 17] & 0x30).astype(np.uint8), number)

    def _lost(self, packets: NDArray[np.uint8]) -> NDArray[np.int64]:
        """(n,) samples lost before each packet since the call began."""
        counter = np.ascontiguousarray(packets[:, :2]).view("<u2")[:, 0].astype(np.int64)
        if not len(counter):
            return counter
        before = int(counter[0]) if self.dropped is None else self.dropped
        steps = np.diff(np.concatenate([[before], counter])) % (1 << 16)
        steps[steps >= 1 << 15] = 0  # the count went back: the monitor has restarted it
        self.dropped = int(counter[-1])
        return np.cumsum(steps)


@dataclass
class Calibration:
    """The last zero and reference readings of one output, (coarse, fine) each."""

    zero: list[tuple[float, float]] = field(default_factory=list)
    reference: list[tuple[float, float]] = field(default_factory=list)

    def add(self, seen: Observations, output: Output) -> None:
        """Keeps the newest of each kind; 0 means no reading."""
        coarse, fine, _ = _WORD[output]
        for kind, kept in ((ObservationType.ZERO, self.zero), (ObservationType.REFERENCE, self.reference)):
            rows = seen.words[seen.kind == kind][:, [coarse, fine]]
            kept.extend((float(a), float(b)) for a, b in rows[(rows != 0).all(axis=1)])
            del kept[:-CALIBRATIONS_KEPT]

    @property
    def ready(self) -> bool:
        """True when currents can be computed."""
        return bool(self.zero) and bool(self.reference)

    def current_ma(
        self, words: NDArray[np.float64], output: Output, scales: Scales, model: MonsoonModel
    ) -> NDArray[np.float64]:
        """(n,) from raw words, the range chosen for each."""
        zero, reference = np.mean(self.zero, axis=0), np.mean(self.reference, axis=0)
        coarse, fine, _ = _WORD[output]
        parts = []
        offsets = (scales.coarse_zero, scales.fine_zero)
        for place, column in enumerate((coarse, fine)):
            base = zero[place] + offsets[place]
            full_ma = (scales.coarse_ma, scales.fine_ma)[place]
            span = reference[place] - base
            parts.append((words[:, column] - base) * (full_ma / span if span else np.nan))
        return np.asarray(np.where(words[:, fine] < model.fine_below, parts[1], parts[0]))


def volts(words: NDArray[np.float64], output: Output, model: MonsoonModel) -> NDArray[np.float64]:
    """(n,) voltage of an output."""
    scale = model.main_volts_scale if output == "main" else model.usb_volts_scale
    return np.asarray(words[:, _WORD[output][2]] * (VOLTS_PER_STEP * scale))
