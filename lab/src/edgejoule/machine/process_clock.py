"""CPU time of another process by its clock: in nanoseconds, and one system call where /proc/PID/stat takes three."""

from __future__ import annotations

import time

_SCHEDULED = 2  # clock_getcpuclockid(3): the CPU clock of a process is (~pid << 3) | 2


def cpu_s(pid: int) -> float:
    """Of all its threads, ended ones included; a kernel thread is a process, too. Raises OSError when it has ended."""
    return time.clock_gettime(~pid << 3 | _SCHEDULED)
