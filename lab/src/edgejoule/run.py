"""One run: restore the database, sample the meter, let the driver work, collect what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgejoule.databases import Driver, Event, Snapshots, driver_arguments
from edgejoule.errors import DatabaseError
from edgejoule.meters.base import Meter
from edgejoule.meters.sampler import LivePower, Sampler
from edgejoule.meters.trace import Trace
from edgejoule.plan import PlannedRun
from edgejoule.responses import OPERATIONS
from edgejoule.run_energy import Window, energies, response
from edgejoule.spec import Timing
from edgejoule.store import Intervals, Latency, ResponseValue, Run, RunData


@dataclass(frozen=True)
class Bench:
    """What all runs of a study share. The meter is open; data is where the database of a run lives."""

    meter: Meter
    snapshots: Snapshots
    data: Path
    timing: Timing
    on_event: Callable[[Event], None]
    on_power: Callable[[LivePower], None]


def measure(planned: PlannedRun, bench: Bench) -> tuple[Run, RunData]:
    """Do one run. Raises DatabaseError when the database or the driver failed or returned wrong data."""
    bench.snapshots.restore(planned, bench.data)
    started_realtime_ns = time.time_ns()
    timing = bench.timing
    words = driver_arguments("run", planned, bench.data)
    words += ["--driver-share", "--settle-timeout-s", f"{timing.settle_timeout_s:g}"]
    words += ["--interval-ms", str(timing.interval_ms)]
    sampler = Sampler(bench.meter, listener=bench.on_power)
    with sampler:
        start_ns = time.monotonic_ns()
        time.sleep(timing.idle_s)
        driver_start_ns = time.monotonic_ns()
        events = Driver(words, timing.run_timeout_s, bench.on_event).run()
        driver_end_ns = time.monotonic_ns()
        time.sleep(timing.idle_s)
        traces = sampler.stop()
    window = Window(start_ns, driver_start_ns, driver_end_ns, time.monotonic_ns())
    return _collect(planned, events, traces, window, bench.meter, started_realtime_ns)


def _collect(
    planned: PlannedRun,
    events: Sequence[Event],
    traces: Sequence[Trace],
    window: Window,
    meter: Meter,
    started_realtime_ns: int,
) -> tuple[Run, RunData]:
    by_kind = {e["event"]: e for e in events}
    start, active_end, settled, end = (by_kind[k] for k in ("start", "active_end", "settled", "end"))
    _check_data(end)
    intervals = Intervals(
        active_end["active_start_ns"], active_end["monotonic_ns"], settled["monotonic_ns"], settled["complete"]
    )
    joules, flags = energies(traces, intervals, window, int(end["operations"]))
    run = Run(
        run_index=planned.index,
        block=planned.block,
        levels=planned.levels,
        status="finished",
        flags=(*flags, *_flags(settled, end)),
        started_realtime_ns=started_realtime_ns,
        responses=(*joules, *_timed(intervals, active_end, settled, end)),
        intervals=intervals,
        database=start["database"],
        durability=start["durability"],
        meters=({"name": meter.name, "method": str(meter.method), "describe": meter.describe(), **meter.facts()},),
    )
    return run, RunData(events, traces, [Latency(x["operation"], x["measure"], x["hdr"]) for x in end["latencies"]])


def _check_data(end: Event) -> None:
    if end["not_found"]:
        raise DatabaseError(
            f"wrong data: {end['not_found']} of {end['operations']} operations did not find a loaded row"
        )
    if end["verify_failures"]:
        raise DatabaseError(f"wrong data: {end['verify_failures']} rows did not hold what was written")
    if not end["operations"]:
        raise DatabaseError("the run did no operation")


def _flags(settled: Event, end: Event) -> list[str]:
    """What makes a finished run doubtful."""
    flags = []
    if not settled["complete"]:
        flags.append("not settled within the time limit: settled figures are a lower bound")
    if end["failures"]:
        flags.append(f"{end['failures']} operations failed (busy)")
    share = end["driver_share"]
    if share and share["exceeded"]:
        flags.append(f"the driver itself took {share['share']:.0%} of the CPU time, bound {share['bound']:.0%}")
    return flags


def _timed(intervals: Intervals, active_end: Event, settled: Event, end: Event) -> list[ResponseValue]:
    """All responses without energy. A figure the driver could not read is missing."""
    active_s = (intervals.active_end_ns - intervals.active_start_ns) / 1e9
    operations, usage = int(end["operations"]), settled["usage"]
    payload_bytes = end["payload_read_bytes"] + end["payload_write_bytes"]
    cpu_ns = _sum(usage, "cpu_user_ns", "cpu_system_ns")
    written = usage["process_write_bytes"]
    share = end["driver_share"]
    values: dict[str, float | None] = {
        "throughput_ops_s": end["throughput_ops_s"],
        "active_s": active_s,
        "settled_s": (intervals.settled_end_ns - intervals.active_start_ns) / 1e9,
        "cpu_us_per_op": None if cpu_ns is None else cpu_ns / 1e3 / operations,
        "driver_share": share["share"] if share else None,
        "bandwidth_mb_s": payload_bytes / 1e6 / active_s,
        "rss_peak_mb": end["rss_peak_bytes"] / 1e6,
        "process_read_bytes": usage["process_read_bytes"],
        "process_write_bytes": written,
        "device_read_bytes": usage["device_read_bytes"],
        "device_write_bytes": usage["device_write_bytes"],
        "data_bytes": end["data_bytes"],
        "reads_before_write_per_op": end["read_before_write"] / operations,
    }
    if end["payload_write_bytes"] and written is not None:
        values["write_amplification"] = written / end["payload_write_bytes"]
    for histogram in end["latencies"]:
        if histogram["measure"] == "service" and histogram["operation"] in OPERATIONS and histogram["count"]:
            prefix = OPERATIONS[histogram["operation"]]
            values |= {f"{prefix}_latency_us_{s}": histogram[f"{s}_ns"] / 1e3 for s in ("mean", "p50", "p99")}
    return [response(name, value) for name, value in values.items()]


def _sum(usage: Mapping[str, Any], *names: str) -> float | None:
    parts = [usage[name] for name in names]
    return None if None in parts else float(sum(parts))
