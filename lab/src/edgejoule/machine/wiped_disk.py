"""A whole disk that is wiped for each run, and all that forbids it.

A disk is wiped only where the user names its serial number (`edgejoule run --wipe SERIAL`), nothing uses it or names
it, and it is empty or has the file system of an earlier run, which is recognised by its UUID. The kernel's exclusive
claim on the disk (O_EXCL) is held from the first check until the new file system is made, so that nobody can mount the
disk in between. A loop device has the path of its image in the place of a serial number. Source: Linux man-pages
open(2), losetup(8), lsblk(8), wipefs(8), fstab(5).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import struct
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.errors import StoreError
from edgejoule.machine.block_devices import backing_file, block_number, layers_below, layers_of, number_of

LABEL = "edgejoule"
SIZE_MB_MIN = 300  # the least that xfs takes
PROGRAMS = ("losetup", "lsblk", "wipefs")
_OWN = uuid.uuid5(uuid.NAMESPACE_URL, "edgejoule:wiped-disk")
_COLUMNS = (
    "NAME,PATH,MAJ:MIN,TYPE,SERIAL,SIZE,RO,MOUNTPOINT,UUID,LABEL,PARTUUID,PARTLABEL"  # with NAME lsblk shows a tree
)
_TABLES = {"fstab": 0, "crypttab": 1}  # files below /etc -> the column that names a device
_END_BYTES = 1 << 20
_BLANK = (b"\0", b"\xff")  # bytes of erased media
_DISCARD = 0x1277  # BLKDISCARD of linux/fs.h
_NO_DISCARD = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL)

Command = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Disk:
    """A disk as lsblk shows it.

    device: as the experiment names it. path: of the kernel, /dev/sdb. kind: disk, loop, part, lvm, ... nodes: lsblk's
    rows of the disk and of all partitions and stacked devices on it.
    """

    device: str
    path: str
    number: str
    kind: str
    serial: str | None
    size_bytes: int
    read_only: bool
    nodes: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, device: str, command: Command) -> Disk:
        """Examines a device. Raises StoreError if it is no block device or has no medium."""
        path = os.path.realpath(device)
        if (number := block_number(path)) is None:
            listed = "`lsblk --output PATH,MODEL,SIZE,SERIAL` lists those here"
            raise StoreError(f"filesystem_device: {device} is no block device; {listed}")
        try:
            (top,) = json.loads(command(["lsblk", "--json", "--bytes", "--output", _COLUMNS, path]))["blockdevices"]
        except (StoreError, ValueError) as error:
            raise StoreError(f"filesystem_device: lsblk does not show {device}: is a medium in it?") from error
        image = backing_file(number)
        return cls(
            device, path, number, str(top["type"]), str(image) if image else top["serial"], int(top["size"]),
            top["ro"] in (True, "1"), list(_tree(top)),
        )  # fmt: skip

    @property
    def file_system_uuid(self) -> str:
        """The UUID of every file system that a run makes on this disk."""
        return str(uuid.uuid5(_OWN, self.serial or ""))

    def text(self) -> str:
        """Describes the disk: what it is, its size and serial number."""
        what = ", ".join(layer.text() for layer in layers_of(self.number)) or self.kind
        return f"{what}, {self.size_bytes / 1e9:.1f} GB, serial number {self.serial or 'unknown'}"


def _tree(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("children", ()):
        yield from _tree(child)


@dataclass(frozen=True)
class Wiping:
    """Permission to wipe disks, and the means to examine them.

    serials: of the disks that the user names. folders: whose disks are never wiped, besides that of /. place: where the
    runs mount the disk. etc: the folder with fstab and crypttab.
    """

    command: Command
    serials: Collection[str] = ()
    folders: Sequence[Path] = ()
    place: Path | None = None
    etc: Path = Path("/etc")

    def why_not(self, device: str) -> str | None:
        """Returns why the device may not be wiped, with a remedy; None if it may. Changes nothing."""
        try:
            disk = Disk.of(device, self.command)
            if self.place is not None and disk.nodes[0]["mountpoint"] == os.path.realpath(self.place):
                reason = self._not_permitted(disk)  # left by a killed study: the next run unmounts it and examines it
                return reason and _not_wiped(device, reason)
            with self.claimed(device, os.O_RDONLY):
                return None
        except StoreError as error:
            return str(error)

    def text_of(self, device: str) -> str | None:
        """Describes a device; None if there is none."""
        try:
            return Disk.of(device, self.command).text()
        except StoreError:
            return None

    @contextlib.contextmanager
    def claimed(self, device: str, mode: int = os.O_RDWR) -> Iterator[ClaimedDisk]:
        """Holds the exclusive claim on a disk that may be wiped. Raises StoreError with the reason if it may not."""
        disk = Disk.of(device, self.command)
        try:
            handle = os.open(disk.path, mode | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            busy = "another program has claimed it" if error.errno == errno.EBUSY else error.strerror
            raise StoreError(_not_wiped(device, self._in_use(disk) or str(busy))) from error
        try:
            claimed = ClaimedDisk(Disk.of(device, self.command), handle, self.command)
            if (reason := self._forbidden(claimed)) is not None:
                raise StoreError(_not_wiped(device, reason))
            yield claimed
        finally:
            os.close(handle)

    def _forbidden(self, claimed: ClaimedDisk) -> str | None:
        if number_of(os.fstat(claimed.handle).st_rdev) != claimed.disk.number:
            return "its name means another device now"
        return self._in_use(claimed.disk) or self._content(claimed) or self._not_permitted(claimed.disk)

    def _in_use(self, disk: Disk) -> str | None:
        """Returns what uses the disk or a part of it, or names it; None if nothing does."""
        checks = (_unfit, self._below_folders, _used, self._named, self._loop_on, self._twin)
        return next((reason for check in checks if (reason := check(disk)) is not None), None)

    def _below_folders(self, disk: Disk) -> str | None:
        for folder in (Path("/"), *self.folders):
            existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
            if disk.number in {layer.number for layer in layers_below(existing)}:
                return f"it is the disk of {folder}"
        return None

    def _named(self, disk: Disk) -> str | None:
        """Returns the line of fstab or crypttab that names the disk, or None."""
        for table, column in _TABLES.items():
            try:
                lines = (self.etc / table).read_text(encoding="utf-8", errors="replace").splitlines()
            except FileNotFoundError:
                continue
            except OSError as error:
                return f"{self.etc / table} cannot be read: {error.strerror}"
            for line in lines:
                words = line.partition("#")[0].split()
                if len(words) > column and _names(words[column], disk, self._signatures(disk)):
                    return f"{self.etc / table} names it ({words[column]}); remove that line"
        return None

    def _loop_on(self, disk: Disk) -> str | None:
        lines = self.command(["losetup", "--associated", disk.path]).splitlines()
        return f"{lines[0].split(':', 1)[0]} lies on it; losetup --detach ends that" if lines else None

    def _twin(self, disk: Disk) -> str | None:
        """Returns another device whose bytes are the same: on the same image, or with the same serial number."""
        listed = self.command(["losetup", "--json", "--list", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"]).strip()
        loops = json.loads(listed)["loopdevices"] if listed else []
        images = {(row["back-ino"], row["back-maj:min"]) for row in loops if row["name"] == disk.path}
        twins = [row["name"] for row in loops if (row["back-ino"], row["back-maj:min"]) in images]
        if disk.serial and disk.kind == "disk":
            listed = self.command(["lsblk", "--json", "--nodeps", "--output", "PATH,SERIAL"]).strip()
            rows = json.loads(listed)["blockdevices"] if listed else []
            twins += [row["path"] for row in rows if row["serial"] == disk.serial]
        others = sorted(set(twins) - {disk.path})
        return f"{others[0]} has the same bytes, and may be used; detach it" if others else None

    def _content(self, claimed: ClaimedDisk) -> str | None:
        """Returns what is on the disk that no run has made, with the way to make it empty; None if it may go."""
        disk, signatures = claimed.disk, self._signatures(claimed.disk)
        kinds = {s["type"] for s in signatures if str(s.get("uuid")).lower() != disk.file_system_uuid}
        if kinds:
            found = f"it has {', '.join(sorted(kinds))}, which no run has made"
        elif not signatures and not claimed.is_blank():
            found = "it has data of an unknown kind in its first or last MiB"
        else:
            return None
        zeros = f"dd if=/dev/zero of={disk.path} bs=1M"
        empty = f"wipefs --all {disk.path}; {zeros} count=1; {zeros} seek={(disk.size_bytes >> 20) - 1}"
        return f"{found}. If nobody needs it, make the disk empty: {empty}"

    def _signatures(self, disk: Disk) -> list[dict[str, Any]]:
        """Returns the signatures of file systems, partition tables and others on the disk, each with type and UUID."""
        text = self.command(["wipefs", "--json", "--no-act", disk.path]).strip()
        return json.loads(text)["signatures"] if text else []

    def _not_permitted(self, disk: Disk) -> str | None:
        if not disk.serial:
            return "it has no serial number by which --wipe could name it"
        if disk.serial in self.serials:
            return None
        named = f"--wipe names {', '.join(sorted(self.serials))}; " if self.serials else ""
        return f"{named}--wipe {disk.serial} permits it ({disk.text()})"


def _not_wiped(device: str, reason: str) -> str:
    return f"filesystem_device: {device} is not wiped: {reason}"


def _unfit(disk: Disk) -> str | None:
    if disk.kind not in ("disk", "loop"):
        return f"it is no whole disk but of type {disk.kind}; name the disk that has it"
    if disk.read_only:
        return "it is read-only"
    if disk.size_bytes < SIZE_MB_MIN << 20:
        return f"it has less than {SIZE_MB_MIN} MiB"
    return None


def _used(disk: Disk) -> str | None:
    above = disk.nodes[1:]
    for node in disk.nodes:
        if place := node["mountpoint"]:
            use = "swap space" if place == "[SWAP]" else f"mounted at {place}"
            return f"{node['path']} is {use}"
    if stacked := [node for node in above if node["type"] != "part"]:
        names = ", ".join(f"{node['path']} ({node['type']})" for node in stacked)
        return f"it is a part of {names}"
    if above:
        return f"it has partitions: {', '.join(node['path'] for node in above)}"
    return None


def _names(word: str, disk: Disk, signatures: Sequence[dict[str, Any]]) -> bool:
    """Returns whether a word of fstab is the disk or a part of it. lsblk knows names from udev alone."""
    key, equals, value = word.partition("=")
    if equals and not word.startswith("/"):
        known = (row.get(key.lower()) for row in (*disk.nodes, *signatures))
        return value.strip("\"'").lower() in {str(name).lower() for name in known if name}
    return word in (disk.device, disk.serial) or block_number(word) in {node["maj:min"] for node in disk.nodes}


class ClaimedDisk:
    """A disk under the exclusive claim of this program."""

    def __init__(self, disk: Disk, handle: int, command: Command) -> None:
        self.disk, self.handle, self._command = disk, handle, command

    def is_blank(self) -> bool:
        """Returns whether the first and the last MiB are erased. Data without a signature, such as plain dm-crypt, are
        not, nor is the copy of a partition table at the end.
        """
        ends = (
            os.pread(self.handle, _END_BYTES, 0),
            os.pread(self.handle, _END_BYTES, self.disk.size_bytes - _END_BYTES),
        )
        return all(any(not end.strip(byte) for byte in _BLANK) for end in ends)

    def discard(self) -> None:
        """Erases the disk where it can do that itself, so that each run begins with the same flash. Raises StoreError
        if that fails.
        """
        try:
            fcntl.ioctl(self.handle, _DISCARD, struct.pack("QQ", 0, self.disk.size_bytes))
        except OSError as error:
            if error.errno not in _NO_DISCARD:
                raise StoreError(f"{self.disk.device}: cannot be erased: {error.strerror}") from error

    @contextlib.contextmanager
    def writable(self) -> Iterator[str]:
        """Yields a device through which a program can write to the disk although it is claimed: mkfs claims its target
        too. It is a loop device that the kernel removes when its last user closes it, even after a crash.
        """
        sector_bytes = Path(f"/sys/dev/block/{self.disk.number}/queue/logical_block_size").read_text().strip()
        find = ["losetup", "--find", "--show", "--sector-size", sector_bytes, self.disk.path]
        device = self._command(find).strip()
        handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._command(["losetup", "--detach", device])  # takes effect at the last close
            yield device
        finally:
            os.close(handle)
        os.fsync(self.handle)
