"""Which loaded database a run works on, and what becomes of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from edgejoule.databases.loads import Loads
from edgejoule.databases.system_under_test import Load, LoadTime
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import PlannedRun, make_plan
from edgejoule.machine.file_system import FileSystem, MadeFileSystem

TOOK = LoadTime(10, 0.5, 0.75)


class Snapshots:
    """Instead of databases: a file that says what was asked for."""

    def key(self, run: PlannedRun) -> str:
        return f"{run.adapter}-key"

    def restore(self, run: PlannedRun, data: Path) -> None:
        data.mkdir(parents=True, exist_ok=True)
        (data / "restored").touch()

    def load_time(self, run: PlannedRun) -> LoadTime:
        return TOOK

    def load_at(self, run: PlannedRun, data: Path, timeout_s: float, on_event: Any = None) -> Load:
        data.mkdir(parents=True)
        (data / "loaded").touch()
        return Load(TOOK)


def plan(**design: Any) -> list[PlannedRun]:
    return make_plan(Spec.model_validate({
        "name": "p", "question": "?", "fixed": {"recordcount": 10, "operationcount": 5},
        "factors": {"database": ["sqlite", "leveldb"], "workload": ["workloadb", "workloadc"]},
        "design": {"replications": 2, **design},
    }))  # fmt: skip


def loads(folder: Path, todo: list[PlannedRun], used: tuple[str, ...] = ()) -> Loads:
    return Loads(Snapshots(), folder, todo, used)  # type: ignore[arg-type]


def test_every_run_has_its_own_copy_by_default(tmp_path: Path) -> None:
    todo = plan()
    own = loads(tmp_path, todo)
    for run in todo:
        load = own.prepare(run)
        assert (load.name, load.runs_before) == (f"run-{run.index + 1}", 0)
        assert (load.path / "restored").exists()
        assert load.facts() == {
            "name": load.name, "runs_before": 0, "snapshot": f"{run.adapter}-key",
            "records": 10, "active_s": 0.5, "settled_s": 0.75,
        }  # fmt: skip
        own.done(run, failed=False)
        assert not load.path.exists()


def test_runs_of_a_block_share_a_load_for_each_content_until_the_last_is_done(tmp_path: Path) -> None:
    todo = plan(load="block")
    shared = loads(tmp_path, todo)
    names = []
    for run in todo:
        load = shared.prepare(run)
        names.append((run.block, run.adapter, load.name, load.runs_before))
        shared.done(run, failed=False)
    assert len({name for _, _, name, _ in names}) == 4
    assert sorted(before for *_, before in names) == [0] * 4 + [1] * 4
    assert not list((tmp_path / "loads").iterdir())


def test_a_failed_run_takes_its_load_with_it_and_the_next_one_has_another_name(tmp_path: Path) -> None:
    todo = [run for run in plan(load="block") if run.block == 0 and run.adapter == "sqlite"]
    shared = loads(tmp_path, todo)
    first = shared.prepare(todo[0])
    shared.done(todo[0], failed=True)
    assert not first.path.exists()
    second = shared.prepare(todo[1])
    assert (second.name, second.runs_before) == (f"{first.name}-again-1", 0)


def test_a_resumed_study_does_not_take_a_new_load_for_the_old_one(tmp_path: Path) -> None:
    todo = plan(load="block")
    before = loads(tmp_path / "a", todo).prepare(todo[0])
    after = loads(tmp_path / "b", todo, used=(before.name,)).prepare(todo[0])
    assert after.name != before.name


def test_every_run_of_a_fresh_load_has_its_own(tmp_path: Path) -> None:
    todo = plan(load="fresh")
    own = loads(tmp_path, todo)
    for run in todo:
        assert own.will_load(run)
        load = own.prepare(run)
        assert (load.name, load.runs_before) == (f"run-{run.index + 1}-{run.adapter}-key", 0)
        assert load.load is not None
        assert (load.path / "loaded").exists()
        own.done(run, failed=False)
        assert not load.path.exists()


def test_only_the_first_run_on_a_load_has_made_it(tmp_path: Path) -> None:
    todo = [run for run in plan(load="block") if run.block == 0 and run.adapter == "sqlite"]
    shared = loads(tmp_path, todo)
    assert [(shared.will_load(run), shared.prepare(run).load is not None) for run in todo] == [
        (True, True),
        (False, False),
    ]


def test_a_cell_spreads_its_replications_over_its_loads(tmp_path: Path) -> None:
    units = [run.load_unit for run in plan(load="cell", loads=2, replications=4) if run.levels == plan()[0].levels]
    assert [str(unit).rsplit("-", 1)[1] for unit in units] == ["1", "1", "2", "2"]


def test_closing_leaves_nothing(tmp_path: Path) -> None:
    todo = plan(load="block")
    shared = loads(tmp_path, todo)
    shared.prepare(todo[0])
    shared.copies(plan()[0], 3)
    shared.close()
    assert not list(tmp_path.iterdir())


def test_a_file_system_has_its_size_for_each_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def make(self: MadeFileSystem, wanted: FileSystem) -> Path:
        made.append(wanted.size_mb)
        return tmp_path

    monkeypatch.setattr(MadeFileSystem, "make", make)
    monkeypatch.setattr(MadeFileSystem, "remove", lambda self: None)
    (run, *_) = (dataclasses.replace(run, file_system=FileSystem("ext4", size_mb=512)) for run in plan())
    own = loads(tmp_path, [run])
    own.prepare(run)
    own.copies(run, 3)
    assert made == [512, 3 * 512]
