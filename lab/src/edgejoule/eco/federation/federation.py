"""A federation of ecods on this machine, and its operator's commands."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.eco.federation import configuration
from edgejoule.eco.federation.configuration import ServerPlace
from edgejoule.eco.federation.control import Control, idle, in_force
from edgejoule.eco.federation.keys import Keys, make_keys
from edgejoule.eco.federation.networks import Loopback, Network
from edgejoule.eco.federation.server import FederationServer
from edgejoule.eco.federation.shares import Duty, Limit, Shares
from edgejoule.errors import FederationError, UsageError
from edgejoule.machine.processes import Process

READY_S = 30.0


@dataclass(frozen=True)
class Programs:
    """What a federation is made of."""

    ecod: Path
    ecoctl: Path
    preload: Path

    @classmethod
    def of(cls, build: Path) -> Programs:
        """Of a build folder. Raises FederationError: something is not built."""
        build = build.absolute()
        programs = cls(build / "bin/ecod", build / "bin/ecoctl", build / "lib/libeco-preload.so")
        for each in (programs.ecod, programs.ecoctl, programs.preload):
            if not each.exists():
                raise FederationError(f"{each} is not there; `make eco` builds it")
        return programs


@dataclass(frozen=True)
class FederationTiming:
    """Of [federation]. On slow servers a beat, or an answer, may take its time."""

    beat_ms: int = 300
    alive_ms: int = 3000
    lease_ms: int = 3000
    place_timeout_ms: int = 300


class _Host:
    """A server that runs."""

    def __init__(self, server: FederationServer, place: ServerPlace, limit: Limit) -> None:
        self.server, self.place, self.limit = server, place, limit
        self.processes: list[Process] = []


class Federation:
    """A context manager: starts the servers and returns when each knows of all, and stops everything.

    folder: configurations, logs, sockets; short, as a socket's path has 107 characters at most. nats: servers with a
    nats-server beside them, one or three; without any, the last server is the static master. keys: certificates between
    the servers. To be used from the main thread.
    """

    def __init__(
        self,
        servers: Sequence[FederationServer],
        programs: Programs,
        folder: Path,
        *,
        shares: Shares | None = None,
        network: Network | None = None,
        nats: Sequence[str] = (),
        keys: bool = False,
        policy: Mapping[str, configuration.Value] | None = None,
        timing: FederationTiming | None = None,
    ) -> None:
        self.servers = list(servers)
        self.programs = programs
        self.folder = folder.absolute()
        self.shares: Shares = shares or Duty()
        self.network: Network = network or Loopback()
        self.timing = timing or FederationTiming()
        self._nats, self._keys = list(nats), keys or self.network.encrypted
        self._policy = {"name": "local", **(policy or {})}
        self._hosts: dict[str, _Host] = {}
        self._daemons: list[Process] = []
        self._stack = contextlib.ExitStack()
        names = [server.name for server in servers]
        if len(set(names)) < len(names):
            raise UsageError(f"two servers have one name: {', '.join(names)}")
        if len(nats) not in (0, 1, 3):
            raise UsageError("NATS elects with one server or three")
        for name in nats:
            self._server(name)
        if len(str(self.folder / max(names, key=len) / "control.sock")) > 107:
            raise UsageError(f"{self.folder}: too long for a socket's path")

    def __enter__(self) -> Federation:
        try:
            self._stack.enter_context(self.network)
            self._stack.enter_context(self.shares)
            self._stack.callback(self._stop)
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _server(self, name: str) -> FederationServer:
        for server in self.servers:
            if server.name == name:
                return server
        raise UsageError(f"no server is named {name}")

    def place(self, server: str) -> ServerPlace:
        """Its folder, sockets, addresses."""
        return self._hosts[server].place

    def start(
        self, server: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> Process:
        """Starts a program on a server, in its network and with its CPU share. It stops with the federation."""
        host = self._hosts[server]
        process = Process([*self.network.command(host.server), *command], log, host.limit, environment)
        host.processes.append(process)
        return process

    def command_prefix(self, server: str) -> list[str]:
        """Returns the argv prefix that starts a command in the server's network and CPU share."""
        return [*self.member(server).command(), *self.network.command(self._server(server))]

    def member(self, server: str) -> Limit:
        """Returns the limit that a process started by another part must join (processes.Adopted)."""
        return self._hosts[server].limit

    def with_preload(self, server: str) -> dict[str, str]:
        """The environment in which a program's RocksDB asks the server's ecod."""
        place = self.place(server)
        file = place.folder / "eco.toml"
        file.write_text(configuration.application(place, 2 * self.timing.place_timeout_ms))
        return {"LD_PRELOAD": str(self.programs.preload), "ECO_CONFIG": str(file)}

    def cpu_s(self, server: str) -> float:
        """Returns the CPU time in s that all processes of a server have used."""
        return self._hosts[server].limit.cpu_s()

    def _control(self, server: str) -> Control:
        return Control(self.programs.ecoctl, self.place(server).control_socket)

    def ecoctl(self, server: str, *arguments: str) -> str:
        """Runs ecoctl at a server and returns its output. Raises FederationError if it fails."""
        return self._control(server)(*arguments)

    def view(self, server: str) -> dict[str, Any]:
        """The federation as a server sees it: proto/eco.proto's FederationView."""
        return self._control(server).view()

    def decisions(self, server: str, since_s: float = 0) -> list[dict[str, Any]]:
        """For a server's applications since then (Unix time), oldest first: LoggedDecision of eco.proto."""
        return self._control(server).decisions(since_s)

    def set_policy(self, name: str, *, shadow: bool = False) -> None:
        """Of all servers; returns when each has heard of it."""
        self.ecoctl(self.servers[-1].name, "policy", name, "--shadow", "on" if shadow else "off")

        self.wait(
            lambda: all(in_force(self.view(server.name), name, shadow=shadow) for server in self.servers),
            f"policy {name} does not reach all servers",
        )

    def idle(self) -> bool:
        """No server runs a job of another one."""
        return idle(self.view(self.servers[-1].name))

    def wait(self, holds: Callable[[], bool], otherwise: str, most_s: float = READY_S) -> None:
        """Until it holds. Raises FederationError: it does not, or a daemon has ended."""
        end = time.monotonic() + most_s
        while True:
            with contextlib.suppress(FederationError):
                if holds():
                    return
            for daemon in self._daemons:
                if not daemon.runs():
                    raise FederationError(f"{daemon.log.stem} has ended: {daemon.text()[-1000:].strip()}")
            if time.monotonic() > end:
                raise FederationError(f"{otherwise} after {most_s:g} s; logs: {self.folder}/*/*.log")
            time.sleep(0.05)

    def _start(self) -> None:
        for server in self.servers:
            (self.folder / server.name).mkdir(parents=True, exist_ok=True)
            self.network.add(server)
        keys = self._make_keys()
        for server in self.servers:
            folder = self.folder / server.name
            limit = self.shares.limit(server, folder / "cgroup")
            place = ServerPlace(
                folder=folder,
                host=self.network.host(server),
                worker_port=self.network.ports(server, 1)[0],
                interface=self.network.interface(server),
                cgroup=limit.folder,
                keys=keys.get(server.name),
            )
            self._hosts[server.name] = _Host(server, place, limit)
        urls = self._start_nats()
        self._start_ecods(urls)
        self.wait(self._all_known, "the servers do not find each other")

    def _make_keys(self) -> dict[str, Keys]:
        if not self._keys:
            return {}
        return make_keys(self.folder / "keys", {server.name: [self.network.host(server)] for server in self.servers})

    def _start_nats(self) -> list[str]:
        if not self._nats:
            return []
        program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
        if program is None:
            raise UsageError("nats-server is not installed; without it a federation has a static master")
        hosts = [self._hosts[name] for name in self._nats]
        ports = [self.network.ports(host.server, 2) for host in hosts]
        scheme = "tls" if self._keys else "nats"
        routes = [f"nats://{host.place.host}:{each[1]}" for host, each in zip(hosts, ports, strict=True)]
        for host, each in zip(hosts, ports, strict=True):
            place = host.place
            file = place.folder / "nats.conf"
            store = place.folder / "nats"
            file.write_text(configuration.nats_server(host.server.name, place.host, each, routes, store, place.keys))
            log = place.folder / "nats.log"
            self._daemons.append(self.start(host.server.name, [program, "-c", str(file)], log))
        return [f"{scheme}://{host.place.host}:{each[0]}" for host, each in zip(hosts, ports, strict=True)]

    def _start_ecods(self, urls: Sequence[str]) -> None:
        timing = {
            "beat_ms": self.timing.beat_ms,
            "alive_ms": self.timing.alive_ms,
            "lease_ms": self.timing.lease_ms,
            "place_timeout_ms": self.timing.place_timeout_ms,
        }
        master = self.servers[-1]
        listen = f"{self.network.host(master)}:{self.network.ports(master, 1)[0]}"
        for server in reversed(self.servers):
            federation: dict[str, configuration.Value]
            if urls:
                federation = {"mode": "nats", "urls": urls, "replicas": len(urls)}
            elif server is master:
                federation = {"mode": "master", "listen": listen}
            else:
                federation = {"mode": "member", "master": listen}
            place = self.place(server.name)
            file = place.folder / "ecod.toml"
            file.write_text(configuration.ecod(server, place, {**federation, **timing}, self._policy))
            command = [str(self.programs.ecod), "--config", str(file)]
            self._daemons.append(self.start(server.name, command, place.folder / "ecod.log"))

    def _all_known(self) -> bool:
        """True when each server knows all others and their abilities."""
        for server in self.servers:
            view = self.view(server.name)
            lines = [line for line in view.get("servers", []) if line.get("alive") and "busy_cores" in line["state"]]
            if len(lines) < len(self.servers) or not view.get("master"):
                return False
        return True

    def _stop(self) -> None:
        """Applications first, then daemons in the reverse order of their start."""
        applications = [p for host in self._hosts.values() for p in host.processes if p not in self._daemons]
        for process in [*applications, *reversed(self._daemons)]:
            process.stop()
