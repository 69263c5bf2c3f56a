"""The bar of a run shows how much of the run is done."""

from __future__ import annotations

import pytest
from rich.console import Console
from small_store import small_spec

from edgejoule.cli.progress import StudyProgress, _response_text
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.store import ResponseValue


@pytest.mark.parametrize(
    ("limit_s", "planned", "share"),
    [(0, 1000, 0.4), (8, 0, 0.5), (8, 1000, 0.5), (5, 1000, 0.8), (2, 1000, 1.0), (0, 0, 0.0)],
)
def test_a_run_is_as_far_as_its_operations_or_its_time_limit(limit_s: int, planned: int, share: float) -> None:
    spec = small_spec().model_dump(exclude_defaults=True)
    spec["fixed"] = {"maxexecutiontime": limit_s, "operationcount": planned}
    progress = StudyProgress(Console(force_terminal=True, width=80), "modelled")
    progress.running(make_plan(Spec.model_validate(spec))[0])
    for total in (100, 400):
        progress.event({
            "event": "interval", "duration_ns": 2_000_000_000, "operations_total": total, "operations_planned": planned,
            "throughput_ops_s": 50.0,
        })  # fmt: skip
    bar = next(task for task in progress._bars.tasks if task.id == progress._now)
    assert (bar.total, bar.completed) == (1.0, share)


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (ResponseValue("throughput_ops_s", 39_500.0, "ops/s", "timed"), " 39,500 ops/s"),
        (ResponseValue("power_net_w", 0.02822, "W", "modelled"), "0.02822 W modelled"),
        (
            ResponseValue("device_write_bytes_per_op", 4494.0, "byte", "timed"),
            "  4,494 bytes written to the device, per operation",
        ),
        (ResponseValue("data_bytes", 4494.0, "byte", "timed"), "  4,494 byte size of the data"),
    ],
)
def test_the_line_of_a_run_has_a_value_with_its_unit_once(response: ResponseValue, text: str) -> None:
    assert _response_text(response) == text
