"""Synthetic stores: invented figures with a known truth, for tests only."""

from __future__ import annotations

import functools
import itertools
import tomllib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from edgejoule.dictionary.responses import RESPONSES
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun, make_plan
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace
from edgejoule.store import Intervals, Latency, ResponseValue, Run, RunData, Store

OPERATIONS = 60_000
THROUGHPUT = {
    ("sqlite", "read"): 24_000, ("sqlite", "moderate"): 14_500, ("sqlite", "write"): 9_800,
    ("leveldb", "read"): 31_000, ("leveldb", "moderate"): 34_000, ("leveldb", "write"): 44_000,
    ("rocksdb", "read"): 39_500, ("rocksdb", "moderate"): 33_600, ("rocksdb", "write"): 31_000,
}  # fmt: skip
WRITES = {"read": 0.05, "moderate": 0.5, "write": 0.95}
HOW = {
    "sqlite": "journal_mode=WAL, synchronous=OFF",
    "leveldb": "WriteOptions::sync=false; the log goes to the page cache",
    "rocksdb": "WriteOptions::sync=false, WAL on",
}
VERSIONS = {"sqlite": "3.40.1", "leveldb": "1.23", "rocksdb": "7.8.3"}
OPTIONS = {
    "sqlite": {"cache_size": "-16384", "journal_mode": "wal", "page_size": "4096", "synchronous": "0"},
    "leveldb": {"block_cache_bytes": "16777216", "compression": "none", "write_buffer_size": "4194304"},
    "rocksdb": {"block_cache_bytes": "16777216", "compression": "none", "max_background_jobs": "2"},
}
ENVIRONMENT = {
    "machine": {
        "board": "Synthetic Board 1", "processor": "Synthetic CPU", "cores": 2, "architecture": "x86_64",
        "memory_bytes": 25769803776, "virtual_machine": True,
    },
    "system": {"operating_system": "Debian GNU/Linux 12", "kernel": "6.1.0", "load_average_1min": 0.12},
    "frequency": {"governor": None, "khz_now": None, "khz_max": None},
    "temperature_c": None,
    "storage": {"path": "/data",
        "device": "/dev/vda1", "file_system": "ext4", "free_bytes": 50_000_000_000, "model": None},
    "edgejoule": "0.1.0",
    "python": "3.11.7",
}  # fmt: skip
WORDS = {
    "modelled": "Energy is modelled, not measured: a generic profile turns CPU use into power, +-50 % (k=2).",
    "counted": "Energy is counted: RAPL package counters of the processor.",
    "measured": "Energy is measured: a Monsoon power monitor in the board's supply.",
}


@dataclass(frozen=True)
class Design:
    """The shape of a synthetic experiment.

    failed: run index -> cause. missing: (response, run index) -> reason. shift: response -> added to every value.
    methods: run index -> method, where it is not the others'. without: (response, workload) that has
    no such response. syncs: database -> of each write. overrides: settings that --set changed. windows: idle and quiet
    ones are around every run.
    target_ops_s: the rate asked for. Latencies from the due time are longer than service times, and sqlite's are the
    shortest. reached: database -> share of the rate that was reached, 1 where it is not named.
    other_cpu: run index -> share of all CPUs that other programs took, beyond the bound. busy_before: at the begin.
    phases: names of equal parts of the active interval. level0: database -> files of level 0, in equal steps of time.
    decided: database -> what its decisions have beside the usual, in equal steps of time.
    """

    databases: tuple[str, ...] = ("sqlite", "leveldb", "rocksdb")
    workloads: tuple[str, ...] = ("read", "moderate", "write")
    threads: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    blocks: int = 5
    method: str = "modelled"
    min_ratio: float | None = 1.77
    analysis: str = 'responses = ["energy_per_op_uj", "throughput_ops_s", "cpu_us_per_op", "read_latency_us_p99"]'
    failed: Mapping[int, str] = field(default_factory=dict)
    missing: Mapping[tuple[str, int], str] = field(default_factory=dict)
    planned_only: frozenset[int] = frozenset()
    shift: Mapping[str, float] = field(default_factory=dict)
    methods: Mapping[int, str] = field(default_factory=dict)
    without: Set[tuple[str, str]] = frozenset()
    syncs: Mapping[str, float] = field(default_factory=dict)
    overrides: Mapping[str, int] = field(default_factory=dict)
    windows: bool = True
    target_ops_s: float | None = None
    reached: Mapping[str, float] = field(default_factory=dict)
    other_cpu: Mapping[int, float] = field(default_factory=dict)
    busy_before: float | None = None
    phases: tuple[str, ...] = ()
    level0: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    decided: Mapping[str, tuple[Mapping[str, object], ...]] = field(default_factory=dict)
    question: str = "Which embedded database costs the fewest joules per operation?"
    seed: int = 7


def spec_toml(design: Design) -> str:
    """The experiment as a user would write it."""
    factors = {
        "database": design.databases,
        "workload": design.workloads,
        "threads": design.threads,
        "target": design.targets,
    }
    many = {
        name: list(levels)
        for name, levels in factors.items()
        if len(levels) > 1 or (name in ("threads", "target") and levels)
    }
    fixed = {name: levels[0] for name, levels in factors.items() if levels and name not in many}
    show = lambda v: str(v).replace("'", '"') if isinstance(v, list) else f'"{v}"'  # noqa: E731
    workloads = "\n".join(
        f"[workloads.{w}]\nreadproportion = {1 - WRITES[w]:.2f}\nupdateproportion = {WRITES[w]:.2f}"
        for w in design.workloads
    )
    return "\n".join(
        [
            'name = "synthetic"', f'question = "{design.question}"',
            "[factors]", *(f"{n} = {show(v)}" for n, v in many.items()),
            "[fixed]", *(f"{n} = {show(v)}" for n, v in fixed.items()), 'durability = "process"', "recordcount = 20000",
            workloads, "[design]", f"replications = {design.blocks}", f"seed = {design.seed}",
            "[analysis]", design.analysis,
        ]
    )  # fmt: skip


_built: dict[str, bytes] = {}  # a design -> the file of its store


def build(path: Path, design: Design) -> Store:
    """A store with one experiment, every figure drawn from the truth above with 3 % noise and a block effect."""
    key = repr(design)
    if key not in _built:
        _build(path, design).close()
        _built[key] = path.read_bytes()
    path.write_bytes(_built[key])
    return Store.open(path)


def _build(path: Path, design: Design) -> Store:
    text = spec_toml(design)
    data = tomllib.loads(text)
    data["fixed"] |= design.overrides
    spec = Spec.model_validate(data)
    plan = make_plan(spec)
    store = Store.open(path, create=True)
    experiment_id = store.create_experiment(
        spec,
        text,
        plan,
        energy_words=WORDS[design.method],
        energy_min_ratio=design.min_ratio if design.method == "modelled" else None,
        environment={
            **ENVIRONMENT,
            "system": {**ENVIRONMENT["system"], "cpu_busy_share_before": design.busy_before},  # type: ignore[dict-item]
            "options": [w for key, value in design.overrides.items() for w in ("--set", f"fixed.{key}={value}")],
        },
    )
    rng = np.random.default_rng(design.seed)
    drift = rng.normal(0, 0.02, design.blocks)
    histograms: dict[tuple[str, str], list[Latency]] = {}
    for planned in plan:
        if planned.index in design.planned_only:
            continue
        if planned.index in design.failed:
            cause = design.failed[planned.index]
            store.record(
                experiment_id, Run(planned.index, planned.block, planned.levels, "failed", cause=cause), RunData()
            )
            continue
        rate = _rate(planned) * np.exp(drift[planned.block] + rng.normal(0, 0.03))
        key = (planned.database, _workload(planned))
        if key not in histograms:
            histograms[key] = _latencies(*key, rng)
            if design.target_ops_s:
                histograms[key] += [replace(x, measure="intended") for x in histograms[key]]
        run, data = _run(planned, rate, design, rng, histograms[key])
        store.record(experiment_id, run, data)
    return store


def _workload(planned: PlannedRun) -> str:
    return next(w for w, share in WRITES.items() if abs(float(planned.properties["updateproportion"]) - share) < 1e-6)


def _rate(planned: PlannedRun) -> float:
    slowed = (planned.target_ops_s or 1000) / 1000
    return THROUGHPUT[planned.database, _workload(planned)] * planned.threads**0.7 * slowed


def _run(
    planned: PlannedRun, rate: float, design: Design, rng: np.random.Generator, latencies: list[Latency]
) -> tuple[Run, RunData]:
    active_s = OPERATIONS / rate
    settle_s = {"sqlite": 0.08, "leveldb": 0.35, "rocksdb": 0.6}[planned.database] * WRITES[_workload(planned)] + 0.02
    start_ns = (10 + planned.index * 20) * 10**9 + 123
    active_end, settled_end = (int(start_ns + s * 1e9) for s in (active_s, active_s + settle_s))
    trace = _trace(start_ns, active_s, settle_s, design.method, rng)
    method = design.methods.get(planned.index, design.method)
    watts = float(np.nanmean(trace.value))
    energy_j, active_j = watts * (active_s + settle_s), watts * active_s
    cpu_us = 1e6 / rate * 0.96
    joule = lambda v: (v, method, abs(v) * 0.5 if design.method == "modelled" else abs(v) * 0.01)  # noqa: E731
    timed = lambda v: (v, "timed", None)  # noqa: E731
    values = {
        "energy_per_op_uj": joule(energy_j / OPERATIONS * 1e6), "energy_j": joule(energy_j),
        "energy_active_j": joule(active_j), "energy_debt_j": joule(energy_j - active_j),
        "energy_net_j": joule(energy_j - 2.1 * (active_s + settle_s)), "power_mean_w": joule(watts),
        "energy_net_quiet_j": joule(energy_j - 2.4 * (active_s + settle_s)),
        "power_idle_w": joule(2.1), "power_quiet_w": joule(2.4),
        "throughput_ops_s": timed(rate), "active_s": timed(active_s), "settled_s": timed(active_s + settle_s),
        "cpu_us_per_op": timed(cpu_us), "driver_share": timed(0.35 / cpu_us),
        "read_latency_us_p99": timed(2.2e6 / rate * rng.lognormal(0, 0.05)),
        "process_write_bytes": timed(WRITES[_workload(planned)] * OPERATIONS * 1100),
    }  # fmt: skip
    if planned.database in design.syncs:
        values["syncs_per_write"] = timed(design.syncs[planned.database])
    if design.target_ops_s:
        values |= _at_rate(planned, design, values["read_latency_us_p99"][0])
    values |= {
        "other_cpu_share": timed(design.other_cpu.get(planned.index, 0.004)),
        "other_write_bytes": timed(4e5 + 1e4 * planned.index),
    }
    responses = tuple(
        ResponseValue(name, None, RESPONSES[name].unit, method, None, design.missing[name, planned.index])
        if (name, planned.index) in design.missing
        else ResponseValue(name, value + design.shift.get(name, 0), RESPONSES[name].unit, method, uncertainty)
        for name, (value, method, uncertainty) in values.items()
        if (name, _workload(planned)) not in design.without
    )
    run = Run(
        planned.index, planned.block, planned.levels, "finished",
        flags=("the driver itself took 12% of the CPU time, bound 10%",) if planned.index == 3 else (),
        started_realtime_ns=1_790_000_000_000_000_000 + planned.index * 10**10,
        responses=responses, intervals=Intervals(start_ns, active_end, settled_end, True),
        database={"name": planned.database, "version": VERSIONS[planned.database],
                  "options": OPTIONS[planned.database], "path": "/data/run"},
        durability={"class": planned.durability, "how": HOW[planned.database]},
        meters=({"name": "synthetic", "method": design.method, "describe": "an invented meter for tests"},),
        facts=(
            {"baselines": _baselines(start_ns, settled_end, design)} if design.windows else {}
        ) | {"load": _load(planned),
             "other_programs": {"exceeded": ["cpu"] if planned.index in design.other_cpu else []}}
        | ({"phases": _phases(active_s, design)} if design.phases else {}),
    )  # fmt: skip
    events = _events(planned, start_ns, active_end, settled_end) + _phase_events(start_ns, active_end, design)
    events += _rocksdb_events(planned.database, start_ns, active_end, design)
    return run, RunData(events, [trace], latencies)


def _phases(active_s: float, design: Design) -> list[dict[str, object]]:
    each_s = active_s / len(design.phases)
    return [
        {"name": name, "count": 1, "duration_s": each_s, "energy_j": 5.2 * each_s, "uncertainty_k2_j": 0.1,
         "method": design.method, "missing_reason": None, "read_bytes": None, "write_bytes": 2_000_000}
        for name in design.phases
    ]  # fmt: skip


def _phase_events(start_ns: int, active_end: int, design: Design) -> list[dict[str, object]]:
    each_ns = (active_end - start_ns) // max(1, len(design.phases))
    return [
        {"event": "command_phase", "monotonic_ns": start_ns + i * each_ns, "duration_ns": each_ns, "name": name}
        for i, name in enumerate(design.phases)
    ]


DECISION = {
    "event": "decision", "policy": "eco", "job": "S-6-0", "home": "low", "input_bytes": 770_000, "level0_files": 4.0,
    "level0_files_s": 5.0, "place": "low", "shadow": False, "reason": "no stall is near", "decided_by": "high",
    "predicted_s": 0.5, "predicted_j": 0.2, "predicted_home_s": 0.5, "stall_predicted": False, "outcome": "local",
    "actual_s": 0.4, "actual_j": 0.25, "moved_bytes": 0,
}  # fmt: skip


def _rocksdb_events(database: str, start_ns: int, active_end: int, design: Design) -> list[dict[str, object]]:
    """Depths of level 0 and decisions."""
    depths = [{"event": "level0", "files": files} for files in design.level0.get(database, ())]
    decisions = [{**DECISION, **own} for own in design.decided.get(database, ())]
    return [
        {**event, "monotonic_ns": start_ns + i * (active_end - start_ns) // len(events)}
        for events in (depths, decisions)
        for i, event in enumerate(events)
    ]


def _at_rate(planned: PlannedRun, design: Design, service_us: float) -> dict[str, tuple[float, str, None]]:
    share = design.reached.get(planned.database, 1.0)
    assert design.target_ops_s is not None
    waited = {"sqlite": 1.0, "leveldb": 20.0, "rocksdb": 40.0}[planned.database] * (1000 if share < 1 else 1)
    return {
        "target_ops_s": (design.target_ops_s, "timed", None), "target_share": (share, "timed", None),
        "throughput_ops_s": (design.target_ops_s * share, "timed", None),
        "read_intended_latency_us_p99": (service_us * waited, "timed", None),
    }  # fmt: skip


def _load(planned: PlannedRun) -> dict[str, object]:
    """Each database is loaded once."""
    return {"name": f"run-{planned.index + 1}", "runs_before": 0, "snapshot": f"{planned.database}-1",
            "records": 20_000, "active_s": 4.0, "settled_s": 5.0}  # fmt: skip


def _baselines(start_ns: int, settled_end: int, design: Design) -> dict[str, object]:
    """Windows of a quarter of a second: idle outside, quiet inside."""
    half = 250_000_000
    places = {"idle": (start_ns - 2 * half, settled_end + half), "quiet": (start_ns - half, settled_end)}
    return {
        name: {"method": design.method, "windows_ns": [[begin, begin + half] for begin in begins],
               "before_w": 2.1, "after_w": 2.1, "net_budget_j": {}, "missing_reason": None}
        for name, begins in places.items()
    }  # fmt: skip


def _trace(start_ns: int, active_s: float, settle_s: float, method: str, rng: np.random.Generator) -> Trace:
    channel = Channel("synthetic", "board", Domain.BOARD, ValueKind.INSTANT, Method(method), 0.01, 0.01, 0.001)
    t = np.arange(-0.5, active_s + settle_s + 0.5, 0.05)
    busy = np.where((t >= 0) & (t < active_s), 3.1, np.where((t >= 0) & (t < active_s + settle_s), 1.7, 0.0))
    value = 2.1 + busy + rng.normal(0, 0.12, len(t))
    value[min(14, len(t) - 1)] = np.nan
    return Trace(channel, (start_ns + t * 1e9).astype(np.int64), value, 0.05, {14: "the meter did not answer"})


def _events(planned: PlannedRun, start_ns: int, active_end: int, settled_end: int) -> list[dict[str, object]]:
    kinds = {"sqlite": ["checkpoint"], "leveldb": ["compaction"], "rocksdb": ["flush", "compaction"]}[planned.database]
    count = 1 + int(6 * WRITES[_workload(planned)])
    result: list[dict[str, object]] = [
        {
            "event": "database", "monotonic_ns": start_ns + int((i + 0.7) / count * (active_end - start_ns)),
            "kind": kinds[i % len(kinds)], "duration_ns": None if planned.database == "sqlite" else 90_000_000,
            "read_bytes": None, "write_bytes": 4_000_000, "detail": f"level {i % 3}",
        }
        for i in range(count)
    ]  # fmt: skip
    return [*result, {"event": "settled", "monotonic_ns": settled_end, "complete": True, "how": "idle", "usage": {}}]


def _latencies(database: str, workload: str, rng: np.random.Generator) -> list[Latency]:
    centre_ns = 0.7e9 / THROUGHPUT[database, workload]
    result = []
    for operation, factor in (("READ", 0.8), ("UPDATE", 1.3)):
        usual_ns = rng.lognormal(np.log(centre_ns * factor), 0.45, 1500)
        slow_ns = rng.lognormal(np.log(centre_ns * factor * 15), 0.6, 12)
        values_ns = np.concatenate([usual_ns, slow_ns]).astype(np.int64)
        result.append(Latency(operation, "service", _encoded(values_ns.tobytes())))
    return result


@functools.cache  # stores of one seed have the same latencies, and recording them in Python is slow
def _encoded(values_ns: bytes) -> str:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in np.frombuffer(values_ns, np.int64).tolist():
        histogram.record_value(value)
    encoded: bytes = histogram.encode()
    return encoded.decode()


MakeStore = Callable[..., Store]


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    """Builds a synthetic store from Design's fields."""
    numbers = itertools.count()

    def make(**fields: object) -> Store:
        return build(tmp_path / f"store-{next(numbers)}.db", Design(**fields))  # type: ignore[arg-type]

    return make
