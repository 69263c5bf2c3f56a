"""A network of namespaces: one for each server, joined by veth pairs and a bridge. Needs root.

The bridge is in a namespace, too, so the machine's own network is not touched. Names hold the pid of the program that
made them: what a killed one left is removed when the next network is made.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from edgejoule.eco.federation.server import FederationServer
from edgejoule.errors import FederationError, UsageError

NAMED = Path("/run/netns")
_OWN = re.compile(r"ejfed-(\d+)-")
_LOOPBACK_ROUTED = "/proc/sys/net/ipv4/conf/all/route_localnet"  # of the namespace that writes it
_PORT_FIRST = 7420
_BURST_S = 0.004  # a token bucket holds what the link carries in this time
_QUEUE_MS = 50  # and what waits longer for it is dropped


class Namespaces:
    """A context manager: made by `__enter__`, with a member for each `add`.

    rate_mbit_s: of each server's link, in each direction (tbf); None: as fast as the kernel copies. delay_ms: that each
    direction adds (netem). encrypted: addresses beyond loopback, so that ecod demands certificates; else addresses of
    loopback's range that the namespaces carry between them.
    """

    def __init__(self, rate_mbit_s: float | None = None, delay_ms: float = 0, *, encrypted: bool = True) -> None:
        why = why_no_namespaces()
        if why:
            raise UsageError(why)
        self.encrypted = encrypted
        self.rate_mbit_s, self.delay_ms = rate_mbit_s, delay_ms
        rate = f"{rate_mbit_s:g} Mbit/s by tbf" if rate_mbit_s else "not shaped"
        self.about = f"namespaces and a bridge, {rate}" + (f", {delay_ms:g} ms each way" if delay_ms else "")
        self._names: dict[str, str] = {}
        self._ports = itertools.count(_PORT_FIRST)
        self._switch = f"ejfed-{os.getpid()}-switch"

    def __enter__(self) -> Namespaces:
        remove_leftovers()
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "bridge", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for name in [*self._names.values(), self._switch]:
            if (NAMED / name).exists():
                _ip("netns", "del", name)
        self._names.clear()

    def add(self, server: FederationServer) -> None:
        """Its namespace, and its link to the bridge."""
        number = len(self._names) + 1
        name, port = f"ejfed-{os.getpid()}-{server.name}", f"port{number}"
        _ip("netns", "add", name)
        self._names[server.name] = name
        _ip("-n", self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("-n", self._switch, "link", "set", port, "master", "bridge", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        if not self.encrypted:
            _ip("-n", name, "addr", "del", "127.0.0.1/8", "dev", "lo")
            _ip("-n", name, "addr", "add", "127.0.0.1/32", "dev", "lo")
            _run([*self.command(server), "sh", "-c", f"echo 1 > {_LOOPBACK_ROUTED}"])
        _ip("-n", name, "addr", "add", f"{self.host(server)}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        self._shape(name, "eth0")
        self._shape(self._switch, port)

    def _shape(self, namespace: str, device: str) -> None:
        parent = "root"
        if self.delay_ms:
            _tc(namespace, device, parent, "1:", "netem", "delay", f"{self.delay_ms:g}ms", "limit", "100000")
            parent = "parent 1:1"
        if self.rate_mbit_s:
            burst_bytes = max(65536, int(self.rate_mbit_s * 1e6 / 8 * _BURST_S))
            _tc(
                namespace, device, parent, "2:", "tbf", "rate", f"{self.rate_mbit_s:g}mbit",
                "burst", str(burst_bytes), "latency", f"{_QUEUE_MS}ms",
            )  # fmt: skip

    def host(self, server: FederationServer) -> str:
        """Its address."""
        net = "10.87.0" if self.encrypted else "127.87.0"
        return f"{net}.{list(self._names).index(server.name) + 1}"

    def ports(self, server: FederationServer, count: int) -> list[int]:
        """In a new namespace all are free."""
        return list(itertools.islice(self._ports, count))

    def interface(self, server: FederationServer) -> str:
        """Its end of the link."""
        return "eth0"

    def command(self, server: FederationServer) -> Sequence[str]:
        """Into its network alone: it sees the machine's files."""
        return ["nsenter", f"--net={NAMED / self._names[server.name]}", "--"]


def why_no_namespaces() -> str | None:
    """Why no network can be made here; None where one can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("ip", "tc", "nsenter", "unshare") if shutil.which(tool) is None]
    return f"{', '.join(missing)}: not installed (packages iproute2, util-linux)" if missing else None


def why_no_delay() -> str | None:
    """Why a link here can have no delay, though namespaces can be made; None where it can."""
    tried = subprocess.run(
        ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"the kernel has no netem ({tried.stderr.strip()})" if tried.returncode else None


def remove_leftovers(folder: Path = NAMED) -> list[str]:
    """Namespaces of programs that ended without removing theirs, with what still runs in them; their names."""
    removed = []
    for entry in sorted(folder.iterdir()) if folder.exists() else []:
        owner = _OWN.match(entry.name)
        if owner is None or Path(f"/proc/{owner[1]}").exists():
            continue
        for pid in _run(["ip", "netns", "pids", entry.name]).split():
            kill(int(pid))
        _ip("netns", "del", entry.name)
        removed.append(entry.name)
    return removed


def kill(pid: int) -> None:
    """One that has ended needs it no more."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _tc(namespace: str, device: str, parent: str, handle: str, *arguments: str) -> None:
    _run(["tc", "-n", namespace, "qdisc", "add", "dev", device, *parent.split(), "handle", handle, *arguments])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FederationError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
