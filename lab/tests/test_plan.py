"""A plan holds every cell once per block, in an order the seed decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgejoule.databases.checks import check_plan
from edgejoule.databases.system_under_test import system_of
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import Addition, cells, make_plan, planned_cells
from edgejoule.experiment.read import load_spec


def spec(**design: Any) -> Spec:
    return Spec.model_validate({
        "name": "p", "question": "?",
        "factors": {"database": ["sqlite", "leveldb"], "workload": ["workloada", "workloadc"], "threads": [1, 4]},
        "fixed": {"recordcount": 10, "leveldb.compression": "none"},
        "design": design,
    })  # fmt: skip


def test_every_block_holds_every_cell_once() -> None:
    s = spec(replications=5, seed=3)
    plan = make_plan(s)
    assert [p.index for p in plan] == list(range(40))
    for block in range(5):
        levels = [dict(p.levels) for p in plan if p.block == block]
        assert sorted(map(str, levels)) == sorted(map(str, cells(s)))


def test_the_seed_decides_the_order_and_nothing_else_does() -> None:
    first = make_plan(spec(replications=3, seed=3))
    assert first == make_plan(spec(replications=3, seed=3))
    assert [p.levels for p in first] != [p.levels for p in make_plan(spec(replications=3, seed=4))]
    orders = {str([p.levels for p in first if p.block == b]) for b in range(3)}
    assert len(orders) == 3, "blocks are shuffled one by one"


def test_as_written_keeps_the_order() -> None:
    s = spec(replications=2, order="as-written")
    assert [dict(p.levels) for p in make_plan(s)] == cells(s) * 2


def test_all_cells_of_a_block_get_the_same_operation_stream_and_blocks_differ() -> None:
    plan = make_plan(spec(replications=3))
    seeds = [{p.seed for p in plan if p.block == b} for b in range(3)]
    assert all(len(s) == 1 for s in seeds)
    assert len(set.union(*seeds)) == 3


def test_settings_reach_the_run_they_are_meant_for() -> None:
    for p in make_plan(spec(replications=1)):
        assert p.threads == p.levels["threads"]
        assert p.options == ({"compression": "none"} if p.adapter == "leveldb" else {})
        assert p.properties["recordcount"] == 10
        assert p.properties["readproportion"] == (1.0 if p.levels["workload"] == "workloadc" else 0.5)
        assert not {"threads", "database", "workload"} & set(p.properties)


def test_a_variant_names_its_adapter(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(
        'name = "v"\nquestion = "?"\n[factors]\ndatabase = ["wal", "sqlite"]\nworkload = ["workloadc"]\n'
        '[databases.wal]\nadapter = "sqlite"\njournal_mode = "WAL"\n'
    )
    plan = make_plan(load_spec(path, ["design.order=as-written", "design.replications=1"]))
    assert [(p.adapter, dict(p.options)) for p in plan] == [("sqlite", {"journal_mode": "WAL"}), ("sqlite", {})]


def test_the_driver_gets_the_rate_that_a_run_is_planned_with() -> None:
    steps = Spec.model_validate(spec().model_dump() | {"fixed": {"recordcount": 10, "rate": "steps:10@1,20@1"}})
    database = system_of(make_plan(steps)[0])
    arguments = database.arguments("run", Path("data"))
    assert arguments[arguments.index("--rate") + 1] == "steps:10@1,20@1"
    assert "--rate" not in database.arguments("load", Path("data"))


def test_a_dotted_property_of_the_workload_is_no_option_of_a_database(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text("""
name = "skew"
question = "?"
[factors]
database = ["sqlite", "leveldb"]
workload = ["workloada"]
"zipfian.theta" = [0, 0.5, 1]
[fixed]
recordcount = 10
operationcount = 10
keytype = "integer"
""")
    skewed = load_spec(file)
    plan = make_plan(skewed)
    assert {p.properties["zipfian.theta"] for p in plan} == {0, 0.5, 1}
    assert all(p.properties["keytype"] == "integer" and not p.options for p in plan)
    check_plan(skewed, plan)


def addition(s: Spec, replications: int, **levels: object) -> Addition:
    chosen = [cell for cell in cells(s) if all(cell[name] == level for name, level in levels.items())]
    return Addition(replications, tuple(chosen), 0)


@pytest.mark.parametrize("order", ["randomised-blocks", "one-after-another", "as-written"])
def test_added_replications_come_after_the_plan_and_leave_it_as_it_is(order: str) -> None:
    s = spec(replications=2, seed=3, order=order)
    plan = make_plan(s)
    added = [addition(s, 2, database="sqlite"), addition(s, 1)]
    longer = make_plan(s, added)
    assert longer[:16] == plan
    assert [p.index for p in longer] == list(range(16 + 8 + 8))
    assert [p.block for p in longer[16:24]] == ([2, 3] * 4 if order == "one-after-another" else [2] * 4 + [3] * 4)
    assert {p.database for p in longer[16:24]} == {"sqlite"}
    assert [p.block for p in longer[24:]] == [4] * 8
    assert list(planned_cells(s, added)) == [(p.block, dict(p.levels)) for p in longer]
    assert {p.load_unit for p in longer} == {None}


def test_replications_of_every_cell_are_those_of_a_longer_plan() -> None:
    s = spec(replications=2, seed=3)
    assert make_plan(s, [addition(s, 1), addition(s, 2)]) == make_plan(spec(replications=5, seed=3))
