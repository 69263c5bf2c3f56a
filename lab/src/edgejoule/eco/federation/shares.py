"""Limits the processes of a server to its share of a core, and counts their CPU time.

A backend gives each server a `Limit`, to which its processes belong. ecod reads the use of its server's cores from a
folder in the form of a cgroup of version 2 (`telemetry.cgroup`): that cgroup itself, or else files that are kept here.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

from edgejoule.eco.federation.server import FederationServer
from edgejoule.errors import UsageError
from edgejoule.machine import cgroup
from edgejoule.machine.processes import Running

PERIOD_S = 0.02  # of a quota
SHARES_V1, WEIGHT_V2 = 262_144, 10_000  # the most there is: other work does not take from a server's share
TICK_S = 0.004  # interval between two checks of a server's processes
USAGE_REPORT_S = 0.05  # interval between two usage reports to the server's ecod


class Limit(Protocol):
    """A server's share of a core. folder: in the form of a cgroup of version 2."""

    folder: Path

    def command(self) -> Sequence[str]:
        """Returns the argv prefix that makes a command a member from its first instruction on."""
        ...

    def joined(self, process: Running) -> None:
        """A member runs."""
        ...

    def left(self, process: Running) -> None:
        """A member ends or has ended."""
        ...

    def cpu_s(self) -> float:
        """What its members used, ended ones included."""
        ...


class Shares(Protocol):
    """A way to limit. A context manager: on exit nothing is limited any more and nothing of it is left."""

    about: str  # description of the method

    def limit(self, server: FederationServer, folder: Path) -> Limit:
        """Of a server; folder: where it may keep files."""
        ...

    def __enter__(self) -> Shares:
        """From here on, limits hold."""
        ...

    def __exit__(self, *_: object) -> None:
        """End of all limits."""
        ...


class _Members:
    """Processes of a server whose CPU time is counted by their clocks."""

    def __init__(self, server: FederationServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.lock = threading.Lock()
        self.running: list[Running] = []
        self._ended: list[Running] = []
        self._reported_s = 0.0
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(f"{server.share * 1e5:.0f} 100000\n")
        self.report_usage(0)

    def command(self) -> Sequence[str]:
        return ()

    def joined(self, process: Running) -> None:
        with self.lock:
            self.running.append(process)

    def left(self, process: Running) -> None:
        with self.lock:
            if process not in self.running:
                return
            self.running.remove(process)
            self._ended.append(process)

    def cpu_s(self) -> float:
        with self.lock:
            return self.cpu_s_locked(refresh=True)

    def cpu_s_locked(self, refresh: bool) -> float:
        """The caller holds the lock. refresh: see Process.cpu_s."""
        return sum(process.cpu_s(refresh) for process in [*self._ended, *self.running])

    def report_usage(self, used_s: float) -> None:
        """Publishes the CPU time, which ecod may read at any moment. It never falls, so that ecod has a rate."""
        self._reported_s = max(self._reported_s, used_s)
        new = self.folder / "cpu.stat.new"
        new.write_text(f"usage_usec {self._reported_s * 1e6:.0f}\n")
        new.replace(self.folder / "cpu.stat")


class _Watched:
    """A backend with a thread that polls all members."""

    def __init__(self, tick_s: float) -> None:
        self._tick_s = tick_s
        self._limits: list[_Members] = []
        self._off = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shares", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._off.set()
        self._thread.join()

    def limit(self, server: FederationServer, folder: Path) -> Limit:
        return self.watch(_Members(server, folder))

    def watch(self, members: _Members) -> _Members:
        """Adds `members` to the polled limits."""
        self._limits.append(members)
        return members

    def _run(self) -> None:
        reported_at = 0.0
        while not self._off.wait(self._tick_s):
            now = time.monotonic()
            due = now - reported_at >= USAGE_REPORT_S
            reported_at = now if due else reported_at
            for limit in list(self._limits):
                used_s = self._poll(limit, now, due)
                if due:
                    limit.report_usage(used_s)

    def _poll(self, limit: _Members, now_s: float, whole: bool) -> float:
        return limit.cpu_s()


class Unlimited(_Watched):
    """No limit; use is counted."""

    about = "no limit"

    def __init__(self) -> None:
        super().__init__(USAGE_REPORT_S)


class Bucket:
    """A token bucket of CPU seconds. It fills at `share` seconds a second, up to one period's share."""

    def __init__(self, share: float, used_s: float, now_s: float) -> None:
        self._share, self._used_s, self._now_s, self._level_s = share, used_s, now_s, 0.0

    def empty(self, used_s: float, now_s: float) -> bool:
        """Returns whether the level is below zero. used_s: total CPU time until now."""
        filled_s = min(self._level_s + self._share * (now_s - self._now_s), self._share * PERIOD_S)
        self._level_s = filled_s - (used_s - self._used_s)
        self._used_s, self._now_s = used_s, now_s
        return self._level_s < 0


class Duty(_Watched):
    """A token bucket by SIGSTOP and SIGCONT: a server's processes stop until their use is within their share.

    Needs no root.
    """

    about = "SIGSTOP and SIGCONT by a token bucket"

    def __init__(self) -> None:
        super().__init__(TICK_S)
        self._buckets: dict[str, Bucket] = {}
        self._stopped: set[str] = set()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for limit in self._limits:
            with limit.lock:
                for process in limit.running:
                    process.signal(signal.SIGCONT)

    def _poll(self, limit: _Members, now_s: float, whole: bool) -> float:
        name = limit.server.name
        with limit.lock:
            used_s = limit.cpu_s_locked(refresh=whole)
            bucket = self._buckets.setdefault(name, Bucket(limit.server.share, used_s, now_s))
            stops = bucket.empty(used_s, now_s)
            if stops or name in self._stopped:  # a process that came meanwhile runs: stop it too
                for process in limit.running:
                    process.signal(signal.SIGSTOP if stops else signal.SIGCONT)
            (self._stopped.add if stops else self._stopped.discard)(name)
        return used_s


class CpuGroups:
    """A cgroup for each server, of version 1 or 2, by the kernel's quota. Needs root, or a delegated cgroup.

    Raises UsageError where there is none.
    """

    about = "cgroups with a quota"

    def __init__(self, root: Path = cgroup.ROOT) -> None:
        hierarchy = cgroup.find("cpu", root)
        if (why := why_no_groups(root)) or hierarchy is None:
            raise UsageError(why)
        self._hierarchy = hierarchy
        self._made: list[cgroup.ControlGroup] = []
        self._counting = Unlimited()

    def __enter__(self) -> CpuGroups:
        if self._hierarchy.version == 1:
            self._counting.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._hierarchy.version == 1:
            self._counting.__exit__()
        for group in self._made:
            group.remove()

    def limit(self, server: FederationServer, folder: Path) -> Limit:
        """A group, with its quota."""
        group = cgroup.ControlGroup(self._hierarchy, server.name)
        quota_us, period_us = max(1000, round(server.share * PERIOD_S * 1e6)), round(PERIOD_S * 1e6)
        settings: dict[str, object] = {"cpu.max": f"{quota_us} {period_us}", "cpu.weight": WEIGHT_V2}
        if group.version == 1:
            settings = {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": quota_us, "cpu.shares": SHARES_V1}
        try:
            group.make(settings)
        except OSError as error:
            raise UsageError(f"{error.filename}: {error.strerror}; {_FIX}") from error
        self._made.append(group)
        return _GroupV2(group) if group.version == 2 else self._counting.watch(_GroupV1(server, folder, group))


class _GroupV1(_Members):
    """The kernel limits; use is counted by the processes' clocks, as its own counters may be in another hierarchy."""

    def __init__(self, server: FederationServer, folder: Path, group: cgroup.ControlGroup) -> None:
        super().__init__(server, folder)
        self._group = group

    def command(self) -> Sequence[str]:
        return self._group.command()


class _GroupV2:
    def __init__(self, group: cgroup.ControlGroup) -> None:
        self.folder, self._group = group.folder, group

    def command(self) -> Sequence[str]:
        return self._group.command()

    def joined(self, process: Running) -> None:
        pass

    def left(self, process: Running) -> None:
        pass

    def cpu_s(self) -> float:
        fields = (self.folder / "cpu.stat").read_text().split()
        return int(fields[fields.index("usage_usec") + 1]) * 1e-6


_FIX = "run as root on a machine whose kernel has the cpu controller, or let shares be kept by signals"


def why_no_groups(root: Path = cgroup.ROOT) -> str | None:
    """Why no cgroup can limit here; None where one can."""
    if not any((root / each).exists() for each in ("cpu", "cgroup.controllers", "unified")):
        return f"no cgroups below {root}; {_FIX}"
    why = cgroup.why_not("cpu", root)
    return why and f"{why}; {_FIX}"


def best_shares() -> Shares:
    """Cgroups where they can be made, else signals."""
    return CpuGroups() if why_no_groups() is None else Duty()
