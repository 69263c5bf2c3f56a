"""Bytes that the whole block device under a folder read and wrote, by the kernel's counters."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from edgejoule.machine.files import read_bytes

_SECTOR_BYTES = 512  # of /sys/block/*/stat, whatever the device's own sectors are


@dataclass(frozen=True)
class StorageCounters:
    """Since the machine started, or between two readings. None: the kernel shows no block device under the folder."""

    read_bytes: int | None
    write_bytes: int | None

    @classmethod
    def of(cls, folder: Path) -> StorageCounters:
        """Now, of the device that the folder lies on."""
        try:
            number = folder.stat().st_dev
            fields = read_bytes(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat").split()
            return cls(int(fields[2]) * _SECTOR_BYTES, int(fields[6]) * _SECTOR_BYTES)
        except (OSError, ValueError, IndexError):
            return cls(None, None)

    def since(self, earlier: StorageCounters) -> StorageCounters:
        """Returns the reads and writes since an earlier reading."""
        return StorageCounters(
            _difference(self.read_bytes, earlier.read_bytes), _difference(self.write_bytes, earlier.write_bytes)
        )


def _difference(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before
