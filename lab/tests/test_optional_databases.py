"""A study goes on without an optional database that is not here, says so, and measures it where it is."""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from command_line import edgejoule

import edgejoule as api
from edgejoule.database_servers import jvm
from edgejoule.databases import driver
from edgejoule.experiment.read import load_spec
from edgejoule.store import Store

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas/run-record.schema.json").read_text())
FIX = "apt-get install libleveldb-dev, then make build"
SPEC = """\
name = "tiny"
question = "Does it go on?"
[factors]
database = ["sqlite", "lmdb", "leveldb"]
[fixed]
workload = "workloada"
recordcount = 100
operationcount = 200
[databases.leveldb]
optional = true
[design]
replications = 2
[timing]
idle_s = 0
[meter]
prefer = ["board-profile"]
run_s_min = 0
[analysis]
responses = ["throughput_ops_s"]
"""


class Machine:
    """A machine on which LevelDB can be missing."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch, self._known = folder, patch, dict(driver.adapters())
        (folder / "experiment.toml").write_text(SPEC)

    def change(self, old: str, new: str) -> None:
        spec = self.folder / "experiment.toml"
        assert old in spec.read_text()
        spec.write_text(spec.read_text().replace(old, new))

    def lacks(self, database: str) -> None:
        self._set(replace(self._known[database], available=False, fix=FIX))

    def has_leveldb(self) -> None:
        self._set(self._known["leveldb"])

    def _set(self, adapter: driver.Adapter) -> None:
        known = {**self._known, adapter.name: adapter}
        self._patch.setattr(driver, "adapters", lambda: known)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return edgejoule(self.folder, *arguments, "--store", "store.db")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self("run", "experiment.toml", *arguments)

    def statuses(self) -> dict[str, list[str]]:
        with Store.open(self.folder / "store.db") as store:
            result: dict[str, list[str]] = {}
            for run in store.runs(store.find().id):
                result.setdefault(str(run.levels["database"]), []).append(run.status)
        return result


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path, monkeypatch)
    made.lacks("leveldb")
    return made


@pytest.fixture(scope="module")
def store_without_leveldb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        machine = Machine(tmp_path_factory.mktemp("measured"), patch)
        machine.lacks("leveldb")
        machine.run()
    return machine.folder / "store.db"


@pytest.fixture
def measured(machine: Machine, store_without_leveldb: Path) -> Machine:
    """The machine after a study without LevelDB."""
    shutil.copy(store_without_leveldb, machine.folder)
    return machine


def test_a_study_goes_on_without_it_and_resume_measures_it_where_it_is(machine: Machine) -> None:
    machine.change('["sqlite", "lmdb", "leveldb"]', '["sqlite", "leveldb"]')
    machine.change("replications = 2", "replications = 1")
    done = machine.run()
    assert done.returncode in (0, 3), done.stderr  # 3: runs as short as these can be flagged
    said = " ".join((done.stdout + done.stderr).split())
    assert f"leveldb is not available here: {FIX}. Its runs are left out; --resume makes them" in said
    assert "failed" not in said
    assert "leveldb is not here." in said
    assert machine.statuses() == {"sqlite": ["finished"], "leveldb": ["not_here"]}

    again = machine.run("--resume")
    assert again.returncode == 0
    assert (
        "nothing to do: experiment 1 has the runs that can be done here already (1 of 2 runs finished, 1 not here)"
        in (" ".join((again.stdout + again.stderr).split()))
    )
    machine.has_leveldb()
    assert machine.run("--resume").returncode in (0, 3)
    assert machine.statuses() == {"sqlite": ["finished"], "leveldb": ["finished"]}
    assert "not here" not in machine("show").stdout


def test_every_output_names_the_level_and_the_way_to_it(measured: Machine) -> None:
    cause = f"leveldb is not available here: {FIX}"
    findings = json.loads(measured("report", "--json").stdout)
    assert "leveldb is not here." in findings["answer"]["headline"]
    assert len(findings["answer"]["headline"].split()) <= 25
    assert findings["caveats"][0] == f"2 of 6 runs left out: {cause}."
    assert "failed" not in findings["answer"]["footnote"]

    assert "2 not here" in findings["answer"]["footnote"]
    assert "leveldb is not here." in " ".join(measured("show").stdout.split())
    with Store.open(measured.folder / "store.db") as store:
        absent = next(run for run in store.runs(1) if run.status == "not_here")
    of_run = measured("show", "--run", str(absent.run_index + 1)).stdout
    assert of_run.endswith(f"status: not here, {cause}\n")
    assert "not here" in measured("list").stdout
    rows = list(csv.DictReader(measured("export", "--csv").stdout.splitlines()))
    assert sorted(row["status"] for row in rows) == ["finished"] * 4 + ["not_here"] * 2
    assert {row["cause"] for row in rows} == {"", cause}
    page = measured.folder / "report.html"
    assert measured("report", "-o", str(page)).returncode == 0
    assert "leveldb is not here." in page.read_text()
    assert page.read_text().count(">not here<") == 2  # in the list of runs: tables of means are without it
    with Store.open(measured.folder / "store.db") as store:
        for run in store.runs(1):
            jsonschema.validate(json.loads(json.dumps(run.record("tiny"))), SCHEMA)
    stored = api.open_store(measured.folder / "store.db")
    assert stored.experiments()["not_here"].tolist() == [2]
    assert set(stored.experiment().means("throughput_ops_s")["database"]) == {"sqlite", "lmdb"}


def test_a_bundle_keeps_the_runs_that_are_not_here(measured: Machine) -> None:
    assert measured("export", "--bundle", "tiny.zip").returncode == 0
    done = edgejoule(measured.folder, "import", "tiny.zip", "--store", "other.db")
    assert done.returncode == 0, done.stderr
    with Store.open(measured.folder / "other.db") as store:
        assert store.find().progress == "4 of 6 runs finished, 2 not here"


def test_a_dry_run_says_that_its_runs_are_left_out(machine: Machine) -> None:
    done = machine.run("--dry-run")
    assert done.returncode == 0
    assert f"! leveldb is not available here: {FIX}" in done.stdout
    assert done.stdout.endswith("4 of 6 runs can be done here; the others are optional and left out\n")
    plan = json.loads(machine.run("--dry-run", "--json").stdout)
    reasons = {run["levels"]["database"]: run["not_here"] for run in plan["runs"]}
    assert reasons == {"sqlite": None, "lmdb": None, "leveldb": f"leveldb is not available here: {FIX}"}


def test_a_study_of_nothing_else_is_refused(machine: Machine) -> None:
    for arguments in (("--set", 'factors.database=["leveldb"]'), ("--only", "database=leveldb")):
        done = machine.run(*arguments)
        assert done.returncode == 1
        assert "no run of the plan can be done here: leveldb is not available here" in " ".join(done.stderr.split())
        assert machine("show").returncode != 0  # nothing is stored


def test_a_database_that_is_not_optional_still_ends_the_study(machine: Machine) -> None:
    done = machine.run("--set", "databases.leveldb.optional=false")
    assert done.returncode == 2
    assert "--keep-going" in done.stderr


def test_a_server_of_the_user_that_does_not_answer_is_not_here(machine: Machine) -> None:
    machine.has_leveldb()
    machine.change('["sqlite", "lmdb", "leveldb"]', '["sqlite", "postgres"]')
    machine.change("[databases.leveldb]", '[databases.postgres]\nhost = "127.0.0.1"\nport = 1')
    machine.change("replications = 2", "replications = 1")
    done = machine.run()
    assert done.returncode in (0, 3), done.stderr
    assert machine.statuses()["postgres"] == ["not_here"]
    findings = json.loads(machine("report", "--json").stdout)
    assert "postgres at 127.0.0.1:1 does not answer (Connection refused): start it" in findings["caveats"][0]


def test_the_client_of_an_absent_database_is_no_part_of_the_experiment(machine: Machine) -> None:
    """Else --resume would refuse the client that comes with the database."""
    spec = machine.folder / "experiment.toml"
    spec.write_text(SPEC.replace('"leveldb"]', '"cassandra"]').replace("databases.leveldb", "databases.cassandra"))
    machine.lacks("cassandra")
    machine.run()
    with Store.open(machine.folder / "store.db") as store:
        assert "ycsb_sha256" not in store.find().environment["identity"]


def test_runs_are_repeated_for_their_conditions_and_not_because_they_were_not_here(measured: Machine) -> None:
    with Store.open(measured.folder / "store.db") as store:
        flagged = next(run for run in store.runs(1) if run.status == "finished")
    conditions = "UPDATE runs SET facts_json = json_set(facts_json, '$.conditions', json(?)) WHERE status = 'finished'"
    with contextlib.closing(sqlite3.connect(measured.folder / "store.db")) as db, db:
        db.execute(conditions, ("[]",))
        db.execute(f"{conditions} AND run_index = ?", ('["too hot"]', flagged.run_index))
    measured.has_leveldb()
    done = measured.run("--rerun-flagged")
    assert done.returncode in (0, 3), done.stderr
    with Store.open(measured.folder / "store.db") as store:
        assert [run.run_index for run in store.attempts(1) if run.attempt] == [flagged.run_index]
    assert measured.statuses()["leveldb"] == ["not_here"] * 2


def test_replications_that_a_design_does_without_leave_no_run_behind(measured: Machine) -> None:
    with Store.open(measured.folder / "store.db") as store:
        store.forgo(1, from_block=1)
        assert store.find().counts == {"finished": 4, "not_here": 1}


def test_the_key_does_not_change_what_is_measured(tmp_path: Path) -> None:
    """--resume goes on with a study that did not have the key."""
    specs = []
    for name, table in (("a", "[databases.leveldb]\noptional = true\n"), ("b", "[databases.leveldb]\n"), ("c", "")):
        path = tmp_path / f"{name}.toml"
        path.write_text(SPEC.replace("[databases.leveldb]\noptional = true\n", table))
        specs.append(load_spec(path))
    assert len({spec.digest() for spec in specs}) == 1


def test_missing_jars_are_reported_in_the_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDGEJOULE_SERVERS", raising=False)
    assert jvm.jars("no-server") == Path(__file__).parents[2] / "build/servers/no-server/lib"
