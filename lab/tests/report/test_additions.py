"""Replications added after results could be seen: analysed with the others where they can be, and always reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bundle_members import rewritten, with_hash

from edgejoule.experiment.plan import Addition, cells, make_plan
from edgejoule.export.bundle import BundleError, bundle_store, import_bundle, write_bundle
from edgejoule.findings import Findings, find
from edgejoule.findings.additions import alone_warning
from edgejoule.report import build
from edgejoule.store import Run, Store

MakeStore = Callable[..., Store]
SMALL = {"databases": ("sqlite", "leveldb"), "workloads": ("read", "write"), "blocks": 3}
NAME = "cpu_us_per_op"


def add(store: Store, replications: int, **levels: object) -> None:
    """Measures more replications of the cells with these levels: the values of earlier runs with 3 % noise."""
    experiment, rng = store.find(), np.random.default_rng(5)
    chosen = [c for c in cells(experiment.spec) if all(c[name] == level for name, level in levels.items())]
    addition = Addition(replications, tuple(chosen), 1_790_000_000_000_000_000)
    earlier = {tuple(run.levels.values()): run for run in store.runs(experiment.id)}
    plan = make_plan(experiment.spec, [*experiment.added, addition])[-addition.runs :]
    store.extend(experiment.id, addition, plan)
    for planned in plan:
        run = earlier[tuple(planned.levels.values())]
        noise = float(rng.lognormal(0, 0.03))
        responses = tuple(
            replace(r, value=r.value * noise if r.value and r.name == NAME else r.value) for r in run.responses
        )
        store.record(
            experiment.id, replace(run, run_index=planned.index, block=planned.block, responses=responses),
            store.data(run),
        )  # fmt: skip


def found(store: Store) -> Findings:
    return find(store, store.find())


def numbers(findings: Findings) -> dict[str, int]:
    response = findings.response(NAME)
    assert response is not None
    return {" ".join(map(str, cell.levels.values())): cell.n for cell in response.cells}


def caveats(findings: Findings) -> list[str]:
    return [sentence for sentence in findings.caveats if "added" in sentence]


def test_replications_of_every_cell_enter_the_analysis(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    add(store, 2)
    findings = found(store)
    assert set(numbers(findings).values()) == {5}
    response = findings.response(NAME)
    assert response is not None
    (part,) = response.parts
    assert part.analysis is not None
    assert part.analysis.anova.error_df == (5 - 1) * (4 - 1)
    (sentence,) = caveats(findings)
    assert sentence.startswith("2 replications of every cell were added on 2026-")
    assert "after results could be seen" in sentence
    page = build(store, store.find(), findings)
    assert "3 replications, then 2 of every cell" in page
    assert "realtime" not in page


def test_cells_of_one_workload_are_compared_in_unequal_numbers(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    add(store, 2, workload="read")
    findings = found(store)
    assert numbers(findings) == {"sqlite read": 5, "leveldb read": 5, "sqlite write": 3, "leveldb write": 3}
    assert len(caveats(findings)) == 1
    assert "of sqlite, read and leveldb, read were added" in caveats(findings)[0]


def test_a_cell_alone_in_its_block_changes_no_mean_and_no_comparison(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    before = found(store)
    add(store, 2, database="sqlite", workload="read")
    after = found(store)
    for name in (response.name for response in before.responses):
        one, other = before.response(name), after.response(name)
        assert one is not None
        assert other is not None
        assert [replace(c, planned=0) for c in one.cells] == [replace(c, planned=0) for c in other.cells]
        assert [k.contrasts for k in one.rankings] == [k.contrasts for k in other.rankings]
    assert len(after.runs) == len(before.runs) + 2
    assert [sentence.partition(" added")[0] for sentence in caveats(after)] == [
        "2 replications of sqlite, read were",
        "2",
    ]
    warning = alone_warning(store.find().spec, make_plan(store.find().spec, store.find().added)[-2:])
    assert warning is not None
    assert "in no mean and no comparison" in warning


def test_with_an_analysis_by_workload_a_block_counts_within_its_workload(make_store: MakeStore) -> None:
    store = make_store(**SMALL, analysis=f'responses = ["{NAME}"]\nby = "workload"')
    add(store, 1, database="sqlite")
    findings = found(store)
    assert set(numbers(findings).values()) == {3}
    assert caveats(findings)[1].startswith("2 added runs were alone in a block")


def test_a_test_without_blocks_takes_a_cell_alone(make_store: MakeStore) -> None:
    store = make_store(**SMALL, analysis=f'responses = ["{NAME}"]\ntest = "games-howell"')
    add(store, 2, database="sqlite", workload="read")
    findings = found(store)
    assert numbers(findings)["sqlite read"] == 5
    assert len(caveats(findings)) == 1
    spec = store.find().spec
    assert alone_warning(spec, make_plan(spec, store.find().added)[-2:]) is None


def test_one_run_per_cell_becomes_an_experiment_with_blocks(make_store: MakeStore) -> None:
    store = make_store(**SMALL | {"blocks": 1})
    assert any("One run per cell" in sentence for sentence in found(store).caveats)
    add(store, 3)
    findings = found(store)
    assert not any("One run per cell" in sentence for sentence in findings.caveats)
    response = findings.response(NAME)
    assert response is not None
    assert response.parts[0].analysis is not None
    assert response.parts[0].analysis.block == "block"


def test_a_bundle_takes_the_additions_along(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(**SMALL)
    add(store, 2, database="sqlite")
    add(store, 1)
    write_bundle(store.path, store.find(), tmp_path / "b.zip")
    with bundle_store(tmp_path / "b.zip") as other:
        assert found(other).to_json() == found(store).to_json()
        assert other.find().added == store.find().added


def forged(change: Callable[[dict[str, object]], None]) -> Callable[[dict[str, bytes]], None]:
    def of_members(members: dict[str, bytes]) -> None:
        row = json.loads(members["tables/experiments.jsonl"])
        environment = json.loads(row["environment_json"])
        change(environment["added"][0])
        row["environment_json"] = json.dumps(environment)
        with_hash(members, "tables/experiments.jsonl", json.dumps(row).encode() + b"\n")

    return of_members


CELL = {"database": "sqlite", "workload": "read"}
FORGERIES: Mapping[str, tuple[dict[str, object], str]] = {
    "fewer": ({"replications": 1}, "16 runs, the experiment plans 14"),
    "none": ({"replications": 0}, "added.0.replications"),
    "too many": ({"replications": 10_000, "cells": [CELL] * 101}, "expected different cells"),
    "no cell": ({"cells": [{"database": "redis", "workload": "read"}]}, "expected different cells of the experiment"),
    "another cell": ({"cells": [CELL, {"database": "leveldb", "workload": "read"}]}, "with levels"),
    "no time": ({"realtime_ns": "x"}, "added.0.realtime_ns"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_bundle_whose_additions_are_not_its_runs_is_refused(what: str, make_store: MakeStore, tmp_path: Path) -> None:
    change, message = FORGERIES[what]
    store = make_store(**SMALL)
    add(store, 2, database="sqlite")
    write_bundle(store.path, store.find(), tmp_path / "b.zip")
    with pytest.raises(BundleError, match="nothing was changed") as error:
        import_bundle(rewritten(tmp_path / "b.zip", forged(lambda one: one.update(change))), tmp_path / "new.db")
    assert message in str(error.value)


def test_the_runs_to_be_added_are_planned_until_they_are_measured(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    experiment = store.find()
    addition = Addition(1, tuple(cells(experiment.spec)), 1)
    store.extend(experiment.id, addition, make_plan(experiment.spec, [addition])[-4:])
    assert store.find().progress == "12 of 16 runs finished"
    assert store.unfinished(experiment.spec) is not None
    planned = [run for run in store.runs(experiment.id) if run.status == "planned"]
    assert [(run.run_index, run.block) for run in planned] == [(12 + i, 3) for i in range(4)]
    assert all(isinstance(run, Run) and run.settings for run in planned)
