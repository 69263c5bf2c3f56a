"""Processes that are stopped by their pid, and that die with the program that started them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from edgejoule.errors import FederationError
from edgejoule.machine import process_clock

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
END_S = 5.0  # between SIGTERM and SIGKILL


def files_of_processes(name: str) -> Iterator[Path]:
    """Yields /proc/PID/NAME of every process. To read one raises OSError if the process has ended.

    Path.glob raises ProcessLookupError by itself if a process ends at the wrong moment.
    """
    return (Path(f"/proc/{entry}/{name}") for entry in os.listdir("/proc") if entry.isdecimal())  # noqa: PTH208


class Membership(Protocol):
    """What a process belongs to while it runs."""

    def command(self) -> Sequence[str]:
        """Returns the argv prefix that makes a command a member."""
        ...

    def joined(self, process: Running) -> None:
        """It runs."""
        ...

    def left(self, process: Running) -> None:
        """Reports that the process ends or has ended; its pid is reserved until this returns. Repeatable."""
        ...


class Running:
    """A process that leads its own process group."""

    def __init__(self, pid: int, count: _CpuCount | None = None) -> None:
        self.pid = pid
        self._count = count or _CpuCount(pid)
        self._cpu_s: float | None = None  # of one that has ended

    def cpu_s(self, refresh: bool = True) -> float:
        """CPU time, with that of its children. refresh: see _CpuCount."""
        return self._count.now_s(refresh) if self._cpu_s is None else self._cpu_s

    def signal(self, number: signal.Signals) -> None:
        """To its whole group. One that has ended needs none."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


class Adopted(Running):
    """A process that another part has started, with the member's prefix before its command, and reaps."""

    def __init__(self, pid: int, member: Membership, count: _CpuCount | None = None) -> None:
        super().__init__(pid, count)
        self._member = member
        member.joined(self)

    def await_end(self) -> None:
        """Returns when it has ended and is not reaped yet, and is no member any more."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.release()

    def release(self) -> None:
        """Removes the member; may be called twice."""
        if self._cpu_s is not None:
            return
        self._member.left(self)
        self._cpu_s = self._count.now_s(refresh=False)
        self.signal(signal.SIGCONT)


class AdoptedTree(Adopted):
    """What a supervisor that another part has started runs: its descendants are the member, and itself is not.

    Each of its children leads its own process group, and signals go to these.
    """

    def __init__(self, pid: int, member: Membership) -> None:
        self._tree = _TreeCount(pid)
        super().__init__(pid, member, self._tree)

    def signal(self, number: signal.Signals) -> None:
        """To the groups of its children."""
        for child in self._tree.children():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, number)

    def add_reported(self, cpu_s: float) -> None:
        """What the supervisor reports of ended processes, to the nanosecond: the count has hundredths of seconds."""
        self._tree.at_least(cpu_s)


class Process(Running):
    """A command in its own process group: Ctrl-C in a terminal reaches only its starter. Output is added to `log`.

    It is killed when the thread that started it ends: start it from the main thread.
    """

    def __init__(
        self, argv: Sequence[str], log: Path, member: Membership, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self._member = member
        self._lock = threading.Lock()
        command = ["setpriv", "--pdeathsig", "KILL", *member.command(), *argv]
        try:
            with log.open("ab") as file:
                self._popen = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    process_group=0,
                    env={**os.environ, **(environment or {})},
                )
        except OSError as error:
            raise FederationError(f"{argv[0]}: cannot be started: {error.strerror}") from error
        super().__init__(self._popen.pid)
        member.joined(self)

    def runs(self) -> bool:
        """False from its end on."""
        return self._popen.returncode is None and not self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Its exit status, or minus the signal that ended it."""
        while self._popen.returncode is None:
            self._reap(0)
        return int(self._popen.returncode)

    def _reap(self, flags: int) -> bool:
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | flags) is None:
            return False
        self._member.left(self)  # its pid is still its own
        with self._lock:
            if self._popen.returncode is None:
                _, status, usage = os.wait4(self.pid, 0)
                self._popen.returncode = os.waitstatus_to_exitcode(status)
                # A child that nobody waited for is in the count alone.
                self._cpu_s = max(usage.ru_utime + usage.ru_stime, self._count.now_s(refresh=False))
        return True

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if that is not enough."""
        if self._popen.returncode is not None:
            return
        self._member.left(self)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.signal(number)
            self.signal(signal.SIGCONT)
            if number is signal.SIGTERM:
                end = time.monotonic() + END_S
                while self.runs() and time.monotonic() < end:
                    time.sleep(0.01)
            if not self.runs():
                return
        self.wait()

    def text(self) -> str:
        """Returns its output so far."""
        return self.log.read_text(errors="replace")


class _CpuCount:
    """CPU time of a running process and of its children, the ended ones included.

    Calls with refresh=False neither add new children nor keep ended ones; the next refresh=True counts both. A refresh
    reads one file per thread.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._children: list[int] = []
        self._descendants: list[int] = []
        self._waited_for_s = self._most_s = 0.0

    def now_s(self, refresh: bool) -> float:
        """Never less than before, also when the process has gone."""
        if refresh:
            self._children, self._waited_for_s = children_of(self._pid), _waited_for_s(self._pid)
        now_s = _clock_s(self._pid) + sum(map(_clock_s, self._children)) + self._waited_for_s
        self._most_s = max(self._most_s, now_s)
        return self._most_s


class _TreeCount(_CpuCount):
    """The same of all descendants of a process, without its own."""

    def now_s(self, refresh: bool) -> float:
        if refresh or not self._children:
            self._children = children_of(self._pid)
            self._descendants = descendants_of(self._children)
            self._waited_for_s = sum(map(_waited_for_s, [self._pid, *self._descendants]))
        now_s = sum(map(_clock_s, self._descendants)) + self._waited_for_s
        self.at_least(now_s)
        return self._most_s

    def children(self) -> Sequence[int]:
        """Returns its children at the last check."""
        return self._children

    def at_least(self, cpu_s: float) -> None:
        """Raises the CPU time to at least cpu_s, which was counted elsewhere."""
        self._most_s = max(self._most_s, cpu_s)


def _clock_s(pid: int) -> float:
    """By its clock: /proc counts hundredths of seconds. 0 when it has ended."""
    try:
        return process_clock.cpu_s(pid)
    except OSError:
        return 0.0


def children_of(pid: int) -> list[int]:
    """Pids of a process's children."""
    result: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                result += [int(word) for word in (thread / "children").read_text().split()]
    return result


def descendants_of(pids: Sequence[int]) -> list[int]:
    """These processes, their children, and so on."""
    result = list(pids)
    for pid in result:  # grows meanwhile
        result += children_of(pid)
    return result


def _waited_for_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) * _TICK_S
