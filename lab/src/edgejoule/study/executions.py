"""The results of one execution of the driver or several back to back: totals, merged latencies, the two intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hdrh.histogram import HdrHistogram

from edgejoule.databases.driver import Event
from edgejoule.dictionary.responses import ALL_OPERATIONS, OPERATIONS, READ_MODIFY_WRITE
from edgejoule.experiment.failed_operations import Cause, merged
from edgejoule.store import Intervals, Latency


@dataclass(frozen=True)
class Execution:
    """The four events of a finished execution that carry its figures."""

    start: Event
    active_end: Event
    settled: Event
    end: Event

    @classmethod
    def of(cls, events: Sequence[Event]) -> Execution:
        """Builds an execution from the driver's complete events (databases.Driver.run); for executions at once, in
        order from first to last.
        """
        by_kind = {e["event"]: e for e in events}
        begins = [e["active_start_ns"] for e in events if e["event"] == "active_end"]
        by_kind["active_end"] = {**by_kind["active_end"], "active_start_ns": min(begins)}
        return cls(*(by_kind[k] for k in ("start", "active_end", "settled", "end")))

    @property
    def active_s(self) -> float:
        """Returns the time from the first measured operation to the last acknowledgement, in s."""
        return float(self.active_end["monotonic_ns"] - self.active_end["active_start_ns"]) / 1e9

    @property
    def settled_s(self) -> float:
        """Returns the time from the first measured operation to settled, in s."""
        return float(self.settled["monotonic_ns"] - self.active_end["active_start_ns"]) / 1e9


class LongestGap(NamedTuple):
    """The longest time of an execution without a success, and when it began after the first operation; both in s."""

    seconds: float
    from_s: float


@dataclass(frozen=True)
class Totals:
    """Figures over all executions of a run, summed where a sum has meaning. None where a part could not be read.

    io: requests at the adapter's I/O interface; empty if it has none. of_database: response -> a value that only some
    databases report. failures: operations that failed; no other figure includes them. incidents: what happened to the
    server. latency_us: (operation, measure, statistic) -> µs, for each operation and for ALL_OPERATIONS; mean, p50,
    p95, p99, p999 of service and intended latency.
    """

    executions: int
    operations: int
    failures: int
    failure_causes: Sequence[Cause]
    longest_gap: LongestGap
    incidents: Sequence[str]
    active_s: float
    settled_s: float
    usage: Mapping[str, float | None]
    io: Mapping[str, float]
    payload_read_bytes: int
    payload_write_bytes: int
    read_before_write: int
    rss_peak_bytes: int
    data_bytes: int | None
    of_database: Mapping[str, float]
    driver_share: Mapping[str, Any] | None
    latency_us: Mapping[tuple[str, str, str], float]
    latencies: Sequence[Latency]


_USAGE = (
    "cpu_user_ns", "cpu_system_ns", "process_read_bytes", "process_write_bytes", "device_read_bytes",
    "device_write_bytes", "device_reads", "device_writes", "device_flushes",
)  # fmt: skip
_IO = ("reads", "writes", "flushes", "read_bytes", "write_bytes")


def intervals_of(executions: Sequence[Execution]) -> Intervals:
    """Returns the intervals from the first execution's first operation to the last execution's end. They are complete
    if every execution's are.
    """
    first, last = executions[0], executions[-1]
    return Intervals(
        first.active_end["active_start_ns"],
        last.active_end["monotonic_ns"],
        last.settled["monotonic_ns"],
        all(e.settled["complete"] for e in executions),
    )


def worked_share(executions: Sequence[Execution]) -> float:
    """Returns the share of the time from the first operation to the end of the last execution that the settled
    intervals fill.
    """
    i = intervals_of(executions)
    return sum(e.settled_s for e in executions) * 1e9 / (i.settled_end_ns - i.active_start_ns)


def reached_share(executions: Sequence[Execution]) -> float | None:
    """Returns the time that the operations should have taken at the requested rate divided by the time they took.

    At a fixed rate this equals the reached rate / the requested rate. None if no rate was requested, or the client does
    not report the length of its schedule.
    """
    scheduled_s = _sum([_scheduled_s(execution) for execution in executions])
    return None if scheduled_s is None else min(1.0, scheduled_s / sum(execution.active_s for execution in executions))


def _scheduled_s(execution: Execution) -> float | None:
    if (scheduled_ns := execution.active_end.get("scheduled_ns")) is not None:
        return float(scheduled_ns) / 1e9
    asked, fixed = execution.start["target_ops_s"], str(execution.start["rate"]).replace(".", "", 1).isdigit()
    return execution.end["operations"] / asked if asked is not None and fixed else None


def totals_of(executions: Sequence[Execution]) -> Totals:
    """Returns the totals: one execution's own figures; for several, sums, the greatest peak, merged histograms and the
    last one's data.
    """
    ends = [e.end for e in executions]
    latencies, latency_us = _latencies(ends)
    return Totals(
        executions=len(executions),
        operations=sum(int(e["operations"]) for e in ends),
        failures=sum(int(e["failures"]) for e in ends),
        failure_causes=merged([e["failure_causes"] for e in ends]),
        longest_gap=max(map(_longest_gap, executions)),
        incidents=list(dict.fromkeys(incident for e in ends for incident in e["incidents"])),
        active_s=sum(e.active_s for e in executions),
        settled_s=sum(e.settled_s for e in executions),
        usage={name: _sum([e.settled["usage"].get(name) for e in executions]) for name in _USAGE},
        io={name: sum(e["io"][name] for e in ends) for name in _IO} if all(e.get("io") for e in ends) else {},
        payload_read_bytes=sum(e["payload_read_bytes"] for e in ends),
        payload_write_bytes=sum(e["payload_write_bytes"] for e in ends),
        read_before_write=sum(e["read_before_write"] for e in ends),
        rss_peak_bytes=max(e["rss_peak_bytes"] for e in ends),
        data_bytes=ends[-1]["data_bytes"],
        of_database=_of_database(ends),
        driver_share=ends[-1]["driver_share"],
        latency_us=latency_us,
        latencies=latencies,
    )


def _longest_gap(execution: Execution) -> LongestGap:
    end, begin_ns = execution.end, execution.active_end["active_start_ns"]
    return LongestGap(end["longest_gap_ns"] / 1e9, (end["longest_gap_start_ns"] - begin_ns) / 1e9)


#: Response -> eco's counter since the database was opened, among the database's counters.
_REMOTE = {
    "remote_fallbacks": "eco.fell_back",
    "remote_moved_bytes": "eco.bytes_moved",
    "remote_wasted_s": "eco.wasted_s",
}


def _of_database(ends: Sequence[Event]) -> dict[str, float]:
    result = {
        "stall_s": _component(ends, "stall", "duration_ns", 1e-9),
        "remote_compactions": _component(ends, "remote_compaction", "count", 1),
        "syncs_per_write": _syncs_per_write(ends),
    }
    for response, name in _REMOTE.items():
        values = [e["database_stats"].get(name) for e in ends]
        result[response] = _sum([None if each is None else float(each) for each in values])
    return {response: value for response, value in result.items() if value is not None}


_WRITES = ("UPDATE", "INSERT", READ_MODIFY_WRITE, "DELETE")


def _syncs_per_write(ends: Sequence[Event]) -> float | None:
    """Returns the syncs that the database reports per successful write; None if either is missing."""
    syncs = [c["syncs"] for e in ends for c in e["components"].values() if c.get("syncs") is not None]
    service = [x for e in ends for x in e["latencies"] if x["measure"] == "service" and x["operation"] in _WRITES]
    writes = sum(x["returns"].get("OK", 0) for x in service)
    return sum(syncs) / writes if syncs and writes else None


def _component(ends: Sequence[Event], name: str, figure: str, unit: float) -> float | None:
    parts = [e["components"].get(name, {}).get(figure) for e in ends]
    return _sum([None if part is None else part * unit for part in parts])


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [p for p in parts if p is not None]
    return sum(known) if len(known) == len(parts) else None


_PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}


def _latencies(ends: Sequence[Event]) -> tuple[list[Latency], dict[tuple[str, str, str], float]]:
    result: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for end in ends:
        for x in end["latencies"]:
            result.setdefault((x["operation"], x["measure"]), []).append(x)
    latencies: list[Latency] = []
    figures: dict[tuple[str, str, str], float] = {}
    for (operation, measure), parts in result.items():
        hdr, summary = (parts[0]["hdr"], parts[0]) if len(parts) == 1 else _merged(parts)
        latencies.append(Latency(operation, measure, hdr))
        if summary["count"]:
            figures |= _in_us(operation, measure, summary)
    for measure, parts in _of_all_operations(result).items():
        figures |= _in_us(ALL_OPERATIONS, measure, parts[0] if len(parts) == 1 else _merged(parts)[1])
    return latencies, figures


def _in_us(operation: str, measure: str, summary: Mapping[str, Any]) -> dict[tuple[str, str, str], float]:
    return {(operation, measure, s): summary[f"{s}_ns"] / 1e3 for s in ("mean", *_PERCENTILES)}


def _of_all_operations(
    latencies: Mapping[tuple[str, str], list[Mapping[str, Any]]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Returns the latencies of all operations by measure. None with read-modify-writes: their reads and updates are
    counted once more as reads and updates.
    """
    used = {key: [p for p in parts if p["count"]] for key, parts in latencies.items() if key[0] in OPERATIONS}
    if any(parts for (operation, _), parts in used.items() if operation == READ_MODIFY_WRITE):
        return {}
    result: dict[str, list[Mapping[str, Any]]] = {}
    for (_, measure), parts in used.items():
        if parts:
            result.setdefault(measure, []).extend(parts)
    return result


def _merged(parts: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, float]]:
    whole = HdrHistogram(1, 3_600_000_000_000, 3)
    for part in parts:
        whole.add(HdrHistogram.decode(part["hdr"].encode()))
    count = sum(part["count"] for part in parts)
    mean = sum(part["mean_ns"] * part["count"] for part in parts) / count if count else 0.0
    percentiles = {f"{name}_ns": whole.get_value_at_percentile(p) for name, p in _PERCENTILES.items()}
    return whole.encode().decode(), {"count": count, "mean_ns": mean, **percentiles}
