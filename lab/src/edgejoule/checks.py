"""Is a plan possible on this machine? Refused before anything runs, with the way out."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from edgejoule import databases, file_system, memory_group
from edgejoule.commands.check import check_command
from edgejoule.commands.cold import DROP_CACHES
from edgejoule.commands.model import NO_DATABASE, CommandWorkload
from edgejoule.database_servers import REMOVED, SERVERS, Server
from edgejoule.database_servers.external import HOST, SECRET
from edgejoule.database_servers.options import OWN
from edgejoule.database_servers.ycsb_client import BINDINGS
from edgejoule.databases import is_external, not_available, options_in_force, server_of
from edgejoule.errors import UsageError
from edgejoule.federation.namespaces import why_no_namespaces
from edgejoule.plan import PlannedRun
from edgejoule.properties import CORE, is_option
from edgejoule.responses import nearest
from edgejoule.spec import Spec


def check_plan(spec: Spec, plan: Sequence[PlannedRun], *, keep_going: bool = False) -> None:
    """Refuse what the driver would refuse later, or what no run would take. Raises UsageError naming it.

    keep_going: runs of a database that is not here are no reason, as long as there are others: they will fail.
    """
    for run in plan:
        if run.command is not None:
            _check_command(run)
    driven = [run for run in plan if run.command is None]
    known = databases.adapters() if driven else {}
    for run in driven:
        adapter = known.get(run.adapter)
        if adapter is None:
            raise _unknown_database(run.adapter, known)
        if is_external(run):
            _check_external(run)
            adapter = adapter.client or adapter
        if (absent := not_available(run)) and not keep_going:
            raise UsageError(f"{run.label()}: {absent}; or leave its runs out and do the others with --keep-going")
        for option in run.options:
            if option not in adapter.options and not (run.adapter in SERVERS and option.startswith(OWN)):
                found = nearest(option, adapter.options)
                if is_external(run) and option in known[run.adapter].options:
                    found = f"it is of servers that the study starts, and {run.adapter}.{HOST} names one that you run"
                raise UsageError(f"database {run.database!r}: unknown option {option!r}; {found}")
        if run.memory_limit_bytes and run.adapter == "noop":
            raise UsageError(
                f"{run.label()}: noop has no data that memory could be short for; leave memory_limit_mb out"
            )
        if run.cold and run.adapter == "noop":
            raise UsageError(
                f"{run.label()}: noop keeps no files whose cache could be cold; leave it out, or cache warm"
            )
        if run.adapter in SERVERS and not absent:
            _check_served(run)
        elif run.adapter not in SERVERS and run.replication_factor is not None:
            raise UsageError(f"{run.label()}: {run.adapter} keeps one copy; replication_factor is for servers")
        if run.kind != CORE:  # the driver knows a default for all it needs
            continue
        if not run.properties.get("recordcount"):
            raise UsageError("recordcount is missing: how many records are in the database? Give it under [fixed]")
        ends = run.load_percent is not None or run.properties.get("maxexecutiontime")
        if not run.properties.get("operationcount") and not ends:
            raise UsageError(
                f"{run.label()}: the run would never end: give operationcount, or maxexecutiontime in seconds"
            )
    if plan and all(not_available(run) for run in plan):
        raise UsageError(f"no run of the plan can be done here: {not_available(plan[0])}")
    for workload, properties in spec.workloads.items():
        if isinstance(properties, CommandWorkload):
            continue
        for prefix in {name.split(".", 1)[0] for name in properties if is_option(name)} - set(
            known or databases.adapters()
        ):
            raise UsageError(f"workload {workload!r}: no database {prefix!r}; {nearest(prefix, known)}")
    for rule in spec.when:
        reached = {run.adapter for run in plan if rule.holds(run.levels)}
        for name in (n for n in rule.set if is_option(n)):
            if idle := reached - {name.split(".", 1)[0]}:
                raise UsageError(f"when {rule.words()}: {name} changes nothing for {', '.join(sorted(idle))}")
    used = {run.adapter for run in plan}
    for name in (n for n in (*spec.fixed, *spec.factors) if is_option(n)):
        prefix = name.split(".", 1)[0]
        if prefix not in used:
            raise UsageError(f"setting {name!r}: no run uses a database {prefix!r}; {nearest(prefix, used)}")
        if name in spec.factors and used != {prefix}:
            others = ", ".join(sorted(used - {prefix}))
            raise UsageError(
                f"factor {name!r} changes nothing for {others}: make it a variant under [databases] instead"
            )


def _unknown_database(name: str, known: Collection[str]) -> UsageError:
    if name in REMOVED:
        return UsageError(f"database {name!r} is no longer here; {REMOVED[name]}")
    return UsageError(f"unknown database {name!r}; {nearest(name, known)}")


def _check_command(run: PlannedRun) -> None:
    """Refuse a command that no run could start. Raises UsageError."""
    check_command(run)
    if run.adapter == NO_DATABASE:
        known: Collection[str] = ()
    elif run.adapter in SERVERS:
        known = SERVERS[run.adapter].options
    elif run.adapter in databases.adapters():
        known = ()  # the command opens its file itself
    else:
        raise _unknown_database(run.adapter, [NO_DATABASE, *databases.adapters()])
    if is_external(run):
        way_out = f'use database = "{NO_DATABASE}"'
        raise UsageError(f"{run.label()}: a command reaches a server that you run by its own arguments; {way_out}")
    if run.cold and run.adapter in SERVERS:
        raise UsageError(f"{run.label()}: cache = cold is for commands without a database server; leave it out")
    for option in run.options:
        if option not in known and not (run.adapter in SERVERS and option.startswith(OWN)):
            who = f"database {run.database!r}: unknown option {option!r}"
            raise UsageError(f"{who}; {nearest(option, known)}" if known else f"{who}: give it in the command")


#: Of the driver alone; the real YCSB has no such properties.
_DRIVERS_OWN = ("batchsize", "keytype", "zipfian.ranks", "zipfian.theta")


def _check_served(run: PlannedRun) -> None:
    """What only databases within the driver's process take, and what only the driver takes. Raises UsageError."""
    if run.cold:
        raise UsageError(f"{run.label()}: cache = cold is for databases within the driver's process; leave it out")
    if run.policy:
        raise UsageError(f"{run.label()}: eco.policy is for rocksdb")
    server = server_of(run, Path("/nowhere"))  # its options, too
    _check_copies(run, server)
    if run.adapter not in BINDINGS:
        return
    if run.kind != CORE:
        raise UsageError(f"{run.label()}: {run.adapter} is driven by the real YCSB, which has no workload {run.kind}")
    told: dict[str, object] = {"rate": run.rate, "warmup_s": run.warmup_s}
    told |= {name: run.properties.get(name) for name in _DRIVERS_OWN}
    for name, value in told.items():
        if value:
            raise UsageError(f"{run.label()}: {run.adapter} is driven by the real YCSB, which has no {name}")
    p = run.properties
    if (
        float(str(p.get("insertproportion") or 0))
        and p.get("requestdistribution") == "zipfian"
        and not p.get("operationcount")
    ):
        raise UsageError(
            f"{run.label()}: the real YCSB wants operationcount beside maxexecutiontime: with inserts its zipfian "
            "keys are laid out for as many operations"
        )


def _check_external(run: PlannedRun) -> None:
    """What only a server of the study's own takes: nothing restores the user's between runs. Raises UsageError."""
    where = f"{run.label()}: {run.adapter}.{HOST} names a server that you run"
    if SECRET in run.options:
        named = f"{run.adapter}.{SECRET}_env or {run.adapter}.{SECRET}_file"
        raise UsageError(f"{where}: what an experiment says is stored; say where its password is, by {named}")
    if run.kind != CORE or any(run.properties.get(name) for name in ("insertproportion", "deleteproportion")):
        raise UsageError(f"{where}: rows that a run inserts or deletes would be there for the next; leave them out")
    told = {
        "memory_limit_mb": run.memory_limit_bytes, "data_path": run.data_path, "filesystem": run.file_system,
        "replication_factor": run.replication_factor,
    }  # fmt: skip
    for name in (name for name, value in told.items() if value):
        raise UsageError(f"{where}: {name} is for what the study starts itself; leave it out")
    if run.load_unit:
        raise UsageError(f"{where}: the study loads nothing there; leave load under [design] out")


def _check_copies(run: PlannedRun, server: Server) -> None:
    """As many copies of a row as there are nodes to keep them. Raises UsageError."""
    option = server.replication_option
    if run.replication_factor is not None and option in run.options:
        raise UsageError(f"{run.label()}: either replication_factor or {run.adapter}.{option}, which is the same")
    copies = int(run.replication_factor or options_in_force(run).get(option) or 1)
    if copies > server.copies_max():
        raise UsageError(
            f"{run.label()}: {copies} copies of each row, and {server.copies_max()} to keep them: more nodes, "
            "region_servers or workers of the server (edgejoule databases NAME), or fewer copies"
        )


def not_here(plan: Sequence[PlannedRun]) -> list[str]:
    """What these runs ask of the machine that this user cannot have here, each with the way out."""
    found = []
    if any(run.cold for run in plan) and not os.access(DROP_CACHES, os.W_OK):
        found.append(
            f'cache = "cold" needs root, and a machine (not a container) that lets {DROP_CACHES} be written: run with '
            "sudo, or --set fixed.cache=warm"
        )
    if any(run.memory_limit_bytes for run in plan) and (reason := memory_group.why_not()):
        found.append(reason)
    kinds = sorted({run.file_system.kind for run in plan if run.file_system})
    if kinds and (reason := file_system.why_not(kinds)):
        found.append(reason)
    if any(run.link for run in plan) and (reason := why_no_namespaces()):
        found.append(f"network.*: {reason}; run as root, or leave these settings out for loopback")
    for path in sorted({run.data_path for run in plan if run.data_path}):
        if not (Path(path).is_dir() and os.access(path, os.W_OK | os.X_OK)):
            found.append(f"data_path: {path} is no folder that this user may write to")
    return found
