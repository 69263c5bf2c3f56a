"""A memory cgroup around database and driver, so that a paper's ratio of data to memory can be kept on any machine.

What the group's processes read from files counts too, so the page cache they can have is what the limit leaves. Source:
Linux kernel documentation, "Memory Resource Controller" and "Control Group v2".
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from edgejoule.errors import UsageError
from edgejoule.machine import cgroup

_FIX = "run as root on a machine whose kernel has the memory controller, or leave memory_limit_mb out"


class MemoryGroup:
    """A group with a limit in bytes that exists between enter and exit. root: where cgroups are mounted.

    Raises UsageError where no such group can be made.
    """

    def __init__(self, limit_bytes: int, root: Path = cgroup.ROOT) -> None:
        self.limit_bytes = limit_bytes
        hierarchy = cgroup.find("memory", root)
        if hierarchy is None:
            raise UsageError(why_not(root))
        self._group = cgroup.ControlGroup(hierarchy, "memory")

    def __enter__(self) -> MemoryGroup:
        limit, of_swap, swap_bytes = "memory.max", "memory.swap.max", 0
        if self._group.version == 1:
            limit, of_swap, swap_bytes = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", self.limit_bytes
        try:
            self._group.make({limit: self.limit_bytes})
        except OSError as error:
            raise UsageError(f"memory_limit_mb: {error.filename}: {error.strerror}; {_FIX}") from error
        swap = self._group.folder / of_swap
        with contextlib.suppress(OSError):  # swapped out is not in memory, but costs joules
            if swap.exists():
                swap.write_text(str(swap_bytes))
        return self

    def __exit__(self, *_: object) -> None:
        self._group.remove()

    def command(self) -> list[str]:
        """argv prefix that starts a command inside the group."""
        return self._group.command()

    def peak_bytes(self) -> int | None:
        """Returns the group's peak memory, or None if the kernel does not report it (version 2 before Linux 5.19)."""
        name = "memory.max_usage_in_bytes" if self._group.version == 1 else "memory.peak"
        try:
            return int((self._group.folder / name).read_text())
        except (OSError, ValueError):
            return None


def why_not(root: Path = cgroup.ROOT) -> str | None:
    """Why no group can be made here, with the way out; None where it can."""
    why = cgroup.why_not("memory", root)
    return why and f"memory_limit_mb: {why}; {_FIX}"


@contextlib.contextmanager
def limited(limit_bytes: int | None, root: Path = cgroup.ROOT) -> Iterator[MemoryGroup | None]:
    """The group, or nothing where there is no limit."""
    if limit_bytes is None:
        yield None
        return
    with MemoryGroup(limit_bytes, root) as group:
        yield group
