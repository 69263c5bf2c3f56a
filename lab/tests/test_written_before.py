"""A store, a bundle and an experiment that an earlier version wrote (data/written-before) still open."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import shutil
import sqlite3
from pathlib import Path

import pytest
from command_line import edgejoule

from edgejoule.errors import SpecError
from edgejoule.experiment.plan import make_plan
from edgejoule.experiment.read import load_spec
from edgejoule.store import Store

WRITTEN = Path(__file__).parent / "data/written-before"


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    """A copy of the store: opening it may add what later versions need."""
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((WRITTEN / "store.db.gz").read_bytes()))
    return path


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def assert_same_runs(now: str) -> None:
    """The table of runs has every figure that the earlier version exported, letter by letter."""
    before, after = rows_of((WRITTEN / "runs.csv").read_text()), rows_of(now)
    assert len(after) == len(before) == 4
    for old, new in zip(before, after, strict=True):
        assert old == {name: new[name] for name in old}


def test_the_experiment_has_the_plan_and_the_digest_that_it_had(old_store: Path) -> None:
    spec = load_spec(WRITTEN / "experiment.toml")
    with Store.open(old_store) as store:
        stored = store.find("written-before")
        runs = store.runs(stored.id)
    with contextlib.closing(sqlite3.connect(old_store)) as connection:
        ((written,),) = connection.execute("SELECT spec_sha256 FROM experiments")
    assert spec.digest() == stored.spec.digest() == written
    planned = [(run.levels["database"], run.levels["workload"]) for run in make_plan(spec)]
    assert planned == [(run.levels["database"], run.levels["workload"]) for run in runs]


def test_the_store_exports_the_figures_that_it_had(old_store: Path, tmp_path: Path) -> None:
    done = edgejoule(tmp_path, "export", "written-before", "--store", str(old_store), "--csv")
    assert done.returncode == 0, done.stderr
    assert_same_runs(done.stdout)


def test_the_bundle_imports_with_the_figures_that_it_had(tmp_path: Path) -> None:
    done = edgejoule(tmp_path, "import", str(WRITTEN / "bundle.zip"), "--store", "new.db")
    assert done.returncode == 0, done.stderr
    done = edgejoule(tmp_path, "export", "--store", "new.db", "--csv")
    assert_same_runs(done.stdout)


@pytest.mark.parametrize(("command", "expected"), [("show", "163,659"), ("report", "Highest throughput with leveldb")])
def test_the_store_is_shown(command: str, expected: str, old_store: Path, tmp_path: Path) -> None:
    done = edgejoule(tmp_path, command, "written-before", "--store", str(old_store))
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout + "".join(page.read_text() for page in tmp_path.glob("*.html"))


def test_the_study_is_recognised_by_its_experiment(old_store: Path, tmp_path: Path) -> None:
    shutil.copy(WRITTEN / "experiment.toml", tmp_path)
    done = edgejoule(tmp_path, "run", "experiment.toml", "--store", str(old_store), "--resume")
    assert "experiment 1 of this spec is finished" in done.stderr


def test_an_experiment_with_the_removed_java_client_names_its_replacement(tmp_path: Path) -> None:
    text = (WRITTEN / "experiment.toml").read_text().replace('"leveldb"', '"redis-java"')
    (tmp_path / "experiment.toml").write_text(text)
    load_spec(tmp_path / "experiment.toml")  # it can still be read
    done = edgejoule(tmp_path, "run", "experiment.toml")
    assert done.returncode == SpecError.exit_code
    assert 'write database = "redis"' in done.stderr
