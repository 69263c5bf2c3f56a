"""Studies at a fixed rate with the real driver: the stored rate, and latencies from the due time."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_line import edgejoule

from edgejoule.store import Run, Store

SPEC = """\
name = "at-a-rate"
question = "Which rate does it sustain?"

[factors]
target = [400, 100000000]

[fixed]
database = "leveldb"
workload = "workloada"
recordcount = 500
operationcount = 400

[design]
replications = 1
order = "as-written"

[timing]
idle_s = 0.25

[meter]
run_s_min = 0
"""
STATISTICS = ("mean", "p50", "p95", "p99", "p999")


def study(folder: Path, spec: str = SPEC) -> list[Run]:
    """The runs, in the order of the factor's levels."""
    (folder / "experiment.toml").write_text(spec)
    done = edgejoule(folder, "run", "experiment.toml", "--store", "results/store.db")
    assert done.returncode in (0, 3), done.stderr
    with Store.open(folder / "results/store.db") as store:
        return store.runs(store.find().id)


@pytest.mark.slow
def test_a_rate_that_is_missed_is_reported_in_place_of_latency_and_energy(tmp_path: Path) -> None:
    _, run = study(tmp_path)
    assert run.value("target_ops_s") == 100_000_000
    share, reached = run.value("target_share"), run.value("throughput_ops_s")
    assert share is not None
    assert reached is not None
    assert share == pytest.approx(reached / 100_000_000)
    assert any(flag.startswith("does not sustain 100,000,000/s, reached ") for flag in run.flags), run.flags
    store = ("--store", "results/store.db")
    message = "The database does not sustain 100,000,000/s, reached "
    assert message in " ".join(edgejoule(tmp_path, "show", *store).stdout.split())
    result = json.loads(edgejoule(tmp_path, "report", "--json", *store).stdout)
    for response in result["responses"]:
        (cell,) = [cell for cell in response["cells"] if cell["levels"]["target"] == 100_000_000]
        judged = "latency" in response["response"] or "energy" in response["response"]
        assert (cell["mean"] is None) == judged, response["response"]
    (row,) = [
        row
        for row in csv.DictReader(edgejoule(tmp_path, "export", "--csv", *store).stdout.splitlines())
        if row["target"] == "100000000"
    ]
    assert "does not sustain 100,000,000/s" in row["flags"]


def test_a_run_at_a_rate_keeps_both_latencies_and_the_due_times_are_never_the_shorter(tmp_path: Path) -> None:
    run, _ = study(tmp_path)
    for operation in ("read", "update"):
        for statistic in STATISTICS:
            service = run.value(f"{operation}_latency_us_{statistic}")
            due = run.value(f"{operation}_intended_latency_us_{statistic}")
            assert service is not None
            assert due is not None
            assert due >= service * 0.999, "an operation cannot end sooner after it was due than after it began"


def test_a_schedule_is_sustained_or_not_by_its_own_times(tmp_path: Path) -> None:
    spec = SPEC.replace("target = [400, 100000000]", 'rate = ["steps:400@1,100@1", "steps:80000000@1,100000000@1"]')
    slow, fast = study(tmp_path, spec)
    assert (slow.value("target_share") or 0) > 0.5, "400 operations in the first second of the schedule"
    assert any(flag.startswith("does not sustain 90,000,000/s, reached ") for flag in fast.flags), fast.flags


def test_without_a_rate_there_is_no_due_time(tmp_path: Path) -> None:
    spec = SPEC.replace("target = [400, 100000000]", "threads = [1]")
    (run,) = study(tmp_path, spec)
    names = {r.name for r in run.responses}
    assert "read_latency_us_p99" in names
    assert not any("intended" in name or name.startswith("target") for name in names)


def test_a_pause_behind_the_last_operation_sustains_no_rate(tmp_path: Path) -> None:
    """All operations are due within 4 us, and the schedule's pause is far longer than they take."""
    spec = SPEC.replace("target = [400, 100000000]", 'rate = ["steps:100000000@0.000004,0@9"]')
    (run,) = study(tmp_path, spec)
    assert (run.value("target_share") or 0) < 0.5
    assert any(flag.startswith("does not sustain") for flag in run.flags), run.flags
