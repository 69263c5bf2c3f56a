"""Operations that the database refused: they are in no figure, and a run with too many of them has failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import edgejoule

from edgejoule.experiment.failed_operations import complaint, failure_text, merged
from edgejoule.machine import environment
from edgejoule.store import Run, Store
from edgejoule.study import study

# Four writers at a time and no patience: SQLite refuses many of their updates.
SPEC = """\
name = "refused"
question = "What do figures count when operations fail?"

[factors]
database = ["sqlite"]
workload = ["updates"]

[fixed]
recordcount = 200
operationcount = 20000
threads = 4
durability = "none"
"sqlite.busy_timeout_ms" = 0
{more}

[workloads.updates]
readproportion = 0.0
updateproportion = 1.0

[design]
replications = 1

[timing]
idle_s = 0.1
settle_timeout_s = 20
interval_ms = 50

[meter]
run_s_min = 0
"""
BUSY = {"operation": "UPDATE", "status": "BUSY", "count": 300, "words": "database is locked"}


@pytest.fixture(autouse=True)
def _short_machine_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "SPEED_S", 0.005)
    monkeypatch.setattr(environment, "BUSY_WINDOW_S", 0.02)


def run_of(folder: Path, more: str = "") -> tuple[Run, list[dict[str, object]], str]:
    (folder / "experiment.toml").write_text(SPEC.format(more=more))
    done = edgejoule(folder, "run", "experiment.toml", "--store", str(folder / "store.db"))
    with Store.open(folder / "store.db") as store:
        (run,) = store.runs(store.find().id)
        return run, list(store.data(run).events), done.stderr


def test_a_run_with_too_many_failed_operations_is_stored_as_failed_with_its_cause(tmp_path: Path) -> None:
    run, _, said = run_of(tmp_path)
    assert run.status == "failed"
    assert run.responses == ()
    for phrase in ("of 20000 operations failed", "failure_share_max = 1 %", "UPDATE BUSY", "database is locked"):
        assert phrase in str(run.cause)
    assert "UPDATE BUSY" in said


def test_throughput_and_joules_are_of_the_operations_that_succeeded(tmp_path: Path) -> None:
    run, events, _ = run_of(tmp_path, "failure_share_max = 1.0")
    end = next(e for e in events if e["event"] == "end")
    succeeded, failed = int(str(end["operations"])), int(str(end["failures"]))
    assert failed > 200, "this test could not fail"
    assert succeeded + failed == 20000
    value = {r.name: r.value for r in run.responses}
    assert value["throughput_ops_s"] == pytest.approx(succeeded / value["active_s"])
    assert value["energy_j"] / value["energy_per_op_uj"] * 1e6 == pytest.approx(succeeded)
    assert value["failure_share"] == pytest.approx(failed / 20000)
    (flag,) = (flag for flag in run.flags if "operations failed" in flag)
    assert flag.startswith(f"{failed} of 20000 operations failed")
    assert "UPDATE BUSY" in flag
    assert "database is locked" in flag


def test_the_bound_is_a_share_of_all_operations() -> None:
    assert complaint(10, 990, 0.01, [BUSY]) is None
    assert complaint(0, 0, 0.01, []) is None
    assert complaint(11, 989, 0.01, [BUSY]) is not None
    assert complaint(1, 999, 0.0, [BUSY]) is not None


def test_a_complaint_has_the_count_the_statuses_and_the_commonest_cause() -> None:
    read = {"operation": "READ", "status": "ERROR", "count": 100, "words": "timed out"}
    said = complaint(400, 600, 0.01, merged([[read], [BUSY]]))
    assert said == (
        "400 of 1000 operations failed (40 %): UPDATE BUSY 300, READ ERROR 100; most often (300 times): "
        "database is locked; at most 1 % may fail (failure_share_max)"
    )


def test_causes_of_several_executions_add_up() -> None:
    assert json.dumps(merged([[BUSY], [BUSY]])) == json.dumps([{**BUSY, "count": 600}])
    assert failure_text(1, 1, []) == "1 of 2 operations failed (50 %)"
