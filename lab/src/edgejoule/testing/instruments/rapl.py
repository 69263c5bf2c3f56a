"""An emulated powercap tree: the files that Linux shows for the processor's counters, with known joules.

Files and their meaning: Linux, Documentation/power/powercap/powercap.rst, "Power Zone Attributes"; the counter's step
of 2^-14 J and its 32 bits: Intel SDM volume 3B, "Package RAPL Domain" (MSR_PKG_ENERGY_STATUS, MSR_RAPL_POWER_UNIT).
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path

from edgejoule.machine.files import read_text
from edgejoule.meters.plugins.rapl.meter import GAIN_REL, Rapl
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import POLLED_FAULTS, Circuit, Evidence, Fault, Instrument, Rig

_STEP_J = 61.035e-6  # 2^-14 J in the kernel's whole nJ
RANGE_UJ = 262_143_328_850  # what Intel's client processors report: 2^32 - 1 steps
_COUNTER_STEPS = 2**32
_UPDATE_NS = 1_000_000


class _Counter(Device):
    """energy_uj: updated every ms, a random start value; with WRAP it starts shortly before the end and is fast."""

    def __init__(self, circuit: Circuit, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._folder = folder  # lives as long as the counter
        wrap_j = _STEP_J * _COUNTER_STEPS
        total_j = float(circuit.load.energy_j(circuit.duration_s))
        near_end = Fault.WRAP in circuit.faults
        self._start_j = (
            wrap_j - total_j * circuit.rng.uniform(0.2, 0.8) if near_end else circuit.rng.uniform(0, wrap_j / 2)
        )
        super().__init__(circuit, GAIN_REL)

    def read(self, path: Path) -> str:
        """The file's text as the kernel would give it."""
        if path.name != "energy_uj":
            return read_text(path)
        if Fault.GARBAGE in self._circuit.faults and self._circuit.rng.random() < 0.05:
            return str(self._circuit.rng.choice(["", "garbage\n", "-5\n", "1e6\n", f"{RANGE_UJ * 4}\n"]))
        self._fail()
        drawn_j = float(self._circuit.load.energy_j(self.renewed_s(_UPDATE_NS))) * self._gain
        steps = int((self._start_j + drawn_j) / _STEP_J) % _COUNTER_STEPS
        return f"{int(steps * _STEP_J * 1e6)}\n"

    def _fail(self) -> None:
        circuit = self._circuit
        if Fault.DROPOUT in circuit.faults and circuit.rng.random() < 0.05:
            raise OSError(errno.EIO, "Input/output error")
        if self.gone:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """One package of 5 to 60 W: the tree is in a separate folder, the counter's file answers from the circuit."""
    folder = tempfile.TemporaryDirectory()
    zone = Path(folder.name) / "intel-rapl:0"
    zone.mkdir()
    for name, text in (("name", "package-0"), ("max_energy_range_uj", str(RANGE_UJ)), ("energy_uj", "")):
        (zone / name).write_text(f"{text}\n")
    counter = _Counter(circuit, folder)
    return Rig(Rapl(zone.parent, Path("/nonexistent"), counter.read, clock_ns), counter.advance)


INSTRUMENT = Instrument(
    "rapl", connect, idle_w=5.0, busy_w=60.0, duration_s=20.0, change_s=0.5, faults=POLLED_FAULTS | {Fault.WRAP},
    evidence=Evidence(("Linux powercap.rst, Power Zone Attributes", "Intel SDM 3B, Package RAPL Domain")),
)  # fmt: skip
