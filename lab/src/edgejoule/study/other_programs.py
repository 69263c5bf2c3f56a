"""Measures what other programs did during a run: everything on this machine that is not part of the run.

The run consists of this program and all processes below it: driver, servers, sampler, and their ended children, whose
use the parent's counters contain. Everything else counts as other programs.

CPU time: the time of all CPUs minus idle, waiting and stolen time. Kernel threads and interrupts work for both sides
(they write back what both have written), so their time is shared in proportion to the processes' time. Where they are
not visible (in most containers) their time counts as other programs'.

Bytes: what all processes read from storage or wrote to the page cache (/proc/vmstat), minus the run's own
(/proc/PID/io). A write counts as the pages that it makes dirty, for others as for the run. The kernel counts both in
the same place, for the process that wrote. A write therefore counts once, for the process that caused it, and not a
second time for the thread that carries it out or for the journal. Writes of other programs past the page cache
(O_DIRECT) are not counted. Bytes cover the whole machine, not one device.

A value that cannot be read is None, never zero.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edgejoule.dictionary.responses import OTHER_CPU_SHARE_MIN, OTHER_PROGRAMS
from edgejoule.findings.other_programs import BYTES_WORDS
from edgejoule.findings.text import percent
from edgejoule.machine import process_clock
from edgejoule.machine.files import read_bytes
from edgejoule.store import ResponseValue
from edgejoule.study.run_energy import response

OWN_SHARE_MAX = 0.1  # of the run's own CPU time or bytes; a run with more is flagged
AT_REST_SHARE_MAX = 0.1  # of all CPUs, for an idle run
CPU_S_MIN = 0.05  # the counters step by 0.01 s for each CPU and process
BYTES_MIN = 1_000_000
BYTES_PER_S_MIN = 100_000

PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STAT_BYTES_MAX = 2048  # of /proc/PID/stat: about 50 numbers and a name of up to 64 bytes
_FIELDS = 15  # of /proc/PID/stat behind the name: up to cstime
_KTHREADD = 2  # the parent of all other kernel threads
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD among the flags of /proc/PID/stat


@dataclass(frozen=True)
class ProgramCounters:
    """The counters at one moment. idle_s: idle, waiting and stolen time of all CPUs. kernel_s: CPU time of kernel
    threads and interrupts. Bytes: of the whole machine, and the run's own part.
    """

    at_s: float
    cpus: int
    idle_s: float
    kernel_s: float
    own_cpu_s: float
    read_bytes: int | None
    write_bytes: int | None
    own_read_bytes: int | None
    own_write_bytes: int | None


class _Process(NamedTuple):
    pid: int
    parent: int
    flags: int
    cpu_s: float
    ended_children_s: float


def read_counters(
    proc: Path | None = None, pid: int | None = None, clock_s: Callable[[int], float] = process_clock.cpu_s
) -> ProgramCounters | None:
    """Reads the counters now; returns None if /proc lacks them. pid: the root process of the run. clock_s: CPU time of
    a kernel thread in s.
    """
    proc = proc or PROC
    try:
        text = read_bytes(f"{proc}/stat")
        ticks = list(map(int, text.split(None, 9)[1:9]))
        idle_s = (ticks[3] + ticks[4] + ticks[7]) / _TICKS_PER_S
        interrupts_s = (ticks[5] + ticks[6]) / _TICKS_PER_S
        at_s, (own, kernel_s) = time.monotonic(), _own_and_kernel_s(proc, pid or os.getpid(), clock_s)
    except (OSError, ValueError, IndexError):
        return None
    own_s = sum(p.cpu_s + p.ended_children_s for p in own)
    read, write = _machine_bytes(proc)
    own_read, own_write = _bytes_of(proc, own)
    return ProgramCounters(
        at_s, text.count(b"\ncpu"), idle_s, kernel_s + interrupts_s, own_s, read, write, own_read, own_write
    )


def _own_and_kernel_s(proc: Path, pid: int, clock_s: Callable[[int], float]) -> tuple[list[_Process], float]:
    """Returns a process with all its descendants, and the CPU time of the kernel's threads. Raises OSError if the
    process has ended.
    """
    if (numbers := _at_and_below(f"{proc}", pid)) is not None:
        return list(_processes(proc, numbers).values()), _kernel_s(proc, clock_s)
    processes = _processes(proc, [int(name) for name in os.listdir(proc) if name.isdecimal()])  # noqa: PTH208 - as above
    kernel_s = sum(process.cpu_s for process in processes.values() if process.flags & _KERNEL_THREAD)
    return _below(processes, pid), kernel_s


def _kernel_s(proc: Path, clock_s: Callable[[int], float]) -> float:
    """Returns the CPU time of the kernel's threads in s; 0 where they are not visible, as in most containers."""
    above = _processes(proc, [_KTHREADD]).get(_KTHREADD)
    if above is None or not above.flags & _KERNEL_THREAD:
        return 0.0
    whole_s = above.cpu_s
    for thread in _children(f"{proc}", _KTHREADD) or []:
        with contextlib.suppress(OSError):  # it has just ended
            whole_s += clock_s(thread)
    return whole_s


def _processes(proc: Path, numbers: Iterable[int]) -> dict[int, _Process]:
    """Returns the processes that have not ended, by number."""
    result = {}
    for number in numbers:
        try:
            text = _first_bytes(f"{proc}/{number}/stat")
        except OSError:
            continue
        fields = text[text.rindex(b")") + 2 :].split(None, _FIELDS)
        user, system, children_user, children_system = map(int, fields[11:15])
        own_s, ended_s = (user + system) / _TICKS_PER_S, (children_user + children_system) / _TICKS_PER_S
        result[number] = _Process(number, int(fields[1]), int(fields[6]), own_s, ended_s)
    return result


def _at_and_below(proc: str, pid: int) -> list[int] | None:
    """Returns the ids of a process and all its descendants. None if it has ended, or if the kernel lists no children
    (CONFIG_PROC_CHILDREN).
    """
    if (waiting := _children(proc, pid)) is None:
        return None
    result = [pid]
    while waiting:
        result.append(waiting.pop())
        waiting += _children(proc, result[-1]) or []
    return result


def _children(proc: str, pid: int) -> list[int] | None:
    """Returns the children of all threads of a process. None if it has ended, or if the kernel lists none."""
    result = None
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{proc}/{pid}/task"):  # noqa: PTH208 - names are what is needed
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
                result = [*(result or []), *map(int, read_bytes(f"{proc}/{pid}/task/{thread}/children").split())]
    return result


def _first_bytes(path: str) -> bytes:
    """Returns the text of a process's stat file with a single read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _STAT_BYTES_MAX)
    finally:
        os.close(descriptor)


def _number_after(text: bytes, name: bytes) -> int:
    """Returns the whole number after a name at the beginning of a line. Raises ValueError if there is none."""
    begin = 0 if text.startswith(name) else text.index(b"\n" + name) + 1
    return int(text[begin + len(name) :].split(None, 1)[0])


def _below(processes: Mapping[int, _Process], pid: int) -> list[_Process]:
    """Returns a process with all its descendants. Raises OSError if it is not among the processes."""
    if pid not in processes:
        raise ProcessLookupError(f"no process {pid}")
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    result, waiting = [], [pid]
    while waiting:
        at = waiting.pop()
        result.append(processes[at])
        waiting += children.get(at, [])
    return result


def _machine_bytes(proc: Path) -> tuple[int | None, int | None]:
    try:
        text = read_bytes(f"{proc}/vmstat")
        return _number_after(text, b"pgpgin ") * 1024, _number_after(text, b"nr_dirtied ") * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None, None


def _bytes_of(proc: Path, processes: list[_Process]) -> tuple[int | None, int | None]:
    read = write = 0
    for process in processes:
        try:
            text = read_bytes(f"{proc}/{process.pid}/io")
            read += _number_after(text, b"read_bytes: ")
            write += _number_after(text, b"write_bytes: ")
        except FileNotFoundError:
            continue  # it has just ended; its parent's counters include its bytes
        except (OSError, ValueError, IndexError):
            return None, None
    return read, write


@dataclass(frozen=True)
class OtherPrograms:
    """What other programs and the run used between two readings. None: not measurable, why gives the reason.

    own_device: the run's files are on a device of its own, whose bytes are the run's alone. The bytes here are those of
    the other devices, and beyond them a loop device's second count of the run's. utilisation: share of the time of all
    CPUs that was not idle, whoever used it.
    """

    seconds: float
    cpu_share: float | None
    cpu_s: float | None
    own_cpu_s: float | None
    read_bytes: int | None
    write_bytes: int | None
    own_read_bytes: int | None
    own_write_bytes: int | None
    why: str | None = None
    own_device: bool = False
    utilisation: float | None = None

    @classmethod
    def unknown(cls, why: str) -> OtherPrograms:
        """Returns a result without values."""
        return cls(0.0, None, None, None, None, None, None, None, why)

    @classmethod
    def between(cls, begin: ProgramCounters | None, end: ProgramCounters | None) -> OtherPrograms:
        """Returns the difference of two readings."""
        if begin is None or end is None or end.at_s <= begin.at_s or begin.cpus != end.cpus:
            return cls.unknown("/proc does not show what the machine's processes use")
        seconds = end.at_s - begin.at_s
        busy_s = seconds * end.cpus - (end.idle_s - begin.idle_s)
        own_s, kernel_s = end.own_cpu_s - begin.own_cpu_s, max(0.0, end.kernel_s - begin.kernel_s)
        others_s = max(0.0, busy_s - own_s - kernel_s)  # may be below zero because the counters move in steps
        if others_s + own_s > 0:
            others_s += kernel_s * others_s / (others_s + own_s)
        pairs = (("read_bytes", "own_read_bytes"), ("write_bytes", "own_write_bytes"))
        (read, own_read), (written, own_written) = (
            _rest(_grown(begin, end, whole), _grown(begin, end, own)) for whole, own in pairs
        )
        share = others_s / (seconds * end.cpus)
        why = "the kernel or the permissions here do not show which process read and wrote what"
        utilisation = min(1.0, max(0.0, busy_s / (seconds * end.cpus)))
        return cls(seconds, share, others_s, own_s, read, written, own_read, own_written, why, utilisation=utilisation)

    def exceeded(self) -> list[str]:
        """Returns those of cpu, read and write of which other programs used so much that the run's figures are
        unreliable.
        """
        result = []
        if self.cpu_s is not None and self.cpu_share is not None and self.own_cpu_s is not None:
            least_s = max(CPU_S_MIN, OWN_SHARE_MAX * self.own_cpu_s)
            if self.cpu_s > least_s and self.cpu_share > OTHER_CPU_SHARE_MIN:
                result.append("cpu")
        if self.own_device:
            return result
        least_bytes = max(BYTES_MIN, BYTES_PER_S_MIN * self.seconds)
        for kind, others, own in (
            ("read", self.read_bytes, self.own_read_bytes),
            ("write", self.write_bytes, self.own_write_bytes),
        ):
            if others is not None and own is not None and others > max(least_bytes, OWN_SHARE_MAX * own):
                result.append(kind)
        return result

    def flags(self) -> list[str]:
        """Returns the run's flags."""
        return [self._message(kind) for kind in self.exceeded()]

    def flags_at_rest(self) -> list[str]:
        """Returns the flags of an idle machine, whose few programs are part of its idle power."""
        return [self._message("cpu")] if self.cpu_share is not None and self.cpu_share > AT_REST_SHARE_MAX else []

    def _message(self, kind: str) -> str:
        if kind == "cpu":
            assert self.cpu_share is not None
            return f"other programs took {percent(self.cpu_share)} of the CPU; the watts are not usable"
        others, own = (
            (self.read_bytes, self.own_read_bytes) if kind == "read" else (self.write_bytes, self.own_write_bytes)
        )
        assert others is not None
        assert own is not None
        verb, place = BYTES_WORDS[kind]
        return f"other programs {verb} {others / 1e6:,.1f} MB {place}, the run {own / 1e6:,.1f} MB"

    def responses(self, executions: int) -> list[ResponseValue]:
        """Returns the responses for the run record; amounts are per execution."""
        amounts = [None if n is None else n / executions for n in (self.read_bytes, self.write_bytes)]
        values = zip(OTHER_PROGRAMS.values(), (self.cpu_share, *amounts), strict=True)
        result = [response(name, value, missing=self.why) for name, value in values]
        return [*result, response("cpu_utilisation", self.utilisation, missing=self.why)]

    def facts(self) -> dict[str, Any]:
        """Returns the facts for the run record."""
        known = {"cpu_s": self.cpu_s, "own_cpu_s": self.own_cpu_s}
        return {
            **{name: None if value is None else round(value, 3) for name, value in known.items()},
            "own_read_bytes": self.own_read_bytes,
            "own_write_bytes": self.own_write_bytes,
            "exceeded": self.exceeded(),
        }


def _grown(begin: ProgramCounters, end: ProgramCounters, name: str) -> int | None:
    before, after = getattr(begin, name), getattr(end, name)
    return None if before is None or after is None else after - before


def _rest(whole: int | None, own: int | None) -> tuple[int | None, int | None]:
    """Splits the whole into the other programs' part and the run's. The first is None if the run has more than the
    whole: it wrote past the page cache.
    """
    if whole is None or own is None or own > whole + _PAGE_BYTES:
        return None, own
    return max(0, whole - own), own


class Watch:
    """Reads the counters when the first execution begins to work and when the last one has settled. It listens to the
    driver's events.
    """

    def __init__(self) -> None:
        self._begin: ProgramCounters | None = None
        self._end: ProgramCounters | None = None
        self._began = False
        self._hearing = threading.Lock()

    def hearing(self, on_event: Callable[[Mapping[str, Any]], None]) -> Callable[[Mapping[str, Any]], None]:
        """Returns a listener that reads the counters and passes each event on."""

        def hear(event: Mapping[str, Any]) -> None:
            if event["event"] == "settled" or (event["event"] == "phase" and event["phase"] == "active"):
                self._read_at(begins=event["event"] == "phase")
            on_event(event)

        return hear

    def _read_at(self, *, begins: bool) -> None:
        with self._hearing:
            if not begins:
                self._end = read_counters()
            elif not self._began:
                self._began, self._begin = True, read_counters()

    def result(self) -> OtherPrograms:
        """Returns the result for a run that has settled."""
        return OtherPrograms.between(self._begin, self._end)
