"""The powercap tree: which zones there are and what each covers.

A zone is a folder `intel-rapl:N` (a package, or psys) or `intel-rapl:N:M` (a part of package N) with the files `name`,
`energy_uj` and `max_energy_range_uj`. AMD processors show the same tree. The control type `intel-rapl-mmio` counts the
same package a second time and is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from edgejoule.machine.files import ReadText
from edgejoule.meters.base import Domain

_ZONE = re.compile(r"intel-rapl:(\d+)(?::(\d+))?")
_DOMAINS = {"core": Domain.CORE, "uncore": Domain.UNCORE, "dram": Domain.DRAM, "psys": Domain.PSYS}
_COUNTER_STEPS = 2**32  # the register has 32 bits on every processor the driver knows


@dataclass(frozen=True)
class Zone:
    """One counter. range_uj: the largest value it can show, as the kernel says."""

    path: Path
    name: str
    domain: Domain
    range_uj: int

    @property
    def channel(self) -> str:
        """The zone's name."""
        return self.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of one value."""
        return (self.energy_path,)

    @cached_property
    def energy_path(self) -> Path:
        """The file with the running total in µJ."""
        return self.path / "energy_uj"

    @property
    def unit_j(self) -> float:
        """One step of the counter in J: 61 µJ on most Intel, 15 µJ on AMD and on server DRAM."""
        return self.range_uj / (_COUNTER_STEPS - 1) / 1e6

    @property
    def wrap_j(self) -> float:
        """The counter's modulus in J: one step more than the largest value."""
        return self.unit_j * _COUNTER_STEPS


def find_zones(root: Path, read: ReadText) -> list[Zone]:
    """All RAPL zones below root, packages first. Raises OSError and ValueError for an unreadable tree."""
    result = []
    for path in sorted(root.iterdir(), key=lambda path: [int(x) for x in re.findall(r"\d+", path.name)]):
        matched = _ZONE.fullmatch(path.name)
        if matched:
            result.append(_zone(path, matched.group(1), matched.group(2), read))
    zones = [zone for zone in result if zone is not None]
    return sorted(zones, key=lambda zone: zone.domain is not Domain.PACKAGE)


def _zone(path: Path, package: str, part: str | None, read: ReadText) -> Zone | None:
    label = read(path / "name").strip()
    domain = Domain.PACKAGE if label.startswith("package") else _DOMAINS.get(label)
    if domain is None:
        return None
    range_uj = int(read(path / "max_energy_range_uj"))
    if range_uj <= 0:
        raise ValueError(f"{path / 'max_energy_range_uj'}: expected a positive number of µJ, got {range_uj}")
    return Zone(path, label if part is None else f"{label}-{package}", domain, range_uj)
