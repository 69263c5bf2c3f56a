"""Conducts one run: prepares the database, samples the meter, runs the driver, collects the results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.commands.phases import phase_facts
from edgejoule.database_servers.external import is_local
from edgejoule.databases.driver import Event
from edgejoule.databases.loads import PreparedDatabase
from edgejoule.databases.snapshots import data_bytes
from edgejoule.databases.system_under_test import system_of
from edgejoule.experiment.command_complaints import OPERATIONS as DECLARED_OPERATIONS
from edgejoule.experiment.plan import PlannedRun
from edgejoule.machine import environment
from edgejoule.machine.memory_group import limited
from edgejoule.machine.page_cache import files_below, forget
from edgejoule.meters.base import Meter
from edgejoule.store import Intervals, Run, RunData
from edgejoule.study.command_figures import (
    command_energies,
    command_figures,
    database_of_command,
    durability_of_command,
    printed_figures,
    remote_responses,
    shell_of_run,
    shell_share,
)
from edgejoule.study.context import RunContext, Site
from edgejoule.study.cool_down import doubts, measure_idle
from edgejoule.study.driver_figures import (
    NOT_SETTLED,
    check_data,
    driver_flags,
    driver_responses,
    durability_flags,
    outages,
    rate_responses,
    short_of_target,
)
from edgejoule.study.execute import Executed, execute
from edgejoule.study.executions import Execution, intervals_of, totals_of, worked_share
from edgejoule.study.idle_windows import between_idle_windows
from edgejoule.study.measured_load import MeasuredLoad, measure_load
from edgejoule.study.metering import Metered, Metering, checked
from edgejoule.study.open_baseline import open_database, quiet_s
from edgejoule.study.other_programs import OtherPrograms, Watch, read_counters
from edgejoule.study.run_energy import Quiet, QuietWindows, energies, of_servers, only_whole, response
from edgejoule.study.run_length import executions_needed, lengthened
from edgejoule.study.servers import DriverPlacement

_TRIES = 3  # to set how many executions fill the time a meter needs: the first one is often slower than the others


@dataclass(frozen=True)
class _Sampled:
    """What the clients and the meter reported, and when.

    beside: events recorded by others than the driver or the command: by RocksDB in its LOG, by the ecods of a
    federation.
    """

    executions: list[Execution]
    events: list[dict[str, Any]]
    metered: Metered
    others: OtherPrograms
    idle: QuietWindows
    started_realtime_ns: int
    executed: Executed
    beside: Sequence[Event] = ()


def measure(planned: PlannedRun, context: RunContext, metering: Metering) -> tuple[Run, RunData]:
    """Conducts one run. Raises DatabaseError if the database or the driver failed or returned wrong data."""
    cooled = context.cool_down.wait(lambda: measure_idle(context.meters[0]).power_mean_w) if context.cool_down else None
    before = environment.state()
    do = _measure_idle if planned.load_percent == 0 else _measure
    run, data = do(planned, context, metering, before)
    facts = {**run.facts, **({"cool_down": cooled} if cooled else {})}
    facts["conditions"] = [*run.conditions, *doubts(cooled)]
    return dataclasses.replace(run, facts=facts, flags=(*run.flags, *doubts(cooled))), data


def _measure(
    planned: PlannedRun, context: RunContext, metering: Metering, before: Mapping[str, Any]
) -> tuple[Run, RunData]:
    """Conducts one run of the driver, or several executions that form one run."""
    planned_run = lengthened(_at_level(planned, context), context.least_s)
    system, site = system_of(planned), _site(planned, context)
    if context.setups:
        context.setups.enter(planned)
    _warm_up(planned, site)
    measured = None
    if context.loads.will_load(planned):
        load, measured = measure_load(planned, context, metering)
    else:
        load = context.loads.prepare(planned)
    restored_bytes = 0 if planned.memory_limit_bytes is None else data_bytes(load.path)
    storage = environment.storage(load.path)
    with limited(planned.memory_limit_bytes) as group:
        site = dataclasses.replace(site, group=group, still_s=quiet_s(context.timing, context.meters[0].method))
        sampled = _sample_enough(planned_run, load, site, metering)
        peak_bytes = group.peak_bytes() if group else None
    collect = _collect if sampled.executed.ran is None else _collect_command
    run, data = collect(planned, sampled, context)
    facts: dict[str, Any] = {
        **({"load": {**load.facts(), **(measured.facts if measured else {})}} if system.has_data else {}),
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
    run = dataclasses.replace(run, facts=facts, flags=(*run.flags, *held_back))
    return (_with_load(run, measured) if measured else run), data


def _with_load(run: Run, load: MeasuredLoad) -> Run:
    """Returns the run with the results of the load that was made for it."""
    return dataclasses.replace(
        run,
        responses=(*run.responses, *load.responses),
        flags=(*run.flags, *load.flags),
        facts={**run.facts, "conditions": [*run.facts["conditions"], *load.conditions]},
    )


def full_rate(planned: PlannedRun, context: RunContext) -> float:
    """Returns the unthrottled rate of a cell of a load curve, in ops/s."""
    free = dataclasses.replace(planned, load_percent=None, target_ops_s=None)
    free = _for_seconds(free, context.timing.calibration_s)
    load = context.loads.prepare(planned)
    (events,) = execute(system_of(free), [load.path], _site(planned, context)).streams
    return float(Execution.of(events).end["throughput_ops_s"])


def learn(planned: PlannedRun, context: RunContext) -> None:
    """Lets the servers of a federation compact the run's data, unmeasured, once with each policy they learn from."""
    for policy in context.servers.learning if context.servers else ():
        variant = dataclasses.replace(planned, policy=policy)
        if context.setups:
            context.setups.enter(variant)
        load = context.loads.prepare(variant)
        execute(system_of(variant), [load.path], _site(variant, context))


def at_full(planned: PlannedRun) -> str:
    """Returns the cell's label without its level of the load curve."""
    return " · ".join(str(v) for name, v in planned.levels.items() if name != "load_percent") or "all"


def _at_level(planned: PlannedRun, context: RunContext) -> PlannedRun:
    """Returns the run at its share of the reached rate, with the length of a level."""
    if planned.load_percent is None:
        return planned
    rate = context.reached_ops_s[at_full(planned)] * planned.load_percent / 100
    return _for_seconds(dataclasses.replace(planned, target_ops_s=max(1, round(rate))), context.timing.level_s)


def _for_seconds(planned: PlannedRun, seconds: int) -> PlannedRun:
    return dataclasses.replace(
        planned, properties={**planned.properties, "maxexecutiontime": seconds, "operationcount": 0}
    )


def _site(planned: PlannedRun, context: RunContext) -> Site:
    """Returns the site of a run. Sends the run's policy to every server of a federation."""
    if not context.servers:
        return Site(context, {"": DriverPlacement()})
    context.servers.decide_by(str(planned.policy), planned.link)
    names = system_of(planned).loaded_servers or context.servers.names[:1]
    return Site(context, {name: context.servers.home(name) for name in names})


def _sample_enough(planned: PlannedRun, load: PreparedDatabase, site: Site, metering: Metering) -> _Sampled:
    """Runs one execution, or as many as fill the time that the meter needs if one is too short.

    The first run of a cell sets the number. Only its last attempt leaves results.
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
    """Returns the data path of each execution; the executions of a command share one. load: data that nothing has used
    yet.
    """
    if not system_of(planned).repeats_in_place:
        return context.loads.copies(planned, count)
    return [load.path if load else context.loads.copies(planned, 1)[0]] * count


def _warm_up(planned: PlannedRun, site: Site) -> None:
    """Runs a cell's command unmeasured before its first run, on data that its runs do not use."""
    system, context = system_of(planned), site.context
    if not system.warmups or planned.label() in context.warmed:
        return
    context.warmed.add(planned.label())
    for _ in range(system.warmups):
        execute(system, context.loads.copies(planned, 1), site)


def _sample(planned: PlannedRun, paths: Sequence[Path], site: Site, metering: Metering) -> _Sampled:
    context, started_realtime_ns = site.context, time.time_ns()
    watch, not_own = Watch(), _own_not_ours(planned, context)
    heard = dataclasses.replace(context, on_event=watch.hearing(context.on_event))
    for path in paths if site.group else ():
        forget(files_below(path))  # so that who reads them next pays for their memory
    with metering.during(planned.index) as metered:
        executed, idle = between_idle_windows(
            context, lambda: execute(system_of(planned), paths, dataclasses.replace(site, context=heard))
        )
    return _Sampled(
        executions=[Execution.of(events) for events in executed.streams],
        events=[event for events in executed.streams for event in events],
        metered=metered,
        others=dataclasses.replace(
            watch.result() if not_own is None else OtherPrograms.unknown(not_own),
            own_device=planned.file_system is not None,
        ),
        idle=idle,
        started_realtime_ns=started_realtime_ns,
        executed=executed,
        beside=_events_beside(
            planned, paths[0], context, (idle.before[1], idle.after[0]), started_realtime_ns, executed.parts
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
    """Returns the events of RocksDB's LOG and of the ecods of a federation during the run; of several executions the
    LOG of the first.

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


def _collect(planned: PlannedRun, sampled: _Sampled, context: RunContext) -> tuple[Run, RunData]:
    missed = system_of(planned).may_miss()
    for execution in sampled.executions:
        check_data(execution.end, planned, missed=missed)
    intervals, totals = intervals_of(sampled.executions), totals_of(sampled.executions)
    opened = open_database(sampled.events, context.timing, context.meters[0].method)
    quiet = Quiet(sampled.idle, opened.windows)
    result = energies(sampled.metered.primary, intervals, quiet, totals.operations)
    result.baselines["quiet"] |= opened.facts
    names = context.servers.names if context.servers else ()
    joules = result.responses + of_servers(names, sampled.metered.primary, intervals, quiet, totals.operations)
    if len(sampled.executions) > 1:
        joules = [only_whole(j, len(sampled.executions)) for j in joules]
    metering, doubts = checked(sampled.metered, intervals, result.settled)
    start = sampled.executions[0].start
    durability = {**start["durability"], **({} if planned.durability_asked else {"asked": False})}
    run = Run(
        run_index=planned.index,
        block=planned.block,
        levels=planned.levels,
        status="finished",
        flags=(
            *result.flags,
            *doubts,
            *opened.doubts,
            *driver_flags(sampled.executions, totals, missed),
            *(durability_flags(durability) if system_of(planned).has_server else ()),
            *outages(totals, planned.longest_gap_s_max),
            *short_of_target(sampled.executions, load_curve=planned.load_percent is not None),
            *_elsewhere(planned),
            *sampled.executed.doubts,
            *sampled.others.flags(),
        ),
        started_realtime_ns=sampled.started_realtime_ns,
        responses=(
            *joules,
            *driver_responses(totals, sampled.executed.served),
            *rate_responses(sampled.executions),
            *sampled.others.responses(len(sampled.executions)),
        ),
        intervals=intervals,
        database=start["database"],
        durability=durability,
        meters=tuple(map(meter_facts, context.meters)),
        facts={
            "metering": metering,
            "baselines": result.baselines,
            "other_programs": sampled.others.facts(),
            **({"update_semantics": start["update_semantics"]} if start["update_semantics"] else {}),
            **({"server": sampled.executed.server_facts} if sampled.executed.server_facts else {}),
        },
    )
    return run, RunData([*sampled.events, *sampled.beside], (), totals.latencies)


def _collect_command(planned: PlannedRun, sampled: _Sampled, context: RunContext) -> tuple[Run, RunData]:
    """Builds the run of a command. It has no operations other than the declared ones."""
    ran = sampled.executed.ran
    assert ran is not None
    intervals, count = intervals_of(sampled.executions), len(ran.repetitions)
    opened = open_database(sampled.events, context.timing, context.meters[0].method)
    quiet = Quiet(sampled.idle, opened.windows)
    printed = printed_figures(ran, context.declared)
    operations = printed.get(DECLARED_OPERATIONS)
    of_all = operations * count if operations else 1
    result = energies(sampled.metered.primary, intervals, quiet, of_all)
    names = context.servers.names if context.servers else ()
    result.responses.extend(of_servers(names, sampled.metered.primary, intervals, quiet, of_all))
    start = shell_of_run(planned, context.shells)
    served = ran.served is not None
    joules = command_energies(result, count, shell_share(ran, start), served=served, operations=operations is not None)
    own = command_figures(planned, ran, intervals, start, printed, context.declared)
    if served:
        result.baselines["quiet"] |= opened.facts
    else:
        del result.baselines["quiet"]  # no database is open
    metering, doubts = checked(sampled.metered, intervals, result.settled)
    phases = phase_facts(ran.repetitions, sampled.metered.primary)
    settled = [] if intervals.settled_complete else [NOT_SETTLED]
    run = Run(
        run_index=planned.index,
        block=planned.block,
        levels=planned.levels,
        status="finished",
        flags=(
            *result.flags, *doubts, *(opened.doubts if served else ()), *settled, *own.flags,
            *sampled.executed.doubts, *sampled.others.flags(),
        ),
        started_realtime_ns=sampled.started_realtime_ns,
        responses=(
            *joules, *own.responses, *sampled.others.responses(count),
            *(remote_responses(sampled.beside, count, ran.parts) if context.servers else ()),
        ),
        intervals=intervals,
        database=database_of_command(planned, sampled.executed.server_facts),
        durability=durability_of_command(planned, ran),
        meters=tuple(map(meter_facts, context.meters)),
        facts={
            "metering": metering,
            "baselines": result.baselines,
            "other_programs": sampled.others.facts(),
            **({"server": sampled.executed.server_facts} if sampled.executed.server_facts else {}),
            **({"phases": phases} if phases else {}),
            **own.facts,
        },
    )  # fmt: skip
    return run, RunData([*sampled.events, *sampled.beside], (), ())


def meter_facts(meter: Meter) -> dict[str, Any]:
    """Returns a run's facts about its meter."""
    return {"name": meter.name, "method": str(meter.method), "describe": meter.describe(), **meter.facts()}


def _measure_idle(
    planned: PlannedRun, context: RunContext, metering: Metering, before: Mapping[str, Any]
) -> tuple[Run, RunData]:
    """Conducts level 0 of a load curve: the idle machine; no database is open."""
    started_realtime_ns = time.time_ns()
    with metering.during(planned.index) as metered:
        time.sleep(context.timing.idle_s)
        start_ns, begin = time.monotonic_ns(), read_counters()
        time.sleep(context.timing.level_s)
        end_ns, others = time.monotonic_ns(), OtherPrograms.between(begin, read_counters())
        time.sleep(context.timing.idle_s)
    intervals = Intervals(start_ns, end_ns, end_ns, True)
    none = QuietWindows(why_none="the run itself is idle")
    result = energies(metered.primary, intervals, Quiet(none, none), 1)
    kept = [j for j in result.responses if j.name in ("energy_j", "power_mean_w")]
    after = environment.state()
    metering_facts, doubts = checked(metered, intervals, result.settled)
    held_back = [*environment.throttling(before, after), *others.flags_at_rest()]
    run = Run(
        planned.index, planned.block, planned.levels, "finished",
        flags=(*result.flags, *doubts, *held_back),
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


def _own_not_ours(planned: PlannedRun, context: RunContext) -> str | None:
    """Returns why the run's processes cannot be distinguished from other programs (someone else started them), or None
    if they can.
    """
    if (host := system_of(planned).users_host) and is_local(host):
        return "the server on this machine is not the study's: its use cannot be separated from that of other programs"
    if context.servers:
        return "the study is on a federation: its servers' use is not separated from that of other programs"
    return None


def _elsewhere(planned: PlannedRun) -> list[str]:
    """Returns a flag for a server on another machine, whose energy none of the meters measures."""
    host = system_of(planned).users_host
    if host is None or is_local(host):
        return []
    return [f"the server runs at {host}: the energy is the client's alone, unless a meter is there"]


def _cache(execution: Execution) -> dict[str, Any]:
    caches = execution.start["caches"]
    if caches is None:
        return {"state": "warm", "resident_bytes_before": None, "resident_bytes_after": None}
    return {"state": "cold", **{name: value for name, value in caches.items() if name != "dropped"}}


def _memory(limit_bytes: int, peak_bytes: int | None, restored_bytes: int) -> dict[str, Any]:
    ratio = round(restored_bytes / limit_bytes, 3)
    return {"limit_bytes": limit_bytes, "peak_bytes": peak_bytes, "data_bytes_per_limit": ratio}
