"""The kernel's power events: which there are in sysfs, and the system call that opens and reads one.

/sys/bus/event_source/devices/power has `type` (a number), `cpumask` (one CPU for each package) and events/energy-NAME
(`event=0x02`) with energy-NAME.scale (J of one count) and energy-NAME.unit (`Joules`). Linux,
Documentation/ABI/testing/sysfs-bus-event_source-devices-events; perf_event_open(2).
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from edgejoule.machine.files import ReadText
from edgejoule.meters.base import Domain

DOMAINS = {
    "energy-pkg": Domain.PACKAGE,
    "energy-cores": Domain.CORE,
    "energy-gpu": Domain.UNCORE,
    "energy-ram": Domain.DRAM,
    "energy-psys": Domain.PSYS,
}
_NAMES = {Domain.PACKAGE: "package", Domain.CORE: "core", Domain.UNCORE: "uncore", Domain.DRAM: "dram"}
_SYSTEM_CALLS = {"x86_64": 298, "i686": 336}  # the kernel has these events on x86 only
_ATTR_BYTES = 64  # PERF_ATTR_SIZE_VER0
_ATTR = struct.Struct("=IIQQQQQIIQ")
_CLOSE_ON_EXEC = 8
_COUNT = struct.Struct("=Q")


@dataclass(frozen=True)
class PerfEvent:
    """One counter: what to open, where, and what a count is worth."""

    name: str
    domain: Domain
    type_number: int
    config: int
    cpu: int
    scale_j: float


class Events(Protocol):
    """The system call: the transport."""

    def open(self, event: PerfEvent) -> int:
        """A descriptor. Raises OSError."""
        ...

    def count(self, descriptor: int) -> int:
        """Counts since it was opened. Raises OSError."""
        ...

    def close(self, descriptor: int) -> None:
        """Release it."""
        ...


class KernelEvents:
    """perf_event_open(2) for all processes on one CPU, counting, never sampling."""

    def open(self, event: PerfEvent) -> int:
        """A descriptor. Raises OSError; PermissionError where perf_event_paranoid forbids it."""
        number = _SYSTEM_CALLS.get(platform.machine())
        if number is None:
            raise OSError(f"no power events on {platform.machine()}")
        library = ctypes.CDLL(None, use_errno=True)
        attributes = _ATTR.pack(event.type_number, _ATTR_BYTES, event.config, 0, 0, 0, 0, 0, 0, 0)
        every_process, no_group = ctypes.c_int(-1), ctypes.c_int(-1)
        descriptor = library.syscall(
            ctypes.c_long(number),
            attributes,
            every_process,
            ctypes.c_int(event.cpu),
            no_group,
            ctypes.c_ulong(_CLOSE_ON_EXEC),
        )
        if descriptor < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return int(descriptor)

    def count(self, descriptor: int) -> int:
        """Counts since it was opened."""
        data = os.read(descriptor, _COUNT.size)
        if len(data) != _COUNT.size:
            raise OSError(f"the counter gave {len(data)} bytes, expected {_COUNT.size}")
        return int(_COUNT.unpack(data)[0])

    def close(self, descriptor: int) -> None:
        """Release it."""
        os.close(descriptor)


def find_events(root: Path, read: ReadText, packages: Path) -> list[PerfEvent]:
    """The energy events of the power unit below root, packages first.

    packages: where cpuN/topology/physical_package_id is. Raises OSError and ValueError for an unreadable tree.
    """
    type_number = int(read(root / "type"))
    cpus = _cpus(read(root / "cpumask"))
    result = []
    for name in sorted(path.name for path in (root / "events").iterdir() if path.name in DOMAINS):
        unit = read(root / "events" / f"{name}.unit").strip()
        scale_j = float(read(root / "events" / f"{name}.scale"))
        if unit != "Joules" or not (math.isfinite(scale_j) and scale_j > 0):
            raise ValueError(f"{name}: expected a scale in Joules, got {scale_j} {unit[:20]}")
        config = _config(name, read(root / "events" / name))
        for cpu in cpus:
            package = int(read(packages / f"cpu{cpu}" / "topology" / "physical_package_id"))
            domain = DOMAINS[name]
            label = f"{_NAMES[domain]}-{package}" if domain in _NAMES else domain.value
            result.append(PerfEvent(label, domain, type_number, config, cpu, scale_j))
            if domain not in _NAMES:
                break  # psys is one counter, whatever the number of packages
    return sorted(result, key=lambda event: event.domain is not Domain.PACKAGE)


def _cpus(mask: str) -> list[int]:
    cpus: list[int] = []
    for part in mask.strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def _config(name: str, text: str) -> int:
    matched = re.fullmatch(r"event=(0x[0-9a-fA-F]+)", text.strip())
    if not matched:
        raise ValueError(f"{name}: expected event=0x..., got {text.strip()[:40]!r}")
    return int(matched[1], 16)
