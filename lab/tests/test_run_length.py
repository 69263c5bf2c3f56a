"""A meter decides how long a run must be."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from edgejoule.databases.driver import driver_arguments
from edgejoule.errors import DatabaseError
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun, make_plan
from edgejoule.study.run_length import executions_needed, lengthened, shortest_s


def run(**fixed: Any) -> PlannedRun:
    spec = Spec.model_validate({
        "name": "p", "question": "?", "factors": {"database": ["sqlite"], "workload": ["workloada"]},
        "fixed": {"recordcount": 10, **fixed}, "design": {"replications": 1},
    })  # fmt: skip
    return make_plan(spec)[0]


def test_a_meter_reports_its_shortest_run_or_wants_ten_polls() -> None:
    assert shortest_s(SimpleNamespace(poll_interval_s=1.0, run_s_min=3.0)) == 3.0  # type: ignore[arg-type]
    assert shortest_s(SimpleNamespace(poll_interval_s=1.0, run_s_min=0.0)) == 0.0  # type: ignore[arg-type]
    assert shortest_s(SimpleNamespace(poll_interval_s=0.5)) == 5.0  # type: ignore[arg-type]


def test_only_what_ends_by_time_is_lengthened() -> None:
    assert lengthened(run(maxexecutiontime=2), 4.5).properties["maxexecutiontime"] == 5
    assert lengthened(run(maxexecutiontime=9), 4.5).properties["maxexecutiontime"] == 9
    both = run(maxexecutiontime=2, operationcount=10)
    assert lengthened(both, 4.5) == both


def test_the_time_limit_of_runs_does_not_end_a_load() -> None:
    assert "maxexecutiontime=2" in driver_arguments("run", run(maxexecutiontime=2), {})
    assert not any("maxexecutiontime" in argument for argument in driver_arguments("load", run(maxexecutiontime=2), {}))


def test_executions_fill_the_least_time() -> None:
    assert executions_needed(run(operationcount=10), 5.0, 5.0) == 1
    assert executions_needed(run(operationcount=10), 1.9, 5.0) == 3
    with pytest.raises(DatabaseError, match=r"over in 0.001 s, and this meter needs 5 s; 5,000 executions"):
        executions_needed(run(operationcount=10), 0.001, 5.0)
    for change in ({"cold": True}, {"load_unit": "block-1"}):
        with pytest.raises(DatabaseError, match="raise operationcount"):
            executions_needed(dataclasses.replace(run(operationcount=10), **change), 1.9, 5.0)
