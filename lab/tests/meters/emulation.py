"""An emulated powercap tree and /proc: the files a kernel would show, on a clock the test moves."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

RANGE_UJ = 262_143_328_850  # as Intel client processors report


@dataclass
class Clock:
    now_ns: int = 1_000_000_000

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def overwrite(path: Path, text: str) -> None:
    """In two calls, as quick as it gets: the file keeps its inode, as a kernel's does."""
    descriptor = os.open(path, os.O_WRONLY)
    os.pwrite(descriptor, text.encode(), 0)
    os.ftruncate(descriptor, len(text.encode()))
    os.close(descriptor)


@dataclass
class PowercapTree:
    """Zones as files below root; faults raise from the reader, as a kernel's refusal would."""

    root: Path
    energy_uj: dict[str, float] = field(default_factory=dict)
    faults: dict[str, Callable[[], str]] = field(default_factory=dict)
    range_uj: int = RANGE_UJ

    def add(self, zone: str, name: str, energy_uj: float = 0.0) -> None:
        folder = self.root / zone
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "max_energy_range_uj").write_text(f"{self.range_uj}\n")
        (folder / "energy_uj").write_text("")
        self.energy_uj[zone] = energy_uj

    def draw(self, zone: str, joules: float) -> None:
        self.energy_uj[zone] += joules * 1e6

    def read(self, path: Path) -> str:
        if path.name != "energy_uj":
            return path.read_text()
        zone = path.parent.name
        if zone in self.faults:
            return self.faults[zone]()
        modulus = self.range_uj * 2**32 / (2**32 - 1)
        return f"{int(self.energy_uj[zone] % modulus)}\n"


def raising(error: OSError) -> Callable[[], str]:
    def read() -> str:
        raise error

    return read


@dataclass
class ProcTree:
    """/proc/stat of a machine with some CPUs; busy time is given, the rest of the clock's time is idle."""

    clock: Clock
    cpus: int = 4
    busy_s: float = 0.0
    steal_s: float = 0.0
    guest_s: float = 0.0
    model: str | None = None
    diskstats: str = ""
    net: str = ""
    broken: Callable[[], str] | None = None

    def read(self, path: Path) -> str:
        if path.name == "model":
            if self.model is None:
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return f"{self.model}\0"
        if self.broken is not None:
            return self.broken()
        if path.name == "stat":
            return self._stat()
        return self.diskstats if path.name == "diskstats" else self.net

    def _stat(self) -> str:
        idle = self.clock.now_ns / 1e9 * self.cpus - self.busy_s - self.steal_s
        ticks = [self.busy_s + self.guest_s, 0, 0, idle, 0, 0, 0, self.steal_s, self.guest_s, 0]
        total = "cpu  " + " ".join(str(int(x * 100)) for x in ticks)
        return "\n".join([total, *(f"cpu{i} 0 0 0 0 0 0 0 0 0 0" for i in range(self.cpus)), "intr 0"]) + "\n"
