"""Emulated power events: the sysfs tree of a processor and the counters behind the system call, with known joules.

Tree and texts: Linux commit 410136f5dd96 ("tools/perf/stat: Add event unit and scale support"), whose message shows
them, and Documentation/ABI/testing/sysfs-bus-event_source-devices-events.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path

from edgejoule.meters.plugins.perf.events import PerfEvent
from edgejoule.meters.plugins.perf.meter import GAIN_REL, STEP_J, PerfEnergy
from edgejoule.testing.device import Device
from edgejoule.testing.instrument import POLLED_FAULTS, Circuit, Evidence, Fault, Instrument, Rig

SCALE_TEXT = "2.3283064365386962890625e-10"  # 2^-32 J
_UPDATE_NS = 1_000_000


def make_tree(root: Path, events: dict[str, str], cpumask: str = "0") -> None:
    """The power unit's files below root/power; below root/cpu the CPUs of the mask, each in a different package."""
    folder = root / "power" / "events"
    folder.mkdir(parents=True)
    for name, text in (("type", "14"), ("cpumask", cpumask)):
        (root / "power" / name).write_text(f"{text}\n")
    for name, text in events.items():
        (folder / name).write_text(f"{text}\n")
        (folder / f"{name}.scale").write_text(f"{SCALE_TEXT}\n")
        (folder / f"{name}.unit").write_text("Joules\n")
    for package, cpu in enumerate(cpumask.split(",")):
        topology = root / "cpu" / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n")


class _Counters(Device):
    """Counts from the opening on, in whole steps of the register, renewed every ms."""

    def __init__(self, circuit: Circuit, folder: tempfile.TemporaryDirectory[str]) -> None:
        super().__init__(circuit, GAIN_REL)
        self._folder = folder  # lives as long as the counters
        self._opened: dict[int, int] = {}

    def open(self, event: PerfEvent) -> int:
        assert (event.type_number, event.config, event.cpu) == (14, 2, 0), event
        descriptor = 100 + len(self._opened)
        self._opened[descriptor] = self._steps()
        return descriptor

    def count(self, descriptor: int) -> int:
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")
        if Fault.DROPOUT in self._circuit.faults and self._circuit.rng.random() < 0.05:
            raise OSError(errno.EIO, "Input/output error")
        return (self._steps() - self._opened[descriptor]) * round(STEP_J * 2**32)

    def close(self, descriptor: int) -> None:
        assert descriptor in self._opened, descriptor

    def _steps(self) -> int:
        drawn_j = float(self._circuit.load.energy_j(self.renewed_s(_UPDATE_NS))) * self._gain
        return int(drawn_j / STEP_J)


def connect(circuit: Circuit, clock_ns: Callable[[], int]) -> Rig:
    """One package of 5 to 60 W: a tree in a separate folder, counters that answer from the circuit."""
    folder = tempfile.TemporaryDirectory()
    make_tree(Path(folder.name), {"energy-pkg": "event=0x02"})
    counters = _Counters(circuit, folder)
    root = Path(folder.name)
    return Rig(PerfEnergy(root / "power", root / "cpu", events=counters, clock_ns=clock_ns), counters.advance)


INSTRUMENT = Instrument(
    "perf-energy", connect, idle_w=5.0, busy_w=60.0, duration_s=20.0, change_s=0.5,
    faults=POLLED_FAULTS - {Fault.GARBAGE},
    evidence=Evidence(("Linux 410136f5dd96, tree and scale", "Linux itself: perf_event_open with a software event")),
)  # fmt: skip
