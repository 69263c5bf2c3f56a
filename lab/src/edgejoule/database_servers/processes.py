"""Processes of a database server: each in its own group, identified by pid and start time, stopped in bounded time.

A pid alone is reused. With the start time, in the kernel's ticks, it identifies a process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgejoule.errors import DatabaseError
from edgejoule.machine.processes import Running, children_of

_LOOK_S = 0.02
_KILLED_S = 5.0  # in which a child whose parent has ended may end by itself


class NodeProcess:
    """A process of a server that this program started or attached to by its record."""

    def __init__(self, name: str, pid: int, started_ticks: int, popen: subprocess.Popen[bytes] | None = None) -> None:
        self.name, self.pid, self.started_ticks = name, pid, started_ticks
        self._popen = popen
        self._running = Running(pid)
        self._most: dict[str, int] = {}
        self.asked_to_end = False

    @classmethod
    def start(
        cls,
        name: str,
        argv: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        folder: Path,
        *,
        outlives: bool,
    ) -> NodeProcess:
        """Starts a process in `folder` and appends its output to `log`. outlives: it survives this program; else it is
        killed with it.

        Raises DatabaseError.
        """
        command = [*argv] if outlives else ["setpriv", "--pdeathsig", "KILL", *argv]
        try:
            with log.open("ab") as file:
                popen = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=folder,
                    env={**os.environ, **environment}, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise DatabaseError(f"{argv[0]}: cannot be started: {error.strerror}") from error
        return cls(name, popen.pid, started_ticks(popen.pid) or 0, popen)

    def runs(self) -> bool:
        """Returns False once it has ended."""
        if self._popen is not None:
            return self._popen.poll() is None
        return started_ticks(self.pid) == self.started_ticks and state_of(self.pid) not in ("Z", "X")

    def paused(self) -> bool:
        """Returns whether SIGSTOP has stopped it."""
        return self.runs() and state_of(self.pid) == "T"

    def ending(self) -> str:
        """Describes how it ended."""
        code = self._popen.poll() if self._popen is not None else None
        if code is None:
            return "has ended"
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def ask_to_end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Sends the signal to this process alone: a server stops its children itself."""
        self.asked_to_end = True
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
                os.kill(self.pid, signal.SIGCONT)

    def wait(self, until_s: float) -> bool:
        """Waits until it ends or until_s (time.monotonic) has passed; returns whether it ended."""
        while self.runs():
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_S)
        return True

    def kill(self) -> None:
        """Kills its whole group, and its children in other groups."""
        self.asked_to_end = True
        if not self.runs():
            return
        children = [NodeProcess(self.name, pid, started_ticks(pid) or 0) for pid in children_of(self.pid)]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()
        for process in (self, *children):
            if not process.wait(time.monotonic() + _KILLED_S):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    def cpu_s(self) -> float:
        """Returns its CPU time and that of its children."""
        return self._running.cpu_s()

    def bytes_moved(self) -> Mapping[str, int]:
        """read_bytes and write_bytes of /proc/PID/io, children included; never less than before."""
        counts = {"read_bytes": 0, "write_bytes": 0}
        for pid in (self.pid, *children_of(self.pid)):
            with contextlib.suppress(OSError, ValueError):
                for line in Path(f"/proc/{pid}/io").read_text().splitlines():
                    key, _, value = line.partition(": ")
                    if key in counts:
                        counts[key] += int(value)
        self._most = {key: max(value, self._most.get(key, 0)) for key, value in counts.items()}
        return self._most

    def rss_bytes(self) -> int:
        """Returns resident memory with its children; shared memory counts once."""
        own, shared = 0, 0
        for pid in (self.pid, *children_of(self.pid)):
            with contextlib.suppress(OSError, ValueError):
                status = Path(f"/proc/{pid}/status").read_text()
                kb = {k: int(v.split()[0]) for k, _, v in (s.partition(":") for s in status.splitlines()) if k in _RSS}
                own += kb.get("RssAnon", 0) + kb.get("RssFile", 0)
                shared = max(shared, kb.get("RssShmem", 0))
        return (own + shared) * 1024


_RSS = ("RssAnon", "RssFile", "RssShmem")


def started_ticks(pid: int) -> int | None:
    """Returns a process's start time, in ticks since boot; None when there is no such process."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def state_of(pid: int) -> str | None:
    """Returns the state: R, S, D, T (stopped), Z ...; None when there is no such process."""
    fields = _stat(pid)
    return fields[0] if fields else None


def _stat(pid: int) -> list[str]:
    """Returns the fields from the third on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
