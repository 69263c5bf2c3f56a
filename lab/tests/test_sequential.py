"""A sequential design looks at the declared times, stops by its level, and stores every look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from edgejoule.errors import UsageError
from edgejoule.experiment.complaints import complaints
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.findings import find
from edgejoule.meters.base import Method
from edgejoule.stats import looks
from edgejoule.store import Experiment, ResponseValue, Run, RunData, Store
from edgejoule.study import sequential

SEED = 11


def spec(**declared: Any) -> Spec:
    return Spec.model_validate({
        "name": "s", "question": "?", "factors": {"database": ["sqlite", "leveldb"], "workload": ["workloada"]},
        "fixed": {"recordcount": 10, "operationcount": 10}, "design": {"replications": 9, "sequential": declared},
        "analysis": {"responses": ["throughput_ops_s"]},
    })  # fmt: skip


def measured(store: Store, declared: Spec, blocks: int, ratio: float, spread: float = 0.05) -> Experiment:
    """An experiment with that many finished blocks; leveldb is `ratio` times as fast."""
    plan = make_plan(declared)
    kept = store.create_experiment(declared, "", plan, energy_words="", energy_min_ratio=None, environment={})
    rng = np.random.default_rng(SEED)
    for run in plan:
        rate = 1000 * (ratio if run.database == "leveldb" else 1) * np.exp(rng.normal(0, spread))
        if run.block < blocks:
            value = ResponseValue("throughput_ops_s", float(rate), "ops/s", "timed")
            store.record(kept, Run(run.index, run.block, run.levels, "finished", responses=(value,)), RunData())
    return store.find(str(kept))


SPENDING = {"kind": "alpha-spending", "looks": [3, 6, 9]}


def test_looks_are_due_when_declared_and_only_once() -> None:
    declared = spec(**SPENDING)
    assert [sequential.look_due(declared, n, noted=0) for n in range(1, 10)] == [
        None,
        None,
        1,
        None,
        None,
        2,
        None,
        None,
        3,
    ]
    assert sequential.look_due(declared, 3, noted=1) is None
    assert sequential.look_due(spec(kind="stein", first=4, precision=1.1), 4, noted=0) == 1


def test_a_clear_difference_stops_at_its_look_and_the_findings_use_the_looks_level(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        experiment = measured(store, spec(**SPENDING), 6, ratio=2.0)
        taken = sequential.take(store, experiment, 2)
        assert (taken.decided, taken.total) == (True, 6)
        assert taken.level == looks([3, 6, 9]).level[1] < 0.05
        noted = store.find(str(experiment.id))
        assert [look["look"] for look in sequential.looks_of(noted)] == [2]
        result = find(store, noted, look=2)
        assert result.responses[0].alpha == taken.level
        assert "the study stops" in " ".join(find(store, noted).caveats)


def test_the_same_speed_continues_to_the_next_look(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        taken = sequential.take(store, measured(store, spec(**SPENDING), 3, ratio=1.0), 1)
    assert (taken.decided, taken.total) == (False, 9)
    assert "continues to 6" in taken.words


def test_nothing_is_compared_between_looks(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        result = find(store, measured(store, spec(**SPENDING), 4, ratio=5.0))
    assert "nothing is compared between them" in str(result.responses[0].parts[0].reason)
    assert {c.letters for c in result.responses[0].cells} == {None}


@pytest.mark.parametrize(("precision", "enough"), [(1.5, True), (1.001, False)])
def test_steins_first_stage_fixes_the_number_of_replications(tmp_path: Path, precision: float, enough: bool) -> None:
    declared = spec(kind="stein", first=4, precision=precision)
    with Store.open(tmp_path / "s.db", create=True) as store:
        taken = sequential.take(store, measured(store, declared, 4, ratio=2.0), 1)
    assert taken.decided is enough
    assert taken.total == (4 if enough else 9)
    assert ("precision is not promised" in taken.words) is not enough


def test_forgoing_keeps_what_was_measured(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        experiment = measured(store, spec(**SPENDING), 3, ratio=2.0)
        before = [r for r in store.runs(experiment.id) if r.status == "finished"]
        store.forgo(experiment.id, 6)
        assert store.find(str(experiment.id)).counts == {"finished": 6, "planned": 6}
        store.forgo(experiment.id, 3)
        assert store.runs(experiment.id) == before


def test_more_runs_do_not_shrink_a_models_error() -> None:
    modelled = spec(kind="stein", first=4, precision=1.1).model_dump() | {"analysis": {"responses": ["energy_j"]}}
    with pytest.raises(UsageError, match="its error is the model's"):
        sequential.check(Spec.model_validate(modelled), Method.MODELLED)
    sequential.check(Spec.model_validate(modelled), Method.COUNTED)


def test_with_every_replication_there_the_last_level_holds_even_if_the_study_was_cut_off_before_its_look(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        result = find(store, measured(store, spec(**SPENDING), 9, ratio=2.0))
    assert result.responses[0].alpha == looks([3, 6, 9]).level[2]
    assert result.responses[0].rankings[0].decided


# Stein's two stages within a budget of time.


def one_command(blocks: int, took_s: float, spread: float = 0.05, **declared: Any) -> tuple[Spec, list[Run]]:
    """A design of one cell with that many finished blocks, of which the first took ten times as long (warm-up)."""
    options = {"kind": "stein", "first": 10, "precision": 1.05, "budget_s": 60.0} | declared
    design = Spec.model_validate({
        "name": "s", "question": "?", "factors": {"workload": ["workloada"]},
        "fixed": {"database": "sqlite", "recordcount": 10, "operationcount": 10},
        "design": {"replications": 500, "sequential": options}, "analysis": {"responses": ["active_s"]},
    })  # fmt: skip
    rng = np.random.default_rng(SEED)
    values = [ResponseValue("active_s", float(np.exp(rng.normal(0, spread))), "s", "timed") for _ in range(blocks)]
    runs = [
        Run(
            i, i, {"workload": "workloada"}, "finished", responses=(value,), facts={"took_s": took_s * (1 if i else 10)}
        )
        for i, value in enumerate(values)
    ]
    return design, runs


@pytest.mark.parametrize(
    ("took_s", "total", "decided"), [(2.0, 500, False), (6.0, 500, False), (7.0, 8, True), (25.0, 3, True)]
)
def test_the_budget_reports_after_three_blocks_whether_a_first_stage_of_ten_fits(
    took_s: float, total: int, decided: bool
) -> None:
    design, runs = one_command(3, took_s)
    assert sequential.look_due(design, 3, noted=0) == 1
    taken = sequential.budget_look(design, runs)
    assert (taken.total, taken.decided, taken.first_stage) == (total, decided, None)
    assert sequential.look_due(design, 10, noted=1) == 2


def test_three_blocks_that_exceed_the_budget_are_made_all_the_same() -> None:
    taken = sequential.budget_look(*one_command(3, 100.0))
    assert taken.total == 3
    assert "they exceed the budget" in taken.words


def test_the_spread_alone_decides_where_the_budget_is_large() -> None:
    design, runs = one_command(10, 1.0)
    free = design.model_copy(update={"design": design.design.model_copy(update={
        "sequential": design.design.sequential.model_copy(update={"budget_s": None})  # type: ignore[union-attr]
    })})  # fmt: skip
    taken = sequential.stein_look(design, runs, None, 2)
    assert taken.total == sequential.stein_look(free, runs, None, 1).total < 60
    assert (taken.capped, taken.first_stage) == (False, 10)
    assert taken.precision is not None
    assert 1 < taken.precision <= 1.05
    assert "within ± 5 % (95 %)" in taken.words


def test_the_budget_caps_the_replications_and_the_look_keeps_the_precision_that_they_give() -> None:
    design, runs = one_command(10, 4.0, spread=0.2)
    taken = sequential.stein_look(design, runs, None, 2)
    assert (taken.total, taken.capped, taken.decided) == (15, True, False)
    assert taken.precision is not None
    reach = float(special.stdtrit(9, 0.975)) * np.log([r.value("active_s") for r in runs]).std(ddof=1)  # type: ignore[arg-type]
    assert taken.precision == pytest.approx(np.exp(reach / np.sqrt(15)))
    assert "the budget of 60 s holds 15, which gives ±" in taken.words


def test_equal_values_have_no_spread_so_the_budget_alone_decides() -> None:
    design, runs = one_command(10, 4.0, spread=0.0)
    taken = sequential.stein_look(design, runs, None, 2)
    assert (taken.total, taken.first_stage, taken.precision) == (15, None, None)
    assert "there is no spread" in taken.words


def test_the_only_cell_has_the_interval_of_the_first_stage(tmp_path: Path) -> None:
    design, runs = one_command(20, 1.0)
    plan = make_plan(design)
    with Store.open(tmp_path / "s.db", create=True) as store:
        kept = store.create_experiment(design, "", plan, energy_words="", energy_min_ratio=None, environment={})
        for run in runs:
            store.record(kept, run, RunData())
        cell = find(store, store.find(str(kept))).responses[0].cells[0]
    y = np.log([run.value("active_s") for run in runs])  # type: ignore[arg-type]
    reach = float(special.stdtrit(9, 0.975)) * y[:10].std(ddof=1) / np.sqrt(20)
    assert cell.ci == pytest.approx(tuple(np.exp([y.mean() - reach, y.mean() + reach])))


def test_a_budget_belongs_to_stein() -> None:
    (complaint,) = complaints(spec(**SPENDING, budget_s=5.0), {})
    message = 'belongs to stein, and the kind is alpha-spending; remove it, or set kind = "stein"'
    assert complaint == ("design.sequential.budget_s", f"excludes design.sequential.kind: {message}")
