"""The layers below a folder: images of loop devices and stacked devices, down to disks with their model and transport.

Source: Linux kernel documentation, Documentation/ABI/stable/sysfs-block.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgejoule.machine.files import read_bytes

_IN_MEMORY = ("tmpfs", "ramfs")
_OF_MMC = {"SD": "SD card", "MMC": "eMMC"}
_IN_PLACE = {r"/nvme/": "NVMe", r"/virtio\d": "virtio", r"/ata\d": "SATA"}  # parts of a disk's place in /sys


@dataclass(frozen=True)
class Mount:
    """A line of /proc/mounts."""

    device: str
    place: str
    file_system: str
    options: str


@dataclass(frozen=True)
class Layer:
    """One layer of storage.

    kind: image (the file of a loop device), stacked (RAID, LVM, encryption), disk or memory. name: of the block device,
    of the image's file, or of the file system in memory. number: of the block device, major:minor. file_system: the one
    with the image. model, transport: of a disk; None: unknown.
    """

    kind: str
    name: str
    number: str = ""
    file_system: str | None = None
    model: str | None = None
    transport: str | None = None

    def text(self) -> str:
        """Returns the layer in a few words."""
        if self.kind == "image":
            return f"an image on {self.file_system or self.name}"
        if self.kind != "disk":
            return f"{self.kind} ({self.name})"
        known = ", ".join(filter(None, (self.model, self.transport)))
        return f"disk {self.name}{f' ({known})' if known else ''}"


def mount_of(path: Path, root: Path = Path("/")) -> Mount | None:
    """Returns the mount that has this path; None if /proc/mounts does not name it."""
    above = {str(folder) for folder in (path, *path.parents)}
    holding = [mount for mount in mounts(root) if mount.place in above]
    return max(reversed(holding), key=lambda mount: len(mount.place)) if holding else None


def mounts(root: Path = Path("/")) -> list[Mount]:
    """Returns all mounts in their order; none without /proc."""
    rows = [line.split()[:4] for line in (_text(f"{root}/proc/mounts") or "").splitlines()]
    return [Mount(row[0], plain_path(row[1]), row[2], row[3]) for row in rows if len(row) == 4]


def plain_path(place: str) -> str:
    """Returns a path of /proc/mounts without its octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)


def layers_below(path: Path, root: Path = Path("/")) -> list[Layer]:
    """Returns the layers below an existing file or folder, the upper ones first; empty if the kernel shows none."""
    mount = mount_of(path, root)
    if mount is not None and mount.file_system in _IN_MEMORY:
        return [Layer("memory", mount.file_system)]
    numbers = [number_of(path.stat().st_dev)]
    if mount is not None and (number := block_number(mount.device)):  # btrfs has device numbers of its own
        numbers.append(number)
    return next((layers for number in numbers if (layers := layers_of(number, root))), [])


def layers_of(number: str, root: Path = Path("/")) -> list[Layer]:
    """Returns the layers of a block device, itself first unless it is a partition. number: major:minor."""
    return list(_layers(number, root))


def _layers(number: str, root: Path) -> Iterator[Layer]:
    folder = os.path.realpath(f"{root}/sys/dev/block/{number}")
    if not Path(folder).is_dir():
        return
    if Path(folder, "partition").exists():
        yield from _layers(_text(f"{folder}/../dev") or "", root)
    elif (file := backing_file(number, root)) is not None:
        yield from _image(file, number, root)
    elif stacked := sorted(_names(f"{folder}/slaves")):
        yield Layer("stacked", Path(folder).name, number)
        for name in stacked:
            yield from _layers(_text(f"{folder}/slaves/{name}/dev") or "", root)
    else:
        yield Layer("disk", Path(folder).name, number, None, _model(folder), _transport(folder))


def _image(file: Path, number: str, root: Path) -> Iterator[Layer]:
    if (below := block_number(str(file))) is not None:
        yield Layer("image", str(file), number)
        yield from _layers(below, root)
        return
    mount = mount_of(file, root)
    yield Layer("image", str(file), number, mount.file_system if mount else None)
    if file.exists():
        yield from layers_below(file, root)


def backing_file(number: str, root: Path = Path("/")) -> Path | None:
    """Returns the file (or block device) of a loop device; None for other devices."""
    text = _text(f"{root}/sys/dev/block/{number}/loop/backing_file")
    return Path(text.removesuffix(" (deleted)")) if text else None


def block_number(path: str) -> str | None:
    """Returns major:minor of a block device's node; None for anything else."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return number_of(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None


def number_of(device: int) -> str:
    """Returns major:minor of a device's number."""
    return f"{os.major(device)}:{os.minor(device)}"


def _model(folder: str) -> str | None:
    texts = (_text(f"{folder}/device/{name}") for name in ("model", "name"))  # name: of SD cards and eMMC
    return next((text for text in texts if text), None)


def _transport(folder: str) -> str | None:
    """Returns how a disk is attached. For USB with the negotiated speed, which tells USB 2 from USB 3."""
    if Path(folder).name.startswith("mmcblk"):
        return _OF_MMC.get(_text(f"{folder}/device/type") or "")
    for above in Path(folder).parents:
        if (above / "idVendor").exists() and (speed := _text(f"{above}/speed")):
            return f"USB at {speed} Mbit/s"
    return next((name for pattern, name in _IN_PLACE.items() if re.search(pattern, folder)), None)


def _text(path: str) -> str | None:
    try:
        return read_bytes(path).decode("utf-8", errors="replace").strip("\x00\n ") or None
    except OSError:
        return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names alone
    except OSError:
        return []
