"""The meter over a Monsoon power monitor: 5,000 products of voltage and current a second, on the monitor's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from edgejoule.errors import MeterError, UsageError
from edgejoule.meters.base import Availability, Block
from edgejoule.meters.plugins.monsoon import protocol
from edgejoule.meters.plugins.monsoon.protocol import (
    CALIBRATION_MS,
    HVPM,
    MODELS,
    RATE_HZ,
    Calibration,
    MonsoonModel,
    ObservationType,
    Opcode,
    Output,
    Scales,
    Unpacker,
)
from edgejoule.meters.plugins.monsoon.usb import MonsoonLink, OpenLink, find_serials, open_usb
from edgejoule.meters.transport.streaming import CHANNEL, StreamingMeter

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

GAIN_REL = 0.00577
OFFSET_W = 0.003
_DROPPED = "the monitor dropped samples"
_STEP_NS = round(1e9 / RATE_HZ)


class Monsoon(StreamingMeter[MonsoonLink, bytes]):
    """serial: of the monitor, by default the first. output: the channel that feeds the board.

    open_link, find, clock_ns: the transport.
    """

    name = "monsoon"
    poll_interval_s = 0.05
    gain_rel, offset_w = GAIN_REL, OFFSET_W
    interval_s = 0.001  # a calibration takes the place of a few samples: only a longer loss is a gap
    delay_s_max = 0.01  # a transfer holds eight packets of three samples

    def __init__(
        self,
        serial: int | None = None,
        output: Output = "main",
        open_link: OpenLink = open_usb,
        find: Callable[[], list[int]] = find_serials,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if output not in get_args(Output):
            raise UsageError(f"monsoon: output is one of {', '.join(get_args(Output))}, not {output!r}")
        super().__init__(clock_ns)
        self._serial, self._output = serial, output
        self._open_link, self._find = open_link, find
        self._model: MonsoonModel = HVPM
        self._scales = Scales(1.0, 1.0)
        self._unpacker = Unpacker(HVPM)
        self._calibration = Calibration()

    def probe(self) -> Availability:
        """Available when a monitor is plugged in; none is opened."""
        try:
            serials = self._find()
        except MeterError as error:
            what, _, fix = str(error).partition(": ")
            return Availability(False, what, fix or None)
        if not serials or (self._serial is not None and self._serial not in serials):
            return Availability(False, "no Monsoon power monitor is plugged in", "connect its USB port to this machine")
        return Availability(True, f"Monsoon power monitor {self._serial or serials[0]}, output {self._output}")

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"the board's supply by a Monsoon power monitor, {RATE_HZ:.0f} samples/s (±{2 * GAIN_REL:.1%} assumed)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which monitor."""
        return {"monitor": [f"{self._model.name}, output {self._output}"]}

    def open(self) -> None:
        """Read the factory's scales and begin to sample. The output voltage is not touched. Raises MeterError."""
        self._link = self._open_link(self._serial)
        self._unpacker, self._calibration, self._heard = Unpacker(HVPM), Calibration(), None
        try:
            self._begin(self._link)
        except OSError as error:
            self.close()
            raise MeterError(f"{self.name}: the power monitor does not answer: {error}; unplug it and retry") from error

    def _receive(self, link: MonsoonLink) -> bytes:
        return link.read()

    def _blocks(self, received: bytes, now_ns: int) -> Sequence[Block]:
        expected = self._unpacker.next_number
        seen = self._unpacker.add(received)
        if not len(seen.number):
            return []
        self._heard = int(seen.number[-1]), now_ns
        self._calibration.add(seen, self._output)
        measured = seen.kind == ObservationType.MEASUREMENT
        words, number = seen.words[measured], seen.number[measured]
        if not len(number):
            return []
        if not self._calibration.ready:
            nothing = dict.fromkeys(range(len(number)), "not calibrated yet")
            return [Block(CHANNEL, number * _STEP_NS, np.full(len(number), np.nan), now_ns, nothing)]
        current_ma = self._calibration.current_ma(words, self._output, self._scales, self._model)
        power_w = current_ma / 1000 * protocol.volts(words, self._output, self._model)
        return [_with_losses(number, power_w, np.concatenate([[expected - 1], seen.number]), now_ns)]

    def _end(self, link: MonsoonLink) -> None:
        link.stop()
        link.close()

    def _begin(self, link: MonsoonLink) -> None:
        hardware = _number(link, Opcode.HARDWARE)
        if hardware not in MODELS:
            raise OSError(f"hardware {hardware} is neither LVPM (1) nor HVPM (2)")
        self._model = self._unpacker.model = MODELS[hardware]
        self._scales = _scales(link, self._model, self._output)
        link.start(CALIBRATION_MS)

    def _reconnect(self) -> None:
        self._link = self._open_link(self._serial)
        self._begin(self._link)
        self._calibration = Calibration()
        self._unpacker.dropped, self._unpacker.next_number = None, self._number_after_break(_STEP_NS)


def _with_losses(number: _Ints, power_w: _Floats, heard: _Ints, now_ns: int) -> Block:
    """A missing sample for every row of samples that the monitor has dropped, as `heard` shows."""
    lost = heard[1:][np.diff(heard) > 1] - 1
    places = np.searchsorted(number, lost)
    t_ns = np.insert(number, places, lost) * _STEP_NS
    value = np.insert(power_w, places, np.nan)
    return Block(CHANNEL, t_ns, value, now_ns, {int(i): _DROPPED for i in np.flatnonzero(np.isnan(value))})


def _number(link: MonsoonLink, opcode: Opcode, *, signed: bool = False, size: int = 2) -> int:
    return int.from_bytes(link.value(opcode)[:size], "little", signed=signed)


def _scales(link: MonsoonLink, model: MonsoonModel, output: Output) -> Scales:
    prefix = output.upper()
    if model is not HVPM:
        coarse, fine = (_number(link, Opcode[f"{prefix}_{x}_RESISTOR"], size=1) for x in ("COARSE", "FINE"))
        return protocol.lvpm_scales(coarse, fine)
    return Scales(
        coarse_ma=_number(link, Opcode[f"{prefix}_COARSE_SCALE"]),
        fine_ma=_number(link, Opcode[f"{prefix}_FINE_SCALE"]) / 1000,
        coarse_zero=_number(link, Opcode[f"{prefix}_COARSE_ZERO"], signed=True),
        fine_zero=_number(link, Opcode[f"{prefix}_FINE_ZERO"], signed=True),
    )
