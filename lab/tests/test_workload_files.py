"""Workloads other than YCSB's core, from a table of the experiment or from a property file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import edgejoule

from edgejoule.databases.snapshots import Snapshots
from edgejoule.databases.system_under_test import system_of
from edgejoule.dictionary.properties import CORE, KINDS
from edgejoule.errors import SpecError, UsageError
from edgejoule.experiment.plan import PlannedRun, make_plan
from edgejoule.experiment.read import load_spec, read_spec
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
        ("\nrecordcount=many", "own:2: recordcount: expected a whole number of at least 0, got 'many'"),
        ("# one\\\nrecordcount=1\nreadproportion=half", "own:3: readproportion: expected a number, got 'half'"),
        ("\\\n\\\nfieldcount=x", "own:1: fieldcount: expected a whole number"),
        ("sqlte.path=/x", "own:1: sqlte.path: unknown property; did you mean 'sqlite.path'?"),
        (
            "measurment.interval=op",
            "own:1: measurment.interval: unknown property; did you mean 'measurement.interval'?",
        ),
        ("measurementtype=none", "own:1: measurementtype: expected one of hdrhistogram, histogram"),
        ("threadcount=0", "own:1: threadcount: expected at least 1, got 0"),
        ("writeallfields=yes", "expected true or false"),
        ("workload=mobybench", "did you mean 'mobibench'?"),
        ("justwords", "own:1: not a property: 'justwords'; expected key=value"),
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


def test_settings_of_a_file_are_those_of_its_workload_unless_the_experiment_has_them(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("recordcount=5\noperationcount=5\nthreadcount=4\ntarget=100\ndurability=none\n")
    path = written(tmp_path, 'file = "own"')

    def first(*overrides: str) -> PlannedRun:
        return make_plan(load_spec(path, overrides))[0]

    run = first()
    assert (run.threads, run.target_ops_s, run.durability) == (4, 100, "none")
    assert first("fixed.threads=2").threads == 2
    assert first("factors.target=[7, 8]").target_ops_s in (7, 8)
    with pytest.raises(SpecError, match="either a rate or a target") as caught:
        first("fixed.rate=steps:1@2")
    assert caught.value.key == "fixed.rate"
    (tmp_path / "own").write_text("recordcount=5\noperationcount=5\ntarget=0.5\n")
    assert (first().target_ops_s, first().rate) == (None, "0.5")


def test_what_a_file_has_and_no_run_uses_is_noted(tmp_path: Path) -> None:
    idle = "spin.sleep=true\nhtrace.sampler=y\nexporter=JSONMeasurementsExporter\n"
    (tmp_path / "own").write_text(f"recordcount=5\njdbc.fetchsize=10\ndb.url=jdbc:x\n{idle}")
    reading = read_spec(written(tmp_path, 'file = "own"'))
    assert reading.merged.notes == [
        f"{tmp_path / 'own'}: of other databases, ignored: jdbc.fetchsize, db.url",
        f"{tmp_path / 'own'}: without effect here: spin.sleep (waiting threads sleep), htrace.sampler (the driver does "
        "not trace), exporter (an experiment runs and reports by itself)",
    ]
    assert reading.spec.workloads["one"] == {"recordcount": 5}


def test_options_of_the_experiments_databases_are_kept(tmp_path: Path) -> None:
    (tmp_path / "own").write_text(
        "recordcount=5\ncassandra.writeconsistencylevel=ONE\nmongodb.upsert=true\nhbase.x=1\n"
    )
    spec = load_spec(written(tmp_path, 'file = "own"\n[databases.sqlite]\nadapter = "cassandra"'))
    kept = {"recordcount": 5, "cassandra.writeconsistencylevel": "ONE", "mongodb.upsert": True}
    assert spec.workloads["one"] == kept


SERVED = """\
name = "served"
question = "?"
[factors]
database = ["redis", "noop"]
workload = ["one"]
[workloads.one]
file = "own"
recordcount = 5
operationcount = 5
"""


def complaint_of(folder: Path, properties: str, text: str = SERVED) -> str:
    """Returns why the dry-run of an experiment with this property file is refused."""
    (folder / "own").write_text(properties)
    (folder / "experiment.toml").write_text(text)
    done = edgejoule(folder, "run", ".", "--dry-run")
    assert done.returncode == 2, done.stdout
    return done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("readproportion=1\nredis.timout_ms=5\n", "own:2: workloads.one.redis.timout_ms: unknown option"),
        ("\n\nredis.password=secret\n", "own:3: workloads.one.redis.password: what an experiment says is stored"),
        ("redis.host=127.0.0.1\nredis.port=1\n\ninsertproportion=0.1\n", "own:4: workloads.one.insertproportion:"),
    ],
)
def test_a_message_on_a_property_names_its_file_and_line(tmp_path: Path, properties: str, message: str) -> None:
    if "redis.password" in properties:
        properties += "redis.host=127.0.0.1\nredis.port=1\n"
    assert message in complaint_of(tmp_path, properties)


def test_of_two_settings_that_exclude_each_other_both_files_are_named(tmp_path: Path) -> None:
    text = complaint_of(tmp_path, "redis.host=127.0.0.1\nredis.port=1\ninsertproportion=0.1\n")
    assert "own:3: workloads.one.insertproportion" in text
    assert "own:1" in text


def test_properties_of_ycsbs_own_bindings_are_read_or_noted(tmp_path: Path) -> None:
    own = tmp_path / "own"
    idle = ["redis.cluster=false", "mongodb.url=mongodb://db/ycsb?w=1", "mongodb.writeConcern=safe", "rocksdb.dir=/x"]
    foreign = ["jdbc.fetchsize=10", "db.driver=org.postgresql.Driver", "db.url=jdbc:x", "postgrenosql.user=me"]
    own.write_text("\n".join(["redis.timeout=2000", "mongodb.upsert=true", *idle, *foreign]))
    read = read_workload_file(own)
    assert read.properties == {"redis.timeout_ms": 2000, "mongodb.upsert": True}
    assert read.lines["redis.timeout_ms"] == 1
    ignored, without_effect = read.notes
    assert all(line.partition("=")[0] in without_effect for line in idle)
    assert all(line.partition("=")[0] in ignored for line in foreign)


def test_the_time_limit_of_ycsbs_redis_binding_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("redis.timeout=2s\n")
    with pytest.raises(UsageError, match=r"own:1: redis.timeout: expected a whole number .* got '2s'"):
        read_workload_file(tmp_path / "own")
