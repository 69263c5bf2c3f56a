"""One run: prepare the database, sample the meter, let the driver work, collect what came of it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any

from edgejoule.commands.client import CommandClient, CommandRun
from edgejoule.commands.on_servers import run_together
from edgejoule.commands.phases import phase_facts
from edgejoule.commands.setups import Setups
from edgejoule.commands.shells import ShellStart
from edgejoule.database_servers import DatabaseServer
from edgejoule.database_servers.external import is_local
from edgejoule.database_servers.serving import ServerUse, serving
from edgejoule.databases.driver import Driver, Event, quiet_arguments, timing_arguments
from edgejoule.databases.loads import Loads, PreparedDatabase, forget_pages
from edgejoule.databases.snapshots import data_bytes
from edgejoule.databases.system_under_test import Command, Embedded, Served, SystemUnderTest, system_of
from edgejoule.dictionary.properties import CORE
from edgejoule.dictionary.responses import OPERATIONS, latency_name
from edgejoule.eco.federation.decisions import AT_HOME, DECISION, INSTALLED
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import DeclaredResponse
from edgejoule.experiment.command_complaints import OPERATIONS as DECLARED_OPERATIONS
from edgejoule.experiment.failed_operations import told
from edgejoule.experiment.model import Timing
from edgejoule.experiment.plan import PlannedRun
from edgejoule.findings.rates import not_sustained, share_min
from edgejoule.machine import environment
from edgejoule.machine.memory_group import MemoryGroup, limited
from edgejoule.meters.base import Meter
from edgejoule.meters.sampler import LivePower
from edgejoule.store import Intervals, ResponseValue, Run, RunData
from edgejoule.study.command_figures import (
    command_energies,
    command_figures,
    printed_figures,
    shell_of_run,
    shell_share,
)
from edgejoule.study.cool_down import CoolDown, doubts, look
from edgejoule.study.executions import Execution, Totals, intervals_of, reached_share, totals_of, worked_share
from edgejoule.study.in_step import run_in_step
from edgejoule.study.metering import Metered, Metering, checked
from edgejoule.study.open_baseline import open_database, quiet_s
from edgejoule.study.other_programs import OtherPrograms, Watch
from edgejoule.study.other_programs import look as look_at_programs
from edgejoule.study.run_clocks import ClockPlan
from edgejoule.study.run_energy import Quiet, QuietWindows, energies, of_servers, only_whole, response
from edgejoule.study.run_length import executions_needed, first_reading_s, lengthened
from edgejoule.study.servers import Home, Servers

_WORKED_SHARE_MIN = 0.9
NOT_SETTLED = "not settled within the time limit: settled figures are a lower bound"
_TRIES = 3  # to find how many executions fill the time a meter needs: the first one is often slower than the others


@dataclass(frozen=True)
class RunContext:
    """What all runs of a study share. The meter is open.

    least_s: a shorter run is lengthened or executed several times (edgejoule.study.run_length). executions: cell -> how
    many form a replication of it, as the cell's first run found. reached_ops_s: cell without its load_percent -> its
    rate at full load. cool_down: what is waited for before a run. servers: of the federation that the runs are on.
    clocks: how the meters' times are checked.
    """

    meters: Sequence[Meter]
    loads: Loads
    timing: Timing
    on_event: Callable[[Event], None]
    on_power: Callable[[LivePower], None]
    least_s: float
    executions: dict[str, int] = field(default_factory=dict)
    reached_ops_s: Mapping[str, float] = field(default_factory=dict)
    cool_down: CoolDown | None = None
    servers: Servers | None = None
    clocks: ClockPlan = field(default_factory=ClockPlan)
    setups: Setups | None = None
    shells: Mapping[str, ShellStart] = field(default_factory=dict)
    declared: Mapping[str, DeclaredResponse] = field(default_factory=dict)
    warmed: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Sampled:
    """What the clients and the meter reported, and when.

    beside: what others than the driver or the command wrote down meanwhile: RocksDB in its LOG, ecods of a federation.
    """

    executions: list[Execution]
    events: list[dict[str, Any]]
    metered: Metered
    others: OtherPrograms
    idle: QuietWindows
    started_realtime_ns: int
    executed: _Executed
    beside: Sequence[Event] = ()


def measure(planned: PlannedRun, context: RunContext, metering: Metering) -> tuple[Run, RunData]:
    """Do one run. Raises DatabaseError when the database or the driver failed or returned wrong data."""
    cooled = context.cool_down.wait(lambda: look(context.meters[0]).power_mean_w) if context.cool_down else None
    before = environment.state()
    do = _measure_idle if planned.load_percent == 0 else _measure
    run, data = do(planned, context, metering, before)
    facts = {**run.facts, **({"cool_down": cooled} if cooled else {})}
    facts["conditions"] = [*run.conditions, *doubts(cooled)]
    return dataclasses.replace(run, facts=facts, flags=(*run.flags, *doubts(cooled))), data


def _measure(
    planned: PlannedRun, context: RunContext, metering: Metering, before: Mapping[str, Any]
) -> tuple[Run, RunData]:
    """One run of the driver, or several executions that form one."""
    told = lengthened(_at_level(planned, context), context.least_s)
    system, site = system_of(planned), _site(planned, context)
    if context.setups:
        context.setups.enter(planned)
    _warm_up(planned, site)
    load = context.loads.prepare(planned)
    restored_bytes = 0 if planned.memory_limit_bytes is None else data_bytes(load.path)
    storage = environment.storage(load.path)
    with limited(planned.memory_limit_bytes) as group:
        site = dataclasses.replace(site, group=group, still_s=quiet_s(context.timing, context.meters[0].method))
        sampled = _sample_enough(told, load, site, metering)
        peak_bytes = group.peak_bytes() if group else None
    collect = _collect if sampled.executed.ran is None else _collect_command
    run, data = collect(planned, sampled, context)
    facts: dict[str, Any] = {
        **({"load": load.facts()} if system.has_data else {}),
        "cache": _cache(sampled.executions[0]),
        **({} if system.users_host else {"storage": storage}),
        "environment": {"before": before, "after": environment.state()},
        **run.facts,
    }
    if planned.memory_limit_bytes is not None:
        facts["memory"] = _memory(planned.memory_limit_bytes, peak_bytes, restored_bytes)
    if len(sampled.executions) > 1:
        facts |= {"executions": len(sampled.executions), "worked_share": round(worked_share(sampled.executions), 4)}
    if planned.load_percent is not None:
        facts["load_percent"] = {
            "percent": planned.load_percent,
            "reached_ops_s": context.reached_ops_s[at_full(planned)],
        }
    held_back = environment.throttling(before, facts["environment"]["after"])
    facts["conditions"] = [*sampled.metered.clocks.flags, *held_back, *sampled.others.flags()]
    return dataclasses.replace(run, facts=facts, flags=(*run.flags, *held_back)), data


def full_rate(planned: PlannedRun, context: RunContext) -> float:
    """The rate in ops/s that a cell of a load curve reaches when nothing holds it back."""
    free = dataclasses.replace(planned, load_percent=None, target_ops_s=None)
    free = _for_seconds(free, context.timing.calibration_s)
    load = context.loads.prepare(planned)
    (events,) = _execute(system_of(free), [load.path], _site(planned, context)).streams
    return float(Execution.of(events).end["throughput_ops_s"])


def learn(planned: PlannedRun, context: RunContext) -> None:
    """Let the servers of a federation compact what the run compacts, unmeasured, by each policy that they learn by."""
    for policy in context.servers.learning if context.servers else ():
        told = dataclasses.replace(planned, policy=policy)
        if context.setups:
            context.setups.enter(told)
        load = context.loads.prepare(told)
        _execute(system_of(told), [load.path], _site(told, context))


def at_full(planned: PlannedRun) -> str:
    """The cell without its level of the load curve, in words."""
    return " · ".join(str(v) for name, v in planned.levels.items() if name != "load_percent") or "all"


def _at_level(planned: PlannedRun, context: RunContext) -> PlannedRun:
    """The run at its share of the reached rate, for the time of a level."""
    if planned.load_percent is None:
        return planned
    rate = context.reached_ops_s[at_full(planned)] * planned.load_percent / 100
    return _for_seconds(dataclasses.replace(planned, target_ops_s=max(1, round(rate))), context.timing.level_s)


def _for_seconds(planned: PlannedRun, seconds: int) -> PlannedRun:
    return dataclasses.replace(
        planned, properties={**planned.properties, "maxexecutiontime": seconds, "operationcount": 0}
    )


def _site(planned: PlannedRun, context: RunContext) -> _Site:
    """Of a federation every server is told the run's policy."""
    if not context.servers:
        return _Site(context, {"": Home()})
    context.servers.decide_by(str(planned.policy), planned.link)
    names = system_of(planned).loaded_servers or context.servers.names[:1]
    return _Site(context, {name: context.servers.home(name) for name in names})


def _sample_enough(planned: PlannedRun, load: PreparedDatabase, site: _Site, metering: Metering) -> _Sampled:
    """One execution; or where that is too short for the meter, as many as fill the time it needs.

    The first run of a cell decides how many, and leaves nothing of its tries but the last one.
    """
    context = site.context
    if known := context.executions.get(planned.label()):
        return _sample(planned, _paths(planned, load, context, known), site, metering)
    sampled, count = _sample(planned, [load.path], site, metering), 1
    for _ in range(_TRIES):
        each_s = sum(e.settled_s for e in sampled.executions) / count
        needed = executions_needed(planned, each_s, context.least_s)
        if needed <= count:
            break
        count = needed
        sampled = _sample(planned, _paths(planned, None, context, count), site, metering)
    if count > 1:
        context.executions[planned.label()] = count
    return sampled


def _paths(planned: PlannedRun, load: PreparedDatabase | None, context: RunContext, count: int) -> Sequence[Path]:
    """The data of each execution: of a command all work on the same. load: what nothing has worked on yet."""
    if not system_of(planned).repeats_in_place:
        return context.loads.copies(planned, count)
    return [load.path if load else context.loads.copies(planned, 1)[0]] * count


def _warm_up(planned: PlannedRun, site: _Site) -> None:
    """Run a cell's command unmeasured before its first run, on data that its runs do not see."""
    system, context = system_of(planned), site.context
    if not system.warmups or planned.label() in context.warmed:
        return
    context.warmed.add(planned.label())
    for _ in range(system.warmups):
        _execute(system, context.loads.copies(planned, 1), site)


def _sample(planned: PlannedRun, paths: Sequence[Path], site: _Site, metering: Metering) -> _Sampled:
    context, timing, started_realtime_ns = site.context, site.context.timing, time.time_ns()
    watch, not_own = Watch(), _own_not_ours(planned, context)
    heard = dataclasses.replace(context, on_event=watch.hearing(context.on_event))
    lead_s = max(map(first_reading_s, context.meters))
    for path in paths if site.group else ():
        forget_pages(path)
    with metering.during(planned.index) as metered:
        time.sleep(lead_s)
        start_ns = time.monotonic_ns()
        time.sleep(timing.idle_s)
        driver_start_ns = time.monotonic_ns()
        executed = _execute(system_of(planned), paths, dataclasses.replace(site, context=heard))
        driver_end_ns = time.monotonic_ns()
        time.sleep(timing.idle_s)
        end_ns = time.monotonic_ns()
        time.sleep(lead_s)
    return _Sampled(
        executions=[Execution.of(events) for events in executed.streams],
        events=[event for events in executed.streams for event in events],
        metered=metered,
        others=watch.found() if not_own is None else OtherPrograms.unknown(not_own),
        idle=QuietWindows((start_ns, driver_start_ns), (driver_end_ns, end_ns)),
        started_realtime_ns=started_realtime_ns,
        executed=executed,
        beside=_events_beside(
            planned, paths[0], context, (driver_start_ns, driver_end_ns), started_realtime_ns, executed.parts
        ),
    )


def _events_beside(
    planned: PlannedRun,
    path: Path,
    context: RunContext,
    within_ns: tuple[int, int],
    since_realtime_ns: int,
    on: Collection[str],
) -> Sequence[Event]:
    """What RocksDB's LOG and the ecods of a federation know of the run; of several executions the LOG of the first.

    on: the servers that a command ran on at once; each has a LOG.
    """
    system = system_of(planned)
    logged = [*system.log_events(path, *within_ns)]
    for server in on:
        own = system.log_events(context.loads.path_for(planned, server), *within_ns)
        logged += [{**event, "server": server} for event in own]
    if not context.servers:
        return logged
    return [*logged, *context.servers.decisions(since_realtime_ns / 1e9, str(planned.policy))]


@dataclass(frozen=True)
class _Executed:
    """The client's events of each execution. served: what a server used, server_facts: what the run keeps of it.

    ran: by a command.
    """

    streams: list[list[dict[str, Any]]]
    served: ServerUse | None = None
    server_facts: Mapping[str, Any] = field(default_factory=dict)
    ran: CommandRun | None = None

    @property
    def parts(self) -> Collection[str]:
        """Servers that a command ran on at once."""
        return self.ran.parts if self.ran else ()


@dataclass(frozen=True)
class _Site:
    """What a run's clients work with. homes: where they run. still_s: how long the open database stands quiet."""

    context: RunContext
    homes: Mapping[str, Home]  # by server of the federation; without one ""
    group: MemoryGroup | None = None
    still_s: float = 0.0

    @property
    def home(self) -> Home:
        """The first."""
        return next(iter(self.homes.values()))

    @property
    def in_group(self) -> list[str]:
        """argv prefix that starts a client within the memory limit."""
        return self.group.command() if self.group else []


@singledispatch
def _execute(system: SystemUnderTest, paths: Sequence[Path], site: _Site) -> _Executed:
    """Execute a run once on the data at each path. Raises DatabaseError."""
    raise AssertionError(f"no way to execute {system}")


@_execute.register(Served)
def _served(system: Served, paths: Sequence[Path], site: _Site) -> _Executed:
    """One execution on a server that is started for it and stopped after it."""
    assert len(paths) == 1, "runs on servers are not executed several times"
    with serving(system.server(paths[0], site.in_group)) as served:
        client = system.client(served, site.context.timing, site.context.on_event, site.in_group, site.still_s)
        served.end_client = client.stop
        events = client.run()
        used, facts = served.served(), {**served.server.facts(), "client": system.client_name}
        begin = next(e["active_start_ns"] for e in events if e["event"] == "active_end")
        end = next(e["monotonic_ns"] for e in events if e["event"] == "settled")
        if served.trouble:  # it is over, or the run would have failed
            events[-1] = {**events[-1], "incidents": [*events[-1]["incidents"], f"{served.trouble} for a while"]}
        if served.server.observed:
            events[-1] = {**events[-1], "data_bytes": data_bytes(served.server.data)}
        if not any(e["event"] == "database" for e in events):
            events[-1:-1] = served.database_events(begin, end)
    return _Executed([events], used, facts | used.facts())


@_execute.register(Command)
def _commanded(system: Command, paths: Sequence[Path], site: _Site) -> _Executed:
    """The command as often as there are paths, which are the same; with a database server of its own where it has one.

    On several servers of a federation at once, with data of its own on each.
    """
    prefix = [*site.in_group, *site.home.prefix]
    server = system.server(paths[0], prefix)
    ran = _commanded_with(server, prefix, system, paths, site) if server else _commanded_on(system.run, paths, site)
    return _Executed([ran.events], server_facts=ran.server_facts, ran=ran)


def _commanded_with(
    server: DatabaseServer, prefix: Sequence[str], system: Command, paths: Sequence[Path], site: _Site
) -> CommandRun:
    """The command with a database server of its own."""
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
        return dataclasses.replace(ran, served=used, server_facts=facts, durability=served.server.durability())


def _commanded_on(planned: PlannedRun, paths: Sequence[Path], site: _Site) -> CommandRun:
    """The command without a database server, on each server of the federation that it loads."""
    context, homes, on_event = site.context, site.homes, _one_at_a_time(site.context.on_event)

    def client(server: str, paths: Sequence[Path], ready: Callable[[], object]) -> CommandClient:
        home = homes[server]
        return CommandClient(
            planned, paths[0], len(paths), context.timing, on_event, prefix=[*site.in_group, *home.prefix],
            member=home.member, of_home=home.values, server=server, ready=ready,
        )  # fmt: skip

    if len(homes) == 1:
        return client(next(iter(homes)), paths, lambda: None).run()
    assert len(paths) == 1, "a command on several servers is not repeated"
    own = {server: [context.loads.copy_for(planned, server)] for server in homes}
    return run_together(list(homes), lambda server, ready: client(server, own[server], ready))


def _one_at_a_time(hear: Callable[[Event], None]) -> Callable[[Event], None]:
    """The listener for threads that report at the same time."""
    hearing = threading.Lock()

    def one(event: Event) -> None:
        with hearing:
            hear(event)

    return one


@_execute.register(Embedded)
def _executed(system: Embedded, paths: Sequence[Path], site: _Site) -> _Executed:
    """One execution on each path; in step, but where they would share the memory they are limited to."""
    timing, several, home, still_s = site.context.timing, len(paths) > 1 and site.group is None, site.home, site.still_s
    hear_all = _one_at_a_time(site.context.on_event)

    def driver(number: int, hear: Callable[[Event], None] = lambda event: None) -> Driver:
        def on_event(event: Event) -> None:
            hear(event)
            hear_all(event)

        last = number == len(paths) - 1
        words = [*system.arguments("run", paths[number]), *timing_arguments(timing)]
        words += ["--driver-share"] if last else []
        words += [*quiet_arguments(still_s, first=number == 0, last=last), *home.words]
        timeout_s, prefix = timing.run_timeout_s + 2 * still_s, [*site.in_group, *home.prefix]
        return Driver(words, timeout_s, on_event, prefix, member=home.member, in_step=several)

    if several:
        return _Executed(run_in_step(driver, len(paths), "quiet_end" if still_s else "settled"))
    return _Executed([driver(number).run() for number in range(len(paths))])


def _collect(planned: PlannedRun, sampled: _Sampled, context: RunContext) -> tuple[Run, RunData]:
    missed = system_of(planned).may_miss()
    for execution in sampled.executions:
        _check_data(execution.end, planned, missed=missed)
    intervals, totals = intervals_of(sampled.executions), totals_of(sampled.executions)
    opened = open_database(sampled.events, context.timing, context.meters[0].method)
    quiet = Quiet(sampled.idle, opened.windows)
    found = energies(sampled.metered.primary, intervals, quiet, totals.operations)
    found.baselines["quiet"] |= opened.facts
    names = context.servers.names if context.servers else ()
    joules = found.responses + of_servers(names, sampled.metered.primary, intervals, quiet, totals.operations)
    if len(sampled.executions) > 1:
        joules = [only_whole(j, len(sampled.executions)) for j in joules]
    metering, doubts = checked(sampled.metered, intervals, found.settled)
    start = sampled.executions[0].start
    run = Run(
        run_index=planned.index,
        block=planned.block,
        levels=planned.levels,
        status="finished",
        flags=(
            *found.flags,
            *doubts,
            *opened.doubts,
            *_flags(sampled.executions, totals, missed),
            *_outages(totals, planned.longest_gap_s_max),
            *_short_of_target(sampled.executions, load_curve=planned.load_percent is not None),
            *_elsewhere(planned),
            *sampled.others.flags(),
        ),
        started_realtime_ns=sampled.started_realtime_ns,
        responses=(
            *joules,
            *_timed(totals, sampled.executed.served),
            *_rate(sampled.executions),
            *sampled.others.responses(len(sampled.executions)),
        ),
        intervals=intervals,
        database=start["database"],
        durability={**start["durability"], **({} if planned.durability_asked else {"asked": False})},
        meters=tuple(map(meter_facts, context.meters)),
        facts={
            "metering": metering,
            "baselines": found.baselines,
            "other_programs": sampled.others.facts(),
            **({"server": sampled.executed.server_facts} if sampled.executed.server_facts else {}),
        },
    )
    return run, RunData([*sampled.events, *sampled.beside], (), totals.latencies)


def _collect_command(planned: PlannedRun, sampled: _Sampled, context: RunContext) -> tuple[Run, RunData]:
    """The run of a command, which has no operations but those that it declares."""
    ran = sampled.executed.ran
    assert ran is not None
    intervals, count = intervals_of(sampled.executions), len(ran.repetitions)
    opened = open_database(sampled.events, context.timing, context.meters[0].method)
    quiet = Quiet(sampled.idle, opened.windows)
    printed = printed_figures(ran, context.declared)
    operations = printed.get(DECLARED_OPERATIONS)
    of_all = operations * count if operations else 1
    found = energies(sampled.metered.primary, intervals, quiet, of_all)
    names = context.servers.names if context.servers else ()
    found.responses.extend(of_servers(names, sampled.metered.primary, intervals, quiet, of_all))
    start = shell_of_run(planned, context.shells)
    served = ran.served is not None
    joules = command_energies(found, count, shell_share(ran, start), served=served, operations=operations is not None)
    own = command_figures(planned, ran, intervals, start, printed, context.declared)
    if served:
        found.baselines["quiet"] |= opened.facts
    else:
        del found.baselines["quiet"]  # no database is open
    metering, doubts = checked(sampled.metered, intervals, found.settled)
    phases = phase_facts(ran.repetitions, sampled.metered.primary)
    settled = [] if intervals.settled_complete else [NOT_SETTLED]
    run = Run(
        run_index=planned.index,
        block=planned.block,
        levels=planned.levels,
        status="finished",
        flags=(
            *found.flags, *doubts, *(opened.doubts if served else ()), *settled, *own.flags, *sampled.others.flags(),
        ),
        started_realtime_ns=sampled.started_realtime_ns,
        responses=(
            *joules, *own.responses, *sampled.others.responses(count),
            *(_remote(sampled.beside, count, ran.parts) if context.servers else ()),
        ),
        intervals=intervals,
        database=_database_of(planned, sampled.executed.server_facts),
        durability=_durability_of(planned, ran),
        meters=tuple(map(meter_facts, context.meters)),
        facts={
            "metering": metering,
            "baselines": found.baselines,
            "other_programs": sampled.others.facts(),
            **({"server": sampled.executed.server_facts} if sampled.executed.server_facts else {}),
            **({"phases": phases} if phases else {}),
            **own.facts,
        },
    )  # fmt: skip
    return run, RunData([*sampled.events, *sampled.beside], (), ())


def _remote(events: Sequence[Event], repetitions: int, on: Collection[str]) -> list[ResponseValue]:
    """What other servers did for a command, by the decisions of its federation. on: several servers that it ran on."""
    decided = [e for e in events if e["event"] == DECISION and e["outcome"]]
    found = []
    for server in ("", *on):
        own = [(e["outcome"], e["moved_bytes"]) for e in decided if not server or e["home"] == server]
        values = {
            "remote_compactions": sum(outcome == INSTALLED for outcome, _ in own),
            "remote_fallbacks": sum(outcome not in (INSTALLED, AT_HOME) for outcome, _ in own),
            "remote_moved_bytes": sum(moved for _, moved in own),
        }
        of = f"@{server}" if server else ""
        found += [response(f"{name}{of}", value / repetitions) for name, value in values.items()]
    return found


def _database_of(planned: PlannedRun, server: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a run keeps of the database below its command; None without one."""
    if not system_of(planned).opens_database:
        return None
    return {
        "name": planned.adapter, "version": server.get("version", ""),
        "options": dict(server.get("settings", {})), "path": "",
    }  # fmt: skip


def _durability_of(planned: PlannedRun, ran: CommandRun) -> dict[str, Any] | None:
    """What the server below a command promises; None without a server."""
    if not ran.durability:
        return None
    asked = {} if planned.durability_asked else {"asked": False}
    return {"class": planned.durability or "not asked for", "how": ran.durability, **asked}


def meter_facts(meter: Meter) -> dict[str, Any]:
    """What a run keeps of its meter."""
    return {"name": meter.name, "method": str(meter.method), "describe": meter.describe(), **meter.facts()}


def _measure_idle(
    planned: PlannedRun, context: RunContext, metering: Metering, before: Mapping[str, Any]
) -> tuple[Run, RunData]:
    """Level 0 of a load curve: the machine as it is when nobody asks; no database is open."""
    started_realtime_ns = time.time_ns()
    with metering.during(planned.index) as metered:
        time.sleep(context.timing.idle_s)
        start_ns, begin = time.monotonic_ns(), look_at_programs()
        time.sleep(context.timing.level_s)
        end_ns, others = time.monotonic_ns(), OtherPrograms.between(begin, look_at_programs())
        time.sleep(context.timing.idle_s)
    intervals = Intervals(start_ns, end_ns, end_ns, True)
    none = QuietWindows(why_none="the run itself is idle")
    found = energies(metered.primary, intervals, Quiet(none, none), 1)
    kept = [j for j in found.responses if j.name in ("energy_j", "power_mean_w")]
    after = environment.state()
    metering_facts, doubts = checked(metered, intervals, found.settled)
    held_back = [*environment.throttling(before, after), *others.flags_at_rest()]
    run = Run(
        planned.index, planned.block, planned.levels, "finished",
        flags=(*found.flags, *doubts, *held_back),
        started_realtime_ns=started_realtime_ns,
        responses=(*kept, response("settled_s", (end_ns - start_ns) / 1e9), others.responses(1)[0]),
        intervals=intervals, meters=tuple(map(meter_facts, context.meters)),
        facts={
            "environment": {"before": before, "after": after},
            "metering": metering_facts,
            "conditions": [*metered.clocks.flags, *held_back],
        },
    )  # fmt: skip
    return run, RunData((), (), ())


def _check_data(end: Event, planned: PlannedRun, missed: str | None = None) -> None:
    if (
        end["not_found"] and planned.kind == CORE and not missed
    ):  # other kinds ask for keys that nobody wrote, as their originals do
        raise DatabaseError(
            f"wrong data: {end['not_found']} of {end['operations']} operations did not find a loaded row"
            + ("; load your server with the study's recordcount first" if system_of(planned).users_host else "")
        )
    if end["verify_failures"]:
        raise DatabaseError(f"wrong data: {end['verify_failures']} rows did not hold what was written")
    if not end["operations"]:
        raise DatabaseError("the run did no operation")


def _flags(executions: Sequence[Execution], totals: Totals, missed: str | None = None) -> list[str]:
    """What makes a finished run doubtful."""
    flags = []
    if not all(e.settled["complete"] for e in executions):
        flags.append(NOT_SETTLED)
    if totals.failures:
        flags.append(f"{told(totals.failures, totals.operations, totals.failure_causes)}; they are in no figure")
    if missed and (gone := sum(e.end["not_found"] for e in executions)):
        flags.append(f"{gone} operations did not find a row that was written: {missed}")
    share = executions[-1].end["driver_share"]
    if share and share["exceeded"]:
        flags.append(f"the driver itself took {share['share']:.0%} of the CPU time, bound {share['bound']:.0%}")
    if len(executions) > 1 and (worked := worked_share(executions)) < _WORKED_SHARE_MIN:
        flags.append(f"only {worked:.0%} of the measured time is work: the rest lies between the executions")
    return flags


def _outages(totals: Totals, gap_s_max: float) -> list[str]:
    """A time without a success that is longer than the experiment allows, and what befell the server."""
    gap = totals.longest_gap
    if gap.seconds <= gap_s_max:
        return [*totals.incidents]
    words = f"no operation succeeded for {gap.seconds:.3g} s, from {gap.from_s:.3g} s on"
    return [f"{words} (longest_gap_s_max = {gap_s_max:g} s)", *totals.incidents]


def _own_not_ours(planned: PlannedRun, context: RunContext) -> str | None:
    """Why the run's processes cannot be told from other programs: somebody else has started them. None: they can."""
    if (host := system_of(planned).users_host) and is_local(host):
        return "the server on this machine is not the study's: what it uses cannot be told from other programs"
    if context.servers:
        return "the study is on a federation: what its servers use is not told from other programs"
    return None


def _elsewhere(planned: PlannedRun) -> list[str]:
    """A server on another machine, whose joules no meter of ours sees."""
    host = system_of(planned).users_host
    if host is None or is_local(host):
        return []
    return [f"the server runs at {host}: the energy is the client's alone, unless a meter is there"]


def _short_of_target(executions: Sequence[Execution], *, load_curve: bool) -> list[str]:
    """A rate that was not sustained: the load was not the one that was asked for."""
    share = reached_share(executions)
    if share is None or share >= share_min(load_curve=load_curve):
        return []
    return [not_sustained(executions[0].start["target_ops_s"], share)]


def _rate(executions: Sequence[Execution]) -> list[ResponseValue]:
    """The rate asked for, and how much of it was reached; nothing where none was asked for."""
    asked = executions[0].start["target_ops_s"]
    if asked is None:
        return []
    why = "the client does not say when the operations of its schedule were due"
    share = response("target_share", reached_share(executions), missing=why)
    return [response("target_ops_s", asked), share]


def _cache(execution: Execution) -> dict[str, Any]:
    caches = execution.start["caches"]
    if caches is None:
        return {"state": "warm", "resident_bytes_before": None, "resident_bytes_after": None}
    return {"state": "cold", **{k: caches[k] for k in ("resident_bytes_before", "resident_bytes_after")}}


def _memory(limit_bytes: int, peak_bytes: int | None, restored_bytes: int) -> dict[str, Any]:
    ratio = round(restored_bytes / limit_bytes, 3)
    return {"limit_bytes": limit_bytes, "peak_bytes": peak_bytes, "data_bytes_per_limit": ratio}


_BYTES = ("process_read_bytes", "process_write_bytes", "device_read_bytes", "device_write_bytes")


def _timed(t: Totals, served: ServerUse | None = None) -> list[ResponseValue]:
    """All responses without energy, amounts per execution. A figure the driver could not read is missing.

    With a server, CPU time is the client's and the server's together, and bytes are the device's alone, with those of
    other programs: what a process writes goes to sockets, too.
    """
    if served:
        t = dataclasses.replace(
            t, usage={**t.usage, **dict.fromkeys(_BYTES), "device_write_bytes": served.device_write_bytes}
        )
    values: dict[str, float | None] = {
        "throughput_ops_s": t.operations / t.active_s,
        "failure_share": t.failures / (t.operations + t.failures),
        "longest_gap_s": t.longest_gap.seconds,
        "active_s": t.active_s / t.executions,
        "settled_s": t.settled_s / t.executions,
        "cpu_us_per_op": _cpu_us_per_op(t, served),
        "bandwidth_mb_s": (t.payload_read_bytes + t.payload_write_bytes) / 1e6 / t.active_s,
        "rss_peak_mb": t.rss_peak_bytes / 1e6,
        **{name: None if (v := t.usage[name]) is None else v / t.executions for name in _BYTES},
        "data_bytes": t.data_bytes,
        **{name: value / t.executions for name, value in t.of_database.items()},
        "reads_before_write_per_op": t.read_before_write / t.operations,
    }
    if t.driver_share or not served:  # the real YCSB has none
        values["driver_share"] = t.driver_share["share"] if t.driver_share else None
    if served:
        values |= _of_server(t, served)
    else:
        values |= _requests_per_op(t)
        for name, by in (("write_amplification", "process"), ("device_write_amplification", "device")):
            if t.payload_write_bytes and (written := t.usage[f"{by}_write_bytes"]) is not None:
                values[name] = written / t.payload_write_bytes
    for (operation, measure, statistic), value in t.latency_us.items():
        if operation in OPERATIONS:
            values[latency_name(operation, measure, statistic)] = value
    return [response(name, value) for name, value in values.items()]


def _requests_per_op(t: Totals) -> dict[str, float | None]:
    """Of the database at its own seam, where the adapter has one, and of the whole block device."""
    own: dict[str, float | None] = {f"io_{name}_per_op": count / t.operations for name, count in t.io.items()}
    for name in ("device_reads", "device_writes", "device_flushes"):
        own[f"{name}_per_op"] = None if (count := t.usage[name]) is None else count / t.operations
    return own


def _cpu_us_per_op(t: Totals, served: ServerUse | None) -> float | None:
    user, system = t.usage["cpu_user_ns"], t.usage["cpu_system_ns"]
    if user is None or system is None:
        return None
    server_s = served.cpu_s if served else 0.0
    return None if server_s is None else ((user + system) / 1e3 + server_s * 1e6) / t.operations


def _of_server(t: Totals, served: ServerUse) -> dict[str, float | None]:
    """Client and server apart. The client's share of the CPU time is told instead of the driver's own."""
    whole, client = _cpu_us_per_op(t, served), _cpu_us_per_op(t, None)
    server = None if served.cpu_s is None else served.cpu_s * 1e6 / t.operations
    return {
        "server_cpu_us_per_op": server,
        "client_cpu_us_per_op": client,
        "client_cpu_share": None if not whole or client is None else client / whole,
        "server_rss_peak_mb": None if served.rss_peak_bytes is None else served.rss_peak_bytes / 1e6,
    }
