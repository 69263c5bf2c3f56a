"""Loop devices with 512-byte sectors on files of a real disk, one of them with a file system; root."""

import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "vfat": ["mkfs.vfat", "-S", "512"],
    "f2fs": ["mkfs.f2fs", "-q", "-f"],
}


class BenchError(Exception):
    """The bench cannot go on; the message says why."""


def missing(kind: str) -> str:
    """Why this machine cannot have a file system of this kind; empty when it can."""
    if not shutil.which(MKFS[kind][0]):
        return f"{MKFS[kind][0]} is not installed"
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "-q", kind], capture_output=True, check=False)
    known = Path("/proc/filesystems").read_text().split()
    return "" if kind in known else "the kernel has not got it"


def run(*command: str | Path) -> str:
    """A command's output; what it said when it failed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(str(word) for word in command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


class Loops:
    """`bare`, `other`: devices; `folder`: where the other is mounted. All is gone after `with`."""

    def __init__(self, scratch: Path, bare_mib: int, other_mib: int) -> None:
        self.scratch = scratch
        self.sizes = {"bare": bare_mib, "other": other_mib}
        self.devices: dict[str, str] = {}
        self.folder = scratch / "mounted"
        self.mounted = False

    def __enter__(self) -> Self:
        try:
            if run("stat", "-f", "-c", "%T", self.scratch) in {"tmpfs", "ramfs", "overlayfs"}:
                raise BenchError(f"{self.scratch} is in memory: give a folder on a disk with --data")
            for name, mib in self.sizes.items():
                self.devices[name] = self._attach(name, mib)
            self.folder.mkdir()
            self.make_file_system("ext4")
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _attach(self, name: str, mib: int) -> str:
        """Every block of the file is written, so that no write waits for the disk's own file system to find room."""
        file = self.scratch / f"{name}.img"
        if shutil.disk_usage(self.scratch).free < (mib + 512) << 20:
            raise BenchError(f"{self.scratch}: {mib} MiB do not fit")
        run("dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={mib}", "conv=fsync", "status=none")
        return run("losetup", "--find", "--show", "--sector-size", "512", file)

    def make_file_system(self, kind: str) -> None:
        """Another one in `folder`; what was there is gone."""
        self._unmount()
        run(*MKFS[kind], self.devices["other"])
        run("mount", "-t", kind, self.devices["other"], self.folder)
        self.mounted = True

    def _unmount(self) -> None:
        if self.mounted:
            for _ in range(50):
                if subprocess.run(["umount", str(self.folder)], capture_output=True, check=False).returncode == 0:
                    break
                time.sleep(0.1)
            self.mounted = False

    def _remove(self) -> None:
        self._unmount()
        for device in self.devices.values():
            subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)
        self.devices = {}
        for name in self.sizes:
            (self.scratch / f"{name}.img").unlink(missing_ok=True)

    def empty_folder(self) -> None:
        """No file in the file system, and nothing left to be written."""
        for entry in self.folder.iterdir():
            if entry.name == "lost+found":
                continue
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        run("sync", "-f", self.folder)
