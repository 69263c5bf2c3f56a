"""A small store: an experiment of three runs, and a finished run with a trace, an event and a histogram."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.meters.base import Channel, Domain, Method, ValueKind
from edgejoule.meters.trace import Trace
from edgejoule.store import Intervals, Latency, ResponseValue, Run, RunData, Store

CHANNEL = Channel("rapl", "package-0", Domain.PACKAGE, ValueKind.ACCUMULATOR, Method.COUNTED, 0.01, 0.0, 1e-6, 262143.3)


def small_spec(seed: int = 1) -> Spec:
    return Spec.model_validate({
        "name": "small", "question": "?", "factors": {"database": ["sqlite"], "workload": ["workloadc"]},
        "design": {"replications": 3, "seed": seed},
    })  # fmt: skip


def with_experiment(path: Path, spec: Spec) -> tuple[Store, int]:
    store = Store.open(path, create=True)
    plan = make_plan(spec)
    energy = {"energy_words": "Energy here is COUNTED.", "energy_min_ratio": None}
    return store, store.create_experiment(spec, "", plan, environment={"kernel": "6"}, **energy)  # type: ignore[arg-type]


def finished(index: int = 0) -> tuple[Run, RunData]:
    t_ns = np.arange(100, dtype=np.int64) * 50_000_000 + 7_300_000_000
    value = np.linspace(1.0, 2.0, 100)
    value[3] = np.nan
    run = Run(
        run_index=index, block=index, levels={"database": "sqlite", "workload": "workloadc"}, status="finished",
        flags=("doubtful",), started_realtime_ns=5,
        responses=(
            ResponseValue("energy_j", 1.5, "J", "counted", 0.1),
            ResponseValue("energy_net_j", None, "J", "counted", None, "no quiet window"),
        ),
        intervals=Intervals(1, 2, 3, True), database={"name": "sqlite"}, durability={"class": "process"},
        meters=({"name": "rapl"},),
    )  # fmt: skip
    data = RunData(
        [{"event": "settled", "monotonic_ns": 3}],
        [Trace(CHANNEL, t_ns, value, 0.05, {3: "permission denied"})],
        [Latency("READ", "service", "abc")],
    )
    return run, data
