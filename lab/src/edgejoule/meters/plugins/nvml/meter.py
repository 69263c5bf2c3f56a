"""The meter over NVIDIA's management library.

A card with a running total (Volta and newer) gives that, in J; an older one gives its power in W. It measures a card,
not the machine, so it is used only where a study names the card.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgejoule.errors import MeterError, UsageError
from edgejoule.extras import install_command
from edgejoule.meters.base import Availability, Channel, Domain, Method, Sample, ValueKind
from edgejoule.meters.options import comma_separated

ACCURACY_REL = 0.05  # NVML API reference, nvmlDeviceGetPowerUsage: "accurate to within +/- 5% of current power draw"
_STEP_J, _STEP_W = 1e-3, 1e-3
_RECTANGULAR = 1 / math.sqrt(3)


@dataclass(frozen=True)
class _Card:
    name: str
    handle: Any
    counts: bool  # has a running total


class Nvml:
    """gpu: a card's number, or several as a text with commas. library: the module pynvml, None to import it.

    clock_ns: the host's clock.
    """

    name = "nvml"
    method = Method.MEASURED
    domain = Domain.RAIL
    poll_interval_s = 0.1
    measures_only = "the graphics cards"

    def __init__(
        self,
        gpu: int | str | None = None,
        library: Any = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        numbers = () if gpu is None else comma_separated(str(gpu))
        if not all(number.isdecimal() for number in numbers) or (gpu is not None and not numbers):
            raise UsageError(f"nvml: gpu: expected the number of a card, or several with commas, got {gpu!r}")
        self._numbers = tuple(map(int, numbers))
        self._library = library
        self._clock_ns = clock_ns
        self._cards: list[_Card] = []
        self._started: Any = None

    def probe(self) -> Availability:
        """Available when the library answers and the cards that were named are there."""
        library = self._imported()
        if library is None:
            return Availability(False, "the package nvidia-ml-py is missing", install_command("nvml"))
        try:
            library.nvmlInit()
        except library.NVMLError as error:
            return Availability(False, f"NVML: {error}", "install NVIDIA's driver")
        try:
            count = library.nvmlDeviceGetCount()
            if not self._numbers:
                reason = f"{count} cards; a card is not the machine, so none is taken by itself"
                return Availability(False, reason, "name it under [meter.options]: nvml = { gpu = 0 }")
            cards = [_card(library, number) for number in self._numbers]
        except library.NVMLError as error:
            return Availability(False, f"NVML: {error}", f"gpu: numbers from 0 to {count - 1}" if count else None)
        finally:
            library.nvmlShutdown()
        return Availability(True, ", ".join(card.name for card in cards))

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        accuracy = f"±{2 * ACCURACY_REL * _RECTANGULAR:.1%} assumed"
        return f"graphics cards' own power meters (NVML, {accuracy}; the card alone, not the machine)"

    def facts(self) -> Mapping[str, Sequence[str]]:
        """Which cards, and what each gives."""
        return {"cards": [f"{x.name}: {'running total' if x.counts else 'power'}" for x in self._cards]}

    def channels(self) -> Sequence[Channel]:
        """One per card."""
        return [self._channel(card) for card in self._cards]

    def open(self) -> None:
        """Start the library. Raises MeterError with the fix."""
        self.probe().demand(self.name)
        library = self._imported()
        try:
            library.nvmlInit()
            self._started = library
            self._cards = [_card(library, number) for number in self._numbers]
        except library.NVMLError as error:
            self.close()
            raise MeterError(f"{self.name}: {error}") from error

    def poll(self) -> Sequence[Sample]:
        """Every card now."""
        return [self._sample(card) for card in self._cards]

    def close(self) -> None:
        """Let the library go; may be called twice."""
        library, self._started, self._cards = self._started, None, []
        if library is not None:
            try:
                library.nvmlShutdown()
            except library.NVMLError:
                return  # it is gone already

    def _imported(self) -> Any:
        if self._library is None:
            try:
                self._library = importlib.import_module("pynvml")
            except ImportError:
                return None
        return self._library

    def _sample(self, card: _Card) -> Sample:
        library = self._started
        before_ns = self._clock_ns()
        try:
            if card.counts:
                value = library.nvmlDeviceGetTotalEnergyConsumption(card.handle) / 1e3
            else:
                value = library.nvmlDeviceGetPowerUsage(card.handle) / 1e3
        except library.NVMLError as error:
            return Sample(card.name, self._clock_ns(), None, f"NVML: {error}")
        return Sample(card.name, (before_ns + self._clock_ns()) // 2, value)

    def _channel(self, card: _Card) -> Channel:
        return Channel(
            meter=self.name,
            name=card.name,
            domain=self.domain,
            kind=ValueKind.ACCUMULATOR if card.counts else ValueKind.INSTANT,
            method=self.method,
            gain_rel=ACCURACY_REL * _RECTANGULAR,
            offset_w=0.0,
            resolution=_STEP_J if card.counts else _STEP_W,
        )


def _card(library: Any, number: int) -> _Card:
    handle = library.nvmlDeviceGetHandleByIndex(number)
    label = library.nvmlDeviceGetName(handle)
    name = f"gpu-{number} {label.decode() if isinstance(label, bytes) else label}"
    try:
        library.nvmlDeviceGetTotalEnergyConsumption(handle)
    except library.NVMLError:
        library.nvmlDeviceGetPowerUsage(handle)
        return _Card(name, handle, counts=False)
    return _Card(name, handle, counts=True)
