"""Executes a run once and returns events: one client for each kind of system under test."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

from edgejoule.commands.client import CommandClient, CommandRun
from edgejoule.commands.on_servers import run_together
from edgejoule.database_servers import DatabaseServer
from edgejoule.database_servers.serving import ServerUse, Serving, serving
from edgejoule.databases.driver import Driver, Event, quiet_arguments, timing_arguments
from edgejoule.databases.snapshots import data_bytes
from edgejoule.databases.system_under_test import Command, Embedded, Served, SystemUnderTest
from edgejoule.errors import DatabaseError
from edgejoule.experiment.plan import PlannedRun
from edgejoule.study.context import Site
from edgejoule.study.executions import Execution
from edgejoule.study.in_step import run_in_step


@dataclass(frozen=True)
class Executed:
    """The client's events of each execution. served: the server's resource use. server_facts: the server's facts for
    the run record. ran: the result of a command. doubts: why a server's caches may not have been cold.
    """

    streams: list[list[dict[str, Any]]]
    served: ServerUse | None = None
    server_facts: Mapping[str, Any] = field(default_factory=dict)
    ran: CommandRun | None = None
    doubts: Sequence[str] = ()

    @property
    def parts(self) -> Collection[str]:
        """Returns the servers that a command ran on at once."""
        return self.ran.parts if self.ran else ()


@singledispatch
def execute(system: SystemUnderTest, paths: Sequence[Path], site: Site) -> Executed:
    """Executes a run once on the data at each path. Raises DatabaseError."""
    raise AssertionError(f"no way to execute {system}")


@execute.register(Served)
def _served(system: Served, paths: Sequence[Path], site: Site) -> Executed:
    """Runs one execution on a server that is started before it and stopped after it."""
    assert len(paths) == 1, "runs on servers are not executed several times"
    with serving(system.server(paths[0], site.in_group)) as served:
        client = system.client(served, site.context.timing, site.context.on_event, site.in_group, site.still_s)
        served.end_client = client.stop
        events = client.run()
        used, facts = served.served(), {**served.server.facts(), "client": system.client_name}
        begin = next(e["active_start_ns"] for e in events if e["event"] == "active_end")
        end = next(e["monotonic_ns"] for e in events if e["event"] == "settled")
        if served.trouble:  # the trouble is over, or the run would have failed
            events[-1] = {**events[-1], "incidents": [*events[-1]["incidents"], f"{served.trouble} for a while"]}
        if served.server.observed:
            events[-1] = {**events[-1], "data_bytes": data_bytes(served.server.data)}
        if not any(e["event"] == "database" for e in events):
            events[-1:-1] = served.database_events(begin, end)
        if system.run.cold:
            events[0] = {**events[0], "caches": _cold_caches(served)}
    return Executed([events], used, facts | used.facts(), doubts=served.cold.doubts() if served.cold else ())


def _cold_caches(served: Serving) -> dict[str, Any]:
    """Returns `caches` of a start event. Raises DatabaseError if the client did not wait for cold caches."""
    if served.cold is None:
        raise DatabaseError("the client did not wait for cold caches: it is older than this lab; run make servers")
    return {"dropped": True, **served.cold.facts()}


@execute.register(Command)
def _commanded(system: Command, paths: Sequence[Path], site: Site) -> Executed:
    """Runs the command once per path; all paths are the same. Starts a database server for it if the command declares
    one.

    On several servers of a federation the command runs on all at once, each with its own data.
    """
    prefix = [*site.in_group, *site.home.command_prefix]
    server = system.server(paths[0], prefix)
    ran = _commanded_with(server, prefix, system, paths, site) if server else _commanded_on(system.run, paths, site)
    return Executed([ran.events], server_facts=ran.server_facts, ran=ran, doubts=ran.doubts)


def _commanded_with(
    server: DatabaseServer, prefix: Sequence[str], system: Command, paths: Sequence[Path], site: Site
) -> CommandRun:
    """Runs the command with a database server that is started for it."""
    with serving(server) as served:
        client = CommandClient(
            system.run, paths[0], len(paths), site.context.timing, site.context.on_event, served=served, prefix=prefix,
            quiet_s=site.still_s,
        )  # fmt: skip
        served.end_client = client.stop
        ran = client.run()
        used = served.served()
        execution = Execution.of(ran.events)
        worked = (execution.active_end["active_start_ns"], execution.settled["monotonic_ns"])
        ran.events[-1:-1] = served.database_events(*worked)
        facts = {**served.server.facts(), "client": "command", **used.facts()}
        return dataclasses.replace(
            ran, served=used, server_facts=facts, durability=served.server.durability(),
            doubts=served.cold.doubts() if served.cold else (),
        )  # fmt: skip


def _commanded_on(planned: PlannedRun, paths: Sequence[Path], site: Site) -> CommandRun:
    """Runs the command without a database server, on each server of the federation that it loads."""
    context, homes, on_event = site.context, site.homes, _one_at_a_time(site.context.on_event)

    def client(server: str, paths: Sequence[Path], ready: Callable[[], object]) -> CommandClient:
        home = homes[server]
        return CommandClient(
            planned, paths[0], len(paths), context.timing, on_event, prefix=[*site.in_group, *home.command_prefix],
            member=home.member, of_home=home.values, server=server, ready=ready,
        )  # fmt: skip

    if len(homes) == 1:
        return client(next(iter(homes)), paths, lambda: None).run()
    assert len(paths) == 1, "a command on several servers is not repeated"
    own = {server: [context.loads.copy_for(planned, server)] for server in homes}
    return run_together(list(homes), lambda server, ready: client(server, own[server], ready))


def _one_at_a_time(hear: Callable[[Event], None]) -> Callable[[Event], None]:
    """Returns a listener that several threads may call at the same time."""
    hearing = threading.Lock()

    def one(event: Event) -> None:
        with hearing:
            hear(event)

    return one


@execute.register(Embedded)
def _embedded(system: Embedded, paths: Sequence[Path], site: Site) -> Executed:
    """Runs one execution on each path. They run in step, unless they would share a memory limit."""
    timing, several, home, still_s = site.context.timing, len(paths) > 1 and site.group is None, site.home, site.still_s
    hear_all = _one_at_a_time(site.context.on_event)

    def driver(number: int, hear: Callable[[Event], None] = lambda event: None) -> Driver:
        def on_event(event: Event) -> None:
            hear(event)
            hear_all(event)

        last = number == len(paths) - 1
        arguments = [*system.arguments("run", paths[number]), *timing_arguments(timing)]
        arguments += ["--driver-share"] if last else []
        arguments += [*quiet_arguments(still_s, first=number == 0, last=last), *home.extra_args]
        timeout_s, prefix = timing.run_timeout_s + 2 * still_s, [*site.in_group, *home.command_prefix]
        return Driver(arguments, timeout_s, on_event, prefix, member=home.member, in_step=several)

    if several:
        return Executed(run_in_step(driver, len(paths), "quiet_end" if still_s else "settled"))
    return Executed([driver(number).run() for number in range(len(paths))])
