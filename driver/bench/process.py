"""Measures one process: CPU time, time, peak memory.

CPU time is user + system of the whole process with all its threads, as the kernel reports it at the process's end.
Memory is VmHWM, read every 10 ms during its life: ru_maxrss of a small process would be that of this interpreter, its
parent.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOOK_AROUND_MS = 10


class BenchError(Exception):
    """The bench cannot continue. The message has the reason and the remedy."""


@dataclass(frozen=True)
class Cost:
    """The cost of one process from its start to its end."""

    cpu_ns: float
    wall_ns: float
    rss_peak_bytes: int | None  # None: the process ended before it was read


class Running:
    """A running process, watched by a thread. `cost` waits for its end."""

    def __init__(self, command: Sequence[str], time_limit_s: float = 600) -> None:
        self._command = command
        self._time_limit_s = time_limit_s
        # No `with`: the file must live as long as the process writes to it, and its name is already deleted.
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        self._cost: Cost | None = None
        self._begin_ns = time.monotonic_ns()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._messages
            )
        except OSError as error:
            raise BenchError(f"{command[0]}: {error.strerror}") from error
        self._watch = threading.Thread(target=self._watch_until_end)
        self._watch.start()

    def cost(self) -> Cost:
        """Returns the cost of the process. Raises BenchError with its last output if it failed."""
        self._watch.join()
        if self._cost is None:
            raise BenchError(
                f"{' '.join(self._command)}: exit status {self._process.returncode}: {self._last_output()}"
            )
        return self._cost

    def _watch_until_end(self) -> None:
        rss_peak_bytes = None
        ended = os.pidfd_open(self._process.pid)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        while not poll.poll(LOOK_AROUND_MS):
            rss_peak_bytes = _vm_hwm_bytes(self._process.pid) or rss_peak_bytes
            if time.monotonic_ns() - self._begin_ns > self._time_limit_s * 1e9:
                self._process.kill()
        wall_ns = time.monotonic_ns() - self._begin_ns
        os.close(ended)
        try:
            _, status, usage = os.wait4(self._process.pid, 0)
        except ChildProcessError:  # kill_all has waited for it
            return
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode == 0:
            self._cost = Cost((usage.ru_utime + usage.ru_stime) * 1e9, wall_ns, rss_peak_bytes)

    def _last_output(self) -> str:
        self._messages.seek(0)
        return self._messages.read().decode(errors="replace")[-500:]


def kill_all() -> None:
    """Kills every child process, so that none outlives the bench.

    Uses the kernel's list, because a signal may arrive between a process's start and its entry in ours.
    """
    for children in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            for pid in children.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def cost_of(command: Sequence[str]) -> Cost:
    """Runs the command to its end."""
    return Running(command).cost()


def _vm_hwm_bytes(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    match = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None
