"""Where the driver of a study on a federation runs, and the settings that the federation receives before each run."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from edgejoule.databases.driver import driver_path
from edgejoule.eco.federation import Control, Federation, FederationServer, Programs, best_shares
from edgejoule.eco.federation.decisions import decision_events, joined
from edgejoule.eco.federation.federation import FederationTiming
from edgejoule.eco.federation.leftovers import new_folder, remove_leftovers
from edgejoule.eco.federation.namespaces import Namespaces
from edgejoule.errors import MeterError, UsageError
from edgejoule.experiment.model import FederationAt, Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.machine.network import Link
from edgejoule.machine.processes import Membership
from edgejoule.meters.base import Meter
from edgejoule.meters.discovery import discover
from edgejoule.study.servers.declared import DeclaredPower
from edgejoule.study.servers.meter import ServersMeter

ADAPTER = "rocksdb"
_SETTINGS = f"{ADAPTER}.eco_settings"
_SLOW_SHARE = 0.125  # of a core
_PRELOAD = "libeco-preload.so"  # as installed: the loader finds it


@dataclass(frozen=True)
class DriverPlacement:
    """Where the driver or a command runs. command_prefix: argv placed before the program's. extra_args: argv appended
    to the driver's. member: the group that the process joins. values: placeholders of a command, see
    commands.model.OF_A_FEDERATION.
    """

    command_prefix: Sequence[str] = ()
    extra_args: Sequence[str] = field(default=())
    member: Membership | None = None
    values: Mapping[str, str] = field(default_factory=dict)


class Servers(Protocol):
    """A context manager: the federation exists from __enter__ to __exit__. about: a description of its servers.
    learning: policies by which each server compacts once, so that its costs can be predicted; empty if the servers
    already know them.
    """

    names: Sequence[str]
    meter: ServersMeter
    about: str
    learning: Sequence[str]

    def __enter__(self) -> Self:
        """Raises FederationError."""
        ...

    def __exit__(self, *_: object) -> None:
        """Stops what was started."""
        ...

    def decide_by(self, policy: str, link: Link | None) -> None:
        """Sets the policy of all servers and clears their jobs. link: the network between them; None: loopback.

        Raises FederationError.
        """
        ...

    def home(self, server: str) -> DriverPlacement:
        """Returns where a program on that server runs."""
        ...

    def decisions(self, since_s: float, policy: str) -> list[dict[str, Any]]:
        """Returns decisions under the policy since then (Unix time, s) as events of a run. Raises FederationError."""
        ...


def servers_of(spec: Spec) -> Servers | None:
    """Builds the servers that the spec declares; None if it declares none.

    Raises UsageError, MeterError, or FederationError if eco is not built.
    """
    if not spec.servers:
        return None
    return _Machines(spec, spec.federation) if spec.federation else _Processes(spec)


class _Processes:
    """Servers as processes on this machine; the last is the master.

    The ecods restart when the network changes. What they have learnt on each network stays in a separate folder.
    """

    def __init__(self, spec: Spec) -> None:
        self.names: Sequence[str] = list(spec.servers)
        self._servers = [
            FederationServer(name, share=s.share or 0, busy_w=s.busy_w or 0, idle_w=s.idle_w or 0, slots=s.slots)
            for name, s in spec.servers.items()
        ]
        self.learning: Sequence[str] = ["local", *(f"static:{name}" for name in self.names[1:])]
        self._programs = Programs.of(driver_path().parent.parent)
        self._links = list(dict.fromkeys(planned.link for planned in make_plan(spec)))
        self._link = self._links[0]
        self._federation: Federation | None = None
        self._ended_cpu_s = dict.fromkeys(self.names, 0.0)
        self.about = f"{len(self.names)} processes on this machine, shares of a core by {best_shares().about}"
        parts = {s.name: DeclaredPower(s, self._cpu_of(s.name)) for s in self._servers}
        self.meter = ServersMeter(parts, about=self.about)
        self._stack = contextlib.ExitStack()

    def _cpu_of(self, server: str) -> Callable[[], float]:
        return lambda: self._ended_cpu_s[server] + self._running.cpu_s(server)

    @property
    def _running(self) -> Federation:
        assert self._federation is not None, "the federation is started before it is asked"
        return self._federation

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            remove_leftovers()
        self._folder = new_folder(Path(tempfile.gettempdir()))  # a short path: sockets lie in it
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._stack.callback(self._stop)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        """Starts the federation on the current network."""
        link = self._link
        network = Namespaces(link.rate_mbit_s or None, link.delay_ms, encrypted=link.encrypted) if link else None
        servers = (
            [replace(s, link_mbit_s=link.rate_mbit_s) for s in self._servers] if link and link.rate_mbit_s else None
        )
        federation = Federation(
            servers or self._servers, self._programs, self._folder / f"net-{self._links.index(link)}",
            shares=best_shares(), network=network, timing=_timing(self._servers),
        )  # fmt: skip
        self._federation = federation.__enter__()

    def _stop(self) -> None:
        if federation := self._federation:
            self._ended_cpu_s = {name: self._cpu_of(name)() for name in self.names}
            self._federation = None
            federation.__exit__()

    def decide_by(self, policy: str, link: Link | None) -> None:
        if link != self._link:
            self._stop()
            self._link = link
            self._start()
        self._running.set_policy(policy)
        self._running.wait(self._running.idle, "jobs of the run before do not end")

    def home(self, server: str) -> DriverPlacement:
        federation = self._running
        environment = federation.with_preload(server)
        settings = environment["ECO_CONFIG"]
        values = {"eco_preload": environment["LD_PRELOAD"], "eco_config": settings}
        return DriverPlacement(
            federation.command_prefix(server), ["-p", f"{_SETTINGS}={settings}"], federation.member(server), values
        )

    def decisions(self, since_s: float, policy: str) -> list[dict[str, Any]]:
        logs = [self._running.decisions(name, since_s) for name in self.names]
        return decision_events(joined(logs), policy, {server.name: server for server in self._servers})


def _timing(servers: Sequence[FederationServer]) -> FederationTiming:
    """Returns longer timeouts for slow servers: a CPU quota gives their ecods only some ms in each period."""
    if min(server.share for server in servers) >= _SLOW_SHARE:
        return FederationTiming()
    return FederationTiming(beat_ms=500, alive_ms=5000, lease_ms=5000, place_timeout_ms=400)


class _Machines:
    """Separate machines whose ecods are already running; this machine is the first."""

    def __init__(self, spec: Spec, at: FederationAt) -> None:
        self.names: Sequence[str] = list(spec.servers)
        self.learning: Sequence[str] = ()
        self.about = f"{len(self.names)} machines; asked at {at.control}"
        parts = {name: _meter(name, s.meter or "", s.options) for name, s in spec.servers.items()}
        self.meter = ServersMeter(parts, about=self.about)
        self._settings = at.settings
        ecoctl = shutil.which("ecoctl") or driver_path().with_name("ecoctl")
        self._control = Control(Path(ecoctl), Path(at.control))

    def __enter__(self) -> Self:
        known = {line["state"]["name"] for line in self._control.view().get("servers", [])}
        if missing := [name for name in self.names if name not in known]:
            raise UsageError(f"servers.{missing[0]}: the federation has {', '.join(sorted(known))}")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def decide_by(self, policy: str, link: Link | None) -> None:
        assert link is None, "separate machines have their own network"
        self._control.set_policy(policy)
        self._control.await_idle()

    def home(self, server: str) -> DriverPlacement:
        assert server == self.names[0], "programs run on this machine"
        values = {"eco_preload": _PRELOAD, "eco_config": self._settings}
        return DriverPlacement(extra_args=["-p", f"{_SETTINGS}={self._settings}"], values=values)

    def decisions(self, since_s: float, policy: str) -> list[dict[str, Any]]:
        return decision_events(joined([self._control.decisions(since_s)]), policy, {})


def _meter(server: str, name: str, options: Mapping[str, object]) -> Meter:
    candidate = next(each for each in discover(name, {name: options}) if each.name == name)
    if candidate.meter is None:
        raise MeterError(f"server {server}: meter {name}: {candidate.availability.reason}")
    return candidate.meter
