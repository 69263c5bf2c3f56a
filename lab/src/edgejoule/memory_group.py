"""A memory cgroup around database and driver, so that a paper's ratio of data to memory can be kept on any machine.

What the group's processes read from files counts too, so the page cache they can have is what the limit leaves. Both
forms of the kernel are known: version 1 (a hierarchy `memory`), version 2 (one hierarchy). Source: Linux kernel
documentation, "Memory Resource Controller" and "Control Group v2".
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from edgejoule.errors import UsageError

ROOT = Path("/sys/fs/cgroup")
_FIX = "run as root on a machine whose kernel has the memory controller, or leave memory_limit_mb out"


class MemoryGroup:
    """A group with a limit in bytes that exists between enter and exit. root: where cgroups are mounted.

    Raises UsageError where no such group can be made.
    """

    def __init__(self, limit_bytes: int, root: Path = ROOT) -> None:
        self.limit_bytes = limit_bytes
        self._version, self._base = _controller(root)
        self._folder = self._base / f"edgejoule-{os.getpid()}"

    def __enter__(self) -> MemoryGroup:
        try:
            if self._version == 2:
                _delegate(self._base)
            self._folder.mkdir(exist_ok=True)
            name = "memory.limit_in_bytes" if self._version == 1 else "memory.max"
            (self._folder / name).write_text(str(self.limit_bytes))
        except OSError as error:
            self._remove()
            raise UsageError(f"memory_limit_mb: {error.filename}: {error.strerror}; {_FIX}") from error
        for name in (
            "memory.memsw.limit_in_bytes",
            "memory.swap.max",
        ):  # swapped out is not in memory, but costs joules
            with contextlib.suppress(OSError):
                if (self._folder / name).exists():
                    (self._folder / name).write_text(str(self.limit_bytes if self._version == 1 else 0))
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def command(self) -> list[str]:
        """Words before a command that make it a member from its first instruction on."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._folder / "cgroup.procs")]

    def peak_bytes(self) -> int | None:
        """The most memory the group had; None where the kernel does not say (version 2 before Linux 5.19)."""
        name = "memory.max_usage_in_bytes" if self._version == 1 else "memory.peak"
        try:
            return int((self._folder / name).read_text())
        except (OSError, ValueError):
            return None

    def _remove(self) -> None:
        for _ in range(20):  # a process that has ended is still a member for a moment
            try:
                self._folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.05)
            else:
                return


def _controller(root: Path) -> tuple[int, Path]:
    """Version and folder of the hierarchy that has the memory controller."""
    if (root / "memory/cgroup.procs").exists():
        return 1, root / "memory"
    for base in (root, root / "unified"):
        with contextlib.suppress(OSError):
            if "memory" in (base / "cgroup.controllers").read_text().split():
                return 2, base
    raise UsageError(f"memory_limit_mb: no memory controller below {root}; {_FIX}")


def _delegate(base: Path) -> None:
    """Let groups below the root of version 2 have the controller."""
    control = base / "cgroup.subtree_control"
    if "memory" not in control.read_text().split():
        control.write_text("+memory")


def why_not(root: Path = ROOT) -> str | None:
    """Why no group can be made here, in words with the way out; None where it can."""
    try:
        _, base = _controller(root)
    except UsageError as error:
        return str(error)
    return None if os.access(base, os.W_OK) else f"memory_limit_mb: {base} may not be written by this user; {_FIX}"


@contextlib.contextmanager
def limited(limit_bytes: int | None, root: Path = ROOT) -> Iterator[MemoryGroup | None]:
    """The group, or nothing where there is no limit."""
    if limit_bytes is None:
        yield None
        return
    with MemoryGroup(limit_bytes, root) as group:
        yield group
