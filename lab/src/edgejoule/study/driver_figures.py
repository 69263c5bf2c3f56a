"""Converts the events of a driver's executions into responses, flags and errors of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from edgejoule.database_servers.serving import ServerUse
from edgejoule.databases.driver import Event
from edgejoule.databases.system_under_test import system_of
from edgejoule.dictionary.durability import broken_promise
from edgejoule.dictionary.properties import CORE
from edgejoule.dictionary.responses import ALL_OPERATIONS, OPERATIONS, latency_name
from edgejoule.errors import DatabaseError
from edgejoule.experiment.failed_operations import failure_text
from edgejoule.experiment.plan import PlannedRun
from edgejoule.findings.rates import not_sustained, share_min
from edgejoule.store import ResponseValue
from edgejoule.study.executions import Execution, Totals, reached_share, worked_share
from edgejoule.study.run_energy import response

_WORKED_SHARE_MIN = 0.9
NOT_SETTLED = "not settled within the time limit: settled figures are a lower bound"


def check_data(end: Event, planned: PlannedRun, missed: str | None = None) -> None:
    """Raises DatabaseError for a run that read wrong data or did no operations. missed: why a written row may be
    absent.
    """
    # workloads of other kinds request keys that nobody wrote, as their originals do
    if end["not_found"] and planned.kind == CORE and not missed:
        raise DatabaseError(
            f"wrong data: {end['not_found']} of {end['operations']} operations did not find a loaded row"
            + ("; load your server with the study's recordcount first" if system_of(planned).users_host else "")
        )
    if end["verify_failures"]:
        raise DatabaseError(f"wrong data: {end['verify_failures']} rows did not hold what was written")
    if not end["operations"]:
        raise DatabaseError("the run did no operation")


def driver_flags(executions: Sequence[Execution], totals: Totals, missed: str | None = None) -> list[str]:
    """Returns the flags of a finished run."""
    flags = []
    if not all(e.settled["complete"] for e in executions):
        flags.append(NOT_SETTLED)
    if totals.failures:
        flags.append(
            f"{failure_text(totals.failures, totals.operations, totals.failure_causes)}; they are in no figure"
        )
    if missed and (gone := sum(e.end["not_found"] for e in executions)):
        flags.append(f"{gone} operations did not find a row that was written: {missed}")
    share = executions[-1].end["driver_share"]
    if share and share["exceeded"]:
        flags.append(f"the driver itself took {share['share']:.0%} of the CPU time, bound {share['bound']:.0%}")
    if len(executions) > 1 and (worked := worked_share(executions)) < _WORKED_SHARE_MIN:
        flags.append(f"only {worked:.0%} of the measured time is work: the rest lies between the executions")
    return flags


def durability_flags(durability: Mapping[str, object]) -> list[str]:
    """Returns a flag for a server whose settings break the promise of the class that the experiment asks for."""
    broken = broken_promise(durability)
    return [] if broken is None else [f"durability {durability['class']} does not hold: {broken}"]


def outages(totals: Totals, gap_s_max: float) -> list[str]:
    """Returns a flag for a time without a success that exceeds the experiment's limit, and one for each incident of the
    server.
    """
    gap = totals.longest_gap
    if gap.seconds <= gap_s_max:
        return [*totals.incidents]
    message = f"no operation succeeded for {gap.seconds:.3g} s, from {gap.from_s:.3g} s on"
    return [f"{message} (longest_gap_s_max = {gap_s_max:g} s)", *totals.incidents]


def short_of_target(executions: Sequence[Execution], *, load_curve: bool) -> list[str]:
    """Returns a flag if the requested rate was not sustained."""
    share = reached_share(executions)
    if share is None or share >= share_min(load_curve=load_curve):
        return []
    return [not_sustained(executions[0].start["target_ops_s"], share)]


def rate_responses(executions: Sequence[Execution]) -> list[ResponseValue]:
    """Returns the requested rate and the share of it that was reached; empty if no rate was requested."""
    asked = executions[0].start["target_ops_s"]
    if asked is None:
        return []
    why = "the client does not report when the operations of its schedule were due"
    share = response("target_share", reached_share(executions), missing=why)
    return [response("target_ops_s", asked), share]


_BYTES = ("process_read_bytes", "process_write_bytes", "device_read_bytes", "device_write_bytes")


def driver_responses(t: Totals, served: ServerUse | None = None) -> list[ResponseValue]:
    """Returns all responses without energy; amounts are per execution. A figure that the driver could not read is
    missing.

    With a server, CPU time is the sum of client and server. Bytes are those of the device and include other programs: a
    process's own counters include its sockets.
    """
    if served:
        t = dataclasses.replace(
            t,
            usage={
                **t.usage,
                **dict.fromkeys(_BYTES),
                "device_read_bytes": served.device_read_bytes,
                "device_write_bytes": served.device_write_bytes,
            },
        )
    values: dict[str, float | None] = {
        "throughput_ops_s": t.operations / t.active_s,
        "failure_share": t.failures / (t.operations + t.failures),
        "longest_gap_s": t.longest_gap.seconds,
        "active_s": t.active_s / t.executions,
        "settled_s": t.settled_s / t.executions,
        "cpu_us_per_op": _cpu_us_per_op(t, served),
        "cpu_cores": _cpu_cores(t, served),
        "bandwidth_mb_s": (t.payload_read_bytes + t.payload_write_bytes) / 1e6 / t.active_s,
        "rss_peak_mb": t.rss_peak_bytes / 1e6,
        **{name: None if (v := t.usage[name]) is None else v / t.executions for name in _BYTES},
        "device_bytes": _device_bytes(t),
        "device_write_bytes_per_op": _per_operation(t, "device_write_bytes"),
        "data_bytes": t.data_bytes,
        **{name: value / t.executions for name, value in t.of_database.items()},
        "reads_before_write_per_op": t.read_before_write / t.operations,
    }
    if t.driver_share or not served:  # the real YCSB does not report it
        values["driver_share"] = t.driver_share["share"] if t.driver_share else None
    if served:
        values |= _of_server(t, served)
    else:
        values |= _requests_per_op(t)
        values["process_write_bytes_per_op"] = _per_operation(t, "process_write_bytes")
        for name, by in (("write_amplification", "process"), ("device_write_amplification", "device")):
            if t.payload_write_bytes and (written := t.usage[f"{by}_write_bytes"]) is not None:
                values[name] = written / t.payload_write_bytes
    for (operation, measure, statistic), value in t.latency_us.items():
        if operation in (*OPERATIONS, ALL_OPERATIONS):
            values[latency_name(operation, measure, statistic)] = value
    return [response(name, value) for name, value in values.items()]


_REQUESTS = ("device_reads", "device_writes", "device_flushes")


def _per_operation(t: Totals, name: str) -> float | None:
    return None if (amount := t.usage[name]) is None else amount / t.operations


def _requests_per_op(t: Totals) -> dict[str, float | None]:
    """Returns requests per operation at the adapter's I/O interface, if it has one, and at the whole block device."""
    own: dict[str, float | None] = {f"io_{name}_per_op": count / t.operations for name, count in t.io.items()}
    return own | {f"{name}_per_op": _per_operation(t, name) for name in _REQUESTS}


def _cpu_us_per_op(t: Totals, served: ServerUse | None) -> float | None:
    user, system = t.usage["cpu_user_ns"], t.usage["cpu_system_ns"]
    if user is None or system is None:
        return None
    server_s = served.cpu_s if served else 0.0
    return None if server_s is None else ((user + system) / 1e3 + server_s * 1e6) / t.operations


def _cpu_cores(t: Totals, served: ServerUse | None) -> float | None:
    """Returns the run's CPU time over settled / its length: the number of CPU cores in use on average."""
    per_operation = _cpu_us_per_op(t, served)
    return None if per_operation is None else per_operation * t.operations / 1e6 / t.settled_s


def _device_bytes(t: Totals) -> float | None:
    read, written = t.usage["device_read_bytes"], t.usage["device_write_bytes"]
    return None if read is None or written is None else (read + written) / t.executions


def _of_server(t: Totals, served: ServerUse) -> dict[str, float | None]:
    """Returns the CPU time of client and server separately. The client's share of the CPU time replaces the driver's
    share.
    """
    whole, client = _cpu_us_per_op(t, served), _cpu_us_per_op(t, None)
    server = None if served.cpu_s is None else served.cpu_s * 1e6 / t.operations
    return {
        "server_cpu_us_per_op": server,
        "client_cpu_us_per_op": client,
        "client_cpu_share": None if not whole or client is None else client / whole,
        "server_rss_peak_mb": None if served.rss_peak_bytes is None else served.rss_peak_bytes / 1e6,
    }
