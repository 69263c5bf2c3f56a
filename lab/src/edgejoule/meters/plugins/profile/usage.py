"""What a machine has used so far, from /proc and /sys: idle CPU time, stolen time, bytes moved.

CPU time is taken from the idle side. The busy fields of /proc/stat are sampled by the tick on most kernels; idle and
iowait are clocked when a CPU goes idle and comes back, and are only printed in ticks of 10 ms. iowait may run backwards
by itself, idle + iowait does not, so they are used as a sum. guest is part of user and never read. Time that a
hypervisor took away (steal) was not spent here: it counts as idle.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from edgejoule.machine.files import ReadText

SECTOR_BYTES = 512  # /proc/diskstats counts these whatever the device's block size
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class MachineUsage:
    """Running totals since boot. idle_s: over all CPUs, steal included."""

    cpus: int
    idle_s: float
    storage_read_bytes: int
    storage_write_bytes: int
    network_read_bytes: int
    network_write_bytes: int

    @classmethod
    def of_cpu_times(cls, cpus: int, idle_ticks: int) -> MachineUsage:
        """Where bytes are not counted. idle_ticks: idle, iowait and steal of all CPUs, as /proc/stat has them."""
        return cls(cpus, idle_ticks * TICK_S, 0, 0, 0, 0)


@dataclass(frozen=True)
class UsageReader:
    """Reads one machine. devices: block devices to count, None for all physical ones; interfaces likewise."""

    proc: Path
    sys: Path
    read: ReadText
    with_storage: bool
    with_network: bool
    devices: tuple[str, ...] | None = None

    @cached_property
    def stat(self) -> Path:
        """The file of CPU times."""
        return self.proc / "stat"

    def now(self) -> MachineUsage:
        """The totals now. Raises OSError, and ValueError for a file of another form."""
        cpus, idle_s = parse_cpu(self.read(self.stat))
        storage = self._storage() if self.with_storage else (0, 0)
        network = self._network() if self.with_network else (0, 0)
        return MachineUsage(cpus, idle_s, *storage, *network)

    def _storage(self) -> tuple[int, int]:
        rows = (line.split() for line in self.read(self.proc / "diskstats").splitlines())
        moved = [
            (int(row[5]), int(row[9]))
            for row in rows
            if (row[2] in self.devices if self.devices is not None else self._physical("block", row[2]))
        ]
        return sum(x for x, _ in moved) * SECTOR_BYTES, sum(x for _, x in moved) * SECTOR_BYTES

    def _network(self) -> tuple[int, int]:
        lines = self.read(self.proc / "net" / "dev").splitlines()[2:]
        rows = (line.replace(":", " ").split() for line in lines)
        moved = [(int(row[1]), int(row[9])) for row in rows if self._physical("class/net", row[0])]
        return sum(x for x, _ in moved), sum(x for _, x in moved)

    def _physical(self, kind: str, name: str) -> bool:
        """Loop, RAM, mapped and virtual devices, and partitions, have no `device`."""
        return (self.sys / kind / name / "device").exists()


def parse_cpu(text: str) -> tuple[int, float]:
    """Number of CPUs online, and their idle + iowait + steal time in s. Raises ValueError."""
    cpus = text.count("\ncpu")
    fields = text.split("\n", 1)[0].split()
    if not fields or fields[0] != "cpu" or len(fields) < 6 or cpus == 0:
        raise ValueError(f"/proc/stat: expected a line of CPU times first, got {text[:40]!r}")
    steal = int(fields[8]) if len(fields) > 8 else 0
    return cpus, (int(fields[4]) + int(fields[5]) + steal) * TICK_S
