"""An emulated NVML: the functions of the module pynvml that the meter calls, with known joules.

Units and meaning: NVML API reference, nvmlDeviceGetTotalEnergyConsumption (mJ since the driver was loaded, Volta and
newer) and nvmlDeviceGetPowerUsage (mW). The card renews both every 20 ms.
"""

from __future__ import annotations

from collections.abc import Callable

from edgejoule.meters.plugins.nvml.meter import ACCURACY_REL, Nvml
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import POLLED_FAULTS, Circuit, Evidence, Fault, Instrument, Rig

_RENEWED_NS = 20_000_000


class EmulatedError(Exception):
    """The exceptions of pynvml, with their messages."""


class EmulatedLibrary:
    """Cards, each with a running total in J and a power in W. counts: whether they have the total; fault: raised."""

    NVMLError = EmulatedError

    def __init__(self, total_j: Callable[[], float], power_w: Callable[[], float], cards: int = 1) -> None:
        self._total_j, self._power_w, self._cards = total_j, power_w, cards
        self.counts = True
        self.fault: str | None = None
        self.users = 0

    def nvmlInit(self) -> None:  # noqa: N802 - pynvml's names
        """Every start needs an end."""
        self.users += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        """The end of a start."""
        if self.users == 0:
            raise EmulatedError("Uninitialized")
        self.users -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        """How many cards there are."""
        return self._cards

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        """A handle."""
        if index >= self._cards:
            raise EmulatedError("Invalid Argument")
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        """The card's name."""
        return "Emulated"

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:  # noqa: N802
        """mJ since the driver was loaded."""
        self._check()
        if not self.counts:
            raise EmulatedError("Not Supported")
        return int(self._total_j() * 1e3)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        """mW."""
        self._check()
        return int(self._power_w() * 1e3)

    def _check(self) -> None:
        if self.users == 0:
            raise EmulatedError("Uninitialized")
        if self.fault:
            raise EmulatedError(self.fault)


class _Card(Device):
    def __init__(self, circuit: Circuit) -> None:
        self._start_j = circuit.rng.uniform(0, 1e6)
        super().__init__(circuit, ACCURACY_REL / 3**0.5)
        self.library = EmulatedLibrary(self._total_j, self._power_w)

    def advance(self, to_ns: int) -> None:
        super().advance(to_ns)
        missed = Fault.DROPOUT in self._circuit.faults and to_ns > 0 and self._circuit.rng.random() < 0.05
        self.library.fault = "GPU is lost" if self.gone else "Unknown Error" if missed else None

    def _total_j(self) -> float:
        return self._start_j + float(self._circuit.load.energy_j(self.renewed_s(_RENEWED_NS))) * self._gain

    def _power_w(self) -> float:
        return float(self._circuit.load.power_w(self.renewed_s(_RENEWED_NS))) * self._gain


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """One card of 20 to 200 W with a running total."""
    card = _Card(circuit)
    return Rig(Nvml(0, card.library, clock_ns), card.advance)


INSTRUMENT = Instrument(
    "nvml", connect, idle_w=20.0, busy_w=200.0, duration_s=60.0, change_s=2.0,
    faults=POLLED_FAULTS - {Fault.GARBAGE},
    evidence=Evidence(("NVML API reference, nvmlDeviceGetTotalEnergyConsumption, nvmlDeviceGetPowerUsage",)),
)  # fmt: skip
