"""What a run answers: the name, unit and sense of every response (the dictionary is schemas/README.md)."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Better(StrEnum):
    """Which way is better; NEITHER where a response only describes."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Values(StrEnum):
    """Which values a run can have."""

    AMOUNT = "amount"  # 0 or more
    SHARE = "share"  # of a whole: 0 to 1
    SHARE_ONCE_MORE = "share_once_more"  # a share; earlier releases stored more than 1
    SIGNED = "signed"  # a difference: any
    LESS_SHELL = "less_shell"  # an amount; of a command in a shell less the shell's start, so any


@dataclass(frozen=True)
class Response:
    """A response: stored in `unit`, shown as `label`. is_energy: carries the meter's method."""

    name: str
    unit: str
    label: str
    better: Better
    values: Values
    is_energy: bool = False

    @property
    def is_count(self) -> bool:
        """Is it a count, or a count per operation? The runs of a cell can then agree exactly."""
        counted = self.unit == "1" and self.values is Values.AMOUNT and "_share" not in self.name
        return counted or self.unit in ("byte", "compactions")


def _fixed() -> list[Response]:
    low, high, none = Better.LOWER, Better.HIGHER, Better.NEITHER
    amount, share, signed, less_shell = Values.AMOUNT, Values.SHARE, Values.SIGNED, Values.LESS_SHELL
    return [
        Response("energy_per_op_uj", "µJ", "energy per operation", low, amount, True),
        Response("energy_j", "J", "energy, settled", low, less_shell, True),
        Response("energy_active_j", "J", "energy, active", low, less_shell, True),
        Response("energy_debt_j", "J", "energy left behind at the last acknowledgement", low, signed, True),
        Response("energy_net_j", "J", "energy above idle, settled", low, signed, True),
        Response("energy_net_quiet_j", "J", "energy above the quiet open database, settled", low, signed, True),
        Response("power_mean_w", "W", "mean power", none, amount, True),
        Response("power_net_w", "W", "power above idle", low, signed, True),
        Response("power_idle_w", "W", "power at idle", none, amount, True),
        Response("power_quiet_w", "W", "power of the open database, quiet", none, amount, True),
        Response("throughput_ops_s", "ops/s", "throughput", high, amount),
        Response("target_ops_s", "ops/s", "requested rate", none, amount),
        Response("target_share", "1", "share of the requested rate that was reached", high, Values.SHARE_ONCE_MORE),
        Response("failure_share", "1", "share of operations that failed", low, share),
        Response("longest_gap_s", "s", "longest time without a success", low, amount),
        Response("active_s", "s", "active time", low, less_shell),
        Response("settled_s", "s", "settled time", low, less_shell),
        Response("cpu_s", "s", "CPU time", low, less_shell),
        Response("context_switches", "1", "context switches", none, amount),
        Response("cpu_cores", "cores", "CPU cores in use", none, amount),
        Response("cpu_utilisation", "1", "CPU utilisation of the whole machine", none, share),
        Response("cpu_us_per_op", "µs", "CPU time per operation", low, less_shell),
        Response("server_cpu_us_per_op", "µs", "CPU time of the server per operation", low, amount),
        Response("client_cpu_us_per_op", "µs", "CPU time of the server's client per operation", none, amount),
        Response("client_cpu_share", "1", "client's share of CPU time", none, share),
        Response("driver_share", "1", "driver's share of CPU time", none, amount),
        Response("bandwidth_mb_s", "MB/s", "payload bandwidth", high, amount),
        Response("rss_peak_mb", "MB", "peak memory", low, amount),
        Response("server_rss_peak_mb", "MB", "peak memory of the server", low, amount),
        Response("process_read_bytes", "byte", "bytes the process fetched from storage", low, amount),
        Response("process_write_bytes", "byte", "bytes the process wrote", low, amount),
        Response("device_read_bytes", "byte", "bytes read from the device", low, amount),
        Response("device_write_bytes", "byte", "bytes written to the device", low, amount),
        Response("device_bytes", "byte", "bytes read from and written to the device", low, amount),
        Response("process_write_bytes_per_op", "byte", "bytes the process wrote, per operation", low, amount),
        Response("device_write_bytes_per_op", "byte", "bytes written to the device, per operation", low, amount),
        Response("io_reads_per_op", "1", "reads of the database's own, per operation", low, amount),
        Response("io_writes_per_op", "1", "writes of the database's own, per operation", low, amount),
        Response("io_flushes_per_op", "1", "flushes of the database's own, per operation", none, amount),
        Response("io_read_bytes_per_op", "byte", "bytes of the database's own reads, per operation", low, amount),
        Response("io_write_bytes_per_op", "byte", "bytes of the database's own writes, per operation", low, amount),
        Response("device_reads_per_op", "1", "reads of the whole device, per operation", low, amount),
        Response("device_writes_per_op", "1", "writes of the whole device, per operation", low, amount),
        Response("device_flushes_per_op", "1", "flushes of the whole device, per operation", none, amount),
        Response("device_write_amplification", "1", "write amplification of the whole device", low, amount),
        Response("other_cpu_share", "1", "other programs' share of all CPUs", none, share),
        Response("other_read_bytes", "byte", "bytes that other programs read from storage", none, amount),
        Response("other_write_bytes", "byte", "bytes that other programs wrote to the page cache", none, amount),
        Response("write_amplification", "1", "write amplification", low, amount),
        Response("reads_before_write_per_op", "1", "reads inside updates, per operation", none, amount),
        Response("data_bytes", "byte", "size of the data", low, amount),
        Response("syncs_per_write", "1", "syncs of the database for each write", none, amount),
        Response("stall_s", "s", "time that writers were made to wait", low, amount),
        Response("remote_compactions", "compactions", "compactions done by other servers", none, amount),
        Response("remote_fallbacks", "compactions", "compactions begun elsewhere, done here after all", low, amount),
        Response("remote_moved_bytes", "byte", "bytes to and from other servers", low, amount),
        Response("remote_wasted_s", "s", "time of compactions elsewhere that were given up", low, amount),
    ]


#: Responses that a load has too, which is made for a run or for several (design.load = "fresh", "block" or "cell").
LOADED = (
    "energy_per_op_uj", "energy_j", "energy_net_j", "power_mean_w", "power_net_w", "throughput_ops_s", "active_s",
    "settled_s", "cpu_us_per_op", "process_write_bytes", "device_read_bytes", "device_write_bytes", "device_bytes",
    "write_amplification", "device_write_amplification", "data_bytes",
)  # fmt: skip


def load_name(name: str) -> str:
    """Returns the name of a response of a load. name: of LOADED."""
    return f"load_{name}"


def _label_of_load(label: str) -> str:
    return f"{label}{',' if label.endswith(', settled') else ''} while loading"


def _of_loads() -> list[Response]:
    return [replace(r, name=load_name(r.name), label=_label_of_load(r.label)) for r in _fixed() if r.name in LOADED]


def is_of_load(name: str) -> bool:
    """Is it a response of a load?"""
    return name.startswith("load_") and name in RESPONSES


#: A baseline -> the responses of its power, and of the energy above it.
BASELINE_POWER = {"idle": "power_idle_w", "quiet": "power_quiet_w"}
BASELINE_NET = {"idle": "energy_net_j", "quiet": "energy_net_quiet_j"}

#: What other programs used -> its response.
OTHER_PROGRAMS = {"cpu": "other_cpu_share", "read": "other_read_bytes", "write": "other_write_bytes"}
OTHER_CPU_SHARE_MIN = 0.01  # of all CPUs: less than that no power reading shows

READ_MODIFY_WRITE = "READ-MODIFY-WRITE"
OPERATIONS = {
    "READ": "read",
    "UPDATE": "update",
    "INSERT": "insert",
    "SCAN": "scan",
    READ_MODIFY_WRITE: "read_modify_write",
    "DELETE": "delete",
}
ALL_OPERATIONS = "ALL"
_STATISTICS = {
    "mean": "mean", "p50": "median", "p95": "95th percentile", "p99": "99th percentile", "p999": "99.9th percentile",
}  # fmt: skip
#: Start of a latency -> the part of its response's name, and its label.
_LATENCIES = {
    "service": ("latency", "latency (service time)"),
    "intended": ("intended_latency", "latency from due time"),
}

#: What decides an experiment that declares no responses.
DEFAULT_RESPONSES = ("energy_per_op_uj", "throughput_ops_s")
#: The same of an experiment with commands; where joules are modelled, CPU time comes first.
COMMAND_RESPONSES = ("energy_j", "active_s")
MODELLED_COMMAND_RESPONSES = ("cpu_s", "active_s", "energy_j")


def latency_name(operation: str, measure: str, statistic: str) -> str:
    """Returns the name of a latency response. operation: of OPERATIONS, or ALL_OPERATIONS. measure: service (from its
    begin) or intended (from its due time).
    """
    return f"{_of_operation(operation)}{_LATENCIES[measure][0]}_us_{statistic}"


def _of_operation(operation: str) -> str:
    return "" if operation == ALL_OPERATIONS else f"{OPERATIONS[operation]}_"


#: Responses that a study on a federation has of each server too, as NAME@SERVER; without it they are of all servers.
PER_SERVER = ("energy_per_op_uj", "energy_j", "energy_net_j")
#: The same of each server that a command runs on, where it runs on several; and so are those that it prints.
PER_LOADED_SERVER = (
    "throughput_ops_s", "active_s", "settled_s", "cpu_s", "context_switches", "cpu_us_per_op", "rss_peak_mb",
    "process_read_bytes", "process_write_bytes", "remote_compactions", "remote_fallbacks", "remote_moved_bytes",
)  # fmt: skip


class Responses(dict[str, Response]):
    """By name, with those of each server of a federation."""

    def __missing__(self, name: str) -> Response:
        base, at, server = name.partition("@")
        is_declared = base not in RESPONSES
        if not at or base not in self or not (is_declared or base in PER_SERVER + PER_LOADED_SERVER):
            raise KeyError(name)
        return replace(self[base], name=name, label=f"{self[base].label}, {server}")


def _label_of(operation: str) -> str:
    return "" if operation == ALL_OPERATIONS else f"{OPERATIONS[operation].replace('_', '-')} "


RESPONSES: dict[str, Response] = Responses(
    {r.name: r for r in (*_fixed(), *_of_loads())}
    | {
        (name := latency_name(operation, measure, statistic)): Response(
            name, "µs", f"{_label_of(operation)}{_LATENCIES[measure][1]}, {meaning}", Better.LOWER, Values.AMOUNT
        )
        for operation in (*OPERATIONS, ALL_OPERATIONS)
        for measure in _LATENCIES
        for statistic, meaning in _STATISTICS.items()
    }
)


def is_energy(name: str) -> bool:
    """Does the response carry the method of a meter? One that an experiment declares never does."""
    try:
        return RESPONSES[name].is_energy
    except KeyError:
        return False


def label_of(name: str) -> str:
    """Returns the label of a response of which only the name is known."""
    try:
        return RESPONSES[name].label
    except KeyError:
        return declared_label(name)


def declared_label(name: str) -> str:
    """Returns the label of a response that an experiment declares."""
    base, at, server = name.partition("@")
    return base.replace("_", " ") + (f", {server}" if at else "")


def unit_text(unit: str) -> str:
    """Returns the unit as it is shown: a bare number has none."""
    return "" if unit == "1" else unit


def is_latency(name: str) -> bool:
    """Is it the latency of an operation?"""
    return "latency_us_" in name


def reported_responses(declared: Sequence[str], known: Collection[str], *, modelled: bool) -> list[str]:
    """Returns the names of the responses to report. known: names that the runs have. modelled: energy is modelled.

    Where an experiment with commands declares nothing, modelled joules come behind the CPU time they follow from.

    At a rate, service time hides the wait of operations that came due while others were slow (coordinated omission).
    So the latency from the due time stands before a declared service latency, unless both are declared; and beside the
    energy where the experiment declares nothing.
    """
    if modelled and tuple(declared) == COMMAND_RESPONSES:
        return list(MODELLED_COMMAND_RESPONSES)
    if tuple(declared) == DEFAULT_RESPONSES:
        due = [name for op in OPERATIONS if (name := latency_name(op, "intended", "p99")) in known]
        return [declared[0], *due, *declared[1:]]
    names: list[str] = []
    for name in declared:
        due_name = name.replace("_latency_us_", "_intended_latency_us_")
        if due_name in known and due_name not in declared:
            names.append(due_name)
        names.append(name)
    return names


def possible_range(response: Response, *, in_shell: bool) -> tuple[float, float]:
    """Returns the smallest and the largest value of a run. in_shell: a shell ran the run's command."""
    match response.values:
        case Values.AMOUNT | Values.SHARE_ONCE_MORE:
            return 0.0, math.inf
        case Values.SHARE:
            return 0.0, 1.0
        case Values.SIGNED:
            return -math.inf, math.inf
        case Values.LESS_SHELL:
            return -math.inf if in_shell else 0.0, math.inf


def interval_within(interval: tuple[float, float], response: Response, largest: float) -> tuple[float, float]:
    """Returns the part of a mean's interval that a share can have. largest: of the runs' values."""
    if response.values not in (Values.SHARE, Values.SHARE_ONCE_MORE) or largest > 1:
        return interval
    low, high = interval
    return max(low, 0.0), min(high, 1.0)


def nearest(name: str, known: object) -> str:
    """A hint for an unknown name: the nearest known one, else the list. `known` is an iterable of names."""
    names = sorted(str(k) for k in known)  # type: ignore[attr-defined]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(names) <= 12:
        return "known: " + ", ".join(names)
    return "known names start with " + ", ".join(sorted({re.split(r"[_.]", n)[0] for n in names})[:12])
