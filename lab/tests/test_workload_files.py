"""Workloads other than YCSB's core, from a table of the experiment or from a property file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgejoule.databases.snapshots import Snapshots
from edgejoule.databases.system_under_test import system_of
from edgejoule.dictionary.properties import CORE, KINDS
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec
from edgejoule.experiment.workload_files import find_workload_file, read_workload_file

BUNDLED = sorted(p for p in (Path(__file__).resolve().parents[2] / "driver/workloads").iterdir() if p.suffix != ".md")
EXPERIMENT = """\
name = "kinds"
question = "?"
[factors]
database = ["sqlite"]
workload = ["one"]
[workloads.one]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "experiment.toml"
    path.write_text(EXPERIMENT + text)
    return path


@pytest.mark.parametrize("path", BUNDLED, ids=lambda p: p.name)
def test_every_workload_that_comes_with_the_driver_can_be_named(tmp_path: Path, path: Path) -> None:
    (run,) = make_plan(load_spec(written(tmp_path, f'file = "{path.name}"'), ["design.replications=1"]))
    assert run.kind in KINDS
    arguments = system_of(run).arguments("run", tmp_path)
    assert (f"workload={run.kind}" in arguments) == (run.kind != CORE)


def test_what_stands_beside_the_file_wins(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, 'file = "mobibench-insert"\nrecordcount = 7'))
    assert spec.workloads["one"]["recordcount"] == 7
    assert spec.workloads["one"]["kind"] == "mobibench"
    assert spec.workloads["one"]["mobibench.value_bytes"] == 4096


def test_a_file_beside_the_experiment_comes_first(tmp_path: Path) -> None:
    (tmp_path / "workloada").write_text("# my own\nreadproportion=0.25\nwriteallfields=true\n")
    spec = load_spec(written(tmp_path, 'file = "workloada"'))
    assert spec.workloads["one"] == {"readproportion": 0.25, "writeallfields": True}


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("readpropotion=0.5", "own:1: readpropotion: unknown property; did you mean 'readproportion'?"),
        ("\nrecordcount=many", "own:2: recordcount: invalid literal"),
        ("writeallfields=yes", "expected true or false"),
        ("workload=mobybench", "did you mean 'mobibench'?"),
        ("just words", "expected name=value"),
    ],
)
def test_a_bad_property_file_is_reported_with_its_line(tmp_path: Path, text: str, phrase: str) -> None:
    (tmp_path / "own").write_text(text)
    with pytest.raises(UsageError, match=re.escape(phrase)):
        read_workload_file(tmp_path / "own")
    with pytest.raises(SpecError) as caught:
        load_spec(written(tmp_path, 'file = "own"'))
    assert (caught.value.line, caught.value.key) == (7, "workloads.one.file")


@pytest.mark.parametrize(
    ("text", "key", "phrase"),
    [
        ('file = "mobibench-insrt"', "workloads.one.file", "did you mean 'mobibench-insert'?"),
        ("file = 3", "workloads.one.file", "expected the name or path"),
        ('kind = "mobibnch"', "workloads.one.kind", "did you mean 'mobibench'?"),
        ('kind = "mobibench"\nreadproportion = 1', "workloads.one.readproportion", "of kind mobibench"),
        ('kind = "mobibench"\n"mobibench.operation" = "upsert"', "workloads.one.mobibench.operation", "insert, update"),
        ('kind = "mixgraph"\n[fixed]\nfieldcount = 3', "fixed.fieldcount", "of kind mixgraph, which has no such"),
    ],
)
def test_what_a_kind_does_not_know_is_refused(tmp_path: Path, text: str, key: str, phrase: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_spec(written(tmp_path, text))
    assert caught.value.key == key
    assert phrase in str(caught.value)


def test_what_a_kind_loads_decides_its_snapshot_and_what_it_runs_does_not(tmp_path: Path) -> None:
    path = written(tmp_path, 'file = "mobibench-insert"')
    snapshots = Snapshots(tmp_path)

    def key(*overrides: str) -> str:
        return snapshots.key(make_plan(load_spec(path, overrides))[0])

    assert key("fixed.operationcount=5") == key()
    assert key("fixed.recordcount=5") != key()


def test_a_name_with_a_folder_is_a_path_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        find_workload_file("x/workloada", tmp_path)
