"""An emulated INA226 in a hwmon tree, with known joules.

Files and units: Linux, Documentation/hwmon/ina2xx.rst and sysfs-interface.rst. Registers: INA226 data sheet SBOS547,
"Basic ADC Functions" (mean over the averaging time, updated when it ends), table 5 (power step 25 current steps).
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path

from edgejoule.machine.files import read_text
from edgejoule.meters.plugins.hwmon.chips import CHIPS
from edgejoule.meters.plugins.hwmon.meter import SHUNT_TOLERANCE_REL, Hwmon
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import Circuit, Evidence, Fault, Instrument, Rig

SUPPLY_V = 5.0
SHUNT_OHM = 0.02
POWER_STEP_W = 2.5e-6 / SHUNT_OHM * 25
UPDATE_S = 0.0352  # 16 averages of 1.1 ms for each voltage: the driver's own setting


def make_ina226(folder: Path) -> None:
    """The files of the chip, as they are at rest."""
    folder.mkdir(parents=True)
    texts = {"name": "ina226", "shunt_resistor": f"{round(SHUNT_OHM * 1e6)}", "update_interval": "35"}
    for name, text in {**texts, "in0_input": "10", "in1_input": "5000", "curr1_input": "500"}.items():
        (folder / name).write_text(f"{text}\n")
    (folder / "power1_input").write_text("2500000\n")


class Ina226(Device):
    """power1_input: the mean over the last whole update interval, in steps of the register."""

    def __init__(self, circuit: Circuit, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._folder = folder  # lives as long as the chip
        self._phase_s = circuit.rng.uniform(0, UPDATE_S)
        accuracy = CHIPS["ina226"].accuracy(SUPPLY_V, SHUNT_OHM, SHUNT_TOLERANCE_REL)
        super().__init__(circuit, accuracy.gain_rel, accuracy.offset_w)

    def read(self, path: Path) -> str:
        """The file's text as the kernel would give it."""
        if path.name != "power1_input":
            return read_text(path)
        faults, rng = self._circuit.faults, self._circuit.rng
        if Fault.GARBAGE in faults and rng.random() < 0.05:
            return str(rng.choice(["", "garbage\n", "1e6\n", "--1\n"]))
        if self.gone:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        if Fault.DROPOUT in faults and rng.random() < 0.05:
            raise OSError(errno.EREMOTEIO, "Remote I/O error")
        return f"{round(self._steps() * POWER_STEP_W * 1e6)}\n"

    def _steps(self) -> int:
        ended_s = (self.now_s - self._phase_s) // UPDATE_S * UPDATE_S + self._phase_s
        load = self._circuit.load
        mean_w = float(load.energy_j(ended_s) - load.energy_j(ended_s - UPDATE_S)) / UPDATE_S
        return round(self.shown_w(mean_w) / POWER_STEP_W)


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """An INA226 with a shunt of 20 mΩ in a board's supply line; 6.25 W, in the middle, is a whole number of steps."""
    folder = tempfile.TemporaryDirectory()
    make_ina226(Path(folder.name) / "hwmon0")
    chip = Ina226(circuit, folder)
    return Rig(Hwmon(Path(folder.name), read=chip.read, clock_ns=clock_ns), chip.advance)


INSTRUMENT = Instrument(
    "hwmon", connect, idle_w=2.5, busy_w=10.0, duration_s=40.0, change_s=2.0,
    evidence=Evidence(("Linux ina2xx.rst, General sysfs entries", "TI SBOS547, Electrical Characteristics")),
)  # fmt: skip
