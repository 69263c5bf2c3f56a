"""An experiment of `edgejoule exec` with made runs, in a store: its views need no program and no meter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgejoule.exec.options import Request, commands_of, parameters_of
from edgejoule.exec.results import Result, result_of
from edgejoule.exec.spec import spec_text
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import spec_of_text
from edgejoule.findings import find
from edgejoule.meters.base import Method
from edgejoule.store import ResponseValue, Run, RunData, Store
from edgejoule.study import sequential

#: response -> unit, share of the first response's value (of a joule or a second)
FIGURES: dict[str, tuple[str, float]] = {
    "energy_j": ("J", 3.0), "energy_net_j": ("J", 1.2), "power_mean_w": ("W", 4.0), "active_s": ("s", 1.1),
    "cpu_s": ("s", 1.0), "context_switches": ("1", 240.0), "rss_peak_mb": ("MB", 12.0),
    "process_read_bytes": ("byte", 2e7), "process_write_bytes": ("byte", 7e6), "device_read_bytes": ("byte", 0.0),
    "device_write_bytes": ("byte", 9e6),
}  # fmt: skip


def request(commands: Sequence[str], **given: Any) -> Request:
    """As the command line makes it; names: those of --command-name, lists: of --parameter-list."""
    parameters = parameters_of(given.pop("lists", ()), None, None)
    around = {name: given.pop(name, ()) for name in ("setup", "prepare", "conclude", "cleanup")}
    own = commands_of(commands, None, given.pop("names", ()), around, (), shell="/bin/sh", parameters=list(parameters))
    return Request(own, parameters, given.pop("runs", 12), 60.0, shell="/bin/sh", **given)


def result(
    folder: Path,
    asked: Request,
    costs: Mapping[str, float],
    *,
    method: Method = Method.COUNTED,
    spread: float = 0.02,
    flags: Sequence[str] = (),
    min_ratio: float | None = None,
    values: bool = True,
    series: Mapping[str, Sequence[float]] | None = None,
    watts: Sequence[float] = (1.0,),
    shell: Mapping[str, Any] | None = None,
    wall: Mapping[str, float] | None = None,
) -> Result:
    """Runs whose figures follow from the cost of their command (by its name), in a random walk of `spread`.

    series: the cost in each block instead. watts: a factor of each block's energy. shell: what its start takes. wall:
    a factor of a command's wall time.
    """
    text = spec_text(asked, method)
    spec = spec_of_text(text, folder / "exec.toml")
    plan = make_plan(spec)
    rng = np.random.default_rng(3)
    with Store.open(folder / "store.db", create=True) as store:
        kept = store.create_experiment(
            spec, text, plan, energy_words=f"Energy here is {method}.", energy_min_ratio=min_ratio, environment={}
        )
        total = len(plan)
        for planned in plan:
            if planned.block >= total:
                continue
            cost = costs[str(planned.levels["workload"])] * float(np.exp(rng.normal(0, spread)))
            if series:
                cost = series[str(planned.levels["workload"])][planned.block]
            cost *= float(next((v for n, v in planned.levels.items() if n != "workload"), 1))
            factors = dict.fromkeys(("energy_j", "energy_net_j"), watts[planned.block % len(watts)])
            factors["active_s"] = (wall or {}).get(str(planned.levels["workload"]), 1.0)
            run = _run(planned, cost if values else None, method, flags, factors)
            if shell:
                run = replace(run, facts={**run.facts, "shell": shell})
            store.record(kept, run, RunData())
            noted = len(sequential.looks_of(store.find(str(kept))))
            due = sequential.look_due(spec, planned.block + 1, noted)
            if due and (planned.index + 1) % len(asked.commands) == 0:
                total = sequential.take(store, store.find(str(kept)), due).total
                store.forgo(kept, total)
        experiment = store.find(str(kept))
        return result_of(experiment, find(store, experiment), store.runs(kept))


def _run(planned: Any, cost: float | None, method: Method, flags: Sequence[str], factors: Mapping[str, float]) -> Run:
    figures = []
    for name, (unit, share) in FIGURES.items():
        energy = name.startswith(("energy", "power"))
        value = None if cost is None else share if name == "power_mean_w" else share * cost * factors.get(name, 1.0)
        figures.append(
            ResponseValue(
                name, value, unit, str(method) if energy else "timed", 0.1 * abs(value) if energy and value else None,
                None if value is not None else "the meter gave no reading",
            )
        )  # fmt: skip
    return Run(
        planned.index, planned.block, planned.levels, "finished", flags=tuple(flags), responses=tuple(figures),
        facts={"took_s": 1.0 + abs(cost or 0)},
    )  # fmt: skip
