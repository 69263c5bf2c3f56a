"""The load curve in the report: one line per database, a level where nothing was asked has no joules per operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.findings import find
from edgejoule.findings.design import design_of
from edgejoule.report import build, load_curve
from edgejoule.store import Experiment, ResponseValue, Run, RunData, Store

LEVELS = [0, 10, 50, 100]


@pytest.fixture
def stored(tmp_path: Path):
    spec = Spec.model_validate({
        "name": "curve", "question": "?", "factors": {"database": ["sqlite", "leveldb"], "load_percent": LEVELS},
        "fixed": {"recordcount": 10, "workload": "workloadb"}, "design": {"replications": 3},
        "analysis": {"responses": ["energy_per_op_uj", "throughput_ops_s"], "by": "load_percent"},
    })  # fmt: skip
    with Store.open(tmp_path / "s.db", create=True) as store:
        plan = make_plan(spec)
        kept = store.create_experiment(spec, "", plan, energy_words="counted", energy_min_ratio=None, environment={})
        for run in plan:
            store.record(kept, Run(run.index, run.block, run.levels, "finished", responses=responses(run)), RunData())
        yield store, store.find(str(kept))


def responses(run) -> tuple[ResponseValue, ...]:
    """2 W at rest, 3 W more at full load of 1000 operations a second (leveldb 2000)."""
    share = run.load_percent / 100
    rate = share * (2000 if run.database == "leveldb" else 1000)
    power = ResponseValue("power_mean_w", 2 + 3 * share + run.block * 0.01, "W", "counted", 0.1)
    if not rate:
        return (power,)
    per_op = ResponseValue("energy_per_op_uj", power.value / rate * 1e6, "µJ", "counted", 1.0)
    return (power, per_op, ResponseValue("throughput_ops_s", rate + run.block, "ops/s", "timed"))


def test_every_level_is_drawn_for_every_database(stored: tuple[Store, Experiment]) -> None:
    store, experiment = stored
    panels = load_curve.panels(find(store, experiment), design_of(experiment.spec))
    assert [p.title for p in panels] == ["Energy per operation, counted", "Mean power, counted", "Throughput"]
    titles = {p.title: re.findall(r"<title>(\w+) at (\d+) %", p.picture) for p in panels}
    both = [(d, str(level)) for d in ("sqlite", "leveldb") for level in LEVELS]
    assert titles["Mean power, counted"] == both
    assert titles["Energy per operation, counted"] == [(d, level) for d, level in both if level != "0"]


def test_the_report_has_the_curve_and_its_reference(stored: tuple[Store, Experiment]) -> None:
    store, experiment = stored
    page = build(store, experiment, find(store, experiment))
    assert 'id="load"' in page
    assert "load in % of the reached rate" in page


def test_an_experiment_without_levels_of_load_has_no_curve(make_store) -> None:
    with make_store() as store:
        experiment = store.find()
        assert load_curve.panels(find(store, experiment), design_of(experiment.spec)) == []
