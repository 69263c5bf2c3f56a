"""An emulated machine whose power its board's profile gets wrong by a known amount.

/proc/stat as Linux, Documentation/filesystems/proc.rst, "Miscellaneous kernel statistics in /proc/stat", has it: ticks
of 10 ms since boot. The utilisation is what the profile's table needs to say power / (1 + model_z x model_rel): the
profile's own error is drawn from the interval that it states.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgejoule.meters.plugins.profile.data import load_profile
from edgejoule.meters.plugins.profile.meter import BoardProfile
from edgejoule.meters.plugins.profile.usage import TICK_S
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import Circuit, Evidence, Fault, Instrument, Rig

PROFILE = Path(__file__).parent / "profile.toml"
CPUS = 4
_STEP_S = 0.001  # of the busy time's integral


class _Machine(Device):
    """Idle time since a boot some days ago, in whole ticks of each processor."""

    def __init__(self, circuit: Circuit) -> None:
        self._boot_s = circuit.rng.uniform(1e5, 1e6)
        profile = load_profile(PROFILE)
        error = 1 + circuit.model_z * profile.prediction_interval_rel / 2
        self._times_s = np.arange(0.0, circuit.duration_s + 1, _STEP_S)
        modelled_w = circuit.load.power_w(self._times_s + _STEP_S / 2) / error
        table = [(point.power_w, point.utilisation) for point in profile.cpu]
        busy = np.interp(modelled_w, [power_w for power_w, _ in table], [share for _, share in table])
        self._busy_s = np.concatenate([[0.0], np.cumsum(busy)[:-1]]) * _STEP_S
        super().__init__(circuit)

    def read(self, path: Path) -> str:
        if path.name != "stat":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        self._fail()
        text = self._stat()
        if Fault.GARBAGE in self._circuit.faults and self.now_s > 0 and self._circuit.rng.random() < 0.05:
            return ["", text[text.index("\n") + 1 :], text.replace("cpu  ", "cpu ? ", 1)][
                int(self._circuit.rng.integers(3))
            ]
        return text

    def _fail(self) -> None:
        if self.gone:
            raise PermissionError(errno.EACCES, "Permission denied")
        if Fault.DROPOUT in self._circuit.faults and self.now_s > 0 and self._circuit.rng.random() < 0.05:
            raise OSError(errno.EIO, "Input/output error")

    def _stat(self) -> str:
        busy_s = float(np.interp(self.now_s, self._times_s, self._busy_s))
        idle_ticks = [int((self._boot_s + self.now_s - busy_s) / TICK_S)] * CPUS
        busy_ticks = [int(busy_s / TICK_S)] * CPUS
        rows = [
            f"cpu{i} {busy} 0 0 {idle} 0 0 0 0 0 0"
            for i, (busy, idle) in enumerate(zip(busy_ticks, idle_ticks, strict=True))
        ]
        return "\n".join([f"cpu  {sum(busy_ticks)} 0 0 {sum(idle_ticks)} 0 0 0 0 0 0", *rows, "intr 0"]) + "\n"


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """A board of 3 to 8 W with four processors: its /proc/stat answers from the circuit."""
    machine = _Machine(circuit)
    meter = BoardProfile(PROFILE, machine="none", read=machine.read, clock_ns=clock_ns)
    return Rig(meter, machine.advance)


INSTRUMENT = Instrument(
    "board-profile", connect, idle_w=3.0, busy_w=8.0, duration_s=20.0, change_s=1.0,
    evidence=Evidence(("Linux proc.rst, Miscellaneous kernel statistics in /proc/stat",)),
)  # fmt: skip
