"""A file system made for a run: an image in the run's data folder, on a loop device, mounted with the run's options.

The loop device reads and writes its image past the page cache where the file system below allows it, so that what the
run caches is cached once. All of it is gone after the run; a crash's leftovers are removed before
the next run. Needs root. Source: Linux man-pages losetup(8), mount(8).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgejoule.errors import StoreError

KINDS = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f")}
SIZE_MB = 2048  # of the image, a sparse file
_FIX = "run as root on a machine (not a container without loop devices), or leave filesystem out"
_TIMEOUT_S = 60

Command = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class FileSystem:
    """kind: see KINDS. mount_options: as for mount -o; empty for the kind's own."""

    kind: str
    mount_options: str = ""
    size_mb: int = SIZE_MB


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


def why_not(kinds: Sequence[str]) -> str | None:
    """Returns why such file systems cannot be made here, with a remedy; None where they can."""
    if os.geteuid() != 0:
        return f"filesystem: making and mounting one needs root; {_FIX}"
    for program in ("losetup", "mount", "umount", *(KINDS[kind][0] for kind in kinds)):
        if shutil.which(program) is None:
            return f"filesystem: {program} is missing here; install it, or leave filesystem out"
    return None


class MadeFileSystem:
    """At most one at a time below a folder: its image and where it is mounted. command: runs a system program."""

    def __init__(self, folder: Path, command: Command = run_command, mounts: Path = Path("/proc/self/mounts")) -> None:
        self._command, self._mounts = command, mounts
        self.image, self.mounted = folder / "filesystem.img", folder / "filesystem"

    def make(self, wanted: FileSystem) -> Path:
        """A new, empty one; where it is mounted. Raises StoreError when that fails, and then nothing is left."""
        self.remove()
        self.mounted.mkdir(parents=True, exist_ok=True)
        try:
            with self.image.open("wb") as image:
                image.truncate(wanted.size_mb << 20)
            self._command([*KINDS[wanted.kind], str(self.image)])
            device = self._loop_device()
            options = ["-o", wanted.mount_options] if wanted.mount_options else []
            self._command(["mount", "-t", wanted.kind, *options, device, str(self.mounted)])
        except OSError as error:
            self.remove()
            raise StoreError(f"{self.image}: cannot be made: {error.strerror}") from error
        except BaseException:
            self.remove()
            raise
        return self.mounted

    def _loop_device(self) -> str:
        find = ["losetup", "--find", "--show"]
        try:
            return self._command([*find, "--direct-io=on", str(self.image)]).strip()
        except StoreError:  # the file system below knows no direct access
            return self._command([*find, str(self.image)]).strip()

    def remove(self) -> None:
        """Unmounts, detaches and deletes, also leftovers of a crash. Raises StoreError when it cannot."""
        while self._is_mounted():
            self._command(["umount", str(self.mounted)])
        if self.image.exists():
            for line in self._command(["losetup", "--associated", str(self.image)]).splitlines():
                self._command(["losetup", "--detach", line.split(":", 1)[0]])
            self.image.unlink()
        if self.mounted.is_dir():
            self.mounted.rmdir()

    def _is_mounted(self) -> bool:
        places = (line.split()[1] for line in self._mounts.read_text(encoding="utf-8").splitlines() if line.count(" "))
        return str(self.mounted) in map(_plain, places)


def _plain(place: str) -> str:
    """A path of /proc/self/mounts without its octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)


def complaint(settings: Mapping[str, object]) -> tuple[str, str] | None:
    """Which of a cell's settings cannot be, and why; None when all can."""
    options = str(settings.get("mount_options", ""))
    for name in ("mount_options", "filesystem_mb"):
        if name in settings and "filesystem" not in settings:
            return name, "belongs to a filesystem that is made for the run: give filesystem too"
    if not re.fullmatch(r"[A-Za-z0-9_=,.:-]*", options):
        return "mount_options", f"expected options of mount -o with commas, such as noatime,commit=30; got {options!r}"
    if result := {"bind", "rbind", "move", "remount", "ro", "loop"} & set(options.split(",")):
        return "mount_options", f"{', '.join(sorted(result))} is not for a file system that is made for the run"
    return None


def of_settings(settings: Mapping[str, object]) -> FileSystem | None:
    """What a cell's settings ask for."""
    if "filesystem" not in settings:
        return None
    size_mb = int(str(settings.get("filesystem_mb", SIZE_MB)))
    return FileSystem(str(settings["filesystem"]), str(settings.get("mount_options", "")), size_mb)
