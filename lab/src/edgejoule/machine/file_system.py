"""A file system made for a run and mounted with the run's options: on an image in the run's data folder, or on a whole
disk that is wiped for each run (wiped_disk).

An image is on a loop device, which reads and writes it past the page cache where the file system below allows it, so
that what the run caches is cached once. After the run the image is gone; a disk keeps the last run's files. A crash's
leftovers are removed before the next run. Needs root. Source: Linux man-pages losetup(8), mkfs.ext4(8), mkfs.xfs(8),
mount(8).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgejoule.errors import StoreError
from edgejoule.machine.block_devices import mounts
from edgejoule.machine.wiped_disk import LABEL, PROGRAMS, Command, Wiping

KINDS = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f")}
#: Options of mkfs with one value that neither name another device nor change how a run recognises its file system.
MKFS_OPTIONS = {
    "ext4": ("-b", "-C", "-E", "-g", "-G", "-i", "-I", "-J", "-m", "-N", "-O"),
    "xfs": ("-b", "-d", "-i", "-l", "-m", "-n", "-s"),
}
SIZE_MB = 2048  # of the image, a sparse file
_FIX = "run as root on a machine (not a container without loop devices), or leave filesystem out"
_TIMEOUT_S = 600  # a slow card takes minutes to write back what a run has written
_FILE_SYSTEM_UUID = {"ext4": ("-U", "{}"), "xfs": ("-m", "uuid={}")}
_NAMES_A_DEVICE = re.compile(r"(^|,)(device|name|file|logdev|rtdev|uuid)=", re.IGNORECASE)


@dataclass(frozen=True)
class FileSystem:
    """kind: see KINDS. mount_options: as for mount -o; empty for the kind's own. size_mb: 0 for a whole disk.
    mkfs_options: as for mkfs, "-O ^has_journal". device: the disk that is wiped for it; empty: an image.
    """

    kind: str
    mount_options: str = ""
    size_mb: int = SIZE_MB
    mkfs_options: str = ""
    device: str = ""

    def mkfs(self, target: str, *own: str) -> list[str]:
        """Returns the command that makes it on an image of its size, or on a disk. own: further options."""
        of_disk = self.size_mb if self.device else 0
        if of_disk and self.kind == "xfs":
            own = (*own, "-d", f"size={of_disk}m")
        size = [f"{of_disk}m"] if of_disk and self.kind == "ext4" else []
        return [*KINDS[self.kind], *own, *self.mkfs_options.split(), target, *size]

    def mount(self, device: str, place: Path) -> list[str]:
        """Returns the command that mounts it. On a disk ext4 must not write its inode tables during the run."""
        own = ["noinit_itable"] if self.device and self.kind == "ext4" else []
        options = ",".join([*own, *filter(None, [self.mount_options])])
        return ["mount", "-t", self.kind, *(["-o", options] if options else []), device, str(place)]


def run_command(command: Sequence[str]) -> str:
    """A system program's standard output. Raises StoreError with the program's message when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"{command[0]}: {error}; {_FIX}") from error
    if done.returncode != 0:
        messages = [line for line in (done.stderr or done.stdout).strip().splitlines() if "dmesg(1)" not in line]
        raise StoreError(
            f"{' '.join(command)}: {messages[-1].strip() if messages else f'ended with code {done.returncode}'}; {_FIX}"
        )
    return done.stdout


def why_not(wanted: Collection[FileSystem]) -> str | None:
    """Returns why such file systems cannot be made here, with a remedy; None where they can."""
    if os.geteuid() != 0:
        return f"filesystem: making and mounting one needs root; {_FIX}"
    of_disks = PROGRAMS if any(each.device for each in wanted) else ()
    for program in ("losetup", "mount", "umount", *of_disks, *sorted({KINDS[each.kind][0] for each in wanted})):
        if shutil.which(program) is None:
            return f"filesystem: {program} is missing here; install it, or leave filesystem out"
    return None


def wiping(serials: Collection[str], data: Path, folders: Sequence[Path]) -> Wiping:
    """Returns the permission to wipe disks with these serial numbers, mounted below `data`, but no disk of folders."""
    return Wiping(run_command, frozenset(serials), folders, _place(data))


def _place(folder: Path) -> Path:
    return folder / "filesystem"


class MadeFileSystem:
    """At most one at a time below a folder: its image and where it is mounted. command: runs a system program. wipes:
    which disks may be wiped; None: none. root: the folder with /proc.
    """

    def __init__(
        self, folder: Path, command: Command = run_command, wipes: Wiping | None = None, root: Path = Path("/")
    ) -> None:
        self._command, self._root = command, root
        self._wipes = wipes or Wiping(command)
        self.image, self.mounted = folder / "filesystem.img", _place(folder)

    def make(self, wanted: FileSystem) -> Path:
        """Makes a new, empty one and returns where it is mounted. Raises StoreError when that fails, with nothing
        left.
        """
        self.remove()
        try:
            self.mounted.mkdir(parents=True, exist_ok=True)
            device = self._on_disk(wanted) if wanted.device else self._on_image(wanted)
            self._command(wanted.mount(device, self.mounted))
        except OSError as error:
            self.remove()
            raise StoreError(f"{wanted.device or self.image}: cannot be made: {error.strerror}") from error
        except BaseException:
            self.remove()
            raise
        return self.mounted

    def _on_image(self, wanted: FileSystem) -> str:
        with self.image.open("wb") as image:
            image.truncate(wanted.size_mb << 20)
        self._command(wanted.mkfs(str(self.image)))
        return self._loop_device()

    def _on_disk(self, wanted: FileSystem) -> str:
        with self._wipes.claimed(wanted.device) as claimed:
            if wanted.size_mb << 20 > claimed.disk.size_bytes:
                has = f"{claimed.disk.size_bytes >> 20} MiB, and filesystem_mb with all executions is {wanted.size_mb}"
                raise StoreError(f"filesystem_device: {wanted.device} has {has}")
            claimed.discard()
            option, value = _FILE_SYSTEM_UUID[wanted.kind]
            own = (option, value.format(claimed.disk.file_system_uuid), "-L", LABEL)
            with claimed.writable() as target:
                self._command(wanted.mkfs(target, *own))
            return claimed.disk.path

    def _loop_device(self) -> str:
        find = ["losetup", "--find", "--show"]
        try:
            return self._command([*find, "--direct-io=on", str(self.image)]).strip()
        except StoreError:  # the file system below knows no direct access
            return self._command([*find, str(self.image)]).strip()

    def remove(self) -> None:
        """Unmounts, detaches and deletes, also leftovers of a crash. Raises StoreError when it cannot."""
        while self._is_mounted():
            self._command(["umount", os.path.realpath(self.mounted)])
        if self.image.exists():
            for line in self._command(["losetup", "--associated", str(self.image)]).splitlines():
                self._command(["losetup", "--detach", line.split(":", 1)[0]])
            self.image.unlink()
        if self.mounted.is_dir():
            self.mounted.rmdir()

    def _is_mounted(self) -> bool:
        return os.path.realpath(self.mounted) in (mount.place for mount in mounts(self._root))


def complaints(settings: Mapping[str, object]) -> Iterator[tuple[str, str, str | None]]:
    """Yields each of a cell's settings that cannot be, why, and the setting that excludes it or None."""
    for name in ("mount_options", "mkfs_options", "filesystem_mb", "filesystem_device"):
        if name in settings and "filesystem" not in settings:
            yield name, "belongs to a filesystem that is made for the run: give filesystem too", None
    if "data_path" in settings and "filesystem_device" in settings:
        yield "data_path", "says where an image lies, and a disk has none; remove one of the two", "filesystem_device"
    options = str(settings.get("mount_options", ""))
    if not re.fullmatch(r"[A-Za-z0-9_=,.:-]*", options):
        why = f"expected options of mount -o with commas, such as noatime,commit=30; got {options!r}"
        yield "mount_options", why, None
    elif result := {"bind", "rbind", "move", "remount", "ro", "loop"} & set(options.split(",")):
        yield "mount_options", f"{', '.join(sorted(result))} is not for a file system that is made for the run", None
    if why_wrong := _wrong_mkfs_options(str(settings.get("filesystem")), str(settings.get("mkfs_options", ""))):
        yield "mkfs_options", why_wrong, None


def _wrong_mkfs_options(kind: str, options: str) -> str | None:
    words, known = options.split(), MKFS_OPTIONS.get(kind, ())
    wrong = [name for name in words[::2] if name not in known]
    values = words[1::2]
    if kind not in MKFS_OPTIONS or not words:
        return None
    if wrong or len(words) % 2 or not all(re.fullmatch(r"[A-Za-z0-9_^][A-Za-z0-9_=,.:^-]*", value) for value in values):
        example = {"ext4": "-O ^has_journal -m 0", "xfs": "-l size=64m"}[kind]
        return f"expected options of mkfs.{kind} with their values ({example}), of {', '.join(known)}; got {options!r}"
    if named := next((value for value in values if _NAMES_A_DEVICE.search(value)), None):
        return f"{named} names another device or the UUID, by which the next run knows the file system"
    return None


def of_settings(settings: Mapping[str, object]) -> FileSystem | None:
    """Returns what a cell's settings ask for."""
    if "filesystem" not in settings:
        return None
    size_mb = int(str(settings.get("filesystem_mb", 0 if "filesystem_device" in settings else SIZE_MB)))
    texts = (
        str(settings.get(name, "")) for name in ("filesystem", "mount_options", "mkfs_options", "filesystem_device")
    )
    kind, mount_options, mkfs_options, device = texts
    return FileSystem(kind, mount_options, size_mb, mkfs_options, device)
