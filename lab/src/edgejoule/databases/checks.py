"""Checks before the first run whether a plan is possible on this machine; every error names a remedy."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from edgejoule.commands.cold import DROP_CACHES
from edgejoule.databases import driver as databases
from edgejoule.databases.system_under_test import system_of
from edgejoule.dictionary.properties import is_option
from edgejoule.dictionary.responses import nearest
from edgejoule.eco.federation.namespaces import why_no_delay, why_no_namespaces
from edgejoule.errors import DatabaseError
from edgejoule.experiment.command import CommandWorkload
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun
from edgejoule.experiment.settings import SettingsError
from edgejoule.machine import file_system, memory_group
from edgejoule.machine.wiped_disk import Wiping

_CONNECT_S = 1.0  # time limit of a connection to the user's server


def check_plan(spec: Spec, plan: Sequence[PlannedRun], *, keep_going: bool = False, shown_only: bool = False) -> None:
    """Raises UsageError for settings that the driver would reject later, or that no run would use.

    Raises DatabaseError if all databases are missing. Accepts runs of optional databases that are missing.

    keep_going: accepts runs of a missing database, which then fail, as long as other runs are possible. shown_only: the
    plan is not carried out, so it may have runs of missing databases alone. Without the driver it is not checked.
    """
    systems = [system_of(run) for run in plan]
    try:
        for system in systems:
            system.check(keep_going=True)
    except databases.DriverMissingError:
        if shown_only:
            return
        raise
    optional = left_out(spec, plan) if not shown_only else {}
    missing = [optional.get(run.index) or system_of(run).missing() for run in plan] if not shown_only else []
    if missing and all(missing):
        raise no_run_here(filter(None, missing))
    if any(missing) and not keep_going:
        for system in systems:
            system.check(keep_going=system.run.index in optional)
    _check_prefixes(spec, plan)


def no_run_here(reasons: Iterable[str]) -> DatabaseError:
    """Returns the error for a plan without a run that can be done here."""
    return DatabaseError(f"no run of the plan can be done here: {'; '.join(dict.fromkeys(reasons))}")


def left_out(spec: Spec, plan: Sequence[PlannedRun]) -> dict[int, str]:
    """Returns why runs of optional databases cannot be done here, with a remedy, by the index of the run."""
    reasons = {run.index: why_absent(run) for run in plan if spec.is_optional(run.database)}
    return {index: reason for index, reason in reasons.items() if reason}


def why_absent(run: PlannedRun) -> str | None:
    """Returns why the run's database is not here or does not answer, with a remedy; None if it is here."""
    return system_of(run).missing() or unreachable(run)


def address_of_users_server(run: PlannedRun) -> str | None:
    """Returns HOST:PORT of the user's server that the run works on, or its Unix socket; None: the study starts it."""
    if (host := system_of(run).users_host) is None:
        return None
    if host.startswith("/"):
        return host
    client = databases.adapters()[run.adapter].client
    port = run.options.get("port", client.options["port"][1] if client else "")
    return f"{host}:{port}"


def unreachable(run: PlannedRun) -> str | None:
    """Returns why the user's server does not answer now, with a remedy; None: it does, or the study starts it."""
    address = address_of_users_server(run)
    if address is None or address.startswith("/") or (why := _no_connection(address)) is None:
        return None
    return (
        f"{run.adapter} at {address} does not answer ({why}): start it, or correct {run.adapter}.host and "
        f"{run.adapter}.port"
    )


@cache
def _no_connection(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _check_prefixes(spec: Spec, plan: Sequence[PlannedRun]) -> None:
    """Checks that every option reaches the database that its prefix names. Raises UsageError."""
    for workload, properties in spec.workloads.items():
        if isinstance(properties, CommandWorkload):
            continue
        prefixes = {name.split(".", 1)[0] for name in properties if is_option(name)}
        for prefix in prefixes - set(databases.adapters()):
            name = next(n for n in properties if n.startswith(f"{prefix}."))
            why = f"no database {prefix!r}; {nearest(prefix, databases.adapters())}"
            raise SettingsError({"workload": workload}, name, why)
    for rule in spec.when:
        reached = {run.adapter for run in plan if rule.holds(run.levels)}
        for name in (n for n in rule.set if is_option(n)):
            if idle := reached - {name.split(".", 1)[0]}:
                levels = next(run.levels for run in plan if rule.holds(run.levels) and run.adapter in idle)
                why = f"changes nothing for {', '.join(sorted(idle))}; add database to the rule's conditions"
                raise SettingsError(levels, name, why)
    used = {run.adapter for run in plan}
    for name in (n for n in (*spec.fixed, *spec.factors) if is_option(n)):
        prefix = name.split(".", 1)[0]
        if prefix not in used:
            raise SettingsError({}, name, f"no run uses a database {prefix!r}; {nearest(prefix, used)}")
        if name in spec.factors and used != {prefix}:
            others = ", ".join(sorted(used - {prefix}))
            why = f"changes nothing for {others}: make it a variant under [databases] instead"
            raise SettingsError({}, name, why, other="database")


def not_here(plan: Sequence[PlannedRun], wipes: Wiping | None = None) -> list[str]:
    """Returns the requirements of these runs that this machine or user does not meet, each with a remedy. wipes: which
    disks may be wiped; None: none.
    """
    reasons = []
    if any(run.cold and not system_of(run).has_server for run in plan) and not os.access(DROP_CACHES, os.W_OK):
        reasons.append(
            f'cache = "cold" needs root, and a machine (not a container) that lets {DROP_CACHES} be written: run with '
            "sudo, or --set fixed.cache=warm"
        )
    if any(run.memory_limit_bytes for run in plan) and (reason := memory_group.why_not()):
        reasons.append(reason)
    made = {run.file_system for run in plan if run.file_system}
    if made and (reason := file_system.why_not(made)):
        reasons.append(reason)
    else:
        wipes = wipes or Wiping(file_system.run_command)
        devices = sorted({each.device for each in made if each.device})
        reasons += [reason for device in devices if (reason := wipes.why_not(device))]
    if any(run.link for run in plan) and (reason := why_no_namespaces()):
        reasons.append(f"network.*: {reason}; run as root, or leave these settings out for loopback")
    elif any(run.link and run.link.delay_ms for run in plan) and (reason := why_no_delay()):
        reasons.append(
            f"network.delay_ms: {reason}: load the module sch_netem, or leave it out; a rate alone is possible"
        )
    for path in sorted({run.data_path for run in plan if run.data_path}):
        if not (Path(path).is_dir() and os.access(path, os.W_OK | os.X_OK)):
            reasons.append(f"data_path: {path} is no folder that this user may write to")
    return reasons
